"""Releases compared with the declared statistic, noise and decoding, from the same random numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from dpverdict.audit.exact.declaration.origin import (
    LAW_ERROR,
    LAW_METHODS,
    ROUNDING,
    SEED,
    class_is_ours,
    failure_of,
    is_ours,
    method_is_ours,
)
from dpverdict.audit.statistics.sampler_tests import DeclaredLawTest, check_declared_law
from dpverdict.audit.trials.user_code import guarded
from dpverdict.errors import MechanismFailure
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import rounded_text


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerTried:
    """Whether releases are what was declared: statistic, plus noise, decoded.

    Attributes:
        releases: how many were compared.
        undecided: what is different; None if nothing is.
        law: the test of the noise against its declared law; None for the noise of this library, which is not tested,
            and for noise whose law nothing says.
        stated: what is known of the noise, in words.
    """

    releases: int
    undecided: str | None
    stated: str
    law: DeclaredLawTest | None = field(default=None)


def sampler_tried(mechanism: StatisticMechanism, pair: NeighbourPair) -> SamplerTried:
    """Compare releases with the declared statistic, noise and decoding, from the same random numbers.

    They are compared bit for bit, but for a counter of this library: it adds the exact counts after decoding the noise,
    in another order of the same sums.
    """
    compared = [0]

    def compare() -> str | None:
        for data in (pair.dataset, pair.neighbour):
            try:
                mechanism.check_records(data.copy())
            except ValueError:
                continue
            for trials, seed in ((1, SEED), (3, SEED + 1)):
                different = _other_release(mechanism, data, trials, seed)
                compared[0] += 1
                if different is not None:
                    return different
        return None

    law, stated = None, "its noise is that of this library"
    try:
        undecided = guarded(compare, failure_of)
        if undecided is None and not is_ours(mechanism.noise, LAW_METHODS):
            undecided = guarded(lambda: _noise_of_its_own(mechanism, pair), failure_of)
        if undecided is None and not is_ours(mechanism.noise, LAW_METHODS):
            law = guarded(lambda: _test_of_sampler(mechanism, pair), failure_of)
            stated = "that its noise has the declared law"
            if law is None:
                stated += " (no law to compare it with is known)"
            else:
                error = rounded_text(law.error_probability)
                stated += f" ({law.tests} tests on {law.samples} draws, error probability {error})"
                if law.rejected:
                    undecided = f"its noise does not have the declared law: {law.where}, "
                    undecided += f"p <= {rounded_text(law.p_value, 3)}, at an error probability of {error}"
    except MechanismFailure as failure:
        undecided = f"its code {failure.problem} when it is sampled"
    return SamplerTried(releases=compared[0], undecided=undecided, law=law, stated=stated)


def _other_release(mechanism: StatisticMechanism, data: Array, trials: int, seed: int) -> str | None:
    def stream() -> np.random.Generator:
        return np.random.default_rng(seed)

    released = np.asarray(mechanism.release_many(data.copy(), trials, stream()))
    made = np.asarray(mechanism.decode(mechanism.noise.add(mechanism.embed(data.copy()), trials, stream())))
    same = np.array_equal(released, made)
    if method_is_ours(mechanism, "release_many") and released.ndim == made.ndim == 2:
        made = made[:, : released.shape[1]]
        near = ROUNDING * (1.0 + float(np.abs(made).max(initial=0.0)))
        same = released.shape == made.shape and bool(np.all(np.abs(released - made) <= near))
    if not same:
        return "from the same random numbers, release_many gives another output than the declared statistic and noise"
    for name, one in (("release", mechanism.release), ("calling it", mechanism)):
        alone = np.asarray(one(data.copy(), stream()))
        if not np.array_equal(alone, np.asarray(mechanism.release_many(data.copy(), 1, stream()))[0]):
            return f"{name} and release_many differ on the same random numbers"
    return None


def _noise_of_its_own(mechanism: StatisticMechanism, pair: NeighbourPair) -> str | None:
    """Whether noise of a class that is not of this library depends on what it is added to, or is shared by releases."""
    statistic = np.asarray(mechanism.embed(pair.dataset.copy()), dtype=np.float64)
    alone = mechanism.noise.add(np.zeros_like(statistic), 3, np.random.default_rng(SEED))
    added = mechanism.noise.add(statistic.copy(), 3, np.random.default_rng(SEED))
    scale = 1.0 + np.abs(alone).max() + np.abs(statistic).max()
    if added.shape != (3, statistic.size) or np.any(np.abs(added - alone - statistic) > ROUNDING * scale):
        return "its noise depends on the statistic that it is added to"
    if statistic.size and np.array_equal(alone[0], alone[1]) and alone.any():
        return "its noise is the same in two releases"
    return None


def _test_of_sampler(mechanism: StatisticMechanism, pair: NeighbourPair) -> DeclaredLawTest | None:
    noise: Any = mechanism.noise
    base: type[Noise] | None = next((kind for kind in type(noise).__mro__ if class_is_ours(kind)), None)
    moved = np.asarray(mechanism.embed(pair.dataset.copy()), dtype=np.float64)
    moved = moved - np.asarray(mechanism.embed(pair.neighbour.copy()), dtype=np.float64)
    return check_declared_law(noise, base, moved, error_probability=LAW_ERROR, seed=SEED)
