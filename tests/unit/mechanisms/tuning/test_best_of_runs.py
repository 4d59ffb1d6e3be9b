"""The best of K runs: bounds for every order against all orders enumerated, and events against what is released."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ApproximateDP
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.tuning.best_of_runs import BestOfRuns
from dpverdict.mechanisms.tuning.numbers_of_runs import NumberOfRuns
from dpverdict.mechanisms.tuning.profile import RunProfile, SearchBound, _OrderBound
from dpverdict.numerics.arrays import Array

F = Fraction
Law = Sequence[Fraction]
PAIRS: list[tuple[Law, Law]] = [
    ([F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)]),
    ([F(1, 2), F(1, 3), F(1, 6)], [F(1, 6), F(1, 3), F(1, 2)]),
    ([F(5, 9), F(3, 9), F(1, 9)], [F(2, 9), F(3, 9), F(4, 9)]),
    ([F(6, 20), F(9, 20), F(4, 20), F(1, 20)], [F(2, 20), F(9, 20), F(6, 20), F(3, 20)]),
]
NUMBERS: dict[str, tuple[NumberOfRuns, Callable[[int], float]]] = {
    "3": (NumberOfRuns.of("fixed", 3, None, None), lambda k: float(k == 3)),
    "1": (NumberOfRuns.of("fixed", 1, None, None), lambda k: float(k == 1)),
    "poisson": (NumberOfRuns.of("poisson", "2.5", None, None), lambda k: math.exp(-2.5) * 2.5**k / math.factorial(k)),
    "geometric": (NumberOfRuns.of("geometric", 4, None, None), lambda k: 0.25 * 0.75 ** (k - 1) if k else 0.0),
    "logarithmic": (
        NumberOfRuns.of("logarithmic", None, "0.2", None),
        lambda k: 0.8**k / (k * math.log(5)) if k else 0.0,
    ),
    "negative-binomial": (
        NumberOfRuns.of("negative-binomial", None, "0.3", "-0.5"),
        lambda k: 0.7**k / (0.3**0.5 - 1) * math.prod((i - 0.5) / (i + 1) for i in range(k)) if k else 0.0,
    ),
}
MOST = 140
"""Longer searches of these laws have a chance below 1e-13."""
WEIGHTS = {chances: np.array([chances(k) for k in range(MOST)]) for _, chances in NUMBERS.values()}
SLACK = 1e-12
"""What the enumeration leaves out, and rounds: it is in float64."""


def best_laws(law: Law, order: Sequence[int], chances: Callable[[int], float]) -> Array:
    """The chance of each outcome, in the order, to be the best run: P[none is better] less P[none is as good]."""
    reached = np.cumsum([0.0, *(float(law[outcome]) for outcome in order)])
    none_better: Array = np.polynomial.polynomial.polyval(reached, WEIGHTS[chances])
    return np.diff(none_better)


def split(p: Law, q: Law, parts: int) -> tuple[Law, Law]:
    """Every outcome in equal parts: a fresh random number, by which runs may be ordered too."""
    return [x / parts for x in p for _ in range(parts)], [x / parts for x in q for _ in range(parts)]


EPSILONS = ("0", "0.25", "0.7", "1.2", "2")


def most_of_all_orders(p: Law, q: Law, chances: Callable[[int], float]) -> Array:
    """The largest delta at each of `EPSILONS` over all orders of the outcomes."""
    grown = np.exp([float(F(epsilon)) for epsilon in EPSILONS])[:, None]
    found = np.zeros(len(EPSILONS))
    for order in itertools.permutations(range(len(p))):
        here, there = best_laws(p, order, chances), best_laws(q, order, chances)
        found = np.maximum(found, np.maximum(here - grown * there, 0.0).sum(axis=1))
    return found


def bound_of(p: Law, q: Law, runs: NumberOfRuns) -> SearchBound:
    loss = FiniteLoss(p, q)
    return SearchBound(RunProfile.of(AddRemoveLoss(remove=loss, add=loss.reversed())), runs)


def passed(bound: SearchBound, p: Law, q: Law, chances: Callable[[int], float]) -> bool:
    """Whether some order, in some direction, attains more than the bound."""
    bounds = np.array([float(bound.at(F(epsilon)) or 0) for epsilon in EPSILONS])
    return any((most_of_all_orders(*pair, chances) > bounds + SLACK).any() for pair in ((p, q), (q, p)))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("pair", PAIRS)
def test_no_order_of_the_outcomes_attains_more_than_the_bound(pair: tuple[Law, Law], name: str) -> None:
    runs, chances = NUMBERS[name]
    p, q = pair
    assert not passed(bound_of(p, q, runs), p, q, chances)
    if len(p) == 2:
        assert not passed(bound_of(p, q, runs), *split(p, q, 3), chances)


@pytest.mark.parametrize("fault", ["one run fewer", "one run", "its own chances"])
def test_a_bound_that_is_too_low_is_passed(fault: str) -> None:
    """Fewer runs than are made; the profile of one run for all; no distance between the chances to be no better."""
    p, q = split(*PAIRS[0], 3)
    _, chances = NUMBERS["3"]
    fewer = NumberOfRuns.of("fixed", 1 if fault == "one run" else 2, None, None)
    bound = bound_of(*PAIRS[0], NUMBERS["3"][0] if fault == "its own chances" else fewer)
    if fault == "its own chances":  # u = v: the lines of U are those of equal laws
        for order in bound._orders:
            equal = replace(order._profile, levels=(F(0),), deltas=(order._mean * 0,))
            order._slopes, order._offsets = type(order)(equal, order._runs)._cells()
    assert passed(bound, p, q, chances)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_lines_of_coarse_cells_are_above_what_they_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where G'(v) is nearly 0 its tangent is below 0, and the cell is bounded by the least value in it."""
    monkeypatch.setattr(_OrderBound, "_ends", lambda self: np.array([0.0, 0.5, 1.0]))
    runs, _ = NUMBERS[name]
    for order in (one for pair in PAIRS for one in bound_of(*pair, runs)._orders):
        v = np.linspace(0, 1, 401)
        ratios, deltas = (np.array([float(x) for x in values]) for values in (order._ratios, order._profile.deltas))
        u = np.minimum(1, (deltas[:, None] + ratios[:, None] * v).min(axis=0))
        for grown in (1.0, 2.0, 5.0, 12.0):
            exact = (ratios[:, None] * runs.slope(u) - grown * runs.slope(v)).max(axis=1)
            assert (np.array(order._heights(grown)) >= exact - SLACK).all()


@pytest.mark.parametrize("name", NUMBERS)
def test_the_generating_function_is_that_of_the_law_and_of_what_is_drawn(name: str, seed: int) -> None:
    runs, chances = NUMBERS[name]
    for s in (0.0, 0.3, 0.9, 1.0):
        x = np.full(1, s)
        assert runs.generating(x)[0] == pytest.approx(sum(chances(k) * s**k for k in range(MOST)), rel=1e-11)
        slope = sum(k * chances(k) * s ** (k - 1) for k in range(1, MOST))
        assert runs.slope(x)[0] == pytest.approx(slope, rel=1e-9)
        bent = sum(k * (k - 1) * chances(k) * s ** (k - 2) for k in range(2, MOST))
        assert runs.curvature(x)[0] == pytest.approx(bent, rel=1e-9)
    drawn, trials = runs.draw(20_000, np.random.default_rng(seed)), 20_000
    for k in range(6):
        chance = chances(k)
        seen = float((drawn == k).mean())
        assert abs(seen - chance) <= 6 * math.sqrt(chance * (1 - chance) / trials) + 36 / trials


SEARCHES = {
    "gaussian": {"run": "gaussian", "noise_multiplier": 2},
    "laplace": {"run": "laplace", "noise_multiplier": 3},
    "dp-sgd": {"run": "dp-sgd", "noise_multiplier": 1, "rate": "0.1", "steps": 20},
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("number", ["geometric", "poisson", "fixed"])
def test_what_is_released_has_the_chances_that_are_stated(name: str, number: str, seed: int) -> None:
    search = BestOfRuns(number=number, mean=5, epsilon=1, delta="0.01", **SEARCHES[name])  # type: ignore[arg-type]
    event, shown = search.event_at(F(1))
    pair, trials = search.below()[0].pair, 1000
    for side, ball in ((pair.dataset, shown.p_ball), (pair.neighbour, shown.q_ball)):
        released = search.release_many(side, trials, np.random.default_rng(seed))
        chance = float(ball)
        seen = float(((search.place()(released[:, 1:]) > float(event.threshold)) & (released[:, 0] > 0)).mean())
        assert abs(seen - chance) <= 6 * math.sqrt(chance * (1 - chance) / trials) + 36 / trials


@pytest.mark.parametrize("number", ["geometric", "poisson"])
@pytest.mark.parametrize("name", SEARCHES)
def test_both_sides_are_near_where_delta_is_small(name: str, number: str) -> None:
    """Of ten runs, at delta 1e-6: within 3 in 100 of epsilon."""
    given = {"number": number, "mean": 10, "delta": "1e-6"} | SEARCHES[name]
    search = BestOfRuns(epsilon=2, **given)  # type: ignore[arg-type]
    low, high = F(0), F(16)
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (low, middle) if float(search._search.at(middle)) <= 1e-6 else (middle, high)
    below = high / F("1.03")
    near = BestOfRuns(epsilon=below, **given)  # type: ignore[arg-type]
    assert near.event_at(below)[1].delta_lower(below) > 1e-6


def test_a_pure_run_keeps_a_pure_epsilon() -> None:
    """(2 + h) e of truncated negative binomial K, and not a little less where searches are long; e + m tanh(e/2)."""
    common = {"run": "laplace", "noise_multiplier": 2, "epsilon": 1, "delta": 0}
    long = BestOfRuns(number="geometric", mean=4096, **common)  # type: ignore[arg-type]
    assert certify(long, "eps=1.5, delta=0").status is Status.CERTIFIED
    assert certify(long, "eps=1.5").status is Status.CERTIFIED
    near = BestOfRuns(number="geometric", mean=4096, **(common | {"epsilon": "1.45"}))  # type: ignore[arg-type]
    assert certify(near, "eps=1.45").status is Status.REFUTED
    few = BestOfRuns(number="logarithmic", stop="1/100", **common)  # type: ignore[arg-type]
    assert certify(few, "eps=1, delta=0").status is Status.CERTIFIED
    poisson = BestOfRuns(number="poisson", mean=3, **common)  # type: ignore[arg-type]
    assert certify(poisson, ApproximateDP(F(1, 2) + F(3) * F("0.2449187"), 0)).status is Status.CERTIFIED


def test_it_is_below_the_renyi_bound() -> None:
    """Theorem 2 of Papernot and Steinke 2022 with the usual conversion says 4.545 for ten runs that are 1/2-GDP."""
    orders = np.concatenate([np.linspace(1.01, 4, 300), np.geomspace(4, 400, 400)])
    one, mean, stop, delta = orders / 8, 10.0, 0.1, 1e-6
    hat = (2 * (1 - 1 / orders) * one + 2 * np.log(1 / stop) / orders).min()
    renyi = one + hat + np.log(mean) / (orders - 1)
    published = float((renyi + np.log1p(-1 / orders) - (np.log(delta) + np.log(orders)) / (orders - 1)).min())
    assert published == pytest.approx(4.545, abs=1e-3)
    search = BestOfRuns(number="geometric", mean=10, run="gaussian", noise_multiplier=2, epsilon=3, delta="1e-6")
    assert certify(search, ApproximateDP(F(published * 0.73), "1e-6")).status is Status.CERTIFIED


def test_one_run_costs_what_it_costs() -> None:
    single = BestOfRuns(number="fixed", mean=1, run="gaussian", noise_multiplier=1, epsilon=1, delta="0.13")
    truth = GaussianLoss(1).delta(1)
    assert float(single._search.at(F(1))) == pytest.approx(truth, rel=5e-3)
    assert certify(single, ApproximateDP(1, F(truth) * F(1005, 1000))).status is Status.CERTIFIED
    assert certify(single, ApproximateDP(1, F(truth) * F(99, 100))).status is Status.REFUTED


def test_the_law_that_dominates_is_above_the_event() -> None:
    search = BestOfRuns(number="geometric", mean=6, run="gaussian", noise_multiplier=3, epsilon=1, delta="1e-3")
    for epsilon in (F(0), F(1, 3), F(1), F(2)):
        most = search._law.certified_delta(epsilon)
        assert most.lower >= search.event_at(epsilon)[1].delta_lower(epsilon)
    with pytest.raises(AssertionError):  # the loss of one run dominates nothing
        assert GaussianLoss(F(1, 3)).delta(1) >= search.event_at(F(1))[1].delta_lower(F(1))


def test_replaced_records_move_a_number_as_far() -> None:
    made = [
        BestOfRuns(
            number="geometric",
            mean=3,
            run="gaussian",
            noise_multiplier=2,
            epsilon=1,
            delta="0.1",
            **({"adjacency": REPLACE_ONE} if replaced else {}),  # type: ignore[arg-type]
        )
        for replaced in (True, False)
    ]
    assert made[0]._search.at(F(1)) == made[1]._search.at(F(1))
    assert len(made[0].below()[0].pair.dataset) == len(made[0].below()[0].pair.neighbour)


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": "seven"},
        {"mean": None},
        {"mean": 0},
        {"mean": "0.5"},
        {"mean": 5000},
        {"stop": "0.1"},
        {"shape": 1},
        {"number": "fixed", "mean": "2.5"},
        {"number": "logarithmic", "mean": None, "stop": 1},
        {"number": "logarithmic", "mean": None, "stop": "1e-9"},
        {"number": "negative-binomial", "mean": None, "stop": "0.1"},
        {"number": "negative-binomial", "mean": None, "stop": "0.1", "shape": 0},
        {"number": "negative-binomial", "mean": None, "stop": "0.1", "shape": -1},
        {"run": "forest"},
        {"rate": "0.1"},
        {"run": "dp-sgd", "rate": "0.1"},
        {"noise_multiplier": 0},
        {"epsilon": -1},
        {"delta": 1},
    ],
)
def test_arguments_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    given = {"number": "geometric", "mean": 3, "run": "gaussian", "noise_multiplier": 1, "epsilon": 1, "delta": "0.1"}
    with pytest.raises(InvalidValue):
        BestOfRuns(**(given | wrong))  # type: ignore[arg-type]
