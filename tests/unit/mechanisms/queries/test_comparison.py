"""The comparisons of Lebeda 2024, figures 2 and 3, with the optimum added."""

import math

import numpy as np
import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.queries.comparison import compare_constants, compare_ellipses


def test_figure_3_is_reproduced_with_the_optimum_below_every_line() -> None:
    figure = compare_ellipses(100)
    assert figure.k.tolist() == list(range(1, 101))
    assert np.all(figure.optimum <= figure.standard)
    assert np.all(figure.optimum <= figure.correlated + 1e-12)
    assert np.array_equal(figure.count_ellipse[:50], figure.optimum[:50])
    assert np.isnan(figure.count_ellipse[50:]).all()
    assert np.all(np.diff(figure.relative()["optimum"]) < 0)
    assert figure.optimum[49] == pytest.approx((100 + 2 * math.sqrt(99)) / 4)  # Lemma 4.3
    thousand = compare_ellipses(1000, [1, 100, 500, 1000])
    assert thousand.relative()["optimum"].round(3).tolist() == [1, 0.918, 0.532, 0.266]
    assert (thousand.correlated - thousand.count_ellipse)[2] == pytest.approx(0.25791, abs=5e-6)
    assert compare_ellipses(4, 2).optimum.tolist() == [compare_ellipses(4).optimum[1]]


def test_figure_2_has_its_minimum_at_the_fourth_root_of_d() -> None:
    figure = compare_constants(10_000, [5, 10, 20, 50, 100])
    assert figure.query.argmin() == 1
    assert figure.query[[1, 4]].tolist() == [2550.25, 5000.5]
    assert figure.count[4] == 2.0
    assert np.all(np.diff(figure.count) < 0)


@pytest.mark.parametrize("constants", [[0], [-1], ["x"], [float("inf")]])
def test_constants_of_figure_2_are_positive(constants: list[object]) -> None:
    with pytest.raises(InvalidValue, match=r"^constants="):
        compare_constants(4, constants)  # type: ignore[arg-type]
