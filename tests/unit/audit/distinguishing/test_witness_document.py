"""Witnesses of sequential tests: written, read and replayed; not refuted once mended, forged or tampered with."""

import math
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy import stats

from dpverdict.audit import distinguish_sequentially, read_witness, replay, write_witness
from dpverdict.audit.distinguishing.sequential import SequentialTest
from dpverdict.audit.distinguishing.witness_document import checksum, read_witness_schema
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.trials.run import batched
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import LaplaceMechanism, StandardGaussian, TreeCounter
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.numerics.arrays import Array

PAIR = (np.array([[0.0], [1.0]]), np.array([[0.0]]))
RELEASES = """
from dpverdict.audit import batched


@batched
def noisy(dataset, rng, trials):
    return dataset.sum() + 0.6 * rng.normal(size=(trials, 2))


def first(outputs):
    return outputs[:, 0]
"""


@batched
def noisy(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return dataset.sum() + 0.6 * rng.normal(size=(trials, 2))


RIGHT = batched(lambda dataset, rng, n: dataset.sum() + 2 * rng.normal(size=(n, 2)))
TIGHT = batched(lambda dataset, rng, n: dataset.sum() + math.sqrt(2) * rng.normal(size=(n, 2)))
"""Exactly 1-GDP."""


def refuted(mechanism: Any, claim: Guarantee, pair: Any = PAIR, **more: Any) -> SequentialTest:
    test = distinguish_sequentially(mechanism, pair, claim, error_probability=1e-4, most_samples=6000, seed=1, **more)
    assert test.refuted
    return test


def written(test: SequentialTest, folder: Path) -> dict[str, Any]:
    assert test.witness is not None
    write_witness(test.witness, folder / "w.json")
    document = read_witness(folder / "w.json")
    jsonschema.validate(document, read_witness_schema())
    return document


def forged(document: dict[str, Any], **change: Any) -> dict[str, Any]:
    held = {name: value for name, value in (document | change).items() if name != "sha256"}
    return {**held, "sha256": checksum(held)}


@pytest.mark.parametrize("claim", [GaussianDP(1), PureDP(1), ApproximateDP(1, "1e-5")])
@pytest.mark.parametrize("grid", [0.0, 2.0**-20])
def test_a_wrong_mechanism_is_refuted_again_and_a_mended_one_is_not(
    tmp_path: Path, claim: Guarantee, grid: float
) -> None:
    document = written(refuted(noisy, claim, grid=grid), tmp_path)
    evidence = document["evidence"]
    assert (document["kind"], document["grid"]) == ("sequential", grid)
    assert document["datasets"]["dataset"]["values"] == [[0.0], [1.0]]
    assert evidence["e_value"] > 1000
    assert 0 < evidence["stake"] * evidence["largest_loss"] <= 0.5
    assert [row["hypothesis"] for row in document["ledger"]] == [claim.describe()] * len(document["ledger"])
    assert math.fsum(row["weight"] for row in document["ledger"]) <= 1
    again = replay(document, mechanism=noisy, seed=5)
    assert again.refuted
    assert again == replay(document, mechanism=noisy, seed=5)  # a seed repeats
    assert again.trials <= 5 * max(evidence["pairs"], 100)
    mended = replay(document, mechanism=RIGHT, seed=5)
    assert not mended.refuted
    assert mended.trials == max(5 * evidence["pairs"], 500)


def test_functions_are_found_by_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("seqrel.py").write_text(RELEASES)
    import seqrel  # type: ignore[import-not-found]  # written just now

    path = list(sys.path)
    document = written(refuted(seqrel.noisy, GaussianDP(1), score=seqrel.first), tmp_path)
    assert sys.path == path
    assert replay(document, seed=3, trust_code=True).same_source is True
    assert (document["mechanism"]["name"], document["score_function"]) == ("seqrel:noisy", "seqrel:first")
    assert main(["replay", "w.json", "--seed", "3", "--trust-code"]) == 1
    Path("seqrel.py").write_text(RELEASES.replace("0.6 *", "3.0 *"))
    del sys.modules["seqrel"]
    found = replay(document, seed=3, trust_code=True)
    assert not found.refuted
    assert found.same_source is False


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (StandardGaussian(dim=3, mu=2, adjacency=ADD_OR_REMOVE_ONE), GaussianDP(1)),
        (TreeCounter(horizon=4, epsilon=3, arity=2), PureDP(1)),
        (LaplaceMechanism(dim=2, epsilon=3, adjacency=ADD_OR_REMOVE_ONE), PureDP(1)),
    ],
)
def test_mechanisms_of_the_catalogue_are_found_with_their_options(tmp_path: Path, mechanism: Any, claim: Any) -> None:
    document = written(refuted(mechanism, claim, worst_case(mechanism).pair), tmp_path)
    assert document["mechanism"]["name"] == mechanism.name
    assert replay(document, seed=2, trust_code=True).refuted


def test_what_has_no_name_is_given_again() -> None:
    def local(outputs: Array) -> Array:
        return outputs[:, 0]

    document = refuted(batched(lambda d, rng, n: noisy(d, rng, n)), GaussianDP(1), score=local).witness
    assert document is not None
    with pytest.raises(InvalidValue, match="made in Python"):
        replay(document, trust_code=True)
    document = forged(document, score={"kind": "callable", "name": "local"})
    with pytest.raises(InvalidValue, match="not known"):
        replay(document, mechanism=noisy, seed=1)
    assert replay(document, mechanism=noisy, score=local, seed=1).refuted


def test_a_resumed_test_keeps_its_witness() -> None:
    test = refuted(noisy, GaussianDP(1))
    again = refuted(noisy, GaussianDP(1), state=test.state)
    assert test.witness is not None
    assert again.witness is not None
    for name in ("evidence", "score", "ledger", "datasets"):
        assert test.witness[name] == again.witness[name]


def test_a_forged_or_tampered_witness_refutes_no_right_mechanism() -> None:
    document = refuted(noisy, GaussianDP(1)).witness
    assert document is not None
    lie = document["evidence"] | {"e_value": 1e9, "p_value": 0.0, "pairs": 300}
    payoff = lie["payoff"] | {"allowed": -5.0}

    def linear(weights: list[float]) -> dict[str, object]:
        return {"kind": "linear", "name": "tampered", "weights": weights, "offset": sum(weights) / 2}

    for stake in (0.0, 0.05, 1e9):
        for score in (document["score"], linear([1.0, 1.0]), linear([-1.0, -1.0]), linear([99.0, 0.0])):
            changed = forged(document, evidence=lie | {"payoff": payoff, "stake": stake}, score=score)
            assert not replay(changed, mechanism=TIGHT, seed=7).refuted
    assert replay(forged(document, evidence=lie | {"payoff": payoff}), mechanism=noisy, seed=7).refuted
    assert replay(forged(document, score=linear([2.0, 2.0])), mechanism=noisy, seed=7).refuted
    for blind in (linear([0.0, 0.0]), linear([2.0, -2.0]), linear([-2.0, -2.0])):
        assert not replay(forged(document, score=blind), mechanism=noisy, seed=7).refuted


@pytest.mark.parametrize("change", [{"stake": -1.0}, {"stake": float("nan")}, {"pairs": 0}, {"payoff": {"kind": "x"}}])
def test_evidence_that_belongs_to_no_bettor_is_refused(change: dict[str, Any]) -> None:
    document = refuted(noisy, GaussianDP(1)).witness
    assert document is not None
    with pytest.raises(InvalidValue, match=r"witness|samples"):
        replay({**document, "evidence": document["evidence"] | change}, mechanism=noisy, seed=1)


def test_a_replay_of_a_claim_that_holds_refutes_it_no_more_often_than_stated(seed: int) -> None:
    document = refuted(noisy, GaussianDP(1)).witness
    assert document is not None
    runs = [
        replay(document, mechanism=TIGHT, error_probability=0.2, samples=600, seed=seed + i).refuted for i in range(60)
    ]
    assert stats.binomtest(sum(runs), 60, 0.2, alternative="greater").pvalue >= 1e-6
