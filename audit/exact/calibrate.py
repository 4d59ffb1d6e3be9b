"""The least noise that keeps a claim, by the bounds of a mechanism with a scale: for any mechanism and any claim."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from dpverdict.audit.exact.spending import Account, Spendable, account_of
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.base import PrivacyLoss, curves_of
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.cards import answer_card
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee, as_guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.numerics.roots import bisected
from dpverdict.numerics.stages import shown_in_a_notebook, tell_progress
from dpverdict.numerics.text import about

_SCALE_DIGITS: Final = 17


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The least scale of noise that keeps a claim.

    Attributes:
        mechanism: with that scale.
        scale: a float64; the claim is certified at it.
        below: a float64 at which the claim is certainly not kept: the one before ``scale``, or the nearest at which the
            numbers can be told apart.
        kept: what is spent at ``scale``.
        broken: what is spent at ``below``.
        releases: how many releases together keep the claim.
        attained: whether some neighbours attain what is spent; otherwise it is a bound, and a smaller scale may do.
    """

    mechanism: StructuredMechanism
    scale: float
    below: float
    kept: Account
    broken: Account
    releases: int
    attained: bool

    @property
    def width(self) -> float:
        """(scale - below)/scale."""
        return (self.scale - self.below) / self.scale

    @property
    def loss(self) -> PrivacyLoss:
        """What all releases spend together at the scale, or one that dominates it."""
        return compose_counted([(Spendable.of(self.mechanism).loss, self.releases)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        answer, kept, broken = self.summary().splitlines()
        rows = dict(line.strip().split(": ", 1) for line in (kept, broken))
        follows = "build the mechanism with this scale, and certify it; found.loss.risk('0.001') says what it means."
        return answer_card(
            answer, rows, follows=follows, curves=[curves_of(self.loss, None), curves_of(self.kept.claim, None)]
        )

    def summary(self) -> str:
        """The answer, then a line for the scale with the proof that it keeps the claim, and one for the scale below."""
        times = "" if self.releases == 1 else f" in {self.releases} releases together"
        name = str(self.mechanism.scaled_by).replace("_", " ")
        less = "does not" if self.broken.status is Status.REFUTED else "is not known to"
        one_step = self.below == math.nextafter(self.scale, 0.0)
        step = "one step less" if one_step else f"{about(self.below, _SCALE_DIGITS)}, a share of {self.width:.2g} less,"
        return (
            f"{name} {self.scale!r} keeps {self.kept.claim.describe()}{times}; {step} {less}.\n"
            f"  {name} = {self.scale!r}: {self.kept.summary()}\n"
            f"  {name} = {self.below!r}: {self.broken.summary()}"
        )


@shown_in_a_notebook("least noise")
def calibrate(
    make: Callable[[float], StructuredMechanism], claim: Guarantee | str, *, releases: int = 1, width: float = 0.0
) -> Calibration:
    """The least float64 scale at which a mechanism keeps a claim, certified, with one step less that does not.

    Args:
        make: a scale to the mechanism, which spends less the larger the scale is.
        claim: of any kind, also as text; for all releases together.
        releases: how many, at least 1.
        width: how far below the scale one that does not keep the claim may be, relatively; 0 for the nearest one.

    Raises:
        InvalidValue: no scale from 2^-100 to 2^100 keeps the claim for certain, or all do.

    Reference: for Gaussian noise and (epsilon, delta), Balle and Wang 2018, Theorem 8 (arXiv:1805.06530).

    >>> from dpverdict.mechanisms.core.mechanism import GaussianMechanism
    >>> found = calibrate(lambda sigma: GaussianMechanism(sigma=sigma, sensitivity=1), "eps=1, delta=1e-6")
    >>> found.scale, found.kept.status.name, found.broken.status.name
    (4.224678889326836, 'CERTIFIED', 'REFUTED')
    """
    guarantee = as_guarantee(claim)
    times = check_whole(releases, "releases", least=1, remedy="say how many releases share the claim")

    def account(scale: float) -> Account:
        return account_of([(Spendable.of(make(scale)), times)], guarantee)

    kept_at: list[float] = []  # the last one is the least
    tried = total = 0

    def keeps(scale: float) -> bool:
        nonlocal tried
        tried += 1
        try:
            found = account(scale).status is Status.CERTIFIED
        except KeyboardInterrupt as interrupt:
            if kept_at:
                name = str(make(kept_at[-1]).scaled_by).replace("_", " ")
                interrupt.add_note(f"so far: {name} {kept_at[-1]!r} keeps {guarantee.describe()}; less was not decided")
            raise
        kept_at.extend([scale] if found else [])
        if total:
            tell_progress(min(tried, total), total)
        return found

    low = high = 1.0
    while not keeps(high):
        low, high = high, 2 * high
        if high > 2.0**100:
            why = account(1.0).summary()
            raise InvalidValue("claim", guarantee.describe(), "one that some scale keeps", f"state another ({why})")
    while low == high or keeps(low):
        low, high = low / 2, low
        if low < 2.0**-100:
            raise InvalidValue("claim", guarantee.describe(), "one that some scale breaks", "nothing is to be found")
    width = max(width, make(high).calibration_width)
    if isinstance(guarantee, GaussianDP) and not isinstance(account(high).loss, GaussianLoss):
        width = max(width, 2.0**-34)  # of the least mu of other laws, an enclosure is known that is this wide
    relative = max(width, 2.0**-53) * high / (high - low)
    tried, total = 0, min(60, max(1, math.ceil(-math.log2(relative))))
    low, high = bisected(
        lambda scale: not keeps(scale), low, high, steps=60, close=lambda low, high: high - low <= width * high
    )
    step = high - low
    while not _told_apart(account(low)) and step < high / 4:  # the numbers are too close: a wider step
        step *= 2
        low = high - step
    kept, broken = account(high), account(low)
    return Calibration(
        mechanism=make(high),
        scale=high,
        below=low,
        kept=kept,
        broken=broken,
        releases=times,
        attained=broken.attained,
    )


def _told_apart(account: Account) -> bool:
    """Whether what is spent, or bounds it, is certainly more than the claim allows, or certainly not."""
    comparison = account.comparison
    return comparison is not None and comparison.sign is not None and (comparison.kept or comparison.broken)
