"""A claim that is a whole privacy profile: "the laws are no farther apart than those of this privacy loss"."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.mechanisms.guarantee import ImpliedCurves
from dpverdict.mechanisms.guarantee_curves import epsilon_grid, support_lines_lower

Array = NDArray[np.float64]


@final
class ProfileClaim(ImpliedCurves):
    """The claim delta(epsilon) <= that of a privacy loss at every real epsilon, in both orders of every pair.

    "Laplace noise of scale 1 in 20 coordinates" claims much more than the one (epsilon, delta) quoted for it, and
    is much easier to refute. `distinguish` takes it in place of a guarantee; a `Report` does not.

    Args:
        loss: of the dominating pair. Its certified profile is used, rounded up.
        name: the claim in one line.
        reverse: the loss of the pair in the other order; None where it is the same, as for symmetric noise.
    """

    __slots__ = ("_known", "loss", "name", "reverse")
    loss: PrivacyLoss
    name: str
    reverse: PrivacyLoss | None

    def __init__(self, loss: PrivacyLoss, *, name: str, reverse: PrivacyLoss | None = None) -> None:
        self.loss, self.name, self.reverse = loss, name, reverse
        self._known: dict[bytes, Array] = {}

    def describe(self) -> str:
        """The name: `parse_guarantee` does not read it."""
        return self.name

    def _delta_upper(self, epsilon: Array) -> Array:
        flat = np.ravel(epsilon)
        key = flat.tobytes()
        if key not in self._known:
            both = [self.loss] if self.reverse is None else [self.loss, self.reverse]
            uppers = [loss.certified_delta(flat).upper for loss in both]
            self._known[key] = np.minimum(np.max(uppers, axis=0), 1.0)
        return self._known[key].reshape(np.shape(epsilon))

    def _beta_lower(self, alpha: Array) -> Array:
        grid = epsilon_grid(1.0)
        return support_lines_lower(alpha, grid, self._delta_upper(grid))
