"""The constructors of the Gaussian mechanisms: their scales, their options, and which relations they know."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    EllipticalGaussian,
    GroupedGaussian,
    StandardGaussian,
    parse_adjacency,
)
from dpverdict.mechanisms.core.calibration import family_scales, family_variances, root
from dpverdict.mechanisms.core.neighbours import adjacency_name, check_adjacency

DIMS = (1, 2, 3, 9, 100, 10**6)


# scales ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("mu", ["0.001", "0.3", "1", "1000"])
def test_the_scales_of_algorithm_1_are_the_printed_ones_rounded_up_by_two_units_at_most(d: int, mu: str) -> None:
    mechanism = CorrelatedGaussian(dim=d, mu=mu)
    with precision(200):
        m, r = ball(Fraction(mu)), ball(d).sqrt()
        printed = {"independent_scale": (d + r) / (4 * m * m), "shared_scale": (r + 1) / (4 * m * m)}
        for name, variance in printed.items():
            scale = getattr(mechanism, name)
            below = math.nextafter(math.nextafter(scale, 0), 0)
            assert not ball(scale) ** 2 < variance
            assert ball(below) ** 2 < variance
        total = ball(mechanism.independent_scale) ** 2 + ball(mechanism.shared_scale) ** 2
        assert abs(total / ((r + 1) ** 2 / (4 * m * m)) - 1) < 1e-15  # Lemma 3.1


@pytest.mark.parametrize("d", [1, 2, 10, 999])
@pytest.mark.parametrize("c", ["0.1", "1", "3.7", "100"])
def test_the_scales_of_the_family_follow_the_embedding_constant(d: int, c: str) -> None:
    mechanism = CorrelatedGaussian(dim=d, mu="0.7", C=c)
    vz, ve = family_variances(d, Fraction(c) ** 2, Fraction("0.7"))
    for scale, variance in ((mechanism.independent_scale, vz), (mechanism.shared_scale, ve)):
        assert variance <= Fraction(scale) ** 2 <= variance * (1 + Fraction(1, 10**15))
    assert math.isclose(mechanism.embedding_constant, float(c), rel_tol=1e-15)


@pytest.mark.parametrize("d", DIMS)
def test_the_other_mechanisms_have_the_printed_scales(d: int) -> None:
    assert math.isclose(
        StandardGaussian(dim=d, mu="0.5", adjacency=ADD_OR_REMOVE_ONE).scale, 2 * math.sqrt(d), rel_tol=1e-15
    )
    estimated = CorrelatedGaussian(dim=d, mu=1, count="estimated", size_estimate=0)
    assert math.isclose(estimated.independent_scale, math.sqrt(d) / 2, rel_tol=1e-15)
    assert estimated.shared_scale == 0.0
    replaced = GroupedGaussian(groups=2, dim=d, mu=2, adjacency=REPLACE_ONE)
    assert math.isclose(replaced.independent_scale, math.sqrt(d) / 2, rel_tol=1e-15)
    assert replaced.shared_scale == 0.5
    removed = GroupedGaussian(groups=2, dim=d, mu=2, adjacency=ADD_OR_REMOVE_ONE)
    single = CorrelatedGaussian(dim=d, mu=2)
    assert (removed.independent_scale, removed.shared_scale) == (single.independent_scale, single.shared_scale)


def test_a_perfect_square_gives_exact_scales_where_float64_has_them() -> None:
    assert family_scales(9, root(9), Fraction(1))[1] == 1.0
    assert family_scales(25, root(25), Fraction(1, 2))[1] ** 2 == pytest.approx(6.0, rel=1e-15)
    assert StandardGaussian(dim=4, mu=1, adjacency=ADD_OR_REMOVE_ONE).scale == 2.0


def test_parameters_are_exact_whatever_they_are_written_as() -> None:
    same = [CorrelatedGaussian(dim=5, mu=mu) for mu in ("0.1", Fraction(1, 10), Decimal("0.1"), "1/10")]
    assert len({(m.independent_scale, m.claim) for m in same}) == 1
    assert CorrelatedGaussian(dim=5, mu=0.1).claim != same[0].claim  # the float is another number
    assert CorrelatedGaussian(dim=np.int64(5), mu=np.float64(0.5)).claim.mu == Fraction(1, 2)  # type: ignore[union-attr]


def test_calibrations_of_the_standard_mechanism_are_scaled_by_the_sensitivity() -> None:
    classic = StandardGaussian.classic(dim=4, epsilon=1, delta="1e-5", adjacency=ADD_OR_REMOVE_ONE)
    assert math.isclose(classic.scale, 2 * math.sqrt(2 * math.log(1.25e5)), rel_tol=1e-14)
    analytic = StandardGaussian.analytic(dim=4, epsilon=1, delta="1e-5", adjacency=REPLACE_ONE)
    assert math.isclose(analytic.scale, 2 * 3.730631634816464, rel_tol=1e-9)
    assert analytic.adjacency is REPLACE_ONE


# options --------------------------------------------------------------------------------------------------------------


def test_half_the_size_estimate_is_added_to_every_query(seed: int) -> None:
    records = np.random.default_rng(seed).random((7, 3))
    zero, hundred = (CorrelatedGaussian(dim=3, mu=1, count="estimated", size_estimate=n) for n in (0, 100))
    difference = hundred(records, np.random.default_rng(1)) - zero(records, np.random.default_rng(1))
    np.testing.assert_allclose(difference, 50.0)
    assert worst_case(hundred).loss.mu == worst_case(zero).loss.mu


def test_a_withheld_count_is_not_in_the_release() -> None:
    assert CorrelatedGaussian(dim=3, mu=1, count="withheld").noise.size == 3
    assert CorrelatedGaussian(dim=3, mu=1).noise.size == 4


def test_rows_of_a_grouped_release_are_queries_and_counts() -> None:
    mechanism = GroupedGaussian(groups=2, dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE)
    queries, counts = mechanism.rows(np.arange(8.0))
    np.testing.assert_array_equal(queries, [[0, 1, 2], [4, 5, 6]])
    np.testing.assert_array_equal(counts, [3, 7])


def test_grouped_noise_for_replacement_covers_add_or_remove_by_a_factor_of_root_two() -> None:
    mechanism = GroupedGaussian(groups=2, dim=4, mu=1, adjacency=REPLACE_ONE)
    record = np.stack([np.ones(4), np.zeros(4)])
    assert neighbour_loss(mechanism, record, np.zeros((2, 4))).mu == pytest.approx(0.5**0.5, rel=1e-15)


def test_a_coordinate_of_sensitivity_zero_is_released_exactly(seed: int) -> None:
    mechanism = EllipticalGaussian(bounds=[1, 0, 3], mu=1)
    assert mechanism.scales[1] == 0.0
    released = mechanism.release_many(np.zeros((5, 3)), 50, np.random.default_rng(seed))
    np.testing.assert_array_equal(released[:, 1], 0.0)
    assert np.ptp(released[:, 0]) > 0


def test_bounds_are_rounded_up_and_may_be_given_once() -> None:
    assert Fraction(EllipticalGaussian(bounds=["0.1"], mu=1).bounds[0]) >= Fraction(1, 10)
    beyond = 2**53 + 1
    assert EllipticalGaussian(bounds=np.array([beyond]), mu=1).bounds[0] >= beyond
    common = EllipticalGaussian(bounds="0.5", dim=3, mu=1)
    np.testing.assert_array_equal(common.bounds, [0.5] * 3)
    np.testing.assert_array_equal(EllipticalGaussian(dim=2, mu=1).bounds, [1.0, 1.0])
    np.testing.assert_array_equal(EllipticalGaussian(bounds=np.float64(2), dim=2, mu=1).bounds, [2.0, 2.0])
    given = np.array([1.0, 2.0])
    kept = EllipticalGaussian(bounds=given, mu=1)
    given[:] = 0
    np.testing.assert_array_equal(kept.bounds, [1.0, 2.0])


def test_the_noise_of_the_ellipse_has_the_least_total_variance_of_equal_privacy(seed: int) -> None:
    bounds = [1, 2, 4, Fraction(1, 2)]
    mechanism = EllipticalGaussian(bounds=bounds, mu=1)
    assert math.isclose(float((mechanism.scales**2).sum()), float(sum(bounds)) ** 2, rel_tol=1e-14)
    squares = np.array([float(b) ** 2 for b in bounds])
    for draw in np.random.default_rng(seed).lognormal(size=(200, 4)):
        variances = draw * (squares / draw).sum()  # so that sum bound^2/variance = 1
        assert variances.sum() >= float(sum(bounds)) ** 2


# relations ------------------------------------------------------------------------------------------------------------


def test_relations_are_read_by_name_and_written_back() -> None:
    for relation in (ADD_OR_REMOVE_ONE, REPLACE_ONE):
        name = adjacency_name(relation)
        assert parse_adjacency(name) is parse_adjacency(f" {name.upper().replace('-', '_')} ") is relation
        assert check_adjacency(relation) is relation


@pytest.mark.parametrize("text", ["", "replace", "add-or-remove", "replace_special"])
def test_a_name_of_no_relation_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^adjacency=.* must be one of add-or-remove-one, replace-one: "):
        parse_adjacency(text)
