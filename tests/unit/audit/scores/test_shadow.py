"""Scores from shadow runs: the ratio by hand, what they are for, and what must be refused."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit import distinguish_one_run
from dpverdict.audit.scores.shadow import lira_scores, logit_of_confidence
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import GaussianDP


def shadows(runs: int, canaries: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Statistics with a level and a spread of each canary's own, which hide who was in; shift 2 spreads."""
    level, width = 5 * rng.normal(size=canaries), rng.uniform(0.2, 2, canaries)
    bits = rng.random((runs, canaries)) < 0.5
    own = rng.random(canaries) < 0.5
    shadow = level + width * (2 * bits + rng.normal(size=(runs, canaries)))
    return level + width * (2 * own + rng.normal(size=canaries)), shadow, bits, own


def test_the_ratio_is_that_of_two_normal_laws() -> None:
    observed, shadow, bits, _ = shadows(20, 3, np.random.default_rng(2))
    scores = lira_scores(observed, shadow, bits, spread="each")
    for i in range(3):
        inside, outside = shadow[bits[:, i], i], shadow[~bits[:, i], i]
        ratio = stats.norm.logpdf(observed[i], inside.mean(), inside.std(ddof=1)) - stats.norm.logpdf(
            observed[i], outside.mean(), outside.std(ddof=1)
        )
        assert scores[i] == pytest.approx(ratio)
        alone = lira_scores(observed, shadow, bits, spread="each", offline=True)[i]
        z = (observed[i] - outside.mean()) / outside.std(ddof=1)
        assert alone == pytest.approx(stats.norm.logcdf(z) - stats.norm.logsf(z))


@pytest.mark.parametrize("options", [{"spread": "each"}, {"spread": "shared"}, {"spread": "each", "offline": True}])
def test_the_scores_find_what_the_statistic_hides(options: dict[str, Any]) -> None:
    observed, shadow, bits, own = shadows(64, 1000, np.random.default_rng(3))

    def bound(scores: Any) -> float:
        return distinguish_one_run(scores, own, GaussianDP(3), error_probability=0.05, seed=1).mu_lower

    assert bound(observed) < 0.25
    assert 0.5 < bound(lira_scores(observed, shadow, bits, **options)) < 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observed": np.zeros(4)}, "shapes"),
        ({"observed": np.full(3, np.nan)}, "observed"),
        ({"included": np.ones((5, 3))}, "runs without"),
        ({"included": np.full((5, 3), 2)}, "bits of shape"),
        ({"included": np.ones((4, 3))}, "bits of shape"),
        ({"spread": "none"}, "spread"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "observed": np.zeros(3),
        "shadow": np.random.default_rng(1).normal(size=(5, 3)),
        "included": np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 0]]),
        "spread": "each",
    } | change
    with pytest.raises(InvalidValue, match=message):
        lira_scores(good["observed"], good["shadow"], good["included"], spread=good["spread"])


def test_confidences_become_logits() -> None:
    assert logit_of_confidence([0.5, 1.0, 0.0]).tolist() == pytest.approx([0.0, 27.631, -27.631], abs=1e-3)
