"""Buffered Toeplitz factorisations: closed forms against dense matrices, and parameters as good as they claim."""

import itertools

import numpy as np
import pytest
from scipy.linalg import toeplitz

from dpverdict.balls import Real, compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams import blt as counter_blt
from dpverdict.mechanisms.streams.blt import best_blt, blt_error
from dpverdict.mechanisms.streams.errors import gaussian_lower_bound, square_root_error

PARAMETERS = [
    (["0.9"], ["0.3"]),
    (["0.99", "0.7"], ["0.95", "0.3"]),
    (["0.999", "0.95", "0.5"], ["0.99", "0.8", "0.1"]),
]


def dense(horizon: int, poles: list[str], zeros: list[str]) -> tuple[float, np.ndarray]:
    """The squared sensitivity and the squared row norms, from the power series of W and matrices."""
    series = np.zeros(horizon)
    series[0] = 1.0
    for pole, zero in zip(map(float, poles), map(float, zeros), strict=True):
        series = series - zero * np.concatenate([[0.0], series[:-1]])
        for j in range(1, horizon):
            series[j] += pole * series[j - 1]
    right = toeplitz(series, np.zeros(horizon))
    left = np.tril(np.ones((horizon, horizon))) @ np.linalg.inv(right)
    return float((right**2).sum(axis=0).max()), (left**2).sum(axis=1)


@pytest.mark.parametrize(("poles", "zeros"), PARAMETERS)
@pytest.mark.parametrize("horizon", [1, 2, 7, 60])
def test_errors_are_those_of_the_dense_factorisation(horizon: int, poles: list[str], zeros: list[str]) -> None:
    sensitivity, rows = dense(horizon, poles, zeros)
    error = blt_error(horizon, poles, zeros)
    assert error.mean.nearest() == pytest.approx(sensitivity * rows.mean(), rel=1e-11)
    assert error.largest.nearest() == pytest.approx(sensitivity * rows.max(), rel=1e-11)
    for t in (1, horizon):
        assert error.variance(t).nearest() == pytest.approx(sensitivity * rows[t - 1], rel=1e-11)


def test_a_wrong_residue_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the closed forms with residues of the wrong sign disagree with the dense matrices."""
    right = counter_blt._residues
    monkeypatch.setattr(counter_blt, "_residues", lambda z, y: [-value for value in right(z, y)])
    with pytest.raises(AssertionError):
        test_errors_are_those_of_the_dense_factorisation(7, *PARAMETERS[1])


@pytest.mark.parametrize("power", [8, 16])
def test_few_buffers_reach_the_square_root_and_none_the_lower_bound(power: int) -> None:
    horizon = 2**power
    errors = [blt_error(horizon, *best_blt(horizon, q)).mean for q in (1, 2, 3, 4)]
    assert all(compare(fewer, more) == 1 for fewer, more in itertools.pairwise(errors))
    assert compare(errors[-1], square_root_error(horizon).mean) == -1
    assert compare(errors[-1], gaussian_lower_bound(horizon)) == 1


def test_the_search_ends_where_no_small_step_helps() -> None:
    """No change of one parameter by a thousandth of the distance to its neighbour is better by 1e-6."""
    poles, zeros = best_blt(500, 2)
    best = blt_error(500, poles, zeros).mean.nearest()
    order = [poles[0], zeros[0], poles[1], zeros[1]]
    for i in range(4):
        for step in (-1e-3, 1e-3):
            moved = list(order)
            moved[i] += step * min(abs(order[i] - other) for j, other in enumerate([*order, 1.0, 0.0]) if j != i)
            assert blt_error(500, moved[::2], moved[1::2]).mean.nearest() > best * (1 - 1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize(("horizon", "limit"), [(2, 1.0), (3, 1.0), (8, 1.0), (2**30, 1.2), (2**40, 1.5)])
def test_the_shortest_and_the_longest_streams_have_parameters(horizon: int, limit: float) -> None:
    """Beyond 2^20 four buffers no longer reach the square root."""
    error = blt_error(horizon, *best_blt(horizon, 4)).mean
    assert compare(error, gaussian_lower_bound(horizon)) == 1
    assert error.nearest() < limit * square_root_error(horizon).mean.nearest()


def test_the_same_horizon_has_the_same_parameters() -> None:
    assert best_blt(100, 3) == best_blt(100, 3)


@pytest.mark.parametrize(
    ("poles", "zeros"), [([], []), (["0.5"], ["0.6"]), (["1"], ["0.5"]), (["0.5"], ["0"]), (["0.9", "0.8"], ["0.85"])]
)
def test_parameters_that_do_not_interlace_are_refused(poles: list[str], zeros: list[str]) -> None:
    with pytest.raises(InvalidValue, match="interlaced"):
        blt_error(10, poles, zeros)


@pytest.mark.parametrize(
    ("horizon", "buffers", "name"), [(1, 2, "horizon"), (2**41, 2, "horizon"), (10, 6, "buffers"), (10, 0, "buffers")]
)
def test_a_search_out_of_range_is_refused(horizon: int, buffers: int, name: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{name}="):
        best_blt(horizon, buffers)


def test_the_error_of_one_item_is_one() -> None:
    assert compare(blt_error(1, ["0.5"], ["0.25"]).mean, Real.of("1.0000001")) == -1
