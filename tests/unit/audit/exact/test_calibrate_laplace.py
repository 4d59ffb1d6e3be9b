"""The exact Laplace scale: certified on its side, tight, as tabulated; and the exact profile of a tree counter."""

from fractions import Fraction
from math import log1p

import pytest

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism, exact_laplace, exact_laplace_scale
from dpverdict.mechanisms.streams.tree import TreeDigits
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

TABLE = [  # the scale for l2 sensitivity 1 spread over d = 1, 2, 4, 16, 48 equal shifts
    ("0.05", "1e-2", (14.27, 15.71, 14.68, 14.40, 14.32)),
    ("0.05", "1e-3", (19.23, 26.19, 30.36, 29.41, 29.88)),
    ("0.05", "1e-5", (19.99, 28.26, 39.87, 56.02, 56.94)),
    ("0.05", "1e-12", (20.00, 28.28, 40.00, 80.00, 113.1)),
    ("0.2", "1e-2", (4.543, 5.893, 5.728, 6.035, 6.019)),
    ("0.2", "1e-5", (5.000, 7.070, 9.992, 15.02, 15.91)),
    ("0.5", "1e-5", (2.000, 2.828, 3.999, 6.603, 6.858)),
    ("1", "1e-2", (0.980, 1.360, 1.740, 1.819, 1.847)),
    ("1", "1e-3", (0.998, 1.409, 1.969, 2.447, 2.526)),
    ("1", "1e-5", (1.000, 1.414, 2.000, 3.421, 3.627)),
    ("1", "1e-8", (1.000, 1.414, 2.000, 3.997, 4.846)),
    ("1", "1e-12", (1.000, 1.414, 2.000, 4.000, 6.007)),
    ("2", "1e-5", (0.500, 0.707, 1.000, 1.750, 1.918)),
    ("4", "1e-5", (0.250, 0.354, 0.500, 0.933, 1.023)),
]


@pytest.mark.few(5)
@pytest.mark.parametrize(("epsilon", "delta", "row"), TABLE)
def test_the_exact_scales_are_those_of_the_table_and_are_certified(
    epsilon: str, delta: str, row: tuple[float, ...]
) -> None:
    for dim, decimal in zip((1, 2, 4, 16, 48), row, strict=True):
        scale = exact_laplace_scale(dim, epsilon, delta)
        last = 10.0 ** -len(str(decimal).partition(".")[2])
        assert abs(scale / dim**0.5 - decimal) <= max(last, 1e-3 * decimal)
        loss = LaplaceLoss.equal(dim, 1 / Fraction(scale))
        assert loss.certified_delta(epsilon).upper <= float(delta)
        assert LaplaceLoss.equal(dim, 1 / Fraction(scale * (1 - 1e-9))).certified_delta(epsilon).lower > float(delta)


def test_one_coordinate_has_a_closed_form() -> None:
    for epsilon, delta in ((1.0, 0.01), (0.1, 1e-6), (3.0, 0.5)):
        assert exact_laplace_scale(1, epsilon, delta) == pytest.approx(1 / (epsilon - 2 * log1p(-delta)), rel=1e-12)


def test_the_exact_scale_is_the_least_of_the_calibrations() -> None:
    arguments = {"dim": 60, "epsilon": 1, "delta": "1e-5", "adjacency": ADD_OR_REMOVE_ONE}
    exact = exact_laplace(**arguments)  # type: ignore[arg-type]
    lean = LaplaceMechanism.from_concentrated(**arguments)  # type: ignore[arg-type]
    theorem = LaplaceMechanism.from_theorem(**arguments)  # type: ignore[arg-type]
    assert exact.scale < lean.scale < theorem.scale
    assert exact.claim == ApproximateDP(1, "1e-5")
    assert exact.describe()["calibration"] == "exact curve"
    for mechanism in (exact, lean, theorem):  # all keep the claim, at their exact floats
        loss = LaplaceLoss(mechanism.laplace_shifts(mechanism.worst_pair().record))
        assert loss.certified_delta(1).upper <= 1e-5
    assert 1.5 < exact.variance_over_gaussian() < 2


def test_bad_parameters_are_refused() -> None:
    for dim, epsilon, delta in (
        (0, 1, "0.1"),
        (3, 0, "0.1"),
        (3, 1, 0),
        (3, 1, 1),
        (3, "nan", "0.1"),
        (3, 1, "1e-999"),
    ):
        with pytest.raises(InvalidValue):
            exact_laplace_scale(dim, epsilon, delta)
        with pytest.raises(InvalidValue):
            exact_laplace(dim=dim, epsilon=epsilon, delta=delta, adjacency=REPLACE_ONE)


@pytest.mark.parametrize(("arity", "height"), [(3, 2), (5, 2), (4, 3), (19, 3)])
def test_the_exact_profile_of_a_counter_vanishes_at_its_epsilon_and_not_before(arity: int, height: int) -> None:
    horizon = TreeDigits.offset(arity).capacity(height)
    counter = TreeCounter(horizon=horizon, epsilon=1, arity=arity, noise="continuous")
    loss = LaplaceLoss(counter.laplace_shifts(1))
    assert loss.certified_delta(counter.claim.epsilon).upper == 0
    assert loss.certified_delta("0.999").lower > 0
