"""A Gaussian mechanism with any noise and any claim: what the known-wrong variants are made of."""

from __future__ import annotations

from typing import final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.mechanisms.grouped_gaussian import check_groups, grouped_sums
from dpverdict.mechanisms.guarantee import Guarantee
from dpverdict.mechanisms.mechanism import Array, GaussianMechanism, check_array
from dpverdict.mechanisms.noise import GaussianNoise, GroupedNoise
from dpverdict.mechanisms.sensitivity import SensitivitySpace


@final
class BrokenMechanism(GaussianMechanism):
    """Sums of records with the given noise, published with a claim that need not be true.

    The statistic is f(X), or (f(X), n) when the noise has a count, or the rows of both when the noise is grouped.
    """

    name: str
    source: str
    dim: int
    claim: Guarantee
    adjacency: NeighboringRelation
    noise: GaussianNoise
    sensitivity: SensitivitySpace
    low: float | Array
    high: float | Array
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        name: str,
        source: str,
        dim: int,
        claim: Guarantee,
        adjacency: NeighboringRelation,
        noise: GaussianNoise,
        sensitivity: SensitivitySpace,
        low: float | Array = 0.0,
        high: float | Array = 1.0,
    ) -> None:
        self.name, self.source, self.dim, self.claim, self.adjacency = name, source, dim, claim, adjacency
        self.noise, self.sensitivity = noise, sensitivity
        self.low, self.high = low, high
        self.assumptions = ("every record lies in the range this variant accepts",)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,), or (m, d) for grouped noise."""
        return (self.noise.groups, self.dim) if isinstance(self.noise, GroupedNoise) else (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, *record_shape), entries in the accepted range."""
        records = check_array(dataset, self.record_shape, self.low, self.high)
        return check_groups(records) if isinstance(self.noise, GroupedNoise) else records

    def statistic(self, records: Array) -> Array:
        """f, (f, n), or the grouped rows of both, as the noise has it."""
        if isinstance(self.noise, GroupedNoise):
            return grouped_sums(records)
        total: Array = records.sum(axis=0)
        return np.append(total, float(len(records))) if self.noise.size == self.dim + 1 else total
