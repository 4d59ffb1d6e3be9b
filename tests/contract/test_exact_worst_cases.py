"""The worst case is the largest value of the dense form over every vertex, as an equality of rationals.

The dense covariance comes from the sampler: its answers to unit vectors of normal variates are the columns of a square
root of S. Nothing of the structured forms is used.
"""

import itertools
import runpy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.balls import ball, precision
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    Cube,
    EllipticalGaussian,
    GroupedGaussian,
    StandardGaussian,
    broken,
)
from dpverdict.mechanisms.broken.mutant import BrokenMechanism
from dpverdict.mechanisms.core import noise as quadratic_form
from dpverdict.mechanisms.core import sensitivity as cube_sensitivity
from dpverdict.mechanisms.core.mechanism import GaussianMechanism

Array = NDArray[np.float64]
Pair = tuple[Array, Array | None]

oracle = runpy.run_path(str(Path(__file__).parents[1] / "exact_covariance.py"))

CORRECT: list[GaussianMechanism] = [
    *(CorrelatedGaussian(dim=d, mu=mu, C=c) for d, mu, c in [(1, 1, None), (2, "0.7", None), (5, 3, "1/3"), (8, 1, 5)]),
    *(CorrelatedGaussian(dim=d, mu=1, count="withheld", C=c) for d, c in [(1, None), (3, None), (5, 3), (8, None)]),
    *(CorrelatedGaussian(dim=d, mu="0.4", count="estimated", size_estimate=2) for d in (1, 4, 7)),
    *(StandardGaussian(dim=d, mu="1.7", adjacency=a) for d in (1, 4, 6) for a in (ADD_OR_REMOVE_ONE, REPLACE_ONE)),
    *(
        GroupedGaussian(groups=m, dim=d, mu="0.9", adjacency=a)
        for m, d in [(1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1)]
        for a in (ADD_OR_REMOVE_ONE, REPLACE_ONE)
    ),
    GroupedGaussian(groups=1, dim=1, mu="0.9", adjacency=ADD_OR_REMOVE_ONE),
    *(EllipticalGaussian(bounds=b, mu="0.6") for b in ([3], ["0.1", 2, "7.7"], [1, 0, 4], [1, 2, 3, 4, 5])),
]
WRONG = [
    mutant.make(d, mu)
    for mutant in broken.GAUSSIAN
    for d, mu in [(1, "1"), (2, "0.5"), (3, "1"), (4, "2")]
    if d >= mutant.least_dim and mutant.name not in ("M17", "V1", "V2", "K1", "G1")  # these: test_broken_ellipses
]


def vertices(mechanism: GaussianMechanism) -> list[Array]:
    """Every vertex of the range of one record."""
    shape, d = mechanism.record_shape, mechanism.dim
    if isinstance(mechanism, EllipticalGaussian) or mechanism.name == "broken:E1":
        half = mechanism.bounds / 2 if isinstance(mechanism, EllipticalGaussian) else np.arange(1.0, d + 1) / 2
        return [np.array(signs) * half for signs in itertools.product((-1.0, 1.0), repeat=d)]
    low, high = (mechanism.low, mechanism.high) if isinstance(mechanism, BrokenMechanism) else (0.0, 1.0)
    rows = [np.array(bits) for bits in itertools.product((low, high), repeat=d)]
    if len(shape) == 2:
        empty = np.zeros((shape[0], d))
        placed = [empty]
        for group, row in itertools.product(range(shape[0]), rows):
            record = empty.copy()
            record[group] = row
            placed.append(record)
        return placed
    nonzero = mechanism.sensitivity.nonzero if isinstance(mechanism.sensitivity, Cube) else None
    return rows if nonzero is None else [row for row in rows if np.count_nonzero(row) <= nonzero]


def neighbours(mechanism: GaussianMechanism) -> Iterator[Pair]:
    """Every pair of vertices under the mechanism's relation; complementary ones alone where all would be too many."""
    corners = vertices(mechanism)
    if mechanism.adjacency is ADD_OR_REMOVE_ONE:
        yield from ((corner, None) for corner in corners)
    elif len(corners) <= 40:
        yield from itertools.product(corners, corners)
    else:
        yield from zip(corners, reversed(corners), strict=True)


def difference(mechanism: GaussianMechanism, record: Array, replacement: Array | None) -> Array:
    other = np.zeros((0, *record.shape)) if replacement is None else replacement[None]
    return mechanism.embed(record[None]) - mechanism.embed(other)


def exact(loss: Any) -> Fraction | None:  # a GaussianLoss or a DisjointLoss
    squared = getattr(loss, "mu_squared", None)
    if squared is None:
        return None
    assert isinstance(squared.rational, Fraction)
    return squared.rational


def infinite_last(value: Fraction | None) -> tuple[bool, Fraction]:
    return value is None, value or Fraction(0)


@pytest.mark.parametrize("mechanism", [*CORRECT, *WRONG], ids=lambda m: f"{m.name}, {m!r}")
def test_the_worst_case_and_every_vertex_equal_dense_rational_algebra(mechanism: GaussianMechanism) -> None:
    dense = oracle["DenseForm"](oracle["covariance_of_the_sampler"](mechanism.noise))
    shared_eta = getattr(mechanism.noise, "one_eta", False)
    found: list[Fraction | None] = []
    for record, replacement in neighbours(mechanism):
        v = difference(mechanism, record, replacement)
        value = dense.at(v)
        found.append(value)
        if not shared_eta or np.any(v):  # no exact form of pairs that one eta does not expose
            assert exact(neighbour_loss(mechanism, record, replacement)) == value
    worst = worst_case(mechanism)
    assert exact(worst.loss) == max(found, key=infinite_last)
    attained = dense.at(mechanism.embed(worst.pair.dataset) - mechanism.embed(worst.pair.neighbour))
    assert attained == exact(worst.loss)


def test_the_supremum_of_a_single_query_in_a_single_group_is_approached_and_not_attained() -> None:
    mechanism = GroupedGaussian(groups=1, dim=1, mu=1, adjacency=REPLACE_ONE)
    worst = worst_case(mechanism)
    assert worst.loss.mu == 1.0
    attained = exact(neighbour_loss(mechanism, worst.pair.dataset[0], worst.pair.neighbour[0]))
    assert attained == (1 - Fraction(2) ** -1074) ** 2
    assert "tends to 0" in worst.description
    assert neighbour_loss(mechanism, [[1.0]], [[0.0]]).mu == pytest.approx(0.5**0.5)  # of no group: its count moves


unit = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1 - 2.0**-53]))


@given(st.data(), st.sampled_from(CORRECT))
def test_no_record_exceeds_the_worst_case(data: st.DataObject, mechanism: GaussianMechanism) -> None:
    def record() -> Array:
        entries = np.array(data.draw(st.lists(unit, min_size=mechanism.dim, max_size=mechanism.dim)))
        if isinstance(mechanism, GroupedGaussian):
            placed = np.zeros(mechanism.record_shape)
            placed[data.draw(st.integers(0, mechanism.groups - 1))] = entries
            return placed
        if isinstance(mechanism, EllipticalGaussian):
            return np.clip((entries - 0.5) * mechanism.bounds, -mechanism.bounds / 2, mechanism.bounds / 2)
        return entries

    loss = neighbour_loss(mechanism, record(), record() if mechanism.adjacency is REPLACE_ONE else None)
    value, worst = exact(loss), exact(worst_case(mechanism).loss)
    assert value is not None
    assert worst is not None
    assert value <= worst


@given(st.lists(unit, min_size=1, max_size=8), st.sampled_from(["released", "withheld", "estimated"]))
def test_a_record_in_the_interior_equals_dense_rational_algebra(x: list[float], count: Any) -> None:
    estimate = 0 if count == "estimated" else None
    mechanism = CorrelatedGaussian(dim=len(x), mu="0.8", count=count, size_estimate=estimate)
    dense = oracle["DenseForm"](oracle["covariance_of_the_sampler"](mechanism.noise))
    statistic = np.append(x, 1.0)[: mechanism.noise.size]
    if count == "estimated":
        shifted = [Fraction(e) - Fraction(1, 2) for e in x]  # in float64 the subtraction may round
        expected = sum(s * s for s in shifted) / mechanism.noise.variances[0]  # type: ignore[union-attr]
        assert exact(neighbour_loss(mechanism, x)) == expected
    else:
        assert exact(neighbour_loss(mechanism, x)) == dense.at(statistic)


@pytest.mark.parametrize("d", [2, 3, 5, 8, 10, 99])
def test_a_maximiser_that_forgets_the_vertex_is_found(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = CorrelatedGaussian(dim=d, mu=1, count="withheld")
    right = exact(worst_case(mechanism).loss)

    def ends_only(a: Fraction, b: Fraction, c: Fraction, last: int) -> tuple[int, Fraction]:
        best = max((0, last), key=lambda j: a * j * j + b * j + c)
        return best, a * best * best + b * best + c

    monkeypatch.setattr(cube_sensitivity, "maximise_over_integers", ends_only)
    layers = [neighbour_loss(mechanism, np.arange(d) < j) for j in range(d + 1)]
    largest = max(exact(loss) or Fraction(0) for loss in layers)
    assert largest == right
    assert (exact(worst_case(mechanism).loss) == largest) == (d == 2)  # where the vertex is next to d


def test_the_wrong_sign_of_the_count_loading_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = CorrelatedGaussian(dim=3, mu=1)
    dense = oracle["DenseForm"](oracle["covariance_of_the_sampler"](mechanism.noise))
    record = np.array([1.0, 0.0, 1.0])
    assert exact(neighbour_loss(mechanism, record)) == dense.at(difference(mechanism, record, None))
    form = quadratic_form.shared_noise_form

    def negated(**parts: Any) -> quadratic_form.SymmetricForm:
        return form(**{**parts, "loading": -parts["loading"]})

    monkeypatch.setattr("dpverdict.mechanisms.core.noise.shared_noise_form", negated)
    assert exact(neighbour_loss(mechanism, record)) != dense.at(difference(mechanism, record, None))


def test_moments_that_drop_the_low_part_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = CorrelatedGaussian(dim=3, mu=1)
    dense = oracle["DenseForm"](oracle["covariance_of_the_sampler"](mechanism.noise))
    record = np.array([0.1, 0.7, 2.0**-40])
    assert exact(neighbour_loss(mechanism, record)) == dense.at(np.append(record, 1.0))

    def rounded(x: Array) -> tuple[Fraction, Fraction]:
        return Fraction(float(x.sum())), Fraction(float(x @ x))

    monkeypatch.setattr(cube_sensitivity, "moments", rounded)
    assert exact(neighbour_loss(mechanism, record)) != dense.at(np.append(record, 1.0))


@pytest.mark.parametrize("d", [1, 2, 3, 10, 999])
def test_the_interior_minimum_with_the_count_is_c_squared_over_its_sum_with_d(d: int) -> None:
    mechanism = CorrelatedGaussian(dim=d, mu=1)
    value = exact(neighbour_loss(mechanism, np.full(d, 0.5)))
    assert value is not None
    with precision(100):
        root = ball(d).sqrt()
        assert abs(ball(value) / (root / (d + root)) - 1) < ball(Fraction(1, 10**15))
