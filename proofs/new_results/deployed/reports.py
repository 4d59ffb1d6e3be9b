"""Results of this project on reports by structure, and on quantiles: few kinds of outcomes have the law of them all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

from sympy import Symbol

from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.finite.quantile import IntervalQuantile
from dpverdict.mechanisms.local.randomizer import CategoricalRandomizer
from dpverdict.mechanisms.local.subsets import HadamardResponse, SubsetSelection
from dpverdict.mechanisms.local.unary import BITS, Bits, UnaryEncoding
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.proofs.checks.identities import Expr, identity
from dpverdict.proofs.checks.outcome import Findings, Standing
from dpverdict.proofs.checks.statement import Plant, result
from dpverdict.proofs.checks.vertices import every

ROOT = 3
"""exp(epsilon/2), with which everything here is rational."""
GROWN = ROOT**2

Kinds = dict[Fraction, tuple[Fraction, Fraction]]
"""The chances under P and Q of all outcomes of one likelihood ratio, by the ratio."""


class Structures(NamedTuple):
    """The mechanisms, with epsilon = 1: of (k, bits), of (k, w), of k."""

    unary: Callable[[int, Bits], CategoricalRandomizer]
    subsets: Callable[[int, int], CategoricalRandomizer]
    hadamard: Callable[[int], CategoricalRandomizer]


STRUCTURES = Structures(
    lambda k, bits: UnaryEncoding(options=k, epsilon=1, bits=bits),
    lambda k, w: SubsetSelection(options=k, epsilon=1, subset=w),
    lambda k: HadamardResponse(options=k, epsilon=1),
)


def _kinds(weights: Iterable[tuple[Fraction, Fraction]]) -> Kinds:
    """Normalised."""
    pairs = list(weights)
    p_all, q_all = (sum((pair[side] for pair in pairs), Fraction(0)) for side in (0, 1))
    found: Kinds = {}
    for p, q in pairs:
        if p or q:
            ratio = Fraction(p * q_all, q * p_all)
            mine, others = found.get(ratio, (Fraction(0), Fraction(0)))
            found[ratio] = mine + p / p_all, others + q / q_all
    return found


def _stated(made: CategoricalRandomizer, here: int, there: int) -> Kinds:
    """What a mechanism states of two values, with another number for exp(1/2) than the true one."""

    def at(weight: ExponentialSum) -> Fraction:
        return sum((factor * Fraction(ROOT) ** int(2 * power) for power, factor in weight.terms.items()), Fraction(0))

    return _kinds((at(region.p), at(region.q)) for region in made.regions(Fraction(here), Fraction(there)))


def _all_bits(k: int, bits: Bits) -> Kinds:
    own = Fraction(ROOT, ROOT + 1) if bits == "symmetric" else Fraction(1, 2)
    other = Fraction(1, ROOT + 1) if bits == "symmetric" else Fraction(1, GROWN + 1)

    def chance(value: int, row: tuple[int, ...]) -> Fraction:
        found = Fraction(1)
        for i, bit in enumerate(row):
            one = own if i == value else other
            found *= one if bit else 1 - one
        return found

    return _kinds((chance(0, row), chance(1, row)) for row in itertools.product((0, 1), repeat=k))


def _all_subsets(k: int, w: int) -> Kinds:
    def weight(value: int, held: tuple[int, ...]) -> Fraction:
        return Fraction(GROWN if value in held else 1)

    return _kinds((weight(0, held), weight(1, held)) for held in itertools.combinations(range(k), w))


def _all_columns(k: int, here: int, there: int) -> Kinds:
    """By Sylvester's doubling of the matrix."""
    rows = [[1]]
    while len(rows) <= k:
        rows = [row + row for row in rows] + [row + [-entry for entry in row] for row in rows]
    one, other = ([Fraction(GROWN if entry > 0 else 1) for entry in rows[value + 1]] for value in (here, there))
    return _kinds(zip(one, other, strict=True))


@result(
    number="dep.new.kinds",
    expected=Standing.HOLDS_ON_RANGE,
    text="Of two values, all lists of k bits of a unary encoding have the loss of two bits; all subsets of w of k "
    "values that of which of the two they hold; all columns of a Hadamard matrix that of quarters of equal signs.",
    printed=STRUCTURES,
    planted=(
        Plant(
            "lists of bits", "the other bits", STRUCTURES._replace(unary=lambda k, bits: UnaryEncoding(
                options=k, epsilon=1, bits=BITS[1 - BITS.index(bits)]
            ))
        ),
        Plant(
            "subsets", "one value less in a set", STRUCTURES._replace(subsets=lambda k, w: SubsetSelection(
                options=k, epsilon=1, subset=max(1, w - 1) if w > 1 else 2
            ))
        ),
        Plant(
            "columns", "symmetric bits", STRUCTURES._replace(hadamard=lambda k: UnaryEncoding(
                options=k, epsilon=1, bits="symmetric"
            ))
        ),
    ),
)  # fmt: skip
def kinds_of_reports(claim: Structures) -> Findings:
    """What the mechanisms state, with 3 for exp(1/2), against every outcome that is written out, in rationals."""
    bits: list[tuple[int, Bits]] = [(k, which) for k in range(2, 8) for which in BITS]
    yield every(
        "lists of bits",
        bits,
        lambda case: _stated(claim.unary(*case), 0, 1) == _all_bits(*case),
        over="number of bits, and which",
        cases=12,
        argued="any k: bits of one law in both cancel",
    )
    sets = [(k, w) for k in range(3, 9) for w in range(1, k)]
    yield every(
        "subsets",
        sets,
        lambda case: _stated(claim.subsets(*case), 0, 1) == _all_subsets(*case),
        over="k, w",
        cases=27,
        argued="any k: the shares are those of hypergeometric counts",
    )
    rows = [(k, a, b) for k in (2, 3, 5, 7, 12) for a, b in itertools.combinations(range(k), 2)]
    yield every(
        "columns",
        rows,
        lambda case: _stated(claim.hadamard(case[0]), case[1], case[2]) == _all_columns(*case),
        over="k, v, w: of two values",
        cases=101,
        argued="any k: rows of a Hadamard matrix are orthogonal, to each other and to the first",
    )


# quantiles ------------------------------------------------------------------------------------------------------------


class Range(NamedTuple):
    """delta of (R, u), R = e^(reach/2) and u = e^(epsilon/2); and how far ranks move, of (q, a record is replaced)."""

    delta: Callable[[Expr, Expr], Expr]
    move: Callable[[Fraction, bool], Fraction]


def _stated_move(q: Fraction, replaced: bool) -> Fraction:
    adjacency = REPLACE_ONE if replaced else ADD_OR_REMOVE_ONE
    return IntervalQuantile(quantile=q, low=0, high=1, epsilon=1, adjacency=adjacency).move


RANGE = Range(lambda R, u: (R - u) ** 2 / (R**2 - 1), _stated_move)


@result(
    number="dep.new.range",
    expected=Standing.HOLDS_ON_RANGE,
    text="The losses of a quantile drawn on an interval lie in a range of m times the rate, m = 2 where a record is "
    "replaced and 2 max(q, 1 - q) where one is added or removed; and two stretches of the interval attain, at every "
    "epsilon, the delta of that range.",
    formula=r"\delta(\varepsilon) = \frac{(e^{m r/2} - e^{\varepsilon/2})^2}{e^{m r} - 1}",
    printed=RANGE,
    planted=(
        Plant("the loss that tells most", "e^(m r) + 1", RANGE._replace(delta=lambda R, u: (R - u) ** 2 / (R**2 + 1))),
        Plant("no other loss tells more", "e^(m r) + 1", RANGE._replace(delta=lambda R, u: (R - u) ** 2 / (R**2 + 1))),
        Plant("ranks of a dataset", "1", RANGE._replace(move=lambda q, replaced: Fraction(1))),
        Plant("two stretches", "e^(m r) + 1", RANGE._replace(delta=lambda R, u: (R - u) ** 2 / (R**2 + 1))),
    ),
    assumptions=("laws of losses in a range are mixtures of two losses at its ends (Dong, Durfee and Rogers 2020)",),
)
def range_of_quantiles(claim: Range) -> Findings:
    """Two outcomes with losses t and t - reach, x = e^t: P of the first is (R^2/x - 1)/((R^2 - 1)/x)."""
    R, u, x = (Symbol(name, positive=True) for name in ("R", "u", "x"))
    told = (R**2 / x - 1) / ((R**2 - 1) / x) * (1 - u**2 / x)
    yield identity("the loss that tells most", told.subs(x, R * u), claim.delta(R, u), domain="R > 1")
    yield identity(
        "no other loss tells more",
        claim.delta(R, u) - told,
        (x - R * u) ** 2 / (x * (R**2 - 1)),
        domain="R > 1: the right side is not negative",
    )
    shares = [(Fraction(n, 12), replaced) for n in range(1, 12) for replaced in (False, True)]
    yield every(
        "ranks of a dataset",
        shares,
        lambda case: _largest_move(*case) == claim.move(*case),
        over="a quantile, and whether a record is replaced",
        cases=22,
        argued="any q: a rank moves by 1 at most, and q n by q",
    )
    levels = [(Fraction(R), Fraction(u)) for R in (2, 3, 5) for u in (1, Fraction(3, 2))]
    yield every(
        "two stretches",
        levels,
        lambda case: _two_stretches(*case) == claim.delta(*case),
        over="R, u: the median of a value that is replaced",
        cases=6,
        argued="other quantiles: by lengths of the stretches that give the same chances",
    )


def _largest_move(q: Fraction, replaced: bool) -> Fraction:
    """Every rank of up to 24 values, at a point that the value passes, or does not."""
    largest = Fraction(0)
    for n, turn in itertools.product(range(1, 25), (1, -1) if replaced else (-1,)):
        after = n if replaced else n - 1
        moves = [
            abs(rank + moved - q * after) - abs(rank - q * n)
            for rank in range(n + 1)
            for moved in (0, turn)
            if 0 <= rank + moved <= after
        ]
        largest = max(largest, max(moves) - min(moves))
    return largest


def _two_stretches(R: Fraction, u: Fraction) -> Fraction:
    """The values 0 and x in [0, 1], 0 replaced by 1; R = e^rate is e^(2 rate/2). Densities are 1 where one value is
    below, else 1/R; x gives the first stretch the chance under P that makes its loss R u.
    """
    favoured = (R**2 - R * u) / (R**2 - 1)
    odds = favoured / (1 - favoured) / R
    first, second = odds / (1 + odds), 1 / (1 + odds)
    # below x: one value of {0, x}, none of {x, 1}; above x: two of the former, one of the latter
    p = [first, second / R]
    q = [first / R, second]
    here, there = ([weight / sum(side) for weight in side] for side in (p, q))
    return sum((max(a - u**2 * b, Fraction(0)) for a, b in zip(here, there, strict=True)), Fraction(0))
