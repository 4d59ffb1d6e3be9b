"""Which event stands beside the leading payoff: by the kind of the outputs, and chosen by what it promises."""

from functools import partial

import numpy as np
import pytest

from dpverdict.audit.scores.candidates import (
    MOST_COLUMNS,
    ScoreCandidate,
    choose_second_event,
    describe_blind_spots,
    kinds_of_outputs,
    known_candidate,
    out_of_sample_scores,
    score_candidates,
)
from dpverdict.audit.scores.score import LinearScore, fit_linear_score
from dpverdict.audit.statistics.joint_test import Order
from dpverdict.audit.statistics.payoffs import SymmetricPayoff

SEED = 7
LEADING = ScoreCandidate(name="linear", fit=lambda p, q: fit_linear_score([p], [q]))
PAYOFF = SymmetricPayoff(1.0, 0.0, 1.0)


def chosen(p: np.ndarray, q: np.ndarray, fresh: int = 2000):  # type: ignore[no-untyped-def]
    found = choose_second_event((p, q), ((1.0, 0.0),), LEADING, PAYOFF, fresh=fresh, paid=fresh, error=0.05)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["atom", "region", "label"])
def test_an_atom_a_region_and_a_label_are_found(kind: str) -> None:
    rng = np.random.default_rng(SEED)
    rare = rng.random((2000, 1)) < 0.05
    p, q = (rng.laplace(size=(2000, 1)) for _ in range(2))
    if kind == "label":
        p, q = (rng.integers(0, 100, size=(2000, 1)).astype(np.float64) for _ in range(2))
    where = {"atom": 0.5, "region": 50.0, "label": 41.0}[kind]
    p = np.where(rare, where + rng.normal(size=(2000, 1)) * (kind == "region"), p)
    found = chosen(p, q)
    assert found.z > 1
    assert found.share > 0.5 or found.of_payoff > 3  # an outlying region moves the linear score of a payoff, too
    at, elsewhere = found.score(np.array([[where], [-0.3 if kind != "label" else 12.0]]))
    assert at >= found.threshold > elsewhere
    assert found.order is Order.DATASET_FIRST


def test_the_same_law_on_both_sides_promises_nothing() -> None:
    rng = np.random.default_rng(SEED)
    for draw in (partial(rng.laplace, size=(400, 1)), lambda: rng.integers(0, 100, size=(400, 2)).astype(np.float64)):
        assert np.mean([chosen(draw(), draw()).z for _ in range(3)]) < 1


def test_every_output_is_scored_by_a_model_that_has_not_seen_it() -> None:
    """What is learned is the set of outputs that were seen: of no output may it say so."""
    seen: list[int] = []

    def fit(p: np.ndarray, q: np.ndarray) -> LinearScore:
        seen.append(len(p) + len(q))
        held = set(p[:, 0]) | set(q[:, 0])
        return LinearScore(name="seen", weights=np.ones(1), offset=0.0) if not held & wanted else unlucky

    values = np.arange(60.0)[:, np.newaxis]
    for fold in range(4):
        wanted = set(values[fold::4, 0]) | set(1000 + values[fold::4, 0])
        unlucky = LinearScore(name="unlucky", weights=-np.ones(1), offset=0.0)
        p, q = out_of_sample_scores(ScoreCandidate(name="seen", fit=fit), values, values + 1000)
        assert (p[fold::4] == values[fold::4, 0]).all()
        assert (q[fold::4] == 1000 + values[fold::4, 0]).all()
    assert set(seen) == {90}


def test_a_known_score_is_applied_as_it_is() -> None:
    score = LinearScore(name="raw", weights=np.ones(1), offset=0.0)
    values = np.arange(5.0)[:, np.newaxis]
    p, q = out_of_sample_scores(known_candidate(score), values, -values)
    assert (p == values[:, 0]).all()
    assert (q == -values[:, 0]).all()


def test_the_candidates_follow_the_kind_of_the_outputs() -> None:
    rng = np.random.default_rng(SEED)

    def names(draw) -> str:  # type: ignore[no-untyped-def]
        return " ".join(one.name for one in score_candidates(draw(), draw()))

    continuous, labels = names(lambda: rng.normal(size=(500, 1))), names(lambda: rng.integers(0, 9, (500, 1)) * 1.0)
    assert "labels" not in continuous
    assert "bins" in continuous
    assert "labels" in labels
    assert "bins" not in labels
    rows, wide = names(lambda: rng.integers(0, 2, (500, 5)) * 1.0), names(lambda: rng.normal(size=(100, 300)))
    assert "labels of whole outputs" in rows
    mixed = names(lambda: np.where(rng.random((500, 1)) < 0.2, 0.0, rng.normal(size=(500, 1))))
    assert mixed.count("labels of the output") == 2  # with a spline, and alone
    assert "alone" not in labels
    assert "summaries" in wide
    assert wide.count("as it is") == MOST_COLUMNS


def test_the_kind_is_said_in_words() -> None:
    rng = np.random.default_rng(SEED)
    labels, reals = rng.integers(0, 5, (100, 1)) * 1.0, rng.normal(size=(100, 3))
    assert kinds_of_outputs(labels, labels) == "one number, integers; labels: 5 different ones"
    assert kinds_of_outputs(reals, reals + 1) == "3 numbers; no output twice"
    mixed = np.where(rng.random((100, 1)) < 0.3, 0.0, rng.normal(size=(100, 1)))
    assert "values that repeat" in kinds_of_outputs(mixed, mixed + 1)
    assert describe_blind_spots(5) == ""
    assert "12" in describe_blind_spots(13)
    assert "interactions" in describe_blind_spots(201)
