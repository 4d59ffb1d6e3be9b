"""What is left of a claim of mu that the far tail breaks: down to which delta it holds."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from dpverdict.audit.exact.gdp import gdp_mu
from dpverdict.audit.exact.verdict import Witness
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.bounds import Bounds, MuBound, TailEvents
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee
from dpverdict.numerics.roots import bisected, doubled
from dpverdict.numerics.text import rounded_text

_SHOWN: Final = 1e-12
"""The smallest delta down to which a claim of mu is held."""
_POINTS: Final = 24
_MOST: Final = 2.0**12
_ASIDE: Final = 1.02


def add_residual_guarantee(claim: Guarantee, bounds: Bounds, witness: Witness) -> Witness:
    """A witness against a claim of mu, which also says the least mu that is kept, and what is left of the claim.

    Only where the far tail shows a mu below which none is kept; any other witness as it is. Where what holds of every
    pair is a larger mu, the least one is between the two.
    """
    tail = next((entry for entry in bounds.below if isinstance(entry, TailEvents)), None)
    if tail is None or not isinstance(claim, GaussianDP):
        return witness
    least = rounded_text(math.sqrt(tail.mu_squared), 6)
    found = None if bounds.dominating is None else kept_down_to(bounds.dominating.loss, claim.mu)
    aside = "" if found is None else f"; where delta is above {rounded_text(found, 3)}, {claim.describe()} holds"
    kept = f"the least mu that is kept is {least}, that {tail.source}"
    if any(isinstance(entry, MuBound) and entry.mu_squared > tail.mu_squared for entry in bounds.above):
        kept = f"no mu below {least} is kept, as the far tail shows"
    said = f"{witness.statement}; {kept}{aside}"
    return replace(witness, statement=said)


def kept_down_to(loss: PrivacyLoss, mu: Fraction) -> float | None:
    """A delta d such that certainly delta(epsilon) <= max(delta_mu(epsilon), d) at each epsilon >= 0; nearly the least.

    At least 1e-12, which no deployment tells from 0. None if the loss has no certified curve, or takes long far out, or
    where epsilon = 0 breaks the claim.
    """
    if not (loss.is_certified and mu > 0) or any(one.is_slow_far_out for _, one in loss.directions()):
        return None
    gaussian = GaussianLoss(mu)

    def above(epsilon: float) -> bool:
        return bool(loss.delta(epsilon) > gaussian.delta(epsilon))

    def over(epsilon: float) -> bool:
        allowed = max(float(gaussian.delta(epsilon)), _SHOWN)
        return bool(loss.delta_at_most(Fraction(epsilon)) > allowed) and float(loss.delta(epsilon)) > allowed

    with contextlib.suppress(DpverdictError):
        _, reach = doubled(lambda at: float(loss.delta_at_most(Fraction(at))) > _SHOWN, 0.0, 1.0, most=_MOST)
        grid = np.linspace(0.0, reach, _POINTS).tolist()
        first = next((place for place, at in enumerate(grid) if over(at)), None)
        if first == 0:
            return None
        floor = _SHOWN
        if first is not None:
            low, _ = bisected(lambda at: not above(at), grid[first - 1], grid[first], steps=16)
            floor = max(float(loss.delta(low)), _SHOWN)
        for _ in range(4):
            if gdp_mu(loss, floor).upper <= mu:
                return floor
            floor *= _ASIDE**2
    return None
