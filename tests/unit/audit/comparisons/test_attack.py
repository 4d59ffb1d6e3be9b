"""Operating points and AUROC: against their definitions, their coverage, and what must be refused."""

import json
import math

import numpy as np
import pytest
from scipy import special, stats

from dpverdict.audit.comparisons.attack import DELONG, HOEFFDING, attack_readout, roc_picture
from dpverdict.errors import InvalidValue


def test_the_definitions() -> None:
    rng = np.random.default_rng(1)
    held_in, held_out = rng.integers(0, 30, 200) + 3.0, rng.integers(0, 30, 150) + 0.0
    found = attack_readout(held_in, held_out, error_probability=0.05, false_positive_rates=(0.02, 0.1))
    wins = (held_in[:, None] > held_out).mean() + (held_in[:, None] == held_out).mean() / 2
    assert found.auroc == pytest.approx(wins)
    for one in found.points:
        assert one.false_positives == (held_out > one.threshold).mean() <= one.rate
        assert one.true_positives == (held_in > one.threshold).mean()
        exact = stats.binomtest(round(200 * one.true_positives), 200).proportion_ci(0.95, "exact")
        assert (one.interval.low, one.interval.high) == pytest.approx((exact.low, exact.high), abs=1e-6)
        assert one.false_positives_upper > one.rate
    assert json.loads(json.dumps(found.to_dict()))["canaries"] == [200, 150]
    assert "exact (Clopper and Pearson)" in found.describe()
    assert DELONG in found.describe()
    assert HOEFFDING in found.describe()


def test_the_intervals_cover_and_others_would_not(seed: int) -> None:
    """300 pairs of samples at error 0.1: TPR at FPR 0.05 of N(1, 1), the true FPR, and the AUROC."""
    rng, runs, error = np.random.default_rng(seed), 300, 0.1
    missed = dict.fromkeys(("tpr", "fpr", "delong", "hoeffding"), 0)
    narrow = 0
    auroc = float(special.ndtr(1 / math.sqrt(2)))
    for _ in range(runs):
        found = attack_readout(
            rng.normal(1, 1, 80), rng.normal(0, 1, 120), error_probability=error, false_positive_rates=(0.05,)
        )
        one = found.points[0]
        truth = float(special.ndtr(1 - one.threshold))
        missed["tpr"] += not one.interval.low <= truth <= one.interval.high
        missed["fpr"] += float(special.ndtr(-one.threshold)) > one.false_positives_upper
        delong, hoeffding = found.auroc_intervals
        missed["delong"] += not delong.low <= auroc <= delong.high
        missed["hoeffding"] += not hoeffding.low <= auroc <= hoeffding.high
        half = (delong.high - delong.low) / 4
        narrow += abs(found.auroc - auroc) > half
    for name in ("tpr", "fpr", "hoeffding"):
        assert stats.binomtest(missed[name], runs, error, alternative="greater").pvalue > 1e-6, missed
    assert missed["delong"] < 0.17 * runs  # asymptotic
    assert stats.binomtest(narrow, runs, error, alternative="greater").pvalue < 1e-6  # half as wide is seen


def test_scores_apart_have_no_asymptotic_interval() -> None:
    found = attack_readout(np.arange(50) + 100.0, np.arange(50.0), error_probability=0.05)
    assert found.auroc == 1
    assert [one.kind for one in found.auroc_intervals] == [HOEFFDING]
    assert found.auroc_intervals[0].low < 0.9
    assert found.points[0].true_positives == 1


def test_the_picture_has_log_axes_and_repeats() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(1, 1, 300), rng.normal(0, 1, 300)
    drawn = roc_picture(*scores, error_probability=0.05)
    assert drawn == roc_picture(*scores, error_probability=0.05)
    assert b"log axes" in drawn
    assert roc_picture(*scores, error_probability=0.05, kind="png").startswith(b"\x89PNG")


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0, math.nan])
def test_bad_input(rate: float) -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(InvalidValue, match="false_positive_rates"):
        attack_readout(rng.normal(size=50), rng.normal(size=50), error_probability=0.05, false_positive_rates=[rate])
    with pytest.raises(InvalidValue, match="scores_in"):
        attack_readout([1.0], rng.normal(size=50), error_probability=0.05)
