"""Boosted trees: the stored arrays are what scikit-learn decides by, and they win only where others are blind."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dpverdict.audit import distinguish, read_witness, replay
from dpverdict.audit.scores import summaries
from dpverdict.audit.scores import trees as tree_score
from dpverdict.audit.scores.learned_scores import fit_spline_score, scaled_score
from dpverdict.audit.scores.portfolio import StackedScores, learn_scores, trees_if_better
from dpverdict.audit.scores.score import LINEAR
from dpverdict.audit.scores.serialization import score_from_data
from dpverdict.audit.scores.trees import TREES, TreeScore, fit_tree_score
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpverdict.numerics.arrays import Array

PAIR = (np.array([[0.0], [1.0]]), np.array([[0.0]]))
XOR = """
import numpy as np

from dpverdict.audit import batched


@batched
def exclusive(dataset, rng, trials):
    x = rng.normal(size=(trials, 3))
    sign = np.where(rng.random(trials) < 0.9, 1, -1) if dataset.sum() > 0 else rng.choice([-1, 1], size=trials)
    x[:, 1] = np.abs(x[:, 1]) * np.sign(x[:, 0]) * sign
    return x


@batched
def mended(dataset, rng, trials):
    return rng.normal(size=(trials, 3))
"""
namespace: dict[str, Any] = {}
exec(XOR, namespace)
exclusive = namespace["exclusive"]


def sides(n: int, seed: int = 4) -> tuple[Array, Array]:
    """Every coordinate alone has the same law on both sides; the sign of a product has not."""
    rng = np.random.default_rng(seed)
    return exclusive(PAIR[0], rng, n), exclusive(PAIR[1], rng, n)


@pytest.mark.parametrize("n", [60, 300, 3000])
def test_the_stored_trees_decide_as_those_of_scikit_learn_bit_for_bit(n: int) -> None:
    p, q = sides(n)
    score = fit_tree_score(p, q)
    model = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.1, max_leaf_nodes=15, early_stopping=n >= 100, random_state=0
    )
    with threadpool_limits(limits=1):
        model.fit(np.concatenate([p, q]), np.repeat([1, 0], [n, n]))
        fresh = 3 * sides(2000, seed=5)[0]
        assert np.array_equal(score(fresh), model.decision_function(fresh))
    data = json.loads(json.dumps(score.describe(), allow_nan=False))
    again = score_from_data(data, named=lambda name: pytest.fail(name))
    assert np.array_equal(again(fresh), score(fresh))
    assert score(fresh[:0]).shape == (0,)
    np.testing.assert_allclose(scaled_score(score, 2.0)(fresh), 2 * score(fresh), rtol=1e-12)


def test_trees_find_an_interaction_that_a_spline_cannot_see() -> None:
    p, q = sides(4000)
    corners = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    assert np.ptp(fit_tree_score(p, q)(corners)) > 1
    assert np.ptp(fit_spline_score(p, q)(corners)) < 0.3


def test_constant_outputs_make_no_trees() -> None:
    score = fit_tree_score(np.ones((500, 2)), np.ones((500, 2)))
    assert np.ptp(score(np.zeros((4, 2)))) == 0
    assert np.array_equal(TreeScore.from_data(score.describe())(np.zeros((4, 2))), score(np.zeros((4, 2))))


@pytest.mark.parametrize(
    "change",
    [
        {"left": [0, 1, 0]},  # a walk that never ends
        {"right": [3, 1, 2]},
        {"left": [1, 1]},
        {"feature": [5, 0, 0]},
        {"feature": [-1, 0, 0]},
        {"value": [0.0, float("nan"), 1.0]},
        {"threshold": [float("inf"), 0.0, 0.0]},
        {"roots": [7]},
        {"roots": [-1]},
        {"baseline": float("inf")},
    ],
)
def test_arrays_that_are_no_trees_are_refused(change: dict[str, Any]) -> None:
    right = {
        "name": "t",
        "coordinates": 2,
        "baseline": 0.0,
        "roots": [0],
        "feature": [1, 0, 0],
        "threshold": [0.5, 0.0, 0.0],
        "left": [1, 1, 2],
        "right": [2, 1, 2],
        "value": [0.0, -1.0, 1.0],
    }
    score = TreeScore.from_data(right)
    assert score(np.array([[9.0, 0.5], [0.0, 0.6]])).tolist() == [-1.0, 1.0]
    with pytest.raises(InvalidValue, match=r"^outputs="):
        score(np.zeros((2, 3)))
    with pytest.raises(InvalidValue, match=r"^trees="):
        TreeScore.from_data(right | change)


def test_trees_join_only_where_they_are_clearly_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a linear score is right they would have to be lucky: at two standard errors about once in fifty times."""

    def joined(fit: tuple[Array, Array], held: tuple[Array, Array]) -> bool:
        return trees_if_better(fit, held, StackedScores(tuple(learn_scores(*fit, None))), LINEAR) is not None

    assert joined(sides(1000), sides(400, seed=5))
    rng = np.random.default_rng(6)
    for _ in range(5):
        p, q = rng.normal(size=(1400, 3)), rng.normal(size=(1400, 3))
        assert not joined((p[:1000] + 0.3, q[:1000]), (p[1000:] + 0.3, q[1000:]))
    assert not joined((sides(200)), sides(400, seed=5))  # too few
    one = [tuple(side[:, :1] for side in sides(1000, seed=seed)) for seed in (4, 5)]
    assert not joined((one[0][0], one[0][1]), (one[1][0], one[1][1]))  # nothing interacts
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    assert not joined(sides(1000), sides(400, seed=5))  # without scikit-learn


@pytest.mark.parametrize("claim", [GaussianDP("0.5"), ApproximateDP("0.3", "1e-5")])
def test_only_an_audit_with_trees_refutes_an_interaction(claim: Guarantee, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "FEWEST_ROWS", 10**9)  # which see a product of two numbers, too

    def audit() -> Any:
        return distinguish(exclusive, PAIR, claim, error_probability=1e-3, samples=4000, seed=3)

    found = audit()
    assert found.refuted
    assert found.score == TREES
    assert found.to_dict() == audit().to_dict()  # repeatable
    monkeypatch.setattr(tree_score, "FEWEST_ROWS", 10**9)
    blind = audit()
    assert not blind.refuted
    assert blind.score != TREES


def alarms(claim: Guarantee, runs: int, seed: int) -> int:
    """How many audits in which trees have a row refute the claim."""
    tests = [
        distinguish(exclusive, PAIR, claim, error_probability=0.2, samples=1500, seed=seed + i) for i in range(runs)
    ]
    assert sum(any(row.score.startswith(TREES) for row in test.ledger) for test in tests) > runs / 2
    return sum(test.refuted for test in tests)


@pytest.mark.slow
def test_a_tight_claim_is_refuted_no_more_often_than_stated_where_trees_lead(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "FEWEST_ROWS", 10**9)
    tight = PureDP("1.6094379124341004")  # log 5: one sign of the product has probability 1/10 and 1/2
    assert stats.binomtest(alarms(tight, 14, seed), 14, 0.2, alternative="greater").pvalue >= 1e-6
    too_small = alarms(PureDP("0.5"), 8, seed)  # the same count sees audits that refute more often
    assert stats.binomtest(too_small, 8, 0.2, alternative="greater").pvalue < 1e-5


def test_a_witness_with_trees_is_replayed_without_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("xor.py").write_text(XOR)
    np.savez("pair.npz", dataset=PAIR[0], neighbour=PAIR[1])
    arguments = ["--neighbours", "pair.npz", "--claim", "mu=0.5", "--samples", "4000", "--seed", "1"]
    assert main(["audit", "xor.py:exclusive", *arguments, "--witness", "w.json", "--quiet"]) == 1
    document = read_witness("w.json")
    assert document["score"]["kind"] == "boosted trees"
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(InvalidValue, match="scikit-learn"):
        fit_tree_score(*sides(300))
    assert replay(document, seed=2, trust_code=True).refuted
    assert not replay(document, mechanism=namespace["mended"], seed=2).refuted


def test_scikit_learn_is_not_imported_before_it_is_used() -> None:
    code = "import sys, dpverdict, dpverdict.audit, dpverdict.audit.scores.trees; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
