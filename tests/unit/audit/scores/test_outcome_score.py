"""Scores of outcomes of any kind: the columns first, then the inner score; read back from their data."""

import numpy as np

from dpverdict.audit.scores.outcome_score import OutcomeScore
from dpverdict.audit.scores.score import LinearScore
from dpverdict.audit.scores.serialization import score_from_data
from dpverdict.audit.trials.outcomes.batches import Layout, OutcomeRows
from dpverdict.audit.trials.outcomes.canonical import outcome_of
from dpverdict.audit.trials.run import scored

LAYOUT = Layout(signatures=("None",), numbers=(("", 0),), symbols=(("", "low"),))
SCORE = OutcomeScore(layout=LAYOUT, inner=LinearScore(name="sum", weights=np.array([1.0, 10.0, 100.0]), offset=0.0))
BATCH = OutcomeRows((outcome_of(None), outcome_of(2.0), outcome_of("low"), outcome_of("high")))


def test_every_outcome_has_a_score() -> None:
    assert scored(SCORE, BATCH, 1).tolist() == [1.0, 20.0, 100.0, 0.0]
    assert scored(SCORE, np.array([[3.0]]), 1).tolist() == [30.0]


def test_a_score_of_arrays_sees_zeros_elsewhere() -> None:
    assert scored(SCORE.inner, OutcomeRows(tuple(map(outcome_of, ([1.0, 1.0, 1.0], None)))), 3).tolist() == [111.0, 0.0]


def test_it_is_read_back_from_its_data() -> None:
    again = score_from_data(SCORE.describe(), named=lambda name: np.sum)
    assert again.name == "sum"
    assert scored(again, BATCH, 1).tolist() == scored(SCORE, BATCH, 1).tolist()
