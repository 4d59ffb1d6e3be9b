"""A sum of whole numbers of many parties, each with a share of the noise: only the sum, perhaps modulo M, is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.domains import EventBound
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, ball, precision
from dpverdict.checks import check_array, check_moderate, check_whole, check_whole_entries
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, Below, DeltaBound, Dominating, KnownEvent
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.sums.shares import BITS, SHARES, ShareName, SumOfShares
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction
from dpverdict.numerics.text import exact_text

MOST_PARTIES: Final = 1 << 20
LARGEST_MOVE: Final = 1 << 10
_UNIT_BITS: Final = 300
SHARES_AS_STATED: Final = "each party that is counted adds an independent share of the law that is stated"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNoiseOfParties:
    """The noise of the sum, drawn from its law in float64; sums are taken modulo M, if there is one.

    Attributes:
        shares: the law.
        modulus: M; 0 for none.
    """

    shares: SumOfShares
    modulus: int
    size: int = 1

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Noisy sums: shape (1,) -> (trials, 1)."""
        values, chances = self.shares.in_floats()
        noisy: Array = statistic + rng.choice(values, size=(trials, 1), p=chances / chances.sum())
        return noisy % self.modulus if self.modulus else noisy

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the noise is on whole numbers."""
        return {}


@final
class SecureSum(StatisticMechanism):
    """The sum of n whole numbers in [0, D], one of each party, with the shares of noise of m = n - t parties.

    Parties that drop out, or that collude with whoever reads the sum, leave their shares out: t at most. More shares
    are further noise, so that t is the worst number. One party's number is replaced: the sum moves by D at most, and
    the sums of all shares but "geometric" ones with dropouts are log-concave, so that D is the worst move. Modulo M
    all moves up to D are looked at.

    The loss is that of the law on a window in balls: masses are rounded down by 2^-300 for the bound, and what is left
    is told for certain (a share of less than 1e-70); an event is shown with both of its probabilities.

    Args:
        parties: n, to 2^20.
        noise: of a share: "skellam", "binomial", "discrete-gaussian" or "geometric", see `SumOfShares`.
        variance: of one share, exact; of "binomial" a multiple of 1/4; not for "geometric".
        scale: of the whole noise of "geometric" shares.
        dropouts: t, from 0 to n - 1.
        sensitivity: D, from 1 to 2^10; 1 for "geometric" noise with dropouts, which is not log-concave.
        modulus: M > D, 0 for none.
        epsilon, delta: of the claim, exact.

    Raises:
        InvalidValue: an argument is out of range, or the noise takes more than 2^15 values.

    Reference: Agarwal, Kairouz and Liu 2021 (arXiv:2110.04995), Skellam; Agarwal and others 2018 (arXiv:1805.10559),
    binomial; Kairouz, Liu and Steinke 2021 (arXiv:2102.06387), distributed discrete Gaussian; Goryczka and Xiong 2017,
    shares of geometric noise.

    >>> run = SecureSum(parties=100, noise="skellam", variance="0.3", dropouts=20, epsilon=1, delta="1e-6")
    >>> from dpverdict.audit import certify
    >>> certify(run).status.name, certify(run, "eps=0.5, delta=1e-6").status.name
    ('CERTIFIED', 'REFUTED')
    """

    name = "secure-sum"
    title = "a sum with a share of the noise of each party"
    source = "Agarwal, Kairouz and Liu 2021"
    adjacency: NeighboringRelation = REPLACE_ONE
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("parties", "N", "How many parties add a number and a share.", whole),
        Parameter("noise", "|".join(SHARES), "The law of a share."),
        Parameter("variance", "X", "Of one share; a multiple of 1/4 for binomial. Not for geometric."),
        Parameter("scale", "X", "Of the noise of all parties together, for geometric."),
        Parameter("dropouts", "T", "At most so many shares are left out, or known; 0 if not given.", whole),
        Parameter("sensitivity", "D", "The largest number of one party; 1 if not given.", whole),
        Parameter("modulus", "M", "Sums are taken modulo M; not if not given.", whole),
        Parameter("epsilon", "X", "Epsilon that is claimed."),
        Parameter("delta", "X", "Delta that is claimed."),
    )
    example = "--parties 10 --noise skellam --variance 2 --dropouts 2 --epsilon 1 --delta 1e-4"
    noise: SharedNoiseOfParties
    claim: ApproximateDP
    dim: int
    parties: int
    dropouts: int
    reach: int
    modulus: int
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        parties: int,
        noise: ShareName,
        epsilon: Exact,
        delta: Exact,
        variance: Exact | None = None,
        scale: Exact | None = None,
        dropouts: int = 0,
        sensitivity: int = 1,
        modulus: int = 0,
    ) -> None:
        self.dim = 1
        self.parties = check_whole(parties, "parties", least=1, most=MOST_PARTIES, remedy="say how many there are")
        remedy = "somebody's share has to be in the sum"
        self.dropouts = check_whole(dropouts, "dropouts", least=0, most=self.parties - 1, remedy=remedy)
        self.reach = check_whole(sensitivity, "sensitivity", least=1, most=LARGEST_MOVE, remedy="count in larger units")
        self.modulus = check_whole(modulus, "modulus", least=0, remedy="0 for sums of any size")
        if 0 < self.modulus <= self.reach:
            raise InvalidValue("modulus", modulus, f"above sensitivity={self.reach}", "numbers of parties differ")
        if noise not in SHARES:
            raise InvalidValue(
                "noise", noise, f"one of {', '.join(SHARES)}", "skellam needs no more than Poisson draws"
            )
        needed, other = ("scale", variance) if noise == "geometric" else ("variance", scale)
        given = scale if noise == "geometric" else variance
        if other is not None:
            unused = "variance" if noise == "geometric" else "scale"
            raise InvalidValue(unused, other, f"left out with {noise} shares", f"state their noise by {needed}")
        if given is None:
            raise InvalidValue(needed, given, f"given with {noise} shares", "state the noise of one share, or of all")
        size = check_moderate(given, needed)
        if noise == "binomial" and (4 * size).denominator != 1:
            raise InvalidValue("variance", variance, "a multiple of 1/4", "it is a quarter of the number of coins")
        if noise == "geometric" and self.dropouts and self.reach > 1:
            remedy = "the law of fewer geometric shares is not log-concave: no worst move is known"
            raise InvalidValue("sensitivity", sensitivity, "1 with dropouts of geometric shares", remedy)
        self.claim = ApproximateDP(epsilon=epsilon, delta=delta)
        shares = SumOfShares(name=noise, size=size, present=self.parties - self.dropouts, parties=self.parties)
        self.noise = SharedNoiseOfParties(shares=shares, modulus=self.modulus)
        shares.window()
        self._seen: dict[int, tuple[dict[int, arb], dict[int, arb]]] = {}
        self.assumptions = (
            f"each of {self.parties} parties has a whole number in [0, {self.reach}]",
            f"at most {self.dropouts} shares are left out or known",
            SHARES_AS_STATED,
        )

    # what is known ----------------------------------------------------------------------------------------------------

    def _pair_of_laws(self, move: int) -> tuple[list[arb], list[arb]]:
        """Of the sum moved by ``move``, and not moved, on the whole numbers that one of them takes."""
        zeros = [arb(0)] * move
        law = self.noise.shares.law()
        return [*zeros, *law], [*law, *zeros]

    def _bound(self, move: int) -> FiniteLoss:
        """A loss that dominates: masses rounded down, what is left of P infinitely telling, what is left of Q not.

        With p' <= p and q' <= q, sum (p - e^epsilon q)_+ is at most sum (p' - e^epsilon q')_+ and the sum of p - p'.
        """
        here, there = ([_down(weight) for weight in law] for law in self._pair_of_laws(move))
        left = [1 - sum(law, Fraction(0)) for law in (here, there)]
        pairs = [pair for pair in zip(here, there, strict=True) if any(pair)]
        return FiniteLoss(
            [*(p for p, _ in pairs), left[0], Fraction(0)], [*(q for _, q in pairs), Fraction(0), left[1]]
        )

    def above(self) -> tuple[Above, ...]:
        """The largest move, of the sum before it is taken modulo M."""
        told = "a party's number moves the sum by at most the sensitivity, with the shares of the fewest parties"
        why = (
            "further shares are noise on what is released; the law of the sum is log-concave, so that the loss grows "
            "with the move"
            if self.noise.shares.name != "geometric" or not self.dropouts
            else "further shares are noise on what is released"
        )
        whole = Dominating(loss=self._bound(self.reach), description=told, justification=why)
        if not self.modulus:
            return (whole,)
        modulo = f"the largest over all moves, of the sum modulo {self.modulus}; further shares are noise on it"
        return (DeltaBound(at=self._largest, source="", because=modulo, assumptions=(SHARES_AS_STATED,)), whole)

    def below(self) -> tuple[Below, ...]:
        """One party's number 0 replaced by the largest, among zeros: the sums of the largest likelihood ratios."""
        here, there = np.zeros((self.parties, 1)), np.zeros((self.parties, 1))
        here[0] = self.reach
        words = f"one party's number 0 replaced by {self.reach}, where all others have 0"
        return (KnownEvent(pair=self.neighbours(here, there), description=words, event=self._event),)

    def _event(self, epsilon: Fraction) -> EventBound:
        """All sums, modulo M, whose likelihood ratio exceeds exp(epsilon) as far as their balls tell."""
        here, there = self._modulo(self.reach)
        with precision(BITS):
            grown = ball(epsilon).exp()
            held = [at for at, p in here.items() if p > grown * there[at]]
            p = sum((here[at] for at in held), arb(0))
            q = sum((there[at] for at in held), arb(0)) + _outside(there)
        shown = f": {len(held)} sums, {min(held)} to {max(held)}" if held else ", of which there is none"
        told = f"the sum is one whose likelihood ratio exceeds exp({exact_text(epsilon)}){shown}"
        return EventBound(event=told, p_ball=p, q_ball=q)

    def _modulo(self, move: int) -> tuple[dict[int, arb], dict[int, arb]]:
        """The laws of the moved sum and of the sum, by the number that is seen."""
        if move in self._seen:
            return self._seen[move]
        first = self.noise.shares.window()
        found: list[dict[int, arb]] = []
        with precision(BITS):
            for law in self._pair_of_laws(move):
                places: dict[int, arb] = {}
                for at, weight in enumerate(law):
                    place = (at - first) % self.modulus if self.modulus else at - first
                    places[place] = places.get(place, arb(0)) + weight
                found.append(places)
        here, there = found
        self._seen[move] = here, {at: there.get(at, arb(0)) for at in here}
        return self._seen[move]

    def _largest(self, epsilon: Fraction) -> arb | None:
        """An upper bound on delta(epsilon) of the sum modulo M: the largest over all moves."""
        if epsilon < 0:
            return None
        found = arb(0)
        with precision(BITS):
            grown = ball(epsilon).exp()
            for move in range(1, self.reach + 1):
                here, there = self._modulo(move)
                excess = sum(((p - grown * there[at]).max(arb(0)) for at, p in here.items()), arb(0))
                found = found.max(excess + _outside(here))
            return found.upper()

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """A bound on the loss of two numbers of one party."""
        assert replacement is not None  # the relation is replace-one
        move = int(record[0]) - int(replacement[0])
        if not move:
            return identical_laws()
        found = self._bound(abs(move))
        return found if move > 0 else found.reversed()

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The numbers of the parties as float64, whole numbers in [0, D]; parties without a row have 0."""
        records = check_array(dataset, (1,), 0.0, float(self.reach))
        if len(records) > self.parties:
            requirement = f"at most parties={self.parties} rows"
            raise InvalidValue("dataset", f"{len(records)} rows", requirement, "give one row for each party")
        check_whole_entries(records, "count in whole units")
        return records

    def statistic(self, records: Array) -> Array:
        """The sum: shape (1,)."""
        total: Array = records.sum(axis=0)
        return total

    def release_chances(self, dataset: ArrayLike) -> Array:
        """The chance that the sum is above 0, in float64: shape (1,)."""
        values, chances = self.noise.shares.in_floats()
        sums = values + float(self.embed(dataset)[0])
        return np.array([chances[(sums % self.modulus if self.modulus else sums) > 0].sum()])

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of a sum, in float64; what neither dataset gives on the window has the ratio 0."""
        values, chances = self.noise.shares.in_floats()

        def table(side: Array) -> dict[int, float]:
            found: dict[int, float] = {}
            sums = values + int(self.embed(side)[0])
            for place, weight in zip(
                (sums % self.modulus if self.modulus else sums).tolist(), chances.tolist(), strict=True
            ):
                found[place] = found.get(place, 0.0) + weight
            return found

        here, there = table(pair.dataset), table(pair.neighbour)
        ratios = {
            at: math.log(max(here.get(at, 0.0), 1e-300) / max(there.get(at, 0.0), 1e-300)) for at in {*here, *there}
        }

        def score(released: Array) -> Array:
            return np.array([ratios.get(int(value), 0.0) for value in released[:, 0].tolist()])

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        shares = self.noise.shares
        own = {"parties": str(self.parties), "noise": shares.name, "dropouts": str(self.dropouts)}
        size = {"scale" if shares.name == "geometric" else "variance": exact_text(shares.size)}
        more = {"sensitivity": str(self.reach)} | ({"modulus": str(self.modulus)} if self.modulus else {})
        return StatisticMechanism.describe(self) | own | size | more


def _outside(law: dict[int, arb]) -> arb:
    """At most so much of a law is beyond the window."""
    return (1 - sum(law.values(), arb(0))).max(arb(0)).upper()


def _down(weight: arb) -> Fraction:
    """A rational number of 2^-300 steps that is not above a probability."""
    with precision(BITS):
        lower = as_fraction(weight.lower())
    return Fraction(0) if lower <= 0 else Fraction(math.floor(lower * (1 << _UNIT_BITS)), 1 << _UNIT_BITS)
