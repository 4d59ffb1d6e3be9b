"""Matrix mechanisms on sampled batches: against densities of whole runs, the sampler, planted faults, and refusals."""

import itertools
import math
import resource
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import parse_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.training.sampled_matrix import SampledMatrixMechanism, _of_toeplitz, _products

N, STEPS = 200_000, 6


def run(sampling, **changed):
    given = {"noise_multiplier": "5/4", "steps": STEPS, "kind": "banded-sqrt", "band": 2, "separation": 3}
    given["sampling"] = sampling
    if sampling != "balls-in-bins":
        given["rate"] = "1/4"
    return SampledMatrixMechanism(**(given | changed))


def patterns(sampling, group=0):
    """All participations of a run of 6 steps with b = 3 and q = 1/4, with their probabilities."""
    if sampling == "balls-in-bins":
        return [(tuple(int(t % 3 == i) for t in range(STEPS)), 1 / 3) for i in range(3)]
    found = []
    for part in itertools.product((0, 1), repeat=STEPS):
        if sampling == "cyclic-poisson":
            own = part[group::3]
            chance = 0.25 ** sum(own) * 0.75 ** (len(own) - sum(own)) if sum(part) == sum(own) else 0.0
        else:
            chance = sum(_chance(part, pause, 0.25 / 1.5) for pause in (1, 2)) + _chance(part, 0, 1 / 1.5)
        if chance:
            found.append((part, chance))
    assert sum(chance for _, chance in found) == pytest.approx(1)
    return found


def _chance(part, pause, chance):
    for taken in part:
        if pause:
            chance, pause = (0.0 if taken else chance), pause - 1
        else:
            chance, pause = chance * (0.25 if taken else 0.75), 2 * taken
    return chance


def simulated(made, found, epsilon, rng, *, remove):
    columns = made.strategy.embed(np.eye(STEPS))
    means = np.array([part for part, _ in found]) @ columns
    weights, scale = np.array([chance for _, chance in found]), float(made.noise_multiplier)
    released = scale * rng.standard_normal((N, STEPS))
    if remove:
        released += means[rng.choice(len(means), N, p=weights / weights.sum())]
    ratios = (released @ means.T - np.square(means).sum(axis=1) / 2) / scale**2
    loss = np.log(np.exp(ratios) @ weights) * (1 if remove else -1)
    values = np.maximum(0.0, -np.expm1(epsilon - loss))
    return values.mean(), values.std() / math.sqrt(N)


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("sampling", ["balls-in-bins", "cyclic-poisson", "min-separation"])
def test_runs_are_between_the_bounds(sampling, remove, seed):
    """Six standard errors, of densities that know nothing of columns."""
    rng = np.random.default_rng(seed)
    made = run(sampling)
    bounds = made.privacy_bounds()
    for epsilon in ("0.25", "0.75"):
        mean, error = simulated(made, patterns(sampling), float(epsilon), rng, remove=remove)
        tops = [entry.loss.certified_delta(epsilon).upper for entry in bounds.above if hasattr(entry, "loss")]
        tops += [float(entry.at(Fraction(epsilon)).upper()) for entry in bounds.above if hasattr(entry, "at")]
        assert mean <= min(tops) + 6 * error
        for entry in bounds.below:
            one = entry.loss.remove if remove else entry.loss.add
            assert one.certified_delta(epsilon).lower <= mean + 6 * error


def test_a_matrix_that_is_left_out_is_found(seed):
    """Planted: independent noise where the noise is correlated."""
    rng = np.random.default_rng(seed)
    mean, error = simulated(run("balls-in-bins"), patterns("balls-in-bins"), 0.25, rng, remove=True)
    plain = run("balls-in-bins", kind="identity", band=None)
    assert float(plain.bins.delta_at_most(Fraction("0.25")).upper()) < mean - 6 * error


@pytest.mark.parametrize("sampling", ["balls-in-bins", "cyclic-poisson", "min-separation"])
def test_steps_are_drawn_as_they_are_said_to_be(sampling, seed):
    rng = np.random.default_rng(seed)
    made = run(sampling)
    taken = made.noise._steps(N, 1, rng)[:, 0]
    for part, chance in patterns(sampling):
        seen = (taken == np.array(part, dtype=bool)).all(axis=1).mean()
        assert abs(seen - chance) <= 6 * math.sqrt(chance * (1 - chance) / N)


def test_a_release_is_the_prefix_sums_of_one_pattern_with_noise(seed):
    rng = np.random.default_rng(seed)
    made = run("balls-in-bins", noise_multiplier="1/1000")
    released = made.release_many(np.ones((1, STEPS, 1)), 50, rng)
    sums = np.array([np.cumsum(part) for part, _ in patterns("balls-in-bins")])
    nearest = np.abs(released[:, None] - sums).max(axis=2)
    assert (nearest.min(axis=1) < 0.1).all()
    assert set(nearest.argmin(axis=1)) == {0, 1, 2}


@pytest.mark.parametrize("kind", ["bandmf", "blt", "bisr", "sqrt-toeplitz"])
def test_products_of_columns_are_those_of_dense_matrices(kind):
    rest = {"bandmf": {"band": 3}, "blt": {"band": None, "decays": ["0.9"], "weights": ["0.3"]}, "bisr": {"band": 3}}
    made = run("balls-in-bins", kind=kind, steps=22, separation=5, **rest.get(kind, {"band": None}))
    means = made.strategy.embed((np.arange(22) % 5 == np.arange(5)[:, None]).astype(float))
    gram = means @ means.T
    first, last = _of_toeplitz(made.strategy, 5)
    np.testing.assert_allclose(first, [np.diagonal(gram, d).max() for d in range(5)], rtol=1e-12)
    np.testing.assert_allclose(last, [np.diagonal(gram, d).min() for d in range(5)], rtol=1e-12)


def test_a_matrix_from_a_file_is_that_by_its_coefficients(tmp_path):
    file = tmp_path / "c.csv"
    columns = run("balls-in-bins").strategy.embed(np.eye(STEPS)).T
    np.savetxt(file, np.tril(columns.round(6)), delimiter=",")
    found = run("balls-in-bins", kind="matrix", band=None, file=str(file))
    one, other = _products(run("balls-in-bins").strategy, 3), _products(found.strategy, 3)
    np.testing.assert_allclose([*map(float, one[0])], [*map(float, other[0])], rtol=1e-9)
    np.testing.assert_allclose([*map(float, one[1])], [*map(float, other[1])], rtol=1e-9)
    assert run("min-separation", kind="matrix", band=None, file=str(file)).known_mu_squared > 0


def test_ten_thousand_steps_take_little_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = run("balls-in-bins", noise_multiplier=8, steps=10_000, separation=100, kind="bisr", band=4)
    assert made.bins.mu_squared > 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kilobytes


def test_claims_are_decided_on_either_side():
    made = run("balls-in-bins", steps=1000, separation=100, band=4, noise_multiplier=4)
    assert certify(made, parse_guarantee("eps=0.98, delta=1e-5")).status is Status.CERTIFIED
    assert certify(made, parse_guarantee("eps=0.5, delta=1e-5")).status is Status.REFUTED


@pytest.mark.parametrize(
    "changed",
    [
        {"rate": "1/4"},
        {"separation": 1},
        {"separation": 7},
        {"sampling": "poisson", "rate": "1/4"},
        {"adjacency": REPLACE_ONE},
        {"kind": "toeplitz", "band": None, "coefficients": ["1", "-1/2"]},
        {"sampling": "min-separation", "rate": None},
        {"sampling": "cyclic-poisson", "rate": 2},
    ],
)
def test_what_is_out_of_range_is_refused(changed):
    with pytest.raises(InvalidValue):
        run(changed.pop("sampling", "balls-in-bins"), **changed)
