"""OpenDP measurements audited as they are: the claim, the relation and the neighbours that they state themselves.

A correct measurement is refuted with probability ERROR at most; one with half of the noise is planted.
"""

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.trials.libraries.opendp import MeasuredRelease
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverdict.testing import PrivacyViolation, assert_private

dp = pytest.importorskip("opendp.prelude")
ERROR, SEED = 1e-6, 5
dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
REAL, WHOLE = dp.atom_domain(T=float, nan=False), dp.atom_domain(T=int)
REALS, WHOLES = dp.vector_domain(REAL), dp.vector_domain(WHOLE)
RATED = dp.vector_domain(dp.atom_domain(bounds=(0, 5)))
SIZED = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False), size=10)
HERE, THERE = dp.absolute_distance(T=float), dp.absolute_distance(T=int)
RECORDS = dp.symmetric_distance()
TEXTS = dp.vector_domain(dp.atom_domain(T=str))

MADE: dict[str, tuple[Callable[[], Any], Guarantee | None, Any]] = {
    "laplace": (lambda: dp.m.make_laplace(REAL, HERE, scale=1.0), PureDP(1), REPLACE_ONE),
    "laplace of integers": (lambda: dp.m.make_laplace(WHOLE, THERE, scale=2.0), PureDP("0.5"), REPLACE_ONE),
    "laplace of vectors": (
        lambda: dp.m.make_laplace(REALS, dp.l1_distance(T=float), scale=1.0),
        PureDP(1),
        REPLACE_ONE,
    ),
    "gaussian": (lambda: dp.m.make_gaussian(REAL, HERE, scale=1.0), ZeroConcentratedDP("0.5"), REPLACE_ONE),
    "gaussian of integers": (
        lambda: dp.m.make_gaussian(WHOLE, THERE, scale=1.0),
        ZeroConcentratedDP("0.5"),
        REPLACE_ONE,
    ),
    "gaussian of vectors": (
        lambda: dp.m.make_gaussian(REALS, dp.l2_distance(T=float), scale=0.5),
        ZeroConcentratedDP(2),
        REPLACE_ONE,
    ),
    "geometric": (lambda: dp.m.make_geometric(WHOLE, THERE, scale=1.0), PureDP(1), REPLACE_ONE),
    "noise": (lambda: dp.m.make_noise(WHOLE, THERE, dp.max_divergence(), scale=1.0), PureDP(1), REPLACE_ONE),
    "canonical noise": (
        lambda: dp.m.make_canonical_noise(REAL, HERE, d_in=1.0, d_out=(1.0, 1e-6)),
        ApproximateDP(1, 1e-6),
        REPLACE_ONE,
    ),
    "randomized response of bits": (
        lambda: dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=4), dp.discrete_distance(), f=0.5),
        None,
        REPLACE_ONE,
    ),
    "randomized response": (lambda: dp.m.make_randomized_response_bool(0.75), None, REPLACE_ONE),
    "noisy max": (
        lambda: dp.m.make_noisy_max(REALS, dp.linf_distance(T=float), dp.max_divergence(), scale=1.0),
        PureDP(2),
        REPLACE_ONE,
    ),
    "sum": (
        lambda: (RATED, RECORDS) >> dp.t.then_sum() >> dp.m.then_laplace(5.0),
        PureDP(1),
        ADD_OR_REMOVE_ONE,
    ),
    "count": (
        lambda: (WHOLES, RECORDS) >> dp.t.then_count() >> dp.m.then_laplace(1.0),
        PureDP(1),
        ADD_OR_REMOVE_ONE,
    ),
    "mean": (lambda: (SIZED, RECORDS) >> dp.t.then_mean() >> dp.m.then_laplace(1.0), None, REPLACE_ONE),
    "response of texts": (
        lambda: dp.m.make_randomized_response(["a", "b", "c"], prob=0.75),
        None,
        REPLACE_ONE,
    ),
    "counts of categories": (
        lambda: (TEXTS, RECORDS) >> dp.t.then_count_by_categories(["a", "b"]) >> dp.m.then_laplace(1.0),
        PureDP(1),
        ADD_OR_REMOVE_ONE,
    ),
    "counts by key": (
        lambda: (TEXTS, RECORDS) >> dp.t.then_count_by(TV=int) >> dp.m.then_laplace_threshold(2.0, 20),
        None,
        ADD_OR_REMOVE_ONE,
    ),
    "distinct texts": (
        lambda: (TEXTS, RECORDS) >> dp.t.then_count_distinct() >> dp.m.then_laplace(1.0),
        PureDP(1),
        ADD_OR_REMOVE_ONE,
    ),
    "fixed delta": (
        lambda: dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(REAL, HERE, scale=1.0)), 1e-6),
        None,
        REPLACE_ONE,
    ),
}


def halved() -> Any:
    """Planted: noise of scale 1/4 under the map of scale 1."""
    right, wrong = (dp.m.make_laplace(REAL, HERE, scale=scale) for scale in (1.0, 0.25))
    return dp.m.make_user_measurement(
        REAL, HERE, dp.max_divergence(), lambda x: wrong(x), lambda d_in: right.map(d_in), TO=float
    )


@pytest.mark.parametrize("name", MADE)
def test_the_claim_the_relation_and_the_neighbours_are_read(name: str) -> None:
    make, claim, relation = MADE[name]
    found = MeasuredRelease(make())
    if claim is not None:
        assert found.claim == claim
    assert found.pair.adjacency is relation
    rng = np.random.default_rng(SEED)
    for data in (found.pair.dataset, found.pair.neighbour):
        released = found(data, rng)
        assert isinstance(released, str | bytes | dict) or np.isfinite(np.asarray(released, dtype=np.float64)).all()
    assert set(found.describe()) == {"claim read", "input domain", "input metric"}


def test_numbers_of_the_map_are_taken_exactly_and_a_replacement_is_two_steps() -> None:
    response = MeasuredRelease(dp.m.make_randomized_response_bool(0.75)).claim
    assert isinstance(response, PureDP)
    assert abs(response.epsilon - Fraction(1.0986122886681098)) < Fraction(1, 10**12)  # log 3
    assert MeasuredRelease(MADE["mean"][0]()).distance == 2
    assert MeasuredRelease(MADE["sum"][0]()).pair.dataset[-1, 0] == 5  # the upper bound of a record


def test_bits_are_as_far_apart_as_their_weight_allows() -> None:
    pair = MeasuredRelease(MADE["randomized response of bits"][0]()).pair
    assert (pair.dataset, pair.neighbour) == ([b"\xf0"], [b"\x0f"])


def test_a_private_frame_of_polars_is_read_where_it_is_installed() -> None:
    polars = pytest.importorskip("polars")
    columns = {"kind": dp.String, "value": float, "whole": dp.i32}
    domain = dp.lazyframe_domain([dp.series_domain(name, dp.atom_domain(T=kind)) for name, kind in columns.items()])
    domain = dp.with_margin(domain, dp.polars.Margin(by=[], max_length=100))
    empty = polars.LazyFrame(schema={"kind": polars.String, "value": polars.Float64, "whole": polars.Int32})
    try:
        private = dp.m.make_private_lazyframe(
            domain, RECORDS, dp.max_divergence(), empty.select(dp.len(scale=1.0, signed=True)), global_scale=1.0
        )
    except Exception as error:
        pytest.skip(f"OpenDP wants another polars: {str(error)[:60]}")
    found = MeasuredRelease(private)
    assert found.pair.adjacency is ADD_OR_REMOVE_ONE
    assert found.pair.dataset.row(-1) == ("b", 1.0, 1)
    assert found(found.pair.dataset, np.random.default_rng(0)).columns == ["len"]
    assert isinstance(found.claim, PureDP)
    assert 1 <= found.claim.epsilon < 1 + Fraction(1, 10**9)


def test_a_measurement_is_private_and_one_with_less_noise_is_not() -> None:
    report = assert_private(MADE["laplace"][0](), error_probability=ERROR, seed=SEED, samples=1000)
    assert report.claim == PureDP(1)
    with pytest.raises(PrivacyViolation):
        assert_private(halved(), error_probability=ERROR, seed=SEED, samples=4000)


def test_another_pair_needs_a_claim_of_its_own() -> None:
    pair = (np.array([[5.0]]), np.array([[0.0]]))
    with pytest.raises(InvalidValue, match="claim"):
        assert_private(MADE["laplace"][0](), neighbours=pair, error_probability=ERROR, seed=SEED)


@pytest.mark.usefixtures("warm_copies")
def test_a_measurement_is_audited_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "measured.py"
    path.write_text(
        "import opendp.prelude as dp\n"
        'dp.enable_features("contrib")\n'
        "noisy = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)\n"
    )
    assert main(["audit", f"{path}:noisy", "--samples", "500", "--seed", "1", "--details"]) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "eps=1" in shown
    assert "AbsoluteDistance" in shown
    assert main(["audit", f"{path}:noisy", "--samples", "500", "--seed", "1", "--claim", "eps=0.001, delta=0"]) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(REAL, HERE, scale=1.0)),
        lambda: 3,
    ],
    ids=["a profile", "no measurement"],
)
def test_what_states_no_pair_or_claim_is_refused(make: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made = make()
    with pytest.raises(InvalidValue):
        MeasuredRelease(made)


def test_counts_by_key_are_private_and_without_their_threshold_are_not() -> None:
    right = MADE["counts by key"][0]()
    report = assert_private(right, error_probability=ERROR, seed=SEED, samples=400)
    assert isinstance(report.claim, ApproximateDP)
    low = (TEXTS, RECORDS) >> dp.t.then_count_by(TV=int) >> dp.m.then_laplace_threshold(2.0, 1)
    wrong = dp.m.make_user_measurement(
        TEXTS,
        RECORDS,
        dp.approximate(dp.max_divergence()),
        lambda x: low(x),
        lambda d: right.map(d),
        TO="ExtrinsicObject",
    )
    with pytest.raises(PrivacyViolation):
        assert_private(wrong, error_probability=ERROR, seed=SEED, samples=1500)
