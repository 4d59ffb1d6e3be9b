"""Witnesses as documents, and their replay: refuted again, not refuted once mended, damage of every kind."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpverdict.audit import read_witness, replay, write_witness
from dpverdict.audit.distinguishing.low_bits import LowBits, Multiples, Values
from dpverdict.audit.distinguishing.witness_document import checksum, read_witness_schema
from dpverdict.audit.runs.replay import score_from_data, set_from_data
from dpverdict.audit.scores.learned import fit_chained_score, fit_spline_score
from dpverdict.audit.scores.score import CallableScore, fit_linear_score
from dpverdict.audit.trials.run import batched
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue

RELEASES = """
def noisy(dataset, rng, trials):
    return dataset.sum() + 0.5 * rng.normal(size=(trials, 2))


def close(dataset, rng, trials):
    return dataset.sum() + 0.8 * rng.normal(size=(trials, 2)) * [1, 9]


def right(dataset, rng, trials):
    return dataset.sum() + 2.0 * rng.normal(size=(trials, 2))


def leaky(dataset, rng, trials):
    return dataset.sum() + rng.laplace(size=(trials, 1))


def counted(dataset, rng, trials):
    return len(dataset) + rng.laplace(size=(trials, 1))


def first(outputs):
    return outputs[:, 0]
"""
RIGHT = batched(lambda dataset, rng, n: dataset.sum() + 2 * rng.normal(size=(n, 2)))
TEST = ["--samples", "3000", "--seed", "1", "--error-probability", "1e-4", "--quiet", "--witness", "w.json"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rel.py").write_text(RELEASES)
    np.savez("pair.npz", dataset=np.array([[0.0], [1.0]]), neighbour=np.array([[0.0]]))
    return tmp_path


def audit(*arguments: str) -> dict[str, Any]:
    assert main(["audit", *arguments, *TEST]) == 1
    document = read_witness("w.json")
    jsonschema.validate(document, read_witness_schema())
    return document


def black_box(function: str, *rest: str) -> dict[str, Any]:
    return audit(f"rel.py:{function}", "--neighbours", "pair.npz", *rest)


@pytest.mark.parametrize(
    ("rest", "kinds"),
    [
        (["--claim", "mu=1"], ["event", "payoff"]),
        (["--claim", "eps=1, delta=1e-5"], ["event", "payoff"]),
        (["--claim", "rho=0.5", "--score", "rel.py:first"], ["event", "payoff"]),
        (["--claim", "mu=1", "--numbers", "real"], ["event", "payoff"]),
    ],
)
def test_a_black_box_is_refuted_again(folder: Path, rest: list[str], kinds: list[str]) -> None:
    document = black_box("noisy", *rest)
    assert document["kind"] in kinds
    assert document["grid"] > 0 if "real" in rest else document["grid"] == 0
    assert main(["replay", "w.json"]) == 1
    first, second = replay(document, seed=5), replay(document, seed=5)
    assert first == second  # a seed repeats
    assert first.seed != replay(document).seed  # and no seed is a fresh one
    assert first.refuted


def test_a_divergence_is_refuted_again_and_not_of_a_mechanism_that_keeps_the_claim(folder: Path) -> None:
    document = black_box("close", "--claim", "rho=0.5")
    assert document["evidence"]["payoff"]["kind"] == "divergence"
    assert replay(document, samples=10_000, seed=8).refuted
    assert not replay(document, mechanism=RIGHT, samples=10_000, seed=8).refuted
    forged = {**document, "claim": "mu=1"}
    forged["sha256"] = checksum({name: value for name, value in forged.items() if name != "sha256"})
    with pytest.raises(InvalidValue):
        replay(forged, seed=5)


def test_a_mechanism_that_was_mended_is_not_refuted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = black_box("noisy", "--claim", "mu=1")
    assert not replay(document, mechanism=RIGHT).refuted
    Path("rel.py").write_text(RELEASES.replace("0.5 *", "2.0 *"))
    assert main(["replay", "w.json", "--seed", "2"]) == 3
    assert "no longer that of the witness" in capsys.readouterr().out


def test_nothing_is_written_of_a_claim_that_stands(folder: Path) -> None:
    assert main(["audit", "rel.py:right", "--neighbours", "pair.npz", "--claim", "mu=1", *TEST]) == 3
    assert not Path("w.json").exists()


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        (["standard-gaussian", "--dim", "3", "--mu", "2", "--claim", "mu=1"], ["event", "payoff"]),
        (["laplace", "--dim", "3", "--epsilon", "2", "--claim", "eps=1"], ["event", "payoff"]),
        (["tree-counter", "--horizon", "4", "--epsilon", "3", "--claim", "eps=1"], ["event", "payoff"]),
        (["broken:M3", "--dim", "20", "--mu", "1"], ["exact"]),
    ],
)
def test_named_mechanisms_are_refuted_again(folder: Path, arguments: list[str], kinds: list[str]) -> None:
    document = audit(*arguments)
    assert document["kind"] in kinds
    assert replay(document, seed=3).refuted


def test_float_leaks_are_refuted_again_and_gone_after_rounding(folder: Path) -> None:
    leaky = ["rel.py:leaky", "--neighbours", "pair.npz", "--claim", "eps=1", "--numbers", "double"]
    assert main(["audit", *leaky, "--samples", "8000", *TEST[2:]]) == 1
    document = read_witness("w.json")
    jsonschema.validate(document, read_witness_schema())
    assert document["kind"] == "low bits"
    assert replay(document, seed=4).refuted
    rounded = batched(lambda d, rng, n: np.rint((d.sum() + rng.laplace(size=n)) * 2**20) / 2**20)
    assert not replay(document, mechanism=rounded, seed=4).refuted


@pytest.mark.parametrize(
    "audited",
    [
        ["laplace", "--data", "table.csv", "--epsilon", "1"],
        ["rel.py:counted", "--search", "binary:1", "--adjacency", "add-or-remove-one"],
    ],
)
def test_float_leaks_on_data_and_on_searched_neighbours_hold_their_datasets(folder: Path, audited: list[str]) -> None:
    Path("table.csv").write_text("x\n1\n0\n1\n")
    rest = ["--claim", "eps=1", "--numbers", "double", "--samples", "16000", *TEST[2:]]
    assert main(["audit", *audited, *rest]) == 1
    document = read_witness("w.json")
    assert document["kind"] == "low bits"
    assert document["datasets"]["dataset"]["values"] is not None
    assert document["datasets"]["neighbour"]["values"] is not None
    assert replay(document, seed=4).refuted


def forged(document: dict[str, Any], **change: Any) -> dict[str, Any]:
    """Another document whose checksum fits: what is wrong with it must show elsewhere."""
    held = {name: value for name, value in (document | change).items() if name != "sha256"}
    return {**held, "sha256": checksum(held)}


def test_a_forged_witness_does_not_refute_a_right_mechanism(folder: Path) -> None:
    """Whatever counts, bounds and inequalities are written into it: what the claim allows is computed again."""
    document = black_box("noisy", "--claim", "mu=1")
    evidence = document["evidence"] | {
        "dataset_count": 1800,
        "neighbour_count": 0,
        "p_value": 0.0,
        "probability_upper": 0,
    }
    lie = forged(
        document, evidence=evidence, p_value=0.0, bounds={"mu_lower": 99.0, "epsilon_lower": None, "delta": None}
    )
    for epsilon in (-3.0, 0.0, 3.0):
        for threshold in (-1.0, 0.5, 3.0, "inf"):
            changed = forged(lie, kind="event", evidence=evidence | {"epsilon": epsilon, "threshold": threshold})
            assert not replay(changed, mechanism=RIGHT, seed=7).refuted
    for tau in (0.5, 2.0):
        payoff = {"kind": "curve", "tau": tau, "allowed": -5.0, "trials": 1000}
        changed = forged(lie, kind="payoff", evidence={"payoff": payoff})
        assert not replay(changed, mechanism=RIGHT, seed=7).refuted
        assert replay(changed, seed=7).refuted


def test_damaged_and_foreign_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = black_box("noisy", "--claim", "mu=1")
    text = Path("w.json").read_text()
    bad = {
        "changed.json": text.replace('"seed": 1', '"seed": 2'),
        "short.json": text[:-40],
        "empty.json": "",
        "list.json": "[1]",
        "other.json": '{"format": "x"}',
        "later.json": json.dumps(forged(document, version=2)),
        "deep.json": "[" * 100_000,
        "more.json": json.dumps(forged(document, surplus=1)),
    }
    for name, content in bad.items():
        Path(name).write_text(content)
        assert main(["replay", name]) == 2, name
        error = capsys.readouterr().err
        assert error.startswith("error: witness="), name
        assert "Traceback" not in error
    Path("bytes.json").write_bytes(b"\xff\xfe\x00")
    assert main(["replay", "bytes.json"]) == 2
    assert main(["replay", "none.json"]) == 2
    assert main(["replay", "w.json", "--samples", "1"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "event", "evidence": {}},
        {"kind": "payoff", "evidence": {"payoff": {"kind": "symmetric", "threshold": 1.0, "trials": 100}}},
        {"kind": "other"},
        {"kind": "exact"},
        {"score": {"kind": "boosted trees"}},
        {"score": {"kind": "linear", "name": "x", "weights": [1.0], "offset": 0.0}},
        {"score": {"kind": "additive spline", "name": "x", "offset": 0, "knots": [[0, 0]], "values": [[1, 1]]}},
        {"score": {"kind": "callable", "name": "unknown"}},
        {"claim": "nonsense"},
        {"level": 2.0},
        {"datasets": {"dataset": None, "neighbour": None}},
        {"mechanism": {"name": "nothing", "options": {}, "options_from_data": True, "source_sha256": None}},
        {"relation": "cousins"},
    ],
)
def test_documents_that_contradict_themselves(folder: Path, change: dict[str, Any]) -> None:
    document = forged(black_box("noisy", "--claim", "mu=1"), **change)
    write_witness(document, "forged.json")
    with pytest.raises(InvalidValue):
        replay(read_witness("forged.json"), seed=1)


def test_large_datasets_are_kept_as_hashes(folder: Path) -> None:
    document = black_box("noisy", "--claim", "mu=1")
    datasets = {name: held | {"values": None} for name, held in document["datasets"].items()}
    large = forged(document, datasets=datasets)
    with pytest.raises(InvalidValue, match="add --neighbours"):
        replay(large)
    assert replay(large, neighbours="pair.npz").refuted
    np.savez("another.npz", dataset=np.array([[0.0], [2.0]]), neighbour=np.array([[0.0]]))
    with pytest.raises(InvalidValue, match="datasets of the witness"):
        replay(large, neighbours="another.npz")
    values = document["datasets"]["dataset"] | {"values": [[0.0], [9.0]]}
    with pytest.raises(InvalidValue, match="does not fit its hash"):
        replay(forged(document, datasets=document["datasets"] | {"dataset": values}))


def test_scores_and_sets_survive_their_description() -> None:
    rng = np.random.default_rng(3)
    p, q = rng.normal(1, 1, (300, 2)), rng.normal(0, 1, (300, 2))
    user = CallableScore(function=lambda outputs: outputs[:, 0], name="user")
    for score in (fit_linear_score([p], [q]), fit_spline_score(p, q), fit_chained_score(user, p, q), user):
        data = json.loads(json.dumps(score.describe()))
        assert np.array_equal(score_from_data(data, lambda name: user.function)(q), score(q))
    for event in (
        LowBits(coordinate=1, centre=0.5, exponent=-1, bit=-54),
        Multiples(coordinate=0, offset=0.1, grid=2.0**-8),
        Values(coordinate=0, values=tuple(q[:5, 0].tolist())),
    ):
        found = set_from_data(json.loads(json.dumps(event.describe())))
        assert found == event
