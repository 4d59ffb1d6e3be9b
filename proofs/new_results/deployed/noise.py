"""Results of this project on noise: which user of many records tells most, and presence and value of keys together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import ball, float_down, float_up, precision
from dpverdict.mechanisms.sums.contributions import ContributionBounds
from dpverdict.proofs.checks.outcome import Findings, Method, Standing
from dpverdict.proofs.checks.statement import Plant, result
from dpverdict.proofs.checks.vertices import every

Shift = tuple[int, int]
User = list[tuple[Fraction, int]]


class Shifts(NamedTuple):
    """Bounds on the hockey-stick divergence of noise on two sums that move so far, of (shift, epsilon); and the user
    who tells most, of (keys, largest sum, bound on the l1 norm), as sums with their numbers of keys.
    """

    lower: Callable[[Shift, Fraction], float]
    upper: Callable[[Shift, Fraction], float]
    user: Callable[[int, int, int], User]


def _laplace(shift: Shift) -> LaplaceLoss:
    return LaplaceLoss.grouped([(Fraction(abs(move), 4), 1) for move in shift if move])


def _named_user(keys: int, most: int, l1: int) -> User:
    bounds = ContributionBounds(
        dim=keys, keys=keys, per_key=1, low=Fraction(0), high=Fraction(most), l1=Fraction(l1), l2=None
    )
    return bounds.largest_user()


def _cauchy_below(shift: Shift, epsilon: Fraction) -> float:
    """P less Q of an event, where both sums move by a: both numbers are below a/2, or one is within a/3 of 0 and the
    other above a/2 and not within a/3 of a.
    """
    if shift[0] != shift[1] or epsilon:
        return 0.0

    def below(t: Fraction) -> arb:
        return (1 + 2 * ball(t).atan() / arb.pi()) / 2

    a = Fraction(shift[0])
    half, near = a / 2, a / 3
    with precision(128):
        within = below(near) - below(-near)
        p = below(half) ** 2 + 2 * within * (below(a - near) - below(half) + 1 - below(a + near))
        from_far = below(near - a) - below(-near - a)
        q = below(-half) ** 2 + 2 * from_far * (below(-near) - below(-half) + 1 - below(near))
        return float_down(p - q)


def _cauchy_above(shift: Shift, epsilon: Fraction) -> float:
    """Of one sum that moves by a the total variation is (2/pi) arctan(a/2)."""
    if 0 not in shift or epsilon:
        return 1.0
    with precision(128):
        return float_up(2 * (ball(Fraction(sum(map(abs, shift)), 2))).atan() / arb.pi())


SHIFTS = Shifts(
    lambda shift, epsilon: _laplace(shift).certified_delta(epsilon).lower,
    lambda shift, epsilon: _laplace(shift).certified_delta(epsilon).upper,
    _named_user,
)
PAIRS: tuple[tuple[Shift, Shift], ...] = (
    ((60, 0), (0, 60)),
    ((2, 0), (0, 2)),
    ((6, 2), (2, 6)),
    ((4, 2), (-2, 4)),
    ((8, 4), (4, -2)),
)


@result(
    number="dep.new.shift",
    expected=Standing.HOLDS_ON_RANGE,
    text="The hockey-stick divergence of log-concave noise is quasi-convex in the shift; so of users with at most k "
    "sums of at most M and an l1 norm of at most L the one of floor(L/M) sums of M and one of the rest tells most.",
    formula=r"H\left(\frac{v + w}{2}\right) \leq \max(H(v), H(w))",
    printed=SHIFTS,
    planted=(
        Plant("the middle of two shifts", "Cauchy noise", SHIFTS._replace(lower=_cauchy_below, upper=_cauchy_above)),
        Plant(
            "the user majorises all",
            "without the rest",
            SHIFTS._replace(user=lambda k, most, l1: [(Fraction(most), min(k, l1 // most))]),
        ),
    ),
    assumptions=(
        "the integral of a log-concave function over some of its variables is log-concave (Prékopa 1973)",
        "a symmetric quasi-convex function of vectors grows with majorisation (Marshall, Olkin and Arnold 2011, 3.C.3)",
    ),
)
def shifts_of_noise(claim: Shifts) -> Findings:
    """1 - H(v) is the integral of min(f(x - v), e^epsilon f(x)), of which both are log-concave in (x, v).

    The middle of two shifts is looked at of Laplace noise of scale 4 on two sums, in outward rounded numbers.
    """
    cases = [(v, w, epsilon) for v, w in PAIRS for epsilon in (Fraction(0), Fraction(1, 8))]

    def quasi_convex(case: tuple[Shift, Shift, Fraction]) -> bool | None:
        v, w, epsilon = case
        middle = ((v[0] + w[0]) // 2, (v[1] + w[1]) // 2)
        if claim.upper(middle, epsilon) <= max(claim.lower(v, epsilon), claim.lower(w, epsilon)):
            return True
        above = max(claim.upper(v, epsilon), claim.upper(w, epsilon))
        return False if claim.lower(middle, epsilon) > above else None

    yield every(
        "the middle of two shifts",
        cases,
        quasi_convex,
        over="two shifts and an epsilon",
        cases=10,
        method=Method.BALLS,
        argued="any shifts: the minimum of log-concave functions is log-concave",
    )
    users = [(keys, most, l1) for keys in (1, 2, 3) for most in (2, 3, 4) for l1 in range(1, 10)]
    yield every(
        "the user majorises all",
        users,
        lambda case: all(_majorises(claim.user(*case), user) for user in _users(*case)),
        over="k, M, L: of whole sums",
        cases=81,
        argued="other sums: partial sums are at most j M and at most L, which the named user attains",
    )


def _users(keys: int, most: int, l1: int) -> Iterator[tuple[int, ...]]:
    """Whole sums in falling order."""
    for sums in itertools.combinations_with_replacement(range(most, -1, -1), keys):
        if sum(sums) <= l1:
            yield sums


def _majorises(user: User, other: Sequence[int]) -> bool:
    """Whether every partial sum is at least as large."""
    sums = [size for size, number in user for _ in range(number)] + [Fraction(0)] * len(other)
    return all(a >= b for a, b in zip(itertools.accumulate(sums), itertools.accumulate(other), strict=False))


# presence and value of keys -------------------------------------------------------------------------------------------

Pairs = list[tuple[Fraction, Fraction]]


class JointProfile(NamedTuple):
    """delta of j new keys, of (s, j, e^epsilon, the profile of the old ones); and which j of k there are."""

    delta: Callable[[Fraction, int, Fraction, Callable[[Fraction], Fraction]], Fraction]
    divisions: Callable[[int], Sequence[int]]


JOINT = JointProfile(lambda s, j, grown, old: 1 - s**j + s**j * old(grown / s**j), lambda k: range(k + 1))
THRESHOLD = 3
NUMBERS = 12
"""Released counts that are written out: larger ones have the likelihood ratio of the last, and are taken with it."""


def _law(count: int, ratio: Fraction) -> list[Fraction]:
    """Withheld, then each number from the threshold on: noise with P(z) = (1 - a)/(1 + a) a^|z|, a rational."""
    if not count:
        return [Fraction(1)] + [Fraction(0)] * NUMBERS
    whole = [(1 - ratio) / (1 + ratio) * ratio ** abs(THRESHOLD + at - count) for at in range(NUMBERS)]
    whole[-1] /= 1 - ratio  # and all beyond, where counts lie below
    return [1 - sum(whole, Fraction(0)), *whole]


def _moved(count: int, ratio: Fraction) -> Pairs:
    """A key that one user more has."""
    return list(zip(_law(count + 1, ratio), _law(count, ratio), strict=True))


def _profile(keys: Sequence[Pairs], grown: Fraction) -> Fraction:
    """sum (P - e^epsilon Q)_+ of independent keys, every outcome written out."""
    found: dict[Fraction | None, Fraction] = {Fraction(1): Fraction(1)}  # Q by P/Q; P alone where Q is 0
    for key in keys:
        after: dict[Fraction | None, Fraction] = {}
        for ratio, q in found.items():
            for p_next, q_next in key:
                if ratio is None or not q_next:
                    at, mass = None, (q if ratio is None else ratio * q) * p_next
                else:
                    at, mass = ratio * p_next / q_next, q * q_next
                after[at] = after.get(at, Fraction(0)) + mass
        found = after
    alone = found.pop(None, Fraction(0))
    return alone + sum((max(r - grown, Fraction(0)) * q for r, q in found.items() if r is not None), Fraction(0))


@result(
    number="dep.new.keys",
    expected=Standing.HOLDS_ON_RANGE,
    text="Of noisy counts above a threshold, j of a user's k keys new and the others large, presence and value "
    "together have delta = 1 - s^j + s^j delta'(epsilon - j log s), s the chance that a new key is withheld; the "
    "largest over j is the largest over all counts that others have.",
    formula=r"\delta_j(\varepsilon) = 1 - s^j + s^j\, \delta'_{k-j}(\varepsilon - j \log s)",
    printed=JOINT,
    planted=(
        Plant(
            "presence and value together",
            "epsilon for epsilon - j log s",
            JOINT._replace(delta=lambda s, j, grown, old: 1 - s**j + s**j * old(grown)),
        ),
        Plant("no other counts tell more", "old keys alone", JOINT._replace(divisions=lambda k: (0,))),
    ),
)
def presence_and_value(claim: JointProfile) -> Findings:
    """Geometric noise of a rational ratio: every outcome of one or two keys, in rational numbers, m = 1.

    A user is removed: the direction in which new keys show; counts of others up to three above the threshold.
    """
    ratios, levels = (Fraction(1, 2), Fraction(2, 3)), (Fraction(1), Fraction(5, 4), Fraction(2))
    cases = [(k, ratio, grown) for k in (1, 2) for ratio in ratios for grown in levels]
    far = THRESHOLD + 3

    def stated(k: int, j: int, ratio: Fraction, grown: Fraction) -> Fraction:
        old = [_moved(far, ratio)] * (k - j)
        return claim.delta(_law(1, ratio)[0], j, grown, lambda level: _profile(old, level))

    yield every(
        "presence and value together",
        cases,
        lambda case: all(
            stated(case[0], j, *case[1:])
            == _profile([_moved(0, case[1])] * j + [_moved(far, case[1])] * (case[0] - j), case[2])
            for j in range(case[0] + 1)
        ),
        over="k, a, e^epsilon: of new keys, and old ones above the threshold",
        cases=12,
        argued="other noise: what one dataset alone can release shows for certain, and the rest is a product",
    )
    yield every(
        "no other counts tell more",
        cases,
        lambda case: all(
            _profile([_moved(count, case[1]) for count in counts], case[2])
            <= max(stated(case[0], j, *case[1:]) for j in claim.divisions(case[0]))
            for counts in itertools.combinations_with_replacement(range(far + 1), case[0])
        ),
        over="k, a, e^epsilon: of 7 counts that others may have",
        cases=12,
        argued="other noise: a count that is cut off tells no more than the noisy count",
    )
