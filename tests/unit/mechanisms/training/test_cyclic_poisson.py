"""Cyclic Poisson sampling of banded strategies: against densities of the whole run, planted faults, and refusals."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams.strategies import Toeplitz, square_root
from dpverdict.mechanisms.training.cyclic_poisson import cyclic_poisson_loss

RATE, SCALE, N = 0.25, 1.25, 400_000


def simulated(strategy, separation, group, epsilon, seed, *, remove=True):
    """E[(1 - e^(epsilon - loss))+] with its standard error, from densities of all T rows under every participation."""
    columns = strategy.embed(np.eye(strategy.horizon))  # row t is C e_t
    steps = range(group, strategy.horizon, separation)
    moves, weights = [], []
    for part in itertools.product((0, 1), repeat=len(steps)):
        moves.append(sum((take * columns[t] for take, t in zip(part, steps, strict=True)), np.zeros(strategy.horizon)))
        weights.append(np.prod([RATE if take else 1 - RATE for take in part]))
    moves, weights = np.array(moves), np.array(weights)
    rng = np.random.default_rng(seed)
    noise = SCALE * rng.standard_normal((N, strategy.horizon))
    released = noise + (moves[rng.choice(len(moves), N, p=weights)] if remove else 0.0)
    ratios = (released @ moves.T - np.square(moves).sum(axis=1) / 2) / SCALE**2
    loss = np.log(np.exp(ratios) @ weights) * (1 if remove else -1)
    values = np.maximum(0.0, -np.expm1(epsilon - loss))
    return values.mean(), values.std() / np.sqrt(N)


def made(strategy, separation):
    return cyclic_poisson_loss(strategy, noise_multiplier=Fraction(5, 4), rate=Fraction(1, 4), separation=separation)


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("steps", "band", "separation"), [(6, 2, 2), (6, 2, 3), (7, 3, 3), (8, 2, 3)])
def test_the_first_group_attains_it_and_no_group_exceeds_it(steps, band, separation, remove, seed):
    """Six standard errors, of densities that know nothing of columns."""
    strategy = square_root(steps, band)
    found = made(strategy, separation)
    for epsilon in ("0.25", "0.75"):
        above, attained = (
            (loss.remove if remove else loss.add).certified_delta(epsilon) for loss in (found.above, found.attained)
        )
        for group in range(separation):
            mean, error = simulated(strategy, separation, group, float(epsilon), seed, remove=remove)
            assert mean <= above.upper + 6 * error
            if group == 0:
                assert mean >= attained.lower - 6 * error
                assert not found.exact or abs(mean - above.upper) <= 6 * error


def test_a_last_column_that_is_cut_off_leaves_a_gap():
    found = made(square_root(7, 3), 3)
    assert not found.exact
    assert found.attained.certified_delta(1).upper < found.above.certified_delta(1).lower


def test_a_norm_that_is_taken_for_one_and_steps_that_are_left_out_are_found(seed):
    """Planted: the noise multiplier without the norm of the columns, and one step where there are three."""
    strategy = square_root(6, 2)
    mean, error = simulated(strategy, 2, 0, 0.5, seed)
    ones = Toeplitz(6, [Fraction(1)], source="independent noise")
    assert made(ones, 2).above.remove.certified_delta("0.5").upper < mean - 6 * error
    assert made(strategy, 6).above.remove.certified_delta("0.5").upper < mean - 6 * error


def test_sampling_of_everything_is_no_amplification():
    found = cyclic_poisson_loss(square_root(6, 2), noise_multiplier=2, rate=1, separation=2)
    mu = float(np.sqrt(3 * square_root(6, 2).column_squared().nearest()) / 2)
    from dpverdict.audit.losses.closed_form import GaussianLoss

    assert found.above.remove.delta(1.0) == pytest.approx(GaussianLoss(mu).delta(1.0), rel=1e-9)


@pytest.mark.parametrize("changed", [{"separation": 2}, {"separation": 13}, {"noise_multiplier": 0}, {"rate": 2}])
def test_what_is_out_of_range_is_refused(changed):
    with pytest.raises(InvalidValue):
        cyclic_poisson_loss(square_root(12, 3), **({"noise_multiplier": 1, "rate": "0.1", "separation": 3} | changed))
