"""The exact laws of comparisons of noisy numbers: noisy maxima, and answers above a noisy threshold.

Laplace and exponential noise have distribution functions that are, between breakpoints, sums of exponentials of x. So
are their products, and the integral of such a sum between rational breakpoints is a sum of exponentials again. With
rational scores and rates, every probability here is an `ExponentialSum`, exactly.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, TypeAlias, final

from dpverdict.audit.laws.base import Law
from dpverdict.errors import InvalidValue
from dpverdict.numerics.exponential_sums import ExponentialSum, total

Piece: TypeAlias = dict[Fraction, ExponentialSum]
"""The function sum c_r exp(r x) between two breakpoints, as {r: c_r}."""

MOST_TERMS: Final = 1 << 12
"""The most terms of a product: scores of many different values have too many for an exact law."""

_ONE: Final = ExponentialSum.of(1)


class PiecewiseLaw(Protocol):
    """Noise whose distribution function is a sum of exponentials below and above 0."""

    def distribution(self, center: Fraction, *, above: bool) -> Piece:
        """P(Z <= x - center) at all x above the center, or at all x below it."""
        ...

    def density(self, center: Fraction, *, above: bool) -> Piece:
        """The density of Z at x - center, on either side of the center."""
        ...


@final
@dataclass(frozen=True, slots=True)
class ScaledNoise:
    """Noise Z/rate.

    Attributes:
        law: that of Z; its distribution function is a sum of exponentials on either side of 0.
        rate: > 0.
    """

    law: Law
    rate: Fraction

    def distribution(self, center: Fraction, *, above: bool) -> Piece:
        """That of Z at rate (x - center)."""
        return {self.rate * r: self._around(center, r, c) for r, c in self._terms(above)}

    def density(self, center: Fraction, *, above: bool) -> Piece:
        """The derivative."""
        return {self.rate * r: self._around(center, r, c * r * self.rate) for r, c in self._terms(above) if r}

    def _around(self, center: Fraction, r: int, factor: Fraction) -> ExponentialSum:
        return ExponentialSum.exp(-self.rate * r * center).times(factor)

    def _terms(self, above: bool) -> Iterable[tuple[int, Fraction]]:
        terms = self.law.as_exponentials(above=above)
        if terms is None:
            raise InvalidValue("noise", self.law.describe(), "piecewise a sum of exponentials", "take laplace noise")
        return terms.items()


class NoNoise:
    """The number 0: comparisons with no noise of their own, of known-wrong variants."""

    def distribution(self, center: Fraction, *, above: bool) -> Piece:
        """1 above 0, 0 below."""
        return {Fraction(0): _ONE} if above else {}

    def density(self, center: Fraction, *, above: bool) -> Piece:
        """There is none.

        Raises:
            InvalidValue: always.
        """
        raise InvalidValue("noise", "none", "a law with a density", "add noise to the threshold")


def noisy_max_law(noise: PiecewiseLaw, scores: Sequence[Fraction]) -> tuple[ExponentialSum, ...]:
    """P(i) = integral of f(x - u_i) prod over j != i of F(x - u_j): the option i has the largest noisy score.

    Options of one score have one probability, and powers of one factor.

    Raises:
        InvalidValue: more than `MOST_TERMS` terms: too many different scores.
    """
    counts = Counter(scores)
    ends = sorted(counts)
    _check_terms(len(scores), counts.values())
    found: dict[Fraction, ExponentialSum] = {}
    for own in counts:
        parts = []
        for low, high in _intervals(ends):
            product = noise.density(own, above=_is_above(own, low))
            for other, count in counts.items():
                factor = noise.distribution(other, above=_is_above(other, low))
                for _ in range(count - (other == own)):
                    product = _product_of_pieces(product, factor)
            parts.append(_integral(product, low, high))
        found[own] = total(parts)
    return tuple(found[score] for score in scores)


def threshold_law(
    threshold_noise: PiecewiseLaw, query_noise: PiecewiseLaw, gaps: Sequence[Fraction], positives: int
) -> dict[tuple[int, ...], ExponentialSum]:
    """The probabilities of all sequences of answers to queries, 1 above the noisy threshold and 0 below it.

    Answering ends with the answer 1 number ``positives``. The threshold noise is drawn once; given its value x, query i
    is below with the probability F(x - gap_i).

    Args:
        threshold_noise: the law of the noise of the threshold.
        query_noise: the law of the noise of every query.
        gaps: the answer of each query minus the threshold.
        positives: how many answers 1 are given, at most.

    Raises:
        InvalidValue: more than `MOST_TERMS` terms.
    """
    _check_terms(len(gaps), Counter(gaps).values())
    if sum(1 for _ in _answer_sequences(len(gaps), positives)) > MOST_TERMS:
        raise InvalidValue("queries", len(gaps), f"with at most {MOST_TERMS} sequences of answers", "ask fewer")
    ends = sorted({Fraction(0), *gaps})
    parts: dict[tuple[int, ...], list[ExponentialSum]] = {}
    for low, high in _intervals(ends):
        start = threshold_noise.density(Fraction(0), above=_is_above(Fraction(0), low))
        below = [query_noise.distribution(gap, above=_is_above(gap, low)) for gap in gaps]
        rest = [_sum_of_pieces({Fraction(0): _ONE}, piece, -1) for piece in below]
        reached: dict[tuple[int, ...], Piece] = {(): start}
        for i in range(len(gaps)):
            longer: dict[tuple[int, ...], Piece] = {}
            for answers, piece in reached.items():
                if sum(answers) == positives or len(answers) < i:
                    longer[answers] = piece
                    continue
                longer[(*answers, 0)] = _product_of_pieces(piece, below[i])
                longer[(*answers, 1)] = _product_of_pieces(piece, rest[i])
            reached = longer
        for answers, piece in reached.items():
            parts.setdefault(answers, []).append(_integral(piece, low, high))
    return {answers: total(found) for answers, found in parts.items()}


def event_law(
    threshold_noise: PiecewiseLaw, query_noise: PiecewiseLaw, gaps: Sequence[Fraction], first: int
) -> ExponentialSum:
    """The probability that the first queries are below the noisy threshold, and all others above it."""
    _check_terms(len(gaps), [*Counter(gaps[:first]).values(), *Counter(gaps[first:]).values()])
    parts = []
    for low, high in _intervals(sorted({Fraction(0), *gaps})):
        product = threshold_noise.density(Fraction(0), above=_is_above(Fraction(0), low))
        for i, gap in enumerate(gaps):
            below = query_noise.distribution(gap, above=_is_above(gap, low))
            product = _product_of_pieces(
                product, below if i < first else _sum_of_pieces({Fraction(0): _ONE}, below, -1)
            )
        parts.append(_integral(product, low, high))
    return total(parts)


def first_below_law(
    threshold_noise: PiecewiseLaw, query_noise: PiecewiseLaw, gaps: Sequence[Fraction]
) -> ExponentialSum:
    """The probability that all but the last query are below the noisy threshold, and the last above it, but at most 0.

    Given the threshold's noise x <= 0, the last noisy gap lies in [x, 0].
    """
    parts = []
    *others, last = gaps
    at_zero = total([factor for _, factor in query_noise.distribution(last, above=last <= 0).items()])
    for low, high in _intervals(sorted({Fraction(0), *gaps})):
        if high is None or high > 0:
            continue
        product = threshold_noise.density(Fraction(0), above=False)
        for gap in others:
            product = _product_of_pieces(product, query_noise.distribution(gap, above=_is_above(gap, low)))
        below = query_noise.distribution(last, above=_is_above(last, low))
        parts.append(
            _integral(_product_of_pieces(product, _sum_of_pieces({Fraction(0): at_zero}, below, -1)), low, high)
        )
    return total(parts)


def _answer_sequences(queries: int, positives: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    reached: list[tuple[int, ...]] = [()]
    for _ in range(queries):
        reached = [(*answers, bit) for answers in reached for bit in (0, 1)]
        found += [answers for answers in reached if sum(answers) == positives]
        reached = [answers for answers in reached if sum(answers) < positives]
        if len(found) + len(reached) > MOST_TERMS:
            break
    return found + reached


def _check_terms(size: int, counts: Iterable[int]) -> None:
    terms = math.prod(count + 1 for count in counts)
    if terms > MOST_TERMS:
        remedy = "the exact law takes fewer different scores: round them, or test releases only"
        raise InvalidValue("scores", f"{size} with {terms} terms", f"of at most {MOST_TERMS} terms", remedy)


def _intervals(ends: Sequence[Fraction]) -> list[tuple[Fraction | None, Fraction | None]]:
    return list(itertools.pairwise([None, *ends, None]))


def _is_above(center: Fraction, low: Fraction | None) -> bool:
    """Whether the interval that begins at ``low`` is above the center."""
    return low is not None and low >= center


def _product_of_pieces(one: Piece, other: Piece) -> Piece:
    product: Piece = {}
    for (rate, factor), (rate_of_other, factor_of_other) in itertools.product(one.items(), other.items()):
        at, term = rate + rate_of_other, factor * factor_of_other
        product[at] = product[at] + term if at in product else term
    return product


def _sum_of_pieces(one: Piece, other: Piece, sign: int) -> Piece:
    found = dict(one)
    for rate, factor in other.items():
        found[rate] = found.get(rate, ExponentialSum({})) + factor.times(sign)
    return {rate: factor for rate, factor in found.items() if factor.terms}


def _integral(piece: Piece, low: Fraction | None, high: Fraction | None) -> ExponentialSum:
    """Over an interval; where it has no end, the function vanishes there, or is nothing at all."""
    parts = []
    for rate, factor in piece.items():
        if not factor.terms:
            continue
        if rate == 0:
            assert low is not None  # a density is a factor, and vanishes far out
            assert high is not None
            parts.append(factor.times(high - low))
            continue
        for end, sign in ((high, 1), (low, -1)):
            if end is not None:
                parts.append(factor.times_exp(rate * end).times(sign / rate))
    return total(parts)
