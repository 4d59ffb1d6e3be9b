"""DP-SGD on given gradients: batches as they are stated, clipping, noise, and what is refused."""

import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.training.dp_sgd import DPSGD, SAMPLINGS


def training(**changed):
    given = {"noise_multiplier": "1e-6", "rate": "0.25", "steps": 8, "sampling": "poisson"}
    return DPSGD(**(given | changed))


@pytest.mark.parametrize("sampling", ["shuffle", "shuffle-once"])
def test_every_record_is_in_one_batch_of_each_epoch(sampling):
    rng = np.random.default_rng(1)
    batches = np.array(training(sampling=sampling)._batches(10, rng))
    assert batches.shape == (8, 10)
    assert (batches[:4].sum(axis=0) == 1).all()
    assert (batches[4:].sum(axis=0) == 1).all()
    assert (batches[:4].sum(axis=1) <= 3).all()
    assert np.array_equal(batches[:4], batches[4:]) == (sampling == "shuffle-once")


def test_a_poisson_batch_has_every_record_with_its_probability():
    """16 000 draws, seed 2: six standard errors, 2e-9 of chance."""
    batches = np.array(training(steps=1600)._batches(10, np.random.default_rng(2)))
    assert abs(batches.mean() - 0.25) < 6 * np.sqrt(0.25 * 0.75 / 16_000)


def test_gradients_are_clipped_and_noise_is_added():
    run = training(rate=1, steps=2, clipping_norm=2)
    released = run.release([[3.0, 4.0], [0.5, 0.0]], np.random.default_rng(3))
    assert released == pytest.approx([1.7, 1.6, 1.7, 1.6], abs=1e-4)
    noisy = training(rate=1, steps=400, noise_multiplier=3, clipping_norm=2).release_many(
        np.zeros((1, 5)), 5, np.random.default_rng(4)
    )
    assert noisy.shape == (5, 2000)
    assert abs(noisy.std() / 6 - 1) < 6 / np.sqrt(2 * noisy.size)


def test_shuffled_batches_are_whole_batches_and_epochs():
    run = training(rate="1/4", sampling="shuffle")
    assert (run.batches, run.epochs) == (4, 2)
    assert "shuffled batches" in run.describe()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("rate and steps", {"sampling": "shuffle", "rate": "0.3"}),
        ("rate and steps", {"sampling": "shuffle", "steps": 9}),
        ("rate", {"rate": 0}),
        ("rate", {"rate": "1.5"}),
        ("steps", {"steps": 0}),
        ("sampling", {"sampling": "sometimes"}),
        ("noise_multiplier", {"noise_multiplier": 0}),
        ("adjacency", {"adjacency": NeighboringRelation.REPLACE_ONE}),
    ],
)
def test_what_is_out_of_range_or_not_proved_is_refused(name, changed):
    with pytest.raises(InvalidValue, match=name):
        training(**changed)


def test_gradients_of_another_shape_are_refused():
    for wrong in ([1.0, 2.0], [[float("nan")]]):
        with pytest.raises(InvalidValue, match="dataset"):
            training().release(wrong, np.random.default_rng(5))


def test_every_sampling_runs():
    for sampling in SAMPLINGS:
        assert training(sampling=sampling).release([[1.0]] * 7, np.random.default_rng(6)).shape == (8,)
