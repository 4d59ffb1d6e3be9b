"""Adapters: the zoo and the correct mechanisms of this project, diffprivlib and OpenDP where they are installed."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus
from dpverdict.audit.implementation.tap.tapped_runs import tap_runs
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.broken import counters, laplace

MU = {"M1": 1.15849, "M3": 1.06488, "M7": 2.4641, "M13": 1.12603, "S1": 1.73205, "K1": 1.11803, "D1": 1.07238}
"""Of a few variants in three dimensions, by their formulas."""


def made(name: str) -> Any:
    wrong = broken.any_by_name(name)
    if isinstance(wrong, counters.CountingMutant):
        return wrong.make(25 if name == "T3" else 12 if name == "T9" else 62, 1, 5)
    if isinstance(wrong, laplace.LaplaceMutant):
        return wrong.make(4, 1)
    dim = next(d for d in (3, 5, 4, 2) if d >= wrong.least_dim and (wrong.refutable(d, 1) or d == 2))  # type: ignore[union-attr]
    return wrong.make(dim, 1)


def verdict(mechanism: Any) -> Any:
    return tap_runs(mechanism, worst_case(mechanism).pair, mechanism.claim, seed=1)


@pytest.mark.parametrize("name", ["M1", "M3", "M6", "M7", "M9", "M10", "M13", "S1", "K1", "D1", "T1", "T6", "L2"])
def test_a_wrong_variant_is_found_from_its_runs(name: str) -> None:
    found = verdict(made(name))
    assert found.status in (TapStatus.REFUTED, TapStatus.FINDING), found.text()
    assert found.runs <= 10
    if name in MU:
        assert found.mu == pytest.approx(MU[name], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in (*broken.GAUSSIAN, *counters.ALL, *laplace.ALL)] + ["D1"])
def test_every_wrong_variant_is_found_unless_it_is_private(name: str) -> None:
    found = verdict(made(name))
    private = name in ("M8b", "T9")
    assert (found.status is TapStatus.QUIET) is private, found.text()
    assert found.runs <= 10


def test_a_selection_with_half_of_the_noise_is_found() -> None:
    for name in ("X1", "X2", "X3", "R1", "Q1"):
        mechanism = broken.any_by_name(name).make(4, 1)  # type: ignore[call-arg]
        assert verdict(mechanism).status in (TapStatus.REFUTED, TapStatus.FINDING), name


def test_correct_mechanisms_of_this_project_are_quiet() -> None:
    from dpverdict.audit.trials.catalogue import example_of, mechanism_classes

    for name in ("standard-gaussian", "correlated-gaussian", "laplace", "tree-counter", "discrete-correlated-gaussian"):
        found = verdict(example_of(mechanism_classes()[name]))
        assert found.status is TapStatus.QUIET, found.text()


def diffprivlib_cases() -> dict[str, Any]:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    common = {"epsilon": 1.0, "sensitivity": 1}
    bounded = {**common, "lower": 0, "upper": 3}
    with_delta = {**common, "delta": 0.1}
    kinds: dict[str, dict[str, Any]] = {
        **dict.fromkeys(("Laplace", "Geometric", "Staircase"), common),
        **dict.fromkeys(("LaplaceTruncated", "LaplaceFolded", "LaplaceBoundedDomain", "GeometricTruncated",
                         "GeometricFolded", "Snapping"), bounded),
        **dict.fromkeys(("LaplaceBoundedNoise", "Gaussian", "GaussianAnalytic", "GaussianDiscrete"), with_delta),
        "Uniform": {"delta": 0.1, "sensitivity": 1},
    }  # fmt: skip
    return {name: (getattr(mechanisms, name), given) for name, given in kinds.items()}


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["a few", "all"])
def test_the_noise_of_diffprivlib_is_no_finding_and_a_larger_move_is(step: int) -> None:
    for name, (kind, given) in list(diffprivlib_cases().items())[::step]:
        claim = "eps=1e-6, delta=0.1" if name == "Uniform" else "eps=1, delta=0.1" if "delta" in given else "eps=1"

        def release(data: Any, kind: Any = kind, given: Any = given) -> Any:
            return kind(**given).randomise(data[0])

        found = tap_runs(release, ([1], [0]), claim, seed=1)
        assert found.status is TapStatus.QUIET, (name, found.text())
        wrong = tap_runs(release, ([3], [0]), claim, seed=1)
        assert wrong.status is TapStatus.FINDING, (name, wrong.text())
        assert any("sensitivity" in one.what for one in wrong.findings), name


def test_selections_of_diffprivlib_compare_their_probabilities() -> None:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")

    def release(data: Any) -> Any:
        return mechanisms.Exponential(epsilon=1, sensitivity=1, utility=list(data)).randomise()

    assert tap_runs(release, ([1.0, 0, 0], [0.0, 1, 1]), "eps=1", seed=1).status is TapStatus.QUIET
    assert tap_runs(release, ([9.0, 0, 0], [0.0, 9, 9]), "eps=1", seed=1).status is TapStatus.FINDING


def test_tools_of_diffprivlib() -> None:
    tools = pytest.importorskip("diffprivlib.tools")
    data = np.linspace(0, 1, 40)
    pair = (np.concatenate([[1.0], data]), np.concatenate([[0.0], data]))
    for name in ("mean", "sum", "var"):
        found = tap_runs(lambda x, name=name: getattr(tools, name)(x, epsilon=1, bounds=(0, 1)), pair, "eps=1", seed=1)
        assert found.status is TapStatus.QUIET, (name, found.text())
    broken_mean = (np.concatenate([[np.nan], data]), pair[1])
    found = tap_runs(lambda x: tools.mean(x, epsilon=1, bounds=(0, 1)), broken_mean, "eps=1", seed=1)
    assert found.status is TapStatus.FINDING
    assert "finite" in found.reason


def test_a_measurement_of_opendp_is_held_to_its_own_map() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")

    def release(scale: float) -> Any:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        measurement = dp.m.make_laplace(*space, scale=scale)
        return lambda x: measurement([int(one) for one in x.sum(axis=0)])

    pair = np.ones((10, 3)), np.ones((9, 3))
    assert tap_runs(release(3.0), pair, "eps=1", seed=1).status is TapStatus.QUIET
    wrong = tap_runs(release(1.0), pair, "eps=1", seed=1)
    assert wrong.status is TapStatus.FINDING
    assert wrong.epsilon == pytest.approx(3.0)


class OfSmartNoise:
    """What a mechanism of SmartNoise SQL keeps, with noise that no tap sees, as that of OpenDP."""

    def __init__(self, scale: float) -> None:
        self.epsilon, self.delta, self.lower, self.upper, self.max_contrib, self.scale = 1.0, 0.0, 0, 1, 1, scale

    def release(self, vals: Any) -> Any:
        return [float(one) + KEPT[0].laplace(scale=self.scale) for one in vals]


KEPT = [np.random.default_rng(7)]


def test_the_mechanisms_of_smartnoise_tell_what_they_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type("Laplace", (OfSmartNoise,), {"release": OfSmartNoise.release})
    monkeypatch.setitem(sys.modules, "snsql.sql._mechanisms", SimpleNamespace(Laplace=kind))
    pair = np.ones((10, 1)), np.ones((9, 1))
    found = tap_runs(lambda x: kind(1.0).release([len(x)]), pair, "eps=1", seed=1)
    assert (found.status, found.epsilon, found.spent) == (TapStatus.QUIET, 1.0, 1.0), found.text()
    assert found.rows[0].promised == "sensitivity 1, eps 1, laplace 1"
    small = tap_runs(lambda x: kind(0.5).release([len(x)]), pair, "eps=1", seed=1)
    assert (small.status, small.epsilon) == (TapStatus.REFUTED, 2.0)
    far = tap_runs(lambda x: kind(1.0).release([3 * len(x)]), pair, "eps=1", seed=1)
    assert far.status is TapStatus.FINDING
    assert "sensitivity" in far.reason
    assert "release" in vars(kind)
    assert vars(kind)["release"] is OfSmartNoise.release


def test_a_query_of_smartnoise_sql_is_followed() -> None:
    snsql, pandas = pytest.importorskip("snsql"), pytest.importorskip("pandas")
    columns = {"row_privacy": True, "rows": 40, "x": {"type": "float", "lower": 0.0, "upper": 10.0}}

    def release(data: Any) -> Any:
        privacy = snsql.Privacy(epsilon=1.0, delta=1e-5)
        reader = snsql.from_connection(data, privacy=privacy, metadata={"": {"T": {"P": dict(columns)}}})
        return [float(one) for one in reader.execute("SELECT COUNT(*) AS n, SUM(x) AS s FROM T.P")[1]]

    data = pandas.DataFrame({"x": np.linspace(10, 0, 40)})
    pair = data, data.iloc[1:].reset_index(drop=True)
    assert tap_runs(release, pair, "eps=2", seed=1).status is TapStatus.QUIET
    assert tap_runs(release, pair, "eps=1", seed=1).status is TapStatus.FINDING  # each column spends it
