"""How the report of one person hides among those of others: labels that reports have in common, and their counts.

Let P and Q be the laws of the report of the person whose value changes, with P <= t Q and Q <= t P, t = exp(epsilon),
and b = TV(P, Q). Let T0 and T1 be the positive and the negative part of P - Q, divided by b, and a = b/(t - 1). Then

    P = t a T0 + a T1 + w W,    Q = a T0 + t a T1 + w W,    w = 1 - (t + 1) a:

where P >= Q, P - t a T0 = Q - a T0 = (t Q - P)/(t - 1) >= 0. Of everybody else R >= max(P, Q)/t. As
max(P, Q) = t a (T0 + T1) + w W, R holds T0 and T1 with chance a each, and W with chance w/t: the crowd. Whoever is not
in the crowd is told to the attacker, with the report. What is left is the number of each label among the N reports of
the crowd and the one person: a common kernel makes the shuffled reports of it, as the set of those who are told is
uniform under both laws, given its size. Further people in the crowd are again a kernel: delta falls with N.

The public code of Wang, Peng, Li and others (arXiv:2304.05007) keeps the counts of T0 and T1 alone: no kernel makes
reports of those, as the chance that the one person has label W differs between P and Q, given the counts. Five people
who respond with one of five values at epsilon 1 have delta(0.8) >= 0.00196, and it says 0.00045. The third label mends
it; for responses, what is lost by it and by telling N is of lower order in 1/n.

Of n labels of one law pi, one replaced by a draw from P, the count (n0, n1, n2) has the multinomial chance times
sum P_j n_j/(N pi_j). So delta(level) = E[max(0, c0 n0 + c1 n1 + c2 n2)]/N, c_j = (P_j - exp(level) Q_j)/pi_j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

from flint import arb, fmpq

from dpverdict.balls import ball, precision
from dpverdict.mechanisms.local.randomizer import Region
from dpverdict.numerics.exponential_sums import ExponentialSum, total

Weights: TypeAlias = tuple[ExponentialSum, ExponentialSum, ExponentialSum]
Chances: TypeAlias = tuple[arb, arb, arb]

_BITS: Final = 192
_NODES: Final = 10
"""The size of the crowd is looked at in steps of 2^-10 of it: epsilon grows by about a quarter of that, relatively."""
_ENOUGH: Final = 2.0**-24
"""What is left out of a sum, relatively to delta."""
_SMALL: Final = 1e-60
"""A delta below this is bounded by that of a small crowd alone."""
_FIXED: Final = 96
"""Bits after the point of a number of labels that is passed."""
_LEAST: Final = 1e-290
"""What is left out at least: no smaller delta is told from 0."""
_BELOW_ONE: Final = math.nextafter(1.0, 0.0)
_ONE: Final = ExponentialSum.of(1)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The chances of three labels as weights: of the one person under both laws, and of everybody else.

    Attributes:
        one, other: the weights of T0, T1 and W under P and Q; their sums are ``whole``, and those of W are equal.
        crowd: the weights under which everybody else has such a label; what lacks to ``whole`` is told.
    """

    one: Weights
    other: Weights
    crowd: Weights
    whole: ExponentialSum

    def balls(self) -> tuple[Chances, Chances, Chances]:
        """The three lists of chances at the working precision."""
        whole = self.whole.ball()

        def chances(weights: Weights) -> Chances:
            first, second, third = ((weight.ball() / whole) if weight.terms else arb(0) for weight in weights)
            return first, second, third

        return chances(self.one), chances(self.other), chances(self.crowd)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The counts with c0 n0 + c1 n1 + c2 n2 > 0 and at least and at most so many of the first two labels.

    Attributes:
        level: the log-likelihood ratio that is passed.
        p, q: enclose its chances under the two laws.
        fewest, most: of the first two labels together.
        missed: at most so much of delta is left out by them.
    """

    level: arb
    p: arb
    q: arb
    fewest: int
    most: int
    missed: arb

    def delta(self) -> arb:
        """Encloses P - exp(level) Q: below delta(level) by at most ``missed``."""
        return self.p - self.level.exp() * self.q


# what hides a report --------------------------------------------------------------------------------------------------


def response_labels(options: int, epsilon: Fraction) -> Labels:
    """Of a response of k values: everybody reports any value with the chance of a lie, at least."""
    grown, rest = ExponentialSum.exp(epsilon), ExponentialSum.of(options - 2)
    whole = grown + ExponentialSum.of(options - 1)
    return Labels(one=(grown, _ONE, rest), other=(_ONE, grown, rest), crowd=(_ONE, _ONE, rest), whole=whole)


def randomizer_labels(regions: Sequence[Region], epsilon: Fraction) -> Labels:
    """Of any report whose two laws divide the outcomes into these regions: by its total variation, see above.

    The regions are those of every pair of values.
    """
    grown, whole = ExponentialSum.exp(epsilon), total([region.p for region in regions])
    assert not (whole - total([region.q for region in regions])).terms  # one sum for both
    gaps = [region.p - region.q for region in regions]
    apart = total([gap for gap in gaps if gap.sign() > 0])  # b
    equal = whole * (grown - _ONE) - apart * (grown + _ONE)
    a, rest = apart * grown, equal * grown
    return Labels(one=(a * grown, a, rest), other=(a, a * grown, rest), crowd=(a, a, equal), whole=rest + a + a * grown)


def told_regions(regions: Sequence[Region], *, of_q: bool) -> Labels:
    """What is released at least where everybody else has Q's value, or P's: regions where P is above, below, equal."""
    one, other = [], []
    for sign in (1, -1, 0):
        held = [region for region in regions if (region.p - region.q).sign() == sign]
        one.append(total([region.p for region in held]))
        other.append(total([region.q for region in held]))
    first, second = (one[0], one[1], one[2]), (other[0], other[1], other[2])
    return Labels(one=first, other=second, crowd=second if of_q else first, whole=total(first))


def response_of_crowd(options: int, epsilon: Fraction, value: int) -> Labels:
    """What is released where everybody else responds about one value: 0 is that of P, 1 of Q, 2 a third one."""
    grown, rest = ExponentialSum.exp(epsilon), ExponentialSum.of(options - 2)
    whole = grown + ExponentialSum.of(options - 1)
    one, other = (grown, _ONE, rest), (_ONE, grown, rest)
    third = (_ONE, _ONE, grown + ExponentialSum.of(options - 3))
    return Labels(one=one, other=other, crowd=(one, other, third)[value], whole=whole)


# binomial chances -----------------------------------------------------------------------------------------------------


def binomial_chance(number: int, successes: int, chance: arb, failure: arb) -> arb:
    """P(Bin(number, chance) = successes), 0 < chance < 1."""
    logs = arb(number + 1).lgamma() - arb(successes + 1).lgamma() - arb(number - successes + 1).lgamma()
    return (logs + successes * chance.log() + (number - successes) * failure.log()).exp()


def far_out(number: int, bound: int, chance: arb) -> arb:
    """An upper bound on P(Bin <= bound) below the mean, and on P(Bin >= bound) above it (Chernoff)."""
    if bound < 0 or bound > number:
        return arb(0)
    share = arb(bound) / number
    exponent = arb(0)
    if bound:
        exponent += bound * (share / chance).log()
    if bound < number:
        exponent += (number - bound) * ((1 - share) / (1 - chance)).log()
    return (-exponent).exp().min(arb(1))


def _reach(number: int, chance: float, rest: float, up: bool) -> int:
    """How far from the mean the remainder is about ``rest``: at most, or at least, so many successes matter."""
    need, chance = math.log(1 / rest), min(chance, _BELOW_ONE)

    def exponent(successes: int) -> float:
        x = successes / number
        found = 0.0
        if x > 0:
            found += x * math.log(x / chance)
        if x < 1:
            found += (1 - x) * math.log((1 - x) / (1 - chance))
        return number * found

    near, far = (math.ceil(number * chance), number) if up else (math.floor(number * chance), 0)
    if near == far or exponent(far) <= need:
        return far
    while abs(far - near) > 1:
        middle = (near + far) // 2
        if exponent(middle) > need:
            far = middle
        else:
            near = middle
    return far


def fixed_point(number: arb) -> tuple[int, int]:
    """Whole numbers of 2^-96 below and above."""
    scaled = number * arb(2) ** _FIXED
    below, above = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
    assert below is not None  # an end is exact
    assert above is not None
    return int(below), int(above)


class _Tail:
    """P(Bin(m, share) >= k) and P(Bin(m, share) = k), as m and k move by little."""

    def __init__(self, share: arb, rest: arb) -> None:
        self._share, self._rest = share, rest
        self._odds, self._against = share / rest, rest / share
        self._m = self._k = -1
        self.above = self.at = arb(0)

    def move(self, m: int, k: int) -> None:
        """To another m, the same or one more, and another k in 0, ..., m."""
        if self._m < 0 or m > self._m + 1 or self._k > self._m:
            self._begin(m, k)
        if m > self._m:
            if self._k:
                self.above += self._share * self.at * self._k * self._against / (m - self._k)
            self.at = self.at * m * self._rest / (m - self._k)
            self._m = m
        while self._k < k:
            self.above -= self.at
            self.at = self.at * (m - self._k) * self._odds / (self._k + 1)
            self._k += 1
        while self._k > k:
            self.at = self.at * self._k * self._against / (m - self._k + 1)
            self._k -= 1
            self.above += self.at

    def _begin(self, m: int, k: int) -> None:
        self._m, self._k = m, k
        self.at = binomial_chance(m, k, self._share, self._rest)
        self.above, term, i = arb(0), self.at, k
        while i < m:
            self.above += term
            growth = (m - i) * self._odds / (i + 1)
            term = term * growth
            i += 1
            if growth < fmpq(99, 100) and term < self.above * arb(2) ** -(_BITS + 8):
                self.above += arb(0).union(term / (1 - growth))
                return
        self.above += term


# the two sides --------------------------------------------------------------------------------------------------------


def event_of_counts(number: int, one: Chances, other: Chances, crowd: Chances, level: arb, rest: float) -> Event:
    """The event that attains delta(level) of counts of labels, one of them drawn by P or Q, the others by ``crowd``.

    Args:
        number: N, that of all labels.
        one, other, crowd: chances; those of the crowd have the sum 1; those of the third label are equal under P and Q.
        level: >= 0, below the largest log-likelihood ratio.
        rest: about how much of delta may be left out.
    """
    third = bool(crowd[2] > 0)
    c = [
        (p - level.exp() * q) / x if i < 2 or third else arb(0)
        for i, (p, q, x) in enumerate(zip(one, other, crowd, strict=True))
    ]
    two = crowd[0] + crowd[1]
    fewest = most = number
    missed = arb(0)
    if third:
        fewest, most = (_reach(number, float(two), rest, up) for up in (False, True))
        missed = c[0] * (far_out(number, fewest - 1, two) + far_out(number, most + 1, two))
        weight = binomial_chance(number, fewest, two, crowd[2])
        odds = two / crowd[2]
    else:
        weight, odds = arb(1), arb(0)
    share, lie = crowd[0] / two, crowd[1] / two
    tail = _Tail(share, lie)
    by_first, by_two, by_all = arb(0), arb(0), arb(0)
    at_m, at_n = -c[1] / (c[0] - c[1]), -c[2] / (c[0] - c[1])  # n0 is above at_m m + at_n (N - m)
    ends = [fixed_point(at_n * number), fixed_point(at_m - at_n)]  # n0 is above the first plus m times the second
    for m in range(fewest, most + 1):
        k = -((-ends[0][0] - ends[1][0] * m) >> _FIXED)
        if k <= m:
            tail.move(m, k)
            held = weight * tail.above
            by_all += held
            by_two += held * m
            by_first += weight * (tail.above * m * share + tail.at * k * lie)
            below = ends[0][1] + ends[1][1] * m - (k << _FIXED)
            if below > 0:  # k may be too small by so much: the term may be negative
                missed += weight * tail.at * (c[0] - c[1]) * arb(below) * arb(2) ** -_FIXED / number
            if below >= 1 << _FIXED:  # other terms too: nothing is known
                missed += 1
        if m < most:
            weight = weight * (number - m) * odds / (m + 1)
    sums = (by_first, by_two - by_first, by_all * number - by_two)

    def chance(law: Chances) -> arb:
        return sum((x * g / y for x, g, y in zip(sums, law, crowd, strict=True) if y > 0), arb(0)) / number

    return Event(level=level, p=chance(one), q=chance(other), fewest=fewest, most=most, missed=missed.upper())


def attained_event(number: int, labels: Labels, epsilon: Fraction) -> Event:
    """The event of counts where nobody else is told: ``crowd`` has the sum 1."""
    rest = 1e-30
    while True:
        with precision(_BITS):
            level = ball(epsilon)
            found = event_of_counts(number, *labels.balls(), level, rest)
            delta = found.delta()
        if found.missed <= delta * ball(_ENOUGH) or delta < _SMALL or rest < _LEAST:
            return found
        rest = max(rest * rest, _LEAST / 2)


def delta_of_crowd(people: int, labels: Labels, epsilon: Fraction) -> arb:
    """An upper bound on delta(epsilon) of the shuffled reports of n people, 0 <= epsilon < the local one.

    The size of the crowd is binomial; delta falls with it, so that a step of sizes has the delta of its least one.
    """
    with precision(_BITS):
        level = ball(epsilon)
        one, other, crowd = labels.balls()
        share = sum(crowd, arb(0))
        among = (crowd[0] / share, crowd[1] / share, crowd[2] / share)

        def at(size: int, rest: float) -> arb:
            event = event_of_counts(size, one, other, among, level, rest)
            return arb(1).min((event.delta() + event.missed).upper())

        others, rest = people - 1, _SMALL * _SMALL
        lowest = _reach(others, float(share), rest, up=False)
        least = at(1 + lowest, rest) + far_out(others, lowest - 1, share)
        if least < _SMALL:
            return least.upper()
        while True:
            about = float(at(1 + math.floor(others * float(share)), rest))
            if rest < about * _ENOUGH or rest < _LEAST:
                break
            rest = max(min(rest * rest, about * _ENOUGH / 2), _LEAST / 2)
        rest = max(rest, about * _ENOUGH / 2)
        lowest = _reach(others, float(share), rest, up=False)
        highest = _reach(others, float(share), 1e-4, up=True)
        found = far_out(others, lowest - 1, share) if lowest else arb(0)
        weight = binomial_chance(others, lowest, share, 1 - share) if others else arb(1)
        odds = share / (1 - share)
        size, reached = lowest, arb(0)
        while size <= highest:
            until = size + max(1, size >> _NODES)
            held = arb(0)
            for m in range(size, min(until, others + 1)):
                held += weight
                weight = weight * (others - m) * odds / (m + 1)
            if until > highest:  # the last step has all larger sizes
                held = (1 - reached).max(arb(0))
            reached += held
            found += held * at(1 + size, rest)
            size = until
        return found.upper()
