"""Unary encoding: a bit for every value, each flipped by itself; once, or twice with memory (RAPPOR)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np

from dpverdict.audit.losses.base import REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_dim, check_probability, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.local.randomizer import CategoricalRandomizer, Region, chance
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.text import exact_text

Bits: TypeAlias = Literal["symmetric", "optimised"]
BITS: Final[tuple[Bits, ...]] = ("symmetric", "optimised")
_ONE: Final = ExponentialSum.of(1)
_MOST_REPORTS: Final = 256


@final
class UnaryEncoding(CategoricalRandomizer):
    """k bits, of which that of the value is 1 with chance p, every other one with chance q, independently.

    Symmetric bits have p = exp(epsilon/2)/(1 + exp(epsilon/2)) and q = 1 - p; optimised ones p = 1/2 and
    q = 1/(1 + exp(epsilon)). Two values differ in two bits, whatever k is: p (1 - q)/(q (1 - p)) = exp(epsilon).

    Args:
        options: k >= 2.
        epsilon: > 0, exact.
        bits: "symmetric" or "optimised".

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Wang, Blocki, Li and Jha 2017, section 4.2 (arXiv:1705.04421).

    >>> UnaryEncoding(options=1000, epsilon=1, bits="optimised").chances
    (0.5, 0.2689414213699951)
    """

    name = "unary-encoding"
    title = "one person's value as bits, each flipped"
    source = "Wang, Blocki, Li and Jha 2017, section 4.2"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *CategoricalRandomizer.parameters,
        Parameter("bits", "|".join(BITS), "How the chances of the bits are chosen."),
    )
    example = "--options 4 --epsilon 1 --bits optimised"
    chances: tuple[float, float]
    bits: Bits

    def __init__(self, *, options: int, epsilon: Exact, bits: Bits) -> None:
        budget = self._set(options, epsilon)
        if bits not in BITS:
            raise InvalidValue("bits", bits, f"one of {', '.join(BITS)}", "optimised bits have the smaller error")
        self.bits = bits
        grown = ExponentialSum.exp(budget / 2 if bits == "symmetric" else budget)
        # the chances of 1 for the own bit and for another one, as (weight of 1, weight of 0)
        self._own = (grown, _ONE) if bits == "symmetric" else (_ONE, _ONE)
        self._other = (_ONE, grown)
        self.chances = (chance(self._own[0], self._own[0] + self._own[1]), chance(_ONE, _ONE + grown))

    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """By the two bits that differ."""
        own, other = self._own, self._other
        names = {
            (1, 0): "the bit of P's value alone",
            (0, 1): "the bit of Q's value alone",
            (1, 1): "both",
            (0, 0): "none",
        }
        return [
            Region(f"of two bits {name} is 1", own[1 - a] * other[1 - b], other[1 - a] * own[1 - b])
            for (a, b), name in names.items()
        ]

    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """By the two bits that differ."""
        a, b = released[:, int(here)] > 0, released[:, int(there)] > 0
        return np.where(a & ~b, 0, np.where(b & ~a, 1, np.where(a, 2, 3)))

    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """Bits as 0 and 1: shape (trials, k)."""
        own = np.arange(self.options) == int(value[0])
        chances = np.where(own, *self.chances)
        return (rng.random((trials, self.options)) < chances).astype(float)

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return CategoricalRandomizer.describe(self) | {"bits": self.bits}


@final
class Rappor(CategoricalRandomizer):
    """RAPPOR: the h bits of the value are flipped once and kept, and each of n reports flips the kept bits again.

    A kept bit is 1 with chance 1 - f/2 if the value has it, else f/2; a report of a kept bit is 1 with chance
    ``report_one`` (q in the paper) if it is 1, else ``report_zero`` (p). The bits of two values are taken for disjoint,
    the worst case of a Bloom filter: they differ in 2 h bits. One report tells less than the kept bits, and n reports
    never more than them: the loss of n reports is exact, and with n = 0 the kept bits themselves are released.

    Args:
        options: k >= 2, with bits of their own each.
        epsilon: of the claim, exact.
        flip: f, in (0, 1), exact.
        report_zero, report_one: p < q, exact.
        hashes: h >= 1.
        reports: n >= 0, of the same value; 0 for the kept bits.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Erlingsson, Pihur and Korolova 2014, Theorems 1 and 2 (arXiv:1407.6981).

    >>> import math
    >>> kept = Rappor(options=4, epsilon=4, flip="0.5", report_zero="0.5", report_one="0.75", hashes=2, reports=0)
    >>> kept._worst().loss.epsilon(0), 4 * math.log(3)
    (4.394449154672439, 4.394449154672439)
    """

    name = "rappor"
    title = "bits flipped once for all, and in every report"
    source = "Erlingsson, Pihur and Korolova 2014, Theorems 1 and 2"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *CategoricalRandomizer.parameters,
        Parameter("flip", "F", "A kept bit is random with this chance."),
        Parameter("report_zero", "P", "A kept 0 is reported as 1 with this chance."),
        Parameter("report_one", "Q", "A kept 1 is reported as 1 with this chance."),
        Parameter("hashes", "H", "Bits of a value; 1 if not given.", whole),
        Parameter("reports", "N", "How often the same value is reported; 1 if not given.", whole),
    )
    example = "--options 3 --epsilon 1.2 --flip 0.5 --report-zero 0.5 --report-one 0.75"
    hashes: int
    reports: int
    flip: Fraction
    report_zero: Fraction
    report_one: Fraction
    why_worst: ClassVar[str] = "the law is the same for every two values, but for the names of their bits"

    def __init__(
        self,
        *,
        options: int,
        epsilon: Exact,
        flip: Exact,
        report_zero: Exact,
        report_one: Exact,
        hashes: int = 1,
        reports: int = 1,
    ) -> None:
        self.hashes = check_dim(hashes, "hashes")
        self.reports = check_whole(reports, "reports", least=0, most=_MOST_REPORTS, remedy="0 for the kept bits")
        size, own = check_dim(options, "options") * hashes * max(1, reports), "a value has bits that no other value has"
        self._set(options, epsilon, size=size, assumptions=(own,))
        self.flip, self.report_zero, self.report_one = (
            check_probability(value, name, "give a chance")
            for value, name in ((flip, "flip"), (report_zero, "report_zero"), (report_one, "report_one"))
        )
        if not self.report_zero < self.report_one:
            remedy = "a kept 1 is reported as 1 more often than a kept 0"
            raise InvalidValue("report_zero", report_zero, f"below report_one={exact_text(self.report_one)}", remedy)

    def bit_loss(self) -> FiniteLoss:
        """Of one bit that P's value has and Q's value has not: the number of its reports that are 1."""
        return FiniteLoss.of_weights(
            [ExponentialSum.of(weight) for weight in self._law(1 - self.flip / 2)],
            [ExponentialSum.of(weight) for weight in self._law(self.flip / 2)],
            outcomes=[f"a bit that P's value has is reported as 1 {ones} times" for ones in range(self.reports + 1)]
            if self.reports
            else ["a bit that P's value has is kept as 0", "it is kept as 1"],
            assumed=(REAL_ARITHMETIC,),
        )

    def _law(self, kept: Fraction) -> list[Fraction]:
        """The chances of 0, ..., n reports of 1, if the kept bit is 1 with this chance."""
        n = self.reports
        if not n:
            return [1 - kept, kept]
        return [
            math.comb(n, ones)
            * (
                kept * self.report_one**ones * (1 - self.report_one) ** (n - ones)
                + (1 - kept) * self.report_zero**ones * (1 - self.report_zero) ** (n - ones)
            )
            for ones in range(n + 1)
        ]

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """Of two values: h bits that one has, and h that the other has."""
        assert replacement is not None  # the relation is replace-one
        if record[0] == replacement[0]:
            return identical_laws()
        bit = self.bit_loss()
        return compose_counted([(bit, self.hashes), (bit.reversed(), self.hashes)])

    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """Of the first bit of P's value alone: in how many reports it is 1."""
        ones = self._law(1 - self.flip / 2), self._law(self.flip / 2)
        return [
            Region(f"{at} reports of 1", ExponentialSum.of(p), ExponentialSum.of(q))
            for at, (p, q) in enumerate(zip(*ones, strict=True))
        ]

    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """The number of reports of 1 of the first bit of P's value."""
        shaped = released.reshape(len(released), max(1, self.reports), self.options * self.hashes)
        ones: Integers = shaped[:, :, int(here) * self.hashes].sum(axis=1).astype(np.int64)
        return ones

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio, a sum over the 2 h bits that differ."""
        here, there = (int(self.embed(side)[0]) for side in (pair.dataset, pair.neighbour))
        one, zero = (np.array([float(p) for p in self._law(kept)]) for kept in (1 - self.flip / 2, self.flip / 2))
        ratios = np.log(one) - np.log(zero)

        def score(released: Array) -> Array:
            shaped = released.reshape(len(released), max(1, self.reports), self.options, self.hashes)
            ones = ratios[shaped.sum(axis=1).astype(np.int64)].sum(axis=2)
            found: Array = ones[:, here] - ones[:, there]
            return found

        return score

    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """All reports as bits, one after the other: shape (trials, n k h)."""
        bits = self.options * self.hashes
        own = np.arange(bits) // self.hashes == int(value[0])
        flip = float(self.flip)
        kept = rng.random((trials, bits)) < np.where(own, 1 - flip / 2, flip / 2)
        if not self.reports:
            return kept.astype(float)
        chances = np.where(kept, float(self.report_one), float(self.report_zero))[:, None]
        return (rng.random((trials, self.reports, bits)) < chances).astype(float).reshape(trials, -1)

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        names = ("flip", "report_zero", "report_one")
        own = {name: exact_text(getattr(self, name)) for name in names}
        return CategoricalRandomizer.describe(self) | own | {"hashes": str(self.hashes), "reports": str(self.reports)}
