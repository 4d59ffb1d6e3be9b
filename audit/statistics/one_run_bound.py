"""How many inclusion bits can be guessed right from one run: the tail of a private guessing game, bounded from above.

The game. Bits S in {0, 1}^m are fair and independent; the canary i is in the dataset iff S_i = 1. From the output of
ONE run exactly r bits are guessed, m - r are left open. G(w) = P(w guesses are right), and delta(epsilon) is the
claimed profile under adding or removing one record, at any real epsilon.

Lemma. For every set A of counts, and every epsilon,

    sum over w in A of w G(w)  <=  exp(epsilon) sum over w in A of (r - w + 1) G(w - 1)  +  m delta(epsilon).

Proof. For a coordinate i take the event "bit i is guessed right, and w in A are right in all" of the output. Flip S_i:
the same guesses are then right in w - 1 places and wrong at i. The claim bounds P under S by exp(epsilon) P under the
flipped bits, plus delta(epsilon). Average over S, which the flip leaves uniform, and add up over i: a vector of guesses
with w right has w coordinates that are right, and one with w - 1 right has r - w + 1 that are wrong.

Tails. Let nu >= 0 weigh finitely many pairs (A, epsilon), and let y be such that for every j in 0..r

    y + j [sum of nu over A containing j] - (r - j) [sum of nu exp(epsilon) over A containing j + 1]  >=  1{j >= v}.

Multiplied by G(j) and summed this says P(W >= v) <= y + m [sum of nu delta(epsilon)] (duality of linear programs). Two
choices are solved from j = 0 upwards, each tight for every j that matters:

* `tail_from_one_epsilon`: one epsilon, and intervals around v. For delta = 0 it is the binomial tail of randomised
  response.
* `tail_from_curve`: the sets {w, .., r}, w = 1..v, each at an epsilon of its own: all points of the curve at once.

Every choice is valid, so the least of them is, without any correction: all bound the same number P(W >= v).

How many guesses. The lemma is about r guesses whatever the output is: r must not depend on the output, so neither on
revealed bits together with scores, because the scores of the revealed canaries come from the same run. (With r free to
depend on it, P(W_r >= v_r) = sum over r of P(r, W >= v_r) <= max y_r + sum over r of m nu_r delta: the costs of all r
add up, which takes more than sharing the error among them.) But r may depend on the hypothesis:
`best_number_of_guesses` takes the r for which canaries of Gaussian scores need to be told apart least to break that
hypothesis, and nothing else.

A lower bound is then a walk through fixed bands of the parameter, from below (`lower_bound_through_bands`). In a band r
is fixed; a band whose upper end is rejected is left for the next one; the walk ends in the first band that is not left,
at the largest rejected parameter in it. The error is not divided: let the true parameter lie in the band b. A bound
above it means that a larger parameter of b was rejected, with the r of b: a tail bound of a larger hypothesis, at most
the level. It bounds the same tail under the true one, which implies the larger; and of the counts v with such a bound
the least has at most the level of probability at and above it.

The bound of one epsilon is the largest win of any (epsilon, delta) mechanism: a linear program in the tests attains it.
So the bound P[Bin >= v] + 2 m delta max_i P[v > Bin >= v - i]/i of the first paper cannot be below it, and yet is where
v is below the mean of Bin (m = r = 3, v = 1, epsilon = 1, delta = 0.05: 0.9864, and a mechanism that wins with 0.9986).

References: the game, and its tail for (epsilon, delta): T. Steinke, M. Nasr, M. Jagielski, Privacy auditing with one
(1) training run (NeurIPS 2023), arXiv:2305.08846, Section 5 and the code of Appendix D. The recursion over {w, .., r}
for a trade-off function: S. Mahloujifar, L. Melis, K. Chaudhuri, Auditing f-differential privacy in one run (ICML
2025), arXiv:2410.22235; `tail_from_curve` takes from it which epsilon to use where, and proves its own bound. The lemma
with sets A, and its use here, are ours.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from dpverdict.audit.statistics.error_budget import divide_error
from dpverdict.audit.statistics.payoffs import Profile
from dpverdict.mechanisms.core.guarantees import ApproximateDP, PureDP
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.roots import bisected, float_above

EPSILONS: Final = 241
"""Points of the claimed curve that are used, evenly spaced."""
FRACTIONS: Final = (1.0, 0.92, 0.83, 0.7, 0.6, 0.5, 0.35, 0.25, 0.18, 0.12, 0.085, 0.06, 0.04, 0.025, 0.0125)
"""Of the canaries, that may be guessed: few guesses are surer, many are more."""
FEWEST_GUESSES: Final = 10
DESIGNED: Final = 0.85
"""Of the error, for the number of guesses that suits Gaussian scores; the others share the rest."""
OTHERS: Final = (1.0, 0.35, 0.12, 0.04)
MOST_FOR_CURVE: Final = 20_000
"""Guesses up to which all points of the curve are used: that takes time in proportion."""
_POWER: Final = 0.5
"""Standard deviations by which the number of right guesses is to exceed what is needed."""
_PAD: Final = 1e-9
"""Relative: sums of at most a few million positive terms, each of a few roundings."""
_STEPS: Final = 40


def guessing_tail_upper(profile: Profile, *, correct: int, guesses: int, canaries: int) -> float:
    """At least P(W >= correct) under the claim, in [0, 1].

    Args:
        profile: the claimed privacy profile, under adding or removing one record, in both orders.
        correct: v, in 0..guesses.
        guesses: r, in 1..canaries; exactly so many are made, whatever the output is.
        canaries: m.

    >>> from dpverdict.mechanisms.core.guarantees import PureDP
    >>> round(guessing_tail_upper(PureDP(0), correct=9, guesses=10, canaries=10), 6), 11 / 1024
    (0.010742, 0.0107421875)
    """
    return guessing_tail_of_points(*profile_points(profile), correct, guesses, canaries)


def guessing_tail_of_points(
    epsilons: Array, deltas: Array, v: int, r: int, m: int, enough: Callable[[float], bool] = lambda _: False
) -> float:
    """`guessing_tail_upper` from points of a curve; once a bound is ``enough`` no better one is looked for."""
    if v == 0:
        return 1.0
    positive = epsilons >= 0
    best = min(1.0, float(tail_from_one_epsilon(epsilons[positive], deltas[positive], v, r, m).min()) * (1 + _PAD))
    if enough(best) or len(epsilons) == 1 or v > MOST_FOR_CURVE:
        return best
    return min(best, tail_from_curve(epsilons, deltas, v, r, m) * (1 + _PAD))


def shared_guesses(epsilons: Array, deltas: Array, m: int, level: float) -> list[tuple[int, float]]:
    """Numbers of guesses that test one hypothesis, each with its share of the level; the shares sum to at most it."""
    best = best_number_of_guesses(epsilons, deltas, m, level)
    others = sorted({r for r in (_even_number(fraction, m) for fraction in OTHERS) if r >= FEWEST_GUESSES} - {best})
    weights = {str(best): DESIGNED} | {str(r): (1 - DESIGNED) / len(others) for r in others}
    shares = divide_error(level, weights)
    return [(r, shares[str(r)]) for r in (best, *others)]


def best_number_of_guesses(epsilons: Array, deltas: Array, m: int, level: float) -> int:
    """The number of guesses at which Gaussian scores need the smallest shift to reject the curve of these points.

    It decides the power alone. All canaries, if no number of right guesses is enough.
    """
    sizes = [r for r in dict.fromkeys(_even_number(fraction, m) for fraction in FRACTIONS) if r >= FEWEST_GUESSES]
    if not sizes:
        return _even_number(1.0, m)
    r = np.array(sizes)
    positive = epsilons >= 0
    at = epsilons[positive], deltas[positive]
    low, high = r // 2, r + 1  # the least v that rejects is above low, and at most high; r + 1 stands for none
    while np.any(high - low > 1):
        middle = np.maximum((low + high) // 2, 1)
        tails = tail_from_one_epsilon(*at, np.minimum(middle, r)[:, np.newaxis], r[:, np.newaxis], m).min(axis=1)
        enough = (tails <= DESIGNED * level) & (middle <= r)
        open_ = high - low > 1
        high, low = np.where(open_ & enough, middle, high), np.where(open_ & ~enough, middle, low)
    shifts, accuracy = _accuracies_by_shift(tuple((r / m).tolist()))
    expected = r * accuracy - _POWER * np.sqrt(r * accuracy * (1 - accuracy))
    reached = (expected >= high) & (high <= r)
    needed = np.where(reached.any(axis=0), shifts[reached.argmax(axis=0)], np.inf)
    return sizes[int(needed.argmin())]


@lru_cache(maxsize=64)
def _accuracies_by_shift(fractions: tuple[float, ...]) -> tuple[Array, Array]:
    """Shifts s, and for each and each fraction of extreme scores the part of guesses right, of N(0, 1) and N(s, 1)."""
    from scipy import special

    shifts = np.geomspace(0.02, 40, 400)
    s, tail_share = shifts[:, np.newaxis], np.array(fractions) / 2
    low, high = np.zeros((len(shifts), len(fractions))), np.full((len(shifts), len(fractions)), 80.0)
    for _ in range(50):  # the threshold, from the middle between the two laws
        t = (low + high) / 2
        more = (special.ndtr(s / 2 - t) + special.ndtr(-s / 2 - t)) / 2 > tail_share
        low, high = np.where(more, t, low), np.where(more, high, t)
    right, wrong = special.ndtr(s / 2 - low), special.ndtr(-s / 2 - low)
    return shifts, right / (right + wrong)


def _even_number(fraction: float, m: int) -> int:
    return 2 * max(math.floor(fraction * m / 2), 1)


def lower_bound_through_bands(
    ends: Iterable[float],
    numbers: Callable[[float], Sequence[tuple[int, float]]],
    rejected: Callable[[float, int, float], bool],
    close: Callable[[float, float], bool],
) -> tuple[float, Sequence[tuple[int, float]]]:
    """A lower bound on a parameter by a walk through bands, see the module; 0 says nothing.

    Args:
        ends: the upper ends of the bands, increasing.
        numbers: from such an end to the numbers of guesses in its band, with their shares of the level.
        rejected: whether a parameter is rejected by so many guesses, at a share.
        close: whether two ends of a bracket are close enough.

    Returns:
        The bound, and the numbers of guesses of the band in which the walk ended.
    """
    low: float = 0.0
    used: Sequence[tuple[int, float]] = ()
    for end in ends:
        band = used = numbers(end)

        def broken(value: float, band: Sequence[tuple[int, float]] = band) -> bool:
            return value > 0 and any(rejected(value, r, share) for r, share in band)

        if not broken(end):
            return bisected(broken, low, end, close=close)[0], used
        low = end
    return low, used


def profile_points(profile: Profile) -> tuple[Array, Array]:
    """Points of a curve: epsilons up to where delta hardly falls any more, with their deltas, rounded up."""
    if isinstance(profile, PureDP | ApproximateDP):
        most = min(float_above(profile.epsilon), 600.0)  # a corner of the curve, beyond which it is flat
    else:
        most = 0.5
        while most < 64 and float(np.asarray(profile.delta_upper(np.array([most])))[0]) > 1e-12:
            most *= 1.5
    epsilons = np.linspace(-most, most, EPSILONS) if most > 0 else np.zeros(1)
    return epsilons, np.asarray(profile.delta_upper(epsilons), dtype=np.float64)


def tail_from_one_epsilon(epsilons: Array, deltas: Array, v: int | Integers, r: int | Integers, m: int) -> Array:
    """The bound from one point of the curve, for each point: shape (n,) to shape (n,). The arguments broadcast.

    With p = e^epsilon/(1 + e^epsilon) and B ~ Bin(r, p), of mass b: y = P(B >= v), and the weights mu_w of the counts,
    the sums of nu over A containing w, rise up to v and fall from there. Equality at every j gives

        w b(w) mu_w = P(B >= v) P(B < w) for w <= v,  and  P(B < v) P(B >= w) beyond,

    so the largest is mu_v, and intervals around v cost it once: P(W >= v) <= P(B >= v) + m delta mu_v.
    """
    from scipy import special

    p = special.expit(epsilons)
    above, below = special.betainc(v, r - v + 1, p), special.betaincc(v, r - v + 1, p)
    log_mass = special.gammaln(r + 1) - special.gammaln(v + 1) - special.gammaln(r - v + 1)
    log_mass = log_mass + v * special.log_expit(epsilons) + (r - v) * special.log_expit(-epsilons)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # P(B >= v)/b(v); where these underflow, the geometric series that bounds it beyond the mean.
        ratio = (r - v) * np.exp(epsilons) / (v + 1)
        series = np.where(ratio < 1, 1 / (1 - ratio), np.inf)
        relative = np.where((above > 1e-250) & (log_mass > -575), above / np.exp(log_mass), series)
        cost = np.where(deltas > 0, m * deltas * relative * below / v, 0.0)
    cost = np.where(np.isnan(cost), np.inf, cost)
    bounds: Array = np.minimum(above + cost * (1 + 1e-6), 1.0)
    return bounds


def tail_from_curve(epsilons: Array, deltas: Array, v: int, r: int, m: int) -> float:
    """The bound from all points of the curve: any choice of them is valid, the best one is searched for.

    For a guess t of the tail the cheapest law puts t on v, and below v as little as the curve allows; the points of the
    curve that it touches are those to use. The guess with which the probabilities of that law sum to 1 is the tail.
    """
    # R <= e^epsilon L + delta, so L >= (R - delta)/e^epsilon for every point: the upper envelope of lines in R.
    slopes, intercepts, at = _upper_envelope(np.exp(-epsilons), -deltas * np.exp(-epsilons), epsilons)
    breaks = [
        (intercepts[i] - intercepts[i + 1]) / (slopes[i + 1] - slopes[i]) for i in range(len(slopes) - 1)
    ]  # increasing
    found = [1.0]
    delta_at = dict(zip(epsilons.tolist(), deltas.tolist(), strict=True))

    def too_little(log_tail: float) -> bool:
        total, used = _cheapest_law(math.exp(log_tail), v, r, m, slopes, intercepts, breaks)
        found.append(_dual_bounds([at[i] for i in used], [delta_at[at[i]] for i in used], v, r, m))
        return not total > r / m

    bisected(too_little, math.log(1e-100), 0.0, steps=_STEPS, close=lambda low, high: high - low < 1e-6)
    return min(found)


def _upper_envelope(slopes: Array, intercepts: Array, names: Array) -> tuple[list[float], list[float], list[float]]:
    """The lines of an upper envelope by increasing slope."""
    kept: list[tuple[float, float, float]] = []
    order = np.lexsort((intercepts, slopes))
    for i in order.tolist():
        a, b, name = float(slopes[i]), float(intercepts[i]), float(names[i])
        while kept and (
            kept[-1][0] == a
            or (
                len(kept) > 1
                and (kept[-2][1] - b) * (kept[-1][0] - kept[-2][0]) <= (kept[-2][1] - kept[-1][1]) * (a - kept[-2][0])
            )
        ):
            kept.pop()
        kept.append((a, b, name))
    return [a for a, _, _ in kept], [b for _, b, _ in kept], [name for _, _, name in kept]


def _cheapest_law(
    guess: float, v: int, r: int, m: int, slopes: list[float], intercepts: list[float], breaks: list[float]
) -> tuple[float, list[int]]:
    """R(0) + L(0) of the cheapest law with P(W >= v) = guess, and the line of each step w = 1..v."""
    right, wrong = guess * v / m, guess * (r - v) / m
    used = []
    for w in range(v, 0, -1):
        i = bisect_right(breaks, right)
        used.append(i)
        needed = slopes[i] * right + intercepts[i]
        if needed > wrong:
            right += (w - 1) / (r - w + 1) * (needed - wrong)
            wrong = needed
    return right + wrong, used[::-1]


def _dual_bounds(epsilons: list[float], deltas: list[float], v: int, r: int, m: int) -> float:
    """y + m sum nu delta for the sets {w, .., r} at the w-th epsilon, scaled so that the constraint at v is met.

    With y = 1 before scaling, Lambda and E the sums of nu and of nu e^epsilon over the sets up to j: equality at j < v
    is E_(j+1) = (1 + j Lambda_j)/(r - j), which increases in j, so every nu is positive; and v is met by the scale
    1 + v Lambda_v - (r - v) E_v. Beyond v the left side increases.
    """
    lam, lost, reached, cost = 0.0, 0.0, 0.0, 0.0
    for j in range(v):
        needed = (1 + j * (lam + lost)) / (r - j)
        nu = max(needed - reached, 0.0) * math.exp(-epsilons[j])
        grown = lam + nu
        lost += (lam - grown) + nu if lam >= nu else (nu - grown) + lam  # Neumaier: what the sum has rounded away
        lam, reached, cost = grown, needed, cost + nu * deltas[j]
        if not lam < 1e250:
            return 1.0
    scale = 1 + v * (lam + lost) - (r - v) * reached
    # Each constraint may be missed by a few roundings of terms up to r times the scale.
    return min(1.0, (1 + m * cost) / scale * (1 + 1e-7) + 1e-15 * (r + 1)) if scale > 0 else 1.0
