"""The one-run bound against a linear program, explicit mechanisms, and a published bound that is false."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats
from scipy.optimize import linprog

from dpverdict.audit.statistics.one_run_bound import (
    guessing_tail_upper,
    lower_bound_through_bands,
    profile_points,
    shared_guesses,
    tail_from_curve,
    tail_from_one_epsilon,
)
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, PureDP


def most_wins(epsilons: list[float], deltas: list[float], v: int, r: int, m: int) -> float:
    """The largest P(W >= v) over all laws of the number of right guesses that the points of a curve allow, by a linear
    program with the positive parts of both kinds of guess as variables: exact up to the solver."""
    n, k = r + 1, len(epsilons)
    size = n + 2 * r * k
    rows, right = [], []
    for e, (epsilon, delta) in enumerate(zip(epsilons, deltas, strict=True)):
        start, x = n + 2 * r * e, math.exp(epsilon)
        for w in range(r):
            gained, lost = np.zeros(size), np.zeros(size)
            gained[w + 1], gained[w], gained[start + w] = w + 1, -x * (r - w), -1
            lost[w], lost[w + 1], lost[start + r + w] = r - w, -x * (w + 1), -1
            rows += [gained, lost]
            right += [0.0, 0.0]
        together = np.zeros(size)
        together[start : start + 2 * r] = 1
        rows.append(together)
        right.append(m * delta)
    gain = np.zeros(size)
    gain[v:n] = -1
    found = linprog(gain, np.array(rows), right, (np.arange(size) < n)[np.newaxis].astype(float), [1])
    return -float(found.fun)


@pytest.mark.parametrize("delta", [0.0, 0.001, 0.05])
@pytest.mark.parametrize(("m", "r"), [(1, 1), (3, 3), (6, 6), (9, 4)])
def test_one_point_of_the_curve_gives_the_largest_win(m: int, r: int, delta: float) -> None:
    for v in range(1, r + 1):
        bound = float(tail_from_one_epsilon(np.array([1.0]), np.array([delta]), v, r, m)[0])
        assert bound == pytest.approx(most_wins([1.0], [delta], v, r, m), rel=1e-5)


def test_pure_privacy_is_the_binomial_tail_of_randomised_response() -> None:
    for v, r, epsilon in ((30, 40, 0.5), (700, 1000, 0.3)):
        exact = float(stats.binom.sf(v - 1, r, special.expit(epsilon)))
        bound = guessing_tail_upper(PureDP(Fraction(epsilon)), correct=v, guesses=r, canaries=r + 7)
        assert exact <= bound <= exact * (1 + 1e-6)


def test_whole_curve_is_above_the_program_and_below_one_point_where_all_guesses_must_be_right() -> None:
    claim = GaussianDP(1)
    epsilons = np.linspace(-4, 4, 161)
    deltas = np.asarray(claim.delta_upper(epsilons))
    best = most_wins(
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0], list(claim.delta_upper(np.array([0.0, 0.5, 1, 1.5, 2, 3]))), 5, 5, 8
    )
    curve = tail_from_curve(epsilons, deltas, 5, 5, 8)
    one = float(tail_from_one_epsilon(epsilons[80:], deltas[80:], 5, 5, 8).min())
    assert 0.3 < curve < one
    assert curve < best * 1.001  # the program knows six points only


@pytest.mark.parametrize("m", [10, 1000, 20_000])
@pytest.mark.parametrize("mu", [0.5, 1.0, 4.0])
def test_bound_is_never_below_independent_gaussian_canaries(m: int, mu: float) -> None:
    """Their number of right guesses is binomial; at 20000 the probabilities underflow, which once gave a bound of 0."""
    claim = GaussianDP(Fraction(mu))
    accuracy = float(special.ndtr(mu / 2))
    for v in sorted({int(m * accuracy) + 1, int(m * (1 + 3 * accuracy) / 4), m}):
        assert guessing_tail_upper(claim, correct=v, guesses=m, canaries=m) >= float(stats.binom.sf(v - 1, m, accuracy))


def test_bound_holds_for_a_mechanism_that_tells_all_or_nothing() -> None:
    """With probability delta it releases all bits: (0, delta)-DP, and the guesses are right together."""
    m, delta = 12, 0.05
    win = delta + (1 - delta) * 2.0**-m
    bound = guessing_tail_upper(ApproximateDP(0, "0.05"), correct=m, guesses=m, canaries=m)
    assert win <= bound <= win * (1 + 1e-5)


def test_published_tail_is_broken_below_the_mean_by_an_explicit_mechanism() -> None:
    m, v, epsilon, delta = 3, 1, 1.0, 0.05
    p = special.expit(epsilon)
    below = [float(stats.binom.pmf(v - i, m, p)) for i in range(1, v + 1)]
    published = float(stats.binom.sf(v - 1, m, p)) + 2 * m * delta * max(np.cumsum(below) / np.arange(1, v + 1))
    assert most_wins([epsilon], [delta], v, m, m) > published + 0.01


def test_the_walk_ends_in_the_first_band_that_is_not_left() -> None:
    """Above a band that is not rejected nothing counts, though the guesses of a later one would reject."""

    def numbers(end: float) -> list[tuple[int, float]]:
        return [(round(10 * end), 0.05)]

    limits = {10: 1.5, 20: 1.25, 30: 9.0}
    found, used = lower_bound_through_bands(
        (1.0, 2.0, 3.0), numbers, lambda value, r, _: value <= limits[r], lambda a, b: b - a < 1e-6
    )
    assert 1.25 - 1e-6 <= found <= 1.25
    assert used == [(20, 0.05)]
    assert lower_bound_through_bands((1.0, 2.0), numbers, lambda *_: False, lambda a, b: b - a < 1e-6)[0] == 0.0


def test_the_number_of_guesses_depends_on_the_hypothesis_and_its_shares_fit_into_the_level() -> None:
    chosen = {}
    for mu in ("0.5", "1", "2"):
        pairs = shared_guesses(*profile_points(GaussianDP(mu)), 1000, 0.05)
        assert sum(Fraction(share) for _, share in pairs) <= Fraction(0.05)
        assert pairs[0][1] > 0.04
        assert len({r for r, _ in pairs}) == len(pairs)
        chosen[mu] = pairs[0][0]
    assert chosen["0.5"] < chosen["1"] < chosen["2"]
    assert shared_guesses(*profile_points(PureDP(1)), 12, 0.05) == [(12, 0.05)]
