"""The worked audit of a real training: half of the noise is refuted, the right noise is not, and the models learn."""

import importlib.util
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("sklearn", reason="scikit-learn has the digits")
EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE: dict[str, Any] = runpy.run_path(str(EXAMPLES / "audit_training.py"))


def test_half_of_the_noise_is_refuted() -> None:
    test, scores, accuracy = EXAMPLE["audit"](runs=120, noise=0.5)
    assert test.refuted
    assert accuracy > 0.8
    assert test.epsilon_lower < 60  # noise of half the scale has a finite epsilon
    assert scores[0].mean() > scores[1].mean()


def test_the_right_noise_is_not() -> None:
    test, _, accuracy = EXAMPLE["audit"](runs=60)
    assert not test.refuted  # it would be with probability 0.01 at most
    assert accuracy > 0.8


def test_clipped_sums_are_those_of_the_gradients_one_by_one() -> None:
    rng = np.random.default_rng(1)
    weights, images, labels = rng.normal(size=(64, 10)), rng.random((5, 64)), rng.integers(0, 10, 5)

    def loss(at: Any, i: int) -> float:
        logits = images[i] @ at
        return float(np.log(np.exp(logits).sum()) - logits[labels[i]])

    total = np.zeros((64, 10))
    for i in range(5):
        gradient = np.zeros((64, 10))
        for place in np.ndindex(64, 10):
            step = np.zeros((64, 10))
            step[place] = 1e-6
            gradient[place] = (loss(weights + step, i) - loss(weights - step, i)) / 2e-6
        total += gradient * min(1, 1 / np.linalg.norm(gradient))
    assert np.allclose(EXAMPLE["clipped_sum"](weights, images, labels, 1.0), total, atol=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("opacus") is None, reason="opacus is absent")
@pytest.mark.filterwarnings("ignore")  # of torch, about itself
@pytest.mark.parametrize("noise", [1.0, 0.5])
def test_a_network_that_opacus_trains_is_audited_as_well(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)  # it imports the example beside it
    test, scores, accuracy = runpy.run_path(str(EXAMPLES / "audit_opacus.py"))["audit"](runs=120, noise=noise)
    assert test.refuted == (noise < 1)  # with the right noise but for a probability of 0.01
    assert accuracy > 0.7
    assert scores[0].mean() > scores[1].mean()


@pytest.mark.slow
def test_verdicts_over_seeds(seed: int) -> None:
    refuted = dict.fromkeys((1.0, 0.5), 0)
    for noise in refuted:
        for i in range(10):
            refuted[noise] += EXAMPLE["audit"](runs=200, noise=noise, seed=seed + i)[0].refuted
    assert refuted[0.5] >= 9
    assert stats.binomtest(refuted[1.0], 10, 0.01, alternative="greater").pvalue > 1e-6
