"""The Laplace mechanism: its scales against the formulas in balls, what each calibration costs, its law, bad input.

Statistical tests take N values and ask for |z| < SIX standard errors, two-sided probability 2e-9 each.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.audit import Status, certify
from dpverdict.balls import Real, ball, compare
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.calibration import (
    analytic_scale,
    concentrated_scale,
    l1_scale,
    l2_scale_real,
    root,
    theorem_epsilon,
    theorem_scale,
    theorem_scale_real,
)
from dpverdict.mechanisms.core.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism
from dpverdict.numerics.roots import least_float, rounded_up

SIX = 6.0
N = 200_000
BUDGETS = [
    ("0.05", "1e-2"),
    ("0.2", "1e-5"),
    ("1", "1e-3"),
    ("1", "1e-12"),
    ("4", "1e-5"),
    ("20", "0.9"),
    ("1e-3", "1e-300"),
]
RELATIONS = [ADD_OR_REMOVE_ONE, REPLACE_ONE]


# scales ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("dim", [1, 2, 7, 100, 10**6])
def test_every_scale_is_rounded_away_from_danger(epsilon: str, delta: str, dim: int) -> None:
    pure = l1_scale(epsilon, dim)
    assert Fraction(pure) >= dim / Fraction(epsilon) > Fraction(math.nextafter(pure, 0))
    scale = theorem_scale(epsilon, delta, dim, root(dim))
    exact = theorem_scale_real(epsilon, delta, dim, root(dim))
    assert compare(exact, Real.of(scale)) in (-1, 0)
    assert compare(exact, Real.of(scale * (1 - 1e-15))) == 1
    kept = theorem_epsilon(scale, delta, dim, root(dim))
    assert compare(kept, Real.of(epsilon)) in (-1, 0)  # the theorem gives what was asked for, at the float
    lean = concentrated_scale(epsilon, delta, dim, dim)
    assert lean <= scale <= pure
    if lean < pure:
        at = float(Fraction(epsilon)) * (1 - 1e-15)
        assert ZeroConcentratedDP(dim / (2 * Fraction(lean) ** 2)).delta_upper(at) <= float(delta) * (1 + 1e-9)
        assert ZeroConcentratedDP(dim / (2 * Fraction(lean * (1 - 1e-9)) ** 2)).delta_upper(float(epsilon)) > float(
            delta
        )


def test_the_two_forms_of_the_scale_of_lemma_5_4_are_equal_and_solve_its_equation() -> None:
    for epsilon, delta in BUDGETS:
        scale = l2_scale_real(epsilon, delta, 3)

        def other(epsilon: str = epsilon, delta: str = delta) -> Any:
            log = -ball(delta).log()
            return 3 / (ball(2).sqrt() * ((log + ball(epsilon)).sqrt() - log.sqrt()))

        def equation(scale: Real = scale, delta: str = delta) -> Any:
            return ball(9) / (2 * scale.ball() ** 2) + 3 / scale.ball() * (-2 * ball(delta).log()).sqrt()

        assert abs(scale.nearest() / Real(other).nearest() - 1) < 1e-14
        assert abs(Real(equation).nearest() / float(epsilon) - 1) < 1e-14


@pytest.mark.parametrize(
    ("epsilon", "delta", "exact", "slack"),
    [
        ("0.05", "1e-5", 57.77, 1.113),
        ("0.2", "1e-5", 16.30, 1.099),
        ("1", "1e-5", 3.731, 1.085),
        ("1", "1e-8", 5.1, 1.058),
        ("1", "1e-12", 6.558, 1.041),
    ],
)
def test_the_slack_of_the_concentrated_scale_over_the_spread_limit(
    epsilon: str, delta: str, exact: float, slack: float
) -> None:
    """In many dimensions the exact requirement tends to the exact Gaussian standard deviation."""
    assert abs(analytic_scale(epsilon, delta, 1) / exact - 1) < 3e-4
    assert 1.0 < concentrated_scale(epsilon, delta, 10**9, 1) / exact < slack


def test_the_table_of_scales_from_lemma_5_4() -> None:
    table = {
        ("0.05", "1e-2"): 60.86,
        ("0.05", "1e-12"): 148.7,
        ("0.2", "1e-5"): 24.10,
        ("1", "1e-5"): 4.901,
        ("2", "1e-5"): 2.499,
        ("4", "1e-5"): 1.296,
    }
    for (epsilon, delta), decimal in table.items():
        assert abs(l2_scale_real(epsilon, delta, 1).nearest() / decimal - 1) < 4e-4


def test_the_variance_ratio_of_corollary_5_5() -> None:
    for epsilon, delta in (("0.5", "1e-5"), ("1", "1e-9"), ("0.01", "0.3"), ("11", "1e-5")):
        log, e = -math.log(float(delta)), float(epsilon)
        variance = 2 * l2_scale_real(epsilon, delta, 1).nearest() ** 2
        assert variance <= 4 / e**2 * (log + e / 2) * (1 + 1e-12)
        classic = 2 * math.log(1.25 / float(delta)) / e**2
        if e <= log:
            assert variance / classic <= (1 + 2**0.5) ** 2 / 2


def test_a_planted_wrong_bisection_end_is_found() -> None:
    assert least_float(lambda x: x >= 0.3, 1.0) == 0.3
    assert least_float(lambda x: x >= 1.0, 1.0) == 1.0
    assert rounded_up(Real.of("0.1")) == 0.1
    assert Fraction(rounded_up(Real.of(2).sqrt())) ** 2 >= 2


# the mechanism --------------------------------------------------------------------------------------------------------


def made(adjacency: Any, dim: int = 3) -> list[LaplaceMechanism]:
    return [
        LaplaceMechanism(dim=dim, epsilon="0.5", adjacency=adjacency),
        LaplaceMechanism.from_theorem(dim=dim, epsilon="0.5", delta="1e-3", adjacency=adjacency),
        LaplaceMechanism.from_concentrated(dim=dim, epsilon="0.5", delta="1e-3", adjacency=adjacency),
    ]


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_each_calibration_says_which_it_is_and_what_it_costs(adjacency: Any) -> None:
    pure, theorem, lean = made(adjacency, dim=400)
    assert [m.describe()["calibration"] for m in (pure, theorem, lean)] == [
        "l1 sensitivity",
        "Theorem 1.3",
        "zero-concentrated DP, best order",
    ]
    assert pure.claim == PureDP("0.5")
    assert theorem.claim == lean.claim == ApproximateDP("0.5", "1e-3")
    assert lean.scale < theorem.scale < pure.scale == 800
    assert 2 < lean.variance_over_gaussian() < theorem.variance_over_gaussian()
    assert all(m.variance == 2 * Fraction(m.scale) ** 2 for m in (pure, theorem, lean))
    with pytest.raises(InvalidValue, match="claim"):
        pure.variance_over_gaussian()


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_releases_are_unbiased_with_the_stated_variance(adjacency: Any, seed: int) -> None:
    for mechanism in made(adjacency):
        rng = np.random.default_rng(seed)
        data = np.array([[0.5, 1.0, 0.0], [0.25, 1.0, 0.0]])
        noise = mechanism.release_many(data, N, rng) - data.sum(axis=0)
        scale = mechanism.scale
        assert (np.abs(noise.mean(axis=0)) < SIX * scale * (2 / N) ** 0.5).all()
        squares = (noise**2).mean(axis=0) / (2 * scale**2)
        assert (np.abs(squares - 1) < SIX * (5 / N) ** 0.5).all()
        assert (np.abs(squares - 1.1) > SIX * (5 / N) ** 0.5).all()
        again = np.random.default_rng(seed)
        assert np.array_equal(mechanism(data, again), mechanism.release(data, np.random.default_rng(seed)))


def test_the_shifts_are_exact_and_largest_for_the_worst_pair() -> None:
    add, replace = made(ADD_OR_REMOVE_ONE)[0], made(REPLACE_ONE)[0]
    assert add.laplace_shifts([1, 0.5, 0.1]) == (Fraction(1, 6), Fraction(1, 12), Fraction(0.1) / 6)
    assert replace.laplace_shifts([1, 0, 0.5], [0, 1, 0.5]) == (Fraction(1, 6), Fraction(1, 6), 0)
    assert sum(add.laplace_shifts(add.worst_pair().record)) == add.claim.epsilon  # type: ignore[union-attr]
    pair = replace.worst_pair()
    assert sum(replace.laplace_shifts(pair.dataset[0], pair.neighbour[0])) == Fraction(1, 2)
    for mechanism, arguments in ((add, ([1, 1, 1], [0, 0, 0])), (replace, ([1, 1, 1],))):
        with pytest.raises(InvalidValue, match="replacement"):
            mechanism.laplace_shifts(*arguments)


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name"),
    [
        *(({"dim": value}, "dim") for value in (0, -1, 1.5, None, True)),
        *(({"epsilon": value}, "epsilon") for value in (0, -1, "nan", float("inf"), None)),
        *(({"delta": value}, "delta") for value in (0, 1, -0.1, "2", float("nan"), None)),
        ({"adjacency": "replace"}, "adjacency"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(change: dict[str, Any], name: str) -> None:
    good = {"dim": 3, "epsilon": 1, "delta": "1e-5", "adjacency": REPLACE_ONE} | change
    for make in (LaplaceMechanism.from_theorem, LaplaceMechanism.from_concentrated):
        with pytest.raises(InvalidValue) as caught:
            make(**good)
        assert caught.value.name == name
    if name != "delta":
        del good["delta"]
        with pytest.raises(InvalidValue, match=name):
            LaplaceMechanism(**good)


@pytest.mark.parametrize(
    "data", [[[1.0, 2.0, 0.0]], [[1.0, float("nan"), 0.0]], [1.0, 0.0, 1.0], [[1.0, 0.0]], [["a"] * 3]]
)
def test_bad_data_is_refused(data: Any) -> None:
    for mechanism in made(REPLACE_ONE):
        with pytest.raises(InvalidValue):
            mechanism.release(data, np.random.default_rng(0))


def test_bad_noise_and_sensitivities_are_refused() -> None:
    for scale in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidValue, match="scale"):
            LaplaceNoise(size=1, scale=scale)
    with pytest.raises(InvalidValue, match="size"):
        LaplaceNoise(size=0, scale=1.0)
    for sensitivity in (0, -1, "nan"):
        with pytest.raises(InvalidValue, match="l1"):
            l1_scale(1, sensitivity)
        with pytest.raises(InvalidValue, match="l2"):
            l2_scale_real(1, "1e-5", sensitivity)
    with pytest.raises(InvalidValue, match="scale"):
        l1_scale("1e-320", 1)
    with pytest.raises(InvalidValue, match="delta"):
        concentrated_scale(1, "1e-999", 2, 2)
    assert theorem_scale(1, "1e-999", 200, 1) < 100
    with pytest.raises((InvalidValue, PrecisionExhausted)):
        concentrated_scale("1e200", "1e-5", 2, 2)


# By scale and sensitivity ---------------------------------------------------------------------------------------------


def test_any_laplace_noise_is_stated_by_its_scale_and_its_sensitivity() -> None:
    for sensitivity, scale, epsilon in (("0.1", "2.5", "0.04"), (3, 2, "1.5"), (Fraction(1, 3), "0.7", "10/21")):
        for relation in (ADD_OR_REMOVE_ONE, REPLACE_ONE):
            made = LaplaceMechanism(scale=scale, sensitivity=sensitivity, dim=2, adjacency=relation)
            assert made.claim == PureDP(epsilon)
            assert certify(made).status is Status.CERTIFIED
            least = PureDP(Fraction(epsilon) * (1 - Fraction(1, 10**30)))
            assert certify(made, least).status is Status.REFUTED
            assert made.scale >= Fraction(scale)
            assert made.release(np.zeros((3, 2)), np.random.default_rng(1)).shape == (2,)


def test_an_l2_sensitivity_is_held_to_its_l1_norm() -> None:
    made = LaplaceMechanism(scale=2, sensitivity=1, dim=4, norm="l2")
    assert made.claim == PureDP(1)
    odd = LaplaceMechanism(scale=2, sensitivity=1, dim=3, norm="l2")
    assert isinstance(odd.claim, PureDP)
    assert 0 < 4 * odd.claim.epsilon**2 - 3 < Fraction(1, 10**14)
    assert certify(odd).status is Status.CERTIFIED


def test_a_sensitivity_and_an_epsilon_give_the_scale() -> None:
    assert LaplaceMechanism(epsilon="0.5", sensitivity=3).scale == 6.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"sensitivity": 1}, "scale"),
        ({"sensitivity": 1, "scale": 0}, "scale"),
        ({"sensitivity": 0, "scale": 1}, "sensitivity"),
        ({"sensitivity": 1, "scale": 1, "norm": "linf"}, "norm"),
        ({"sensitivity": 1, "scale": 1, "radius": 2}, "radius"),
        ({"scale": 1}, "epsilon"),
        ({"epsilon": 1}, "adjacency"),
    ],
)
def test_a_sensitivity_leaves_nothing_to_guess(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        LaplaceMechanism(**arguments)
