"""Costs follow structure: memory linear in d, and a number of numbers drawn and multiplied that is not d^2.

No clock is read here; `benchmarks/mechanisms.py` measures times.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    EllipticalGaussian,
    GroupedGaussian,
    StandardGaussian,
)
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.numerics import exact as exact_sums

Array = NDArray[np.float64]

MILLION = 10**6
MEGABYTE = 2**20
LIMIT = 100 * MEGABYTE  # a million float64 are 8 MB; a matrix of 10^6 x 10^6 would be 8 million MB


@contextmanager
def peak_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"peak of {peak / MEGABYTE:.0f} MB"


MAKERS: dict[str, Callable[[], GaussianMechanism]] = {
    "correlated": lambda: CorrelatedGaussian(dim=MILLION, mu=1),
    "withheld": lambda: CorrelatedGaussian(dim=MILLION, mu=1, count="withheld"),
    "estimated": lambda: CorrelatedGaussian(dim=MILLION, mu=1, count="estimated", size_estimate=0),
    "standard, replace": lambda: StandardGaussian(dim=MILLION, mu=1, adjacency=REPLACE_ONE),
    "grouped": lambda: GroupedGaussian(groups=2, dim=MILLION // 2, mu=1, adjacency=REPLACE_ONE),
    "elliptical": lambda: EllipticalGaussian(bounds="0.3", dim=MILLION, mu=1),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_worst_case_of_a_million_queries_fits_in_a_hundred_megabytes(name: str) -> None:
    mechanism = MAKERS[name]()
    with peak_below(LIMIT):
        worst = worst_case(mechanism)
        certify(mechanism).require()
    assert worst.loss.mu == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("name", MAKERS)
def test_the_loss_of_a_random_record_of_a_million_entries_fits_in_a_hundred_megabytes(name: str, seed: int) -> None:
    mechanism = MAKERS[name]()
    rng = np.random.default_rng(seed)
    record, other = np.zeros(mechanism.record_shape), np.zeros(mechanism.record_shape)
    for filled in (record, other):
        filled.reshape(-1, mechanism.dim)[0] = rng.random(mechanism.dim) * (0.15 if name == "elliptical" else 1.0)
    if name == "elliptical":  # entries of eight values: as many distinct terms are summed exactly
        record, other = np.round(record * 50) / 400, np.round(other * 50) / 400
    with peak_below(LIMIT):
        loss = neighbour_loss(mechanism, record, other if mechanism.adjacency is REPLACE_ONE else None)
    assert 0 < loss.mu <= 1


def test_one_release_of_a_million_queries_fits_in_a_hundred_megabytes(seed: int) -> None:
    mechanism = CorrelatedGaussian(dim=MILLION, mu=1)
    records = np.zeros((1, MILLION))
    with peak_below(LIMIT):
        mechanism.release(records, np.random.default_rng(seed))


class CountingDraws:
    """A generator that counts the normal variates it is asked for."""

    def __init__(self) -> None:
        self.drawn = 0

    def standard_normal(self, shape: int | tuple[int, ...]) -> Array:
        self.drawn += int(np.prod(shape))
        return np.zeros(shape)


@pytest.mark.parametrize(
    ("mechanism", "least"),
    [
        (CorrelatedGaussian(dim=1000, mu=1), 1001),
        (CorrelatedGaussian(dim=1000, mu=1, count="withheld"), 1001),
        (StandardGaussian(dim=1000, mu=1, adjacency=ADD_OR_REMOVE_ONE), 1000),
        (GroupedGaussian(groups=3, dim=1000, mu=1, adjacency=ADD_OR_REMOVE_ONE), 3003),
        (EllipticalGaussian(bounds=1, dim=1000, mu=1), 1000),
    ],
    ids=repr,
)
def test_a_release_draws_one_variate_per_coordinate_and_few_more(mechanism: GaussianMechanism, least: int) -> None:
    rng = CountingDraws()
    mechanism.release_many(np.zeros((1, *mechanism.record_shape)), 7, rng)  # type: ignore[arg-type]
    assert 7 * least <= rng.drawn <= 7 * (least + 3)


@pytest.mark.parametrize("d", [10**3, 10**5])
def test_exact_sums_read_each_number_a_bounded_number_of_times(
    d: int, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    passes = 0
    original = exact_sums._sum_block

    def counted(rest: Array) -> object:
        nonlocal passes
        passes += rest.size
        return original(rest)

    monkeypatch.setattr(exact_sums, "_sum_block", counted)
    neighbour_loss(CorrelatedGaussian(dim=d, mu=1), np.random.default_rng(seed).random(d))
    assert passes == 5 * d  # the sum once, and four products of halves


@pytest.mark.parametrize("counted", ["released", "withheld"])
def test_the_maximiser_makes_no_record_before_it_is_asked_for_one(counted: Literal["released", "withheld"]) -> None:
    mechanism = CorrelatedGaussian(dim=2**32, mu=1, count=counted)  # a record would have 32 GB
    with peak_below(MEGABYTE):
        maximum = mechanism.sensitivity.maximise(mechanism.noise)
    assert maximum.mu_squared is not None
    assert maximum.mu_squared.nearest() == pytest.approx(1.0, rel=1e-9)
