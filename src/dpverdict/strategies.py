"""Hypothesis strategies: datasets, neighbouring pairs, guarantees, and mechanisms with their parameters.

    from hypothesis import given
    from dpverdict.strategies import neighbouring_pairs

    @given(neighbouring_pairs(dim=3))
    def test_the_sum_moves_by_one_record(pair):
        assert abs(query(pair.dataset) - query(pair.neighbour)).max() <= 1

They shrink towards few records of zeros: a failing pair ends as the smallest one that fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from hypothesis import strategies as st

from dpverdict.audit.trials.catalogue import example_of, mechanism_classes
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.mechanisms.queries.elliptical import EllipticalGaussian
from dpverdict.mechanisms.queries.standard import StandardGaussian
from dpverdict.numerics.arrays import Array

if TYPE_CHECKING:
    from dpverdict.mechanisms.core.mechanism import StructuredMechanism


Kind = Literal["binary", "unit"]

KINDS: Final = ("binary", "unit")
LARGEST: Final = 20


def records(dim: int, kind: Kind = "binary") -> st.SearchStrategy[Array]:
    """One record: shape (dim,), entries 0 or 1 for "binary", in [0, 1] for "unit"."""
    if kind not in KINDS:
        raise InvalidValue("kind", kind, 'one of "binary", "unit"', "map another domain from one of them")
    entries: st.SearchStrategy[float] = (
        st.integers(0, 1).map(float) if kind == "binary" else st.floats(0, 1, allow_subnormal=False)
    )
    row = st.lists(entries, min_size=dim, max_size=dim)  # entry by entry, so that each shrinks by itself
    return row.map(lambda chosen: np.array(chosen, dtype=np.float64))


def datasets(
    dim: int, kind: Kind = "binary", *, min_records: int = 0, max_records: int = LARGEST
) -> st.SearchStrategy[Array]:
    """A dataset: float64 of shape (n, dim) with min_records <= n <= max_records; see `records`."""
    rows = st.lists(records(dim, kind), min_size=min_records, max_size=max_records)
    return rows.map(lambda chosen: np.array(chosen, dtype=np.float64).reshape(-1, dim))


@st.composite
def neighbouring_pairs(
    draw: st.DrawFn,
    dim: int,
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
    kind: Kind = "binary",
    *,
    min_records: int = 0,
    max_records: int = LARGEST,
) -> NeighbourPair:
    """Two datasets that differ in one record: a `NeighbourPair` under ``adjacency``.

    Args:
        draw: given by Hypothesis.
        dim: entries of a record.
        adjacency: under ADD_OR_REMOVE_ONE ``dataset`` has one record more; under REPLACE_ONE one record differs.
        kind: see `records`.
        min_records: records that both datasets have in common, at least.
        max_records: the same, at most.
    """
    check_adjacency(adjacency)
    common = draw(datasets(dim, kind, min_records=min_records, max_records=max_records))
    position = draw(st.integers(0, len(common)))
    record = draw(records(dim, kind))
    dataset = np.insert(common, position, record, axis=0)
    if adjacency is ADD_OR_REMOVE_ONE:
        return NeighbourPair(dataset=dataset, neighbour=common, adjacency=adjacency)
    other = draw(records(dim, kind).filter(lambda found: not np.array_equal(found, record)))
    neighbour = np.insert(common, position, other, axis=0)
    return NeighbourPair(dataset=dataset, neighbour=neighbour, adjacency=REPLACE_ONE)


def guarantees(
    kinds: Sequence[type[Guarantee]] = (GaussianDP, PureDP, ApproximateDP, ZeroConcentratedDP, RenyiDP),
) -> st.SearchStrategy[Guarantee]:
    """Guarantees with exact parameters: mu, epsilon and rho in 0.01..10, delta in 1e-9..1/2, orders in 1.01..64."""
    known: dict[type[Guarantee], st.SearchStrategy[Guarantee]] = {
        GaussianDP: st.builds(GaussianDP, decimals()),
        PureDP: st.builds(PureDP, decimals()),
        ApproximateDP: st.builds(ApproximateDP, decimals(), st.integers(2, 10**9).map(lambda n: Fraction(1, n))),
        ZeroConcentratedDP: st.builds(ZeroConcentratedDP, decimals()),
        RenyiDP: st.builds(RenyiDP, st.integers(101, 6400).map(lambda n: Fraction(n, 100)), decimals()),
    }
    for kind in kinds:
        if kind not in known:
            names = ", ".join(found.__name__ for found in known)
            raise InvalidValue("kinds", kind, f"among {names}", "build others from their own strategies")
    return st.one_of([known[kind] for kind in kinds])


def mechanisms(max_dim: int = 8) -> st.SearchStrategy[StructuredMechanism]:
    """Mechanisms that keep their claim, with parameters: up to ``max_dim`` queries, mu in 0.01..10."""
    dims = st.integers(1, max_dim)
    bounds = st.lists(decimals(), min_size=1, max_size=max_dim)
    return st.one_of(
        st.builds(lambda dim, mu: StandardGaussian(dim=dim, mu=mu, adjacency=ADD_OR_REMOVE_ONE), dims, decimals()),
        st.builds(lambda dim, mu: CorrelatedGaussian(dim=dim, mu=mu), dims, decimals()),
        st.builds(lambda limits, mu: EllipticalGaussian(bounds=limits, mu=mu), bounds, decimals()),
    )


def examples() -> st.SearchStrategy[StructuredMechanism]:
    """One small mechanism of each kind that `dpverdict list` shows: the examples that their own files give."""
    return st.sampled_from([*mechanism_classes().values()]).map(example_of)


def broken_mechanisms(dim: int = 3) -> st.SearchStrategy[StructuredMechanism]:
    """Mechanisms of `dpverdict.mechanisms.broken` that claim 1-GDP and do not keep it in ``dim`` dimensions."""
    wrong = [entry for entry in broken.GAUSSIAN if entry.refutable(dim)]
    return st.sampled_from(wrong).map(lambda entry: entry.make(dim, 1))


def decimals() -> st.SearchStrategy[Fraction]:
    """Exact decimals with two places, 0.01..10, shrinking to 1."""
    return st.just(Fraction(1)) | st.integers(1, 1000).map(lambda n: Fraction(n, 100))
