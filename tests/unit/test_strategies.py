"""The strategies give what they say, and shrink to the smallest example."""

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee, PureDP, parse_guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair
from dpverdict.strategies import broken_mechanisms, datasets, guarantees, mechanisms, neighbouring_pairs, records

SMALL = settings(max_examples=25)


@given(st.integers(1, 6).flatmap(lambda dim: st.tuples(st.just(dim), datasets(dim, "unit", min_records=2))))
def test_datasets_have_the_shape_and_the_range(chosen: tuple[int, NDArray[np.float64]]) -> None:
    dim, dataset = chosen
    assert dataset.dtype == np.float64
    assert dataset.shape[1:] == (dim,)
    assert 2 <= len(dataset) <= 20
    assert ((dataset >= 0) & (dataset <= 1)).all()


@given(neighbouring_pairs(3), neighbouring_pairs(2, REPLACE_ONE, "unit", min_records=1))
def test_pairs_are_neighbours(added: NeighbourPair, replaced: NeighbourPair) -> None:
    assert added.adjacency is ADD_OR_REMOVE_ONE
    assert len(added.dataset) == len(added.neighbour) + 1
    assert set(np.unique(added.dataset)) <= {0.0, 1.0}
    assert len(replaced.dataset) == len(replaced.neighbour) >= 2
    assert (replaced.dataset != replaced.neighbour).any(axis=1).sum() == 1


def test_a_failing_pair_shrinks_to_the_smallest() -> None:
    def moves_much(pair: NeighbourPair) -> bool:
        """A query of sensitivity 2: it counts the second column twice."""
        weights = np.array([1.0, 2.0, 1.0])
        return float(np.abs((pair.dataset.sum(axis=0) - pair.neighbour.sum(axis=0)) * weights).max()) > 1

    pair = find(neighbouring_pairs(3), moves_much)
    assert pair.dataset.tolist() == [[0.0, 1.0, 0.0]]
    assert pair.neighbour.shape == (0, 3)


@SMALL
@given(guarantees())
def test_guarantees_read_back_as_themselves(guarantee: Guarantee) -> None:
    assert parse_guarantee(guarantee.describe()) == guarantee


@SMALL
@given(guarantees([GaussianDP, PureDP]))
def test_only_the_kinds_asked_for(guarantee: Guarantee) -> None:
    assert isinstance(guarantee, GaussianDP | PureDP)


@SMALL
@given(mechanisms())
def test_mechanisms_keep_their_claims(mechanism: StructuredMechanism) -> None:
    assert certify(mechanism).status is Status.CERTIFIED


@SMALL
@given(broken_mechanisms())
def test_broken_mechanisms_do_not(mechanism: StructuredMechanism) -> None:
    assert certify(mechanism).status is Status.REFUTED


def test_arguments_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InvalidValue, match="kind"):
        records(2, "ternary")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="kinds"):
        guarantees([Guarantee])
