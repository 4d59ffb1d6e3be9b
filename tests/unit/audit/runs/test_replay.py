"""Witnesses as documents, and their replay: refuted again, not refuted once mended, damage of every kind."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpverdict.audit import read_witness, replay, write_witness
from dpverdict.audit.distinguishing.witness_document import array_hash, checksum, read_witness_schema
from dpverdict.audit.trials.run import batched
from dpverdict.cli.application import main
from dpverdict.errors import DpverdictError, InvalidValue

RELEASES = """
from dpverdict.audit import batched


@batched
def noisy(dataset, rng, trials):
    return dataset.sum() + 0.5 * rng.normal(size=(trials, 2))


@batched
def close(dataset, rng, trials):
    return dataset.sum() + 0.8 * rng.normal(size=(trials, 2)) * [1, 9]


@batched
def right(dataset, rng, trials):
    return dataset.sum() + 2.0 * rng.normal(size=(trials, 2))


@batched
def leaky(dataset, rng, trials):
    return dataset.sum() + rng.laplace(size=(trials, 1))


@batched
def counted(dataset, rng, trials):
    return len(dataset) + rng.laplace(size=(trials, 1))


@batched
def far(dataset, rng, trials):
    region = rng.random((trials, 1)) < 0.05 * dataset.sum()
    return 6.0 * region + rng.laplace(size=(trials, 1))


def first(outputs):
    return outputs[:, 0]
"""
RIGHT = batched(lambda dataset, rng, n: dataset.sum() + 2 * rng.normal(size=(n, 2)))
RIGHT_NUMBER = batched(lambda dataset, rng, n: dataset.sum() + rng.laplace(size=(n, 1)))
pytestmark = pytest.mark.usefixtures("warm_copies")
TEST = ["--samples", "3000", "--seed", "1", "--error-probability", "1e-4", "--quiet", "--witness", "w.json"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rel.py").write_text(RELEASES)
    np.savez("pair.npz", dataset=np.array([[0.0], [1.0]]), neighbour=np.array([[0.0]]))
    return tmp_path


_WRITTEN: dict[tuple[str, ...], bytes] = {}  # the witness of each audit: 200 tests start from the same one


def audit(*arguments: str) -> dict[str, Any]:
    if arguments not in _WRITTEN:
        assert main(["audit", *TEST, *arguments]) == 1
        jsonschema.validate(read_witness("w.json"), read_witness_schema())
        _WRITTEN[arguments] = Path("w.json").read_bytes()
    Path("w.json").write_bytes(_WRITTEN[arguments])
    return read_witness("w.json")


def black_box(function: str, *rest: str) -> dict[str, Any]:
    return audit(f"rel.py:{function}", "--neighbours", "pair.npz", *rest)


@pytest.mark.few(2)
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
    assert main(["replay", "w.json", "--trust-code"]) == 1
    first, second = replay(document, seed=5, trust_code=True), replay(document, seed=5, trust_code=True)
    assert first == second  # a seed repeats
    assert first.seed != replay(document, trust_code=True).seed  # and no seed is a fresh one
    assert first.refuted


def test_a_half_line_is_refuted_again_as_one_event(folder: Path) -> None:
    # 1000 releases of seed 4: no gap is before the region, and exploration chose another event: half-lines alone refute
    document = black_box(
        "far", "--claim", "eps=1, delta=1e-5", "--samples", "1000", "--seed", "4", "--error-probability", "0.05"
    )
    assert document["evidence"]["what"] == "half-lines of the output"
    assert replay(document, samples=2000, seed=5, trust_code=True).refuted
    assert not replay(document, mechanism=RIGHT_NUMBER, samples=2000, seed=5).refuted


def test_a_divergence_is_refuted_again_and_not_of_a_mechanism_that_keeps_the_claim(folder: Path) -> None:
    document = black_box("close", "--claim", "rho=0.5")
    assert document["evidence"]["payoff"]["kind"] == "divergence"
    assert replay(document, samples=10_000, seed=8, trust_code=True).refuted
    assert not replay(document, mechanism=RIGHT, samples=10_000, seed=8).refuted
    forged = {**document, "claim": "mu=1"}
    forged["sha256"] = checksum({name: value for name, value in forged.items() if name != "sha256"})
    with pytest.raises(InvalidValue):
        replay(forged, seed=5, trust_code=True)


def test_a_mechanism_that_was_mended_is_not_refuted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = black_box("noisy", "--claim", "mu=1")
    assert not replay(document, mechanism=RIGHT).refuted
    Path("rel.py").write_text(RELEASES.replace("0.5 *", "2.0 *"))
    assert main(["replay", "w.json", "--seed", "2", "--trust-code"]) == 3
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
    assert replay(document, seed=3, trust_code=True).refuted


def test_float_leaks_are_refuted_again_and_gone_after_rounding(folder: Path) -> None:
    leaky = ["rel.py:leaky", "--neighbours", "pair.npz", "--claim", "eps=1", "--numbers", "double"]
    assert main(["audit", *leaky, "--samples", "8000", *TEST[2:]]) == 1
    document = read_witness("w.json")
    jsonschema.validate(document, read_witness_schema())
    assert document["kind"] == "low bits"
    assert replay(document, seed=4, trust_code=True).refuted
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
    assert replay(document, seed=4, trust_code=True).refuted


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
        assert replay(changed, seed=7, trust_code=True).refuted


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
    assert main(["replay", "w.json", "--samples", "1", "--trust-code"]) == 2


@pytest.mark.parametrize(("kind", "evidence"), [("event", {}), ("event", None), ("payoff", {"payoff": {}})])
def test_a_damaged_witness_is_refused_before_the_releases_are_made(folder: Path, kind: str, evidence: object) -> None:
    calls = []

    def counted(dataset: Any, rng: np.random.Generator) -> Any:
        calls.append(1)
        return dataset.sum() + 2 * rng.normal(size=2)

    document = forged(black_box("noisy", "--claim", "mu=1"), kind=kind, evidence=evidence)
    with pytest.raises(InvalidValue, match="parts fit together"):
        replay(document, mechanism=counted, samples=50_000)
    assert len(calls) < 1000


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
        replay(read_witness("forged.json"), seed=1, trust_code=True)


def array_fields(values: Any, dtype: str = "<f8") -> dict[str, Any]:
    array = np.asarray(values, dtype=dtype)
    return {"shape": list(array.shape), "dtype": dtype, "sha256": array_hash(array), "values": array.tolist()}


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize(
    ("dataset", "neighbour"),
    [
        ([[0.0], [1.0], [1.0], [1.0], [1.0]], [[0.0]]),
        ([[0.0], [1.0]], np.zeros((0, 1))),
        ([[0.0], [1.0]], [[1.0], [0.0]]),
        ([[0.0], [0.0]], [[2.0], [2.0]]),
        ([[0.0]], [[0.0], [1.0]]),
        ([[0.0], [1.0]], [[0.0, 0.0], [1.0, 1.0]]),
        ([[0.0], [1.0]], [0.0]),
        (0.0, 1.0),
    ],
)
def test_datasets_that_are_no_neighbours_refute_nothing(
    folder: Path, relation: str, dataset: Any, neighbour: Any
) -> None:
    """Today five records against one would refute a claim about one record."""
    document = black_box("noisy", "--claim", "mu=1")
    datasets = {"dataset": array_fields(dataset), "neighbour": array_fields(neighbour)}
    changed = forged(document, relation=relation, datasets=datasets)
    for mechanism in (None, RIGHT):
        with pytest.raises(InvalidValue):
            replay(changed, mechanism=mechanism, seed=1, trust_code=True)


def test_more_records_of_one_user_are_for_the_user_to_say(folder: Path) -> None:
    document = black_box("noisy", "--claim", "mu=1")
    datasets = {"dataset": array_fields([[0.0], [1.0], [1.0]]), "neighbour": array_fields([[0.0]])}
    write_witness(forged(document, datasets=datasets), "two.json")
    assert main(["replay", "two.json", "--trust-code"]) == 2
    assert main(["replay", "two.json", "--trust-code", "--records-per-user", "2", "--seed", "1"]) == 1
    assert main(["replay", "w.json", "--trust-code", "--records-per-user", "2"]) == 2


def test_a_pair_under_another_relation_than_that_of_the_mechanism_refutes_nothing(folder: Path) -> None:
    document = audit("standard-gaussian", "--dim", "1", "--mu", "2", "--claim", "mu=1")
    assert document["kind"] != "exact"
    datasets = {"dataset": array_fields([[0.0]]), "neighbour": array_fields([[1.0]])}
    with pytest.raises(InvalidValue, match="neighbours"):
        replay(forged(document, relation="replace-one", datasets=datasets), seed=1)
    outside = {"dataset": array_fields([[9.0]]), "neighbour": array_fields(np.zeros((0, 1)))}
    with pytest.raises(InvalidValue):
        replay(forged(document, datasets=outside), seed=1)


@pytest.mark.parametrize("level", [0.051, 0.5, 0.999999, 1.0, 0.0, -1.0, 1e-99, None, True, "0.01", "inf"])
def test_a_witness_does_not_choose_how_often_a_true_claim_is_refuted(folder: Path, level: object) -> None:
    document = forged(black_box("noisy", "--claim", "mu=1"), level=level)
    with pytest.raises(InvalidValue):
        replay(document, seed=1, trust_code=True)
    assert replay(document, seed=1, trust_code=True, error_probability=0.5).refuted


@pytest.mark.parametrize("count", [0, 1, -5, 10_000_001, 10**18, 10**400, 2.5, True, "9", "inf", None])
@pytest.mark.parametrize("kind", ["event", "payoff", "low bits", "sequential"])
def test_a_witness_does_not_choose_a_number_of_releases_without_end(folder: Path, kind: str, count: object) -> None:
    document = black_box("noisy", "--claim", "mu=1")
    evidence: dict[str, Any] = {
        "event": {"dataset_trials": count, "order": "dataset against neighbour", "threshold": 0.5, "epsilon": 1.0},
        "payoff": {"payoff": {"kind": "curve", "tau": 1.0, "trials": count}},
        "low bits": {"counts": [0, count, 0, count], "order": "dataset against neighbour", "tested_at": 1.0},
        "sequential": {"pairs": count, "stake": 0.1, "payoff": {"kind": "curve", "tau": 1.0}},
    }[kind]
    event = {"kind": "multiples", "coordinate": 0, "offset": 0.0, "grid": 1.0}
    changed = forged(document, kind=kind, evidence={**evidence, "event": event})
    with pytest.raises(InvalidValue):
        replay(changed, seed=1, trust_code=True)


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf", "1", None, True, [], {}, 10**400])
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("event", ["evidence", "epsilon"]),
        ("event", ["grid"]),
        ("event", ["score", "offset"]),
        ("payoff", ["evidence", "payoff", "tau"]),
        ("low bits", ["evidence", "tested_at"]),
        ("low bits", ["evidence", "event", "grid"]),
        ("low bits", ["evidence", "event", "offset"]),
        ("low bits", ["evidence", "event", "coordinate"]),
        ("sequential", ["evidence", "stake"]),
        ("event", ["claim"]),
        ("event", ["kind"]),
        ("event", ["relation"]),
        ("event", ["mechanism", "name"]),
        ("event", ["mechanism", "options"]),
        ("event", ["mechanism", "options", "dim"]),
        ("event", ["datasets", "dataset", "dtype"]),
        ("event", ["datasets", "dataset", "shape"]),
        ("event", ["datasets", "dataset", "values"]),
        ("event", ["datasets"]),
        ("event", ["evidence"]),
        ("event", ["score"]),
    ],
)
def test_a_part_of_another_type_is_an_error_of_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, path: list[str], bad: object
) -> None:
    if (path[-1], bad) in [("options", {}), ("dim", None)]:
        return  # a function takes none: that is right
    document = black_box("noisy", "--claim", "mu=1")
    event = {"kind": "multiples", "coordinate": 0, "offset": 0.0, "grid": 1.0}
    evidence = {"dataset_trials": 50, "order": "dataset against neighbour", "threshold": 0.5, "epsilon": 1.0}
    evidence |= {"counts": [0, 50, 0, 50], "tested_at": 1.0, "event": event, "pairs": 50, "stake": 0.1}
    evidence |= {"payoff": {"kind": "curve", "tau": 1.0, "trials": 50}}
    score = {"kind": "linear", "name": "sum", "weights": [1.0, 1.0], "offset": 0.0}
    changed = json.loads(json.dumps(forged(document, kind=kind, evidence=evidence, score=score)))
    part = changed
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = bad
    Path("forged.json").write_text(json.dumps(forged(changed)))
    with pytest.raises(DpverdictError) as told:
        replay(read_witness("forged.json"), seed=1, trust_code=True)
    assert "\n" not in str(told.value)
    if bad == "nan" and path in (["claim"], ["evidence"], ["grid"]):
        # And so on the command line, where the code that the witness names runs in a process of its own.
        assert main(["replay", "forged.json", "--trust-code", "--seed", "1"]) == 2
        shown = capsys.readouterr()
        assert shown.err.count("\n") == 1
        assert "Traceback" not in shown.err


def test_what_is_no_number_of_json_is_refused(folder: Path) -> None:
    black_box("noisy", "--claim", "mu=1")
    text = Path("w.json").read_text()
    for name in ("NaN", "Infinity", "-Infinity"):
        Path("forged.json").write_text(text.replace('"grid": 0.0', f'"grid": {name}'))
        with pytest.raises(InvalidValue, match="strict JSON"):
            read_witness("forged.json")


@pytest.mark.parametrize(
    ("named", "given"),
    [
        *((named, given) for named in ("rel.py:noisy", "spy.py:noisy", "spy:noisy") for given in ("nothing", "trust")),
        *(("spypackage.inner:noisy", given) for given in ("nothing", "trust", "mechanism", "mechanism and score")),
    ],
)
def test_code_that_a_witness_names_runs_only_when_trusted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, named: str, given: str
) -> None:
    document = black_box("noisy", "--claim", "rho=0.5", "--score", "rel.py:first")
    spy = f"open({str(folder / 'ran')!r}, 'w').close()\n{RELEASES}"
    Path("spy.py").write_text(spy)
    Path("spypackage").mkdir()
    Path("spypackage/__init__.py").write_text(spy)
    Path("spypackage/inner.py").write_text(spy)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [name for name in sys.modules if name.startswith("spy")]:
        monkeypatch.delitem(sys.modules, name)
    mechanism = document["mechanism"] | {"name": named, "source_sha256": "0" * 64}
    write_witness(forged(document, mechanism=mechanism, score_function=named.replace("noisy", "first")), "forged.json")
    options = {
        "nothing": [],
        "trust": ["--trust-code"],
        "mechanism": ["--mechanism", "rel.py:noisy"],
        "mechanism and score": ["--mechanism", "rel.py:noisy", "--score", "rel.py:first"],
    }[given]
    code = main(["replay", "forged.json", "--seed", "1", *options])
    callable_score = document["score"]["kind"] == "callable"
    assert code == (2 if given == "nothing" or (given == "mechanism" and callable_score) else 1)
    assert Path("ran").exists() == (given == "trust" and "spy" in named)


def test_files_that_a_witness_names_are_read_only_when_trusted(folder: Path) -> None:
    document = audit("elliptical-gaussian", "--bounds", "2,2", "--mu", "3", "--claim", "mu=1")
    options = document["mechanism"]["options"] | {"bounds": "@bounds.txt"}
    Path("bounds.txt").write_text("2 2")
    changed = forged(document, mechanism=document["mechanism"] | {"options": options})
    with pytest.raises(InvalidValue, match="trusted"):
        replay(changed, seed=1)
    assert replay(changed, seed=1, trust_code=True).refuted


def test_large_datasets_are_kept_as_hashes(folder: Path) -> None:
    document = black_box("noisy", "--claim", "mu=1")
    datasets = {name: held | {"values": None} for name, held in document["datasets"].items()}
    large = forged(document, datasets=datasets)
    with pytest.raises(InvalidValue, match="add --neighbours"):
        replay(large, trust_code=True)
    assert replay(large, neighbours="pair.npz", trust_code=True).refuted
    np.savez("another.npz", dataset=np.array([[0.0], [2.0]]), neighbour=np.array([[0.0]]))
    with pytest.raises(InvalidValue, match="datasets of the witness"):
        replay(large, neighbours="another.npz", trust_code=True)
    values = document["datasets"]["dataset"] | {"values": [[0.0], [9.0]]}
    with pytest.raises(InvalidValue, match="does not fit its hash"):
        replay(forged(document, datasets=document["datasets"] | {"dataset": values}), trust_code=True)
