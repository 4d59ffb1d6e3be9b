"""Which datasets are neighbours: the two relations of Lebeda (2024), Definition 2.1, under dp_accounting's names.

A `NeighbourPair` is two arrays that are, an `ObjectPair` two datasets of any kind; `as_pair` checks two that somebody
says are, and reads the relation off their lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.common_rows import without_common_rows
from dpverdict.mechanisms.core.records import differing, kinds_differ, records_of
from dpverdict.suggestions import nearest

ADD_OR_REMOVE_ONE: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
"""One dataset is the other with one record more; the number of records differs by one."""

REPLACE_ONE: NeighboringRelation = NeighboringRelation.REPLACE_ONE
"""Both datasets have the same number of records and differ in one of them."""

_NAMES = {"add-or-remove-one": ADD_OR_REMOVE_ONE, "replace-one": REPLACE_ONE}


def parse_adjacency(text: str) -> NeighboringRelation:
    """The neighbouring relation of a name: ``add-or-remove-one`` or ``replace-one`` (underscores and capitals too)."""
    name = text.strip().lower().replace("_", "-")
    if name not in _NAMES:
        remedy = f"{nearest(name, _NAMES)}write the neighbouring relation in full"
        raise InvalidValue("adjacency", text, "one of " + ", ".join(_NAMES), remedy)
    return _NAMES[name]


def adjacency_name(adjacency: NeighboringRelation) -> str:
    """The name that `parse_adjacency` reads."""
    return next(name for name, relation in _NAMES.items() if relation is adjacency)


def check_adjacency(adjacency: object) -> NeighboringRelation:
    """One of the two relations supported here.

    Raises:
        InvalidValue: anything else, with the remedy to write the relation in full.
    """
    if isinstance(adjacency, NeighboringRelation) and adjacency in _NAMES.values():
        return adjacency
    remedy = "write adjacency=ADD_OR_REMOVE_ONE or adjacency=REPLACE_ONE"
    raise InvalidValue("adjacency", adjacency, "a neighbouring relation", remedy)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeighbourPair:
    """Two datasets that differ in the records of one user.

    Everywhere P is the law of the release on ``dataset`` and Q its law on ``neighbour``. Under ADD_OR_REMOVE_ONE,
    ``dataset`` is the one with the extra record: the membership-inference game "with and without this record".

    Args:
        dataset: records along the first axis, shape (n, ...).
        neighbour: shape (n - records_per_user, ...) under ADD_OR_REMOVE_ONE, (n, ...) under REPLACE_ONE.
        adjacency: the neighbouring relation.
        records_per_user: how many consecutive records one user holds; 1 is the textbook relation.

    Raises:
        InvalidValue: the two datasets are not neighbours under the relation.
    """

    dataset: NDArray[np.float64]
    neighbour: NDArray[np.float64]
    adjacency: NeighboringRelation
    records_per_user: int = 1

    def __post_init__(self) -> None:
        check_adjacency(self.adjacency)
        if self.records_per_user < 1:
            remedy = "give the number of records of one user"
            raise InvalidValue("records_per_user", self.records_per_user, ">= 1", remedy)
        for name in ("dataset", "neighbour"):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.ndim < 1:
                raise InvalidValue(name, array, "an array with records along its first axis", "pass a NumPy array")
        if not self._related():
            shapes = f"shapes {self.dataset.shape} and {self.neighbour.shape}"
            remedy = "change one record only, keep the others in order, and put the larger dataset first"
            raise InvalidValue("neighbours", shapes, f"neighbours under {adjacency_name(self.adjacency)}", remedy)

    def _related(self) -> bool:
        n, q = len(self.dataset), self.records_per_user
        extra = q if self.adjacency is ADD_OR_REMOVE_ONE else 0
        if self.dataset.shape[1:] != self.neighbour.shape[1:] or len(self.neighbour) != n - extra:
            return False
        i = self.position()
        rest = slice(i + q - extra, None)
        return i + q <= n and bool(_same_records(self.dataset[i + q :], self.neighbour[rest]).all())

    def position(self) -> int:
        """The index of the first record in which the two datasets differ."""
        n, q = len(self.dataset), self.records_per_user
        common = min(n, len(self.neighbour))
        differing = np.flatnonzero(~_same_records(self.dataset[:common], self.neighbour[:common]))
        return int(differing[0]) if differing.size else max(n - q, 0)

    @property
    def record(self) -> NDArray[np.float64]:
        """The record of ``dataset`` that is removed or replaced."""
        record: NDArray[np.float64] = self.dataset[self.position()]
        return record

    def describe(self) -> str:
        """One line: sizes, relation, and the record, shortened."""
        record = np.ravel(self.record)
        head = np.array2string(record[:8], precision=4, separator=", ", max_line_width=200)
        shown = head if record.size <= 8 else head[:-1] + f", ...] ({record.size} values, sum {record.sum():.6g})"
        return f"{len(self.dataset)} against {len(self.neighbour)} records, {adjacency_name(self.adjacency)}: {shown}"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectPair:
    """Two datasets of any kind that differ in the records of one user: frames, tables, tensors, lists of records.

    They are given to a mechanism as they are. Where their records can be compared (`records.records_of`) they are, in
    any order; a relation between other objects is believed, and reports say so.

    Args:
        dataset: the one with the extra records under ADD_OR_REMOVE_ONE.
        neighbour: the other one.
        adjacency: the neighbouring relation.
        records_per_user: how many records one user holds.

    Raises:
        InvalidValue: the datasets can be compared, and are not neighbours under the relation.
    """

    dataset: Any
    neighbour: Any
    adjacency: NeighboringRelation
    records_per_user: int = 1
    _sizes: tuple[int, int] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        check_adjacency(self.adjacency)
        if self.records_per_user < 1:
            remedy = "give the number of records of one user"
            raise InvalidValue("records_per_user", self.records_per_user, ">= 1", remedy)
        held = _Held.of(self.dataset, self.neighbour)
        if held is None:
            return
        object.__setattr__(self, "_sizes", held.sizes)
        more, fewer = held.differing
        removed = self.adjacency is ADD_OR_REMOVE_ONE and (more, fewer) == (self.records_per_user, 0)
        replaced = self.adjacency is REPLACE_ONE and more == fewer <= self.records_per_user
        if not (removed or replaced):
            raise _not_neighbours(held, f"neighbours under {adjacency_name(self.adjacency)}")

    @property
    def compared(self) -> bool:
        """Whether the records of both were compared; otherwise the relation is what its maker says."""
        return self._sizes is not None

    def describe(self) -> str:
        """One line: what they are, sizes and relation."""
        name = adjacency_name(self.adjacency)
        kinds = " and ".join(dict.fromkeys(type(side).__qualname__ for side in (self.dataset, self.neighbour)))
        if self._sizes is None:
            return f"two objects ({kinds}), {name} as stated: their records could not be compared"
        said = f"{self._sizes[0]} against {self._sizes[1]} records ({kinds}), {name}"
        changed = kinds_differ(self.dataset, self.neighbour)
        return said if changed is None else f"{said}; {changed}"


AnyPair: TypeAlias = "NeighbourPair | ObjectPair"
Neighbours: TypeAlias = "NeighbourPair | ObjectPair | tuple[Any, Any]"
"""Two datasets, checked or to be checked by `as_pair`."""


def as_pair(neighbours: Neighbours) -> AnyPair:
    """Two datasets as neighbours, the larger one first: one record less is ADD_OR_REMOVE_ONE, equal lengths are
    REPLACE_ONE.

    Args:
        neighbours: a pair, which is given back as it is, or two datasets, in either order: arrays with records along
            their first axis, or objects of any kind whose records can be compared. A user who holds several records,
            and a relation between objects that cannot be compared, is stated by `NeighbourPair` or `ObjectPair`.

    Raises:
        InvalidValue: they are no two datasets, are equal, or differ in more than one record: what differs further is
            not covered by a claim about neighbours, and could refute one that holds.
    """
    if isinstance(neighbours, NeighbourPair | ObjectPair):
        return neighbours
    given: object = neighbours  # what a caller passes is not always what the types say
    if not isinstance(given, tuple) or len(given) != 2:
        raise InvalidValue("neighbours", neighbours, "a pair or two datasets", "give (dataset, neighbour)")
    one, other = neighbours
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return array_pair(neighbours)
    held = _Held.of(one, other)
    if held is None:
        unknown = one if records_of(one) is None else other
        requirement = "a dataset whose records can be compared, such as a list, an array or a frame"
        remedy = "state the relation: dpverdict.mechanisms.ObjectPair(dataset=..., neighbour=..., adjacency=...)"
        raise InvalidValue("neighbours", unknown, requirement, remedy)
    more, fewer = held.differing
    if more + fewer == 0:
        raise InvalidValue("neighbours", "equal datasets", "two different datasets", "change or remove one record")
    if (more, fewer) not in ((1, 0), (0, 1), (1, 1)):
        raise _not_neighbours(held, "two datasets that differ in one record")
    adjacency = REPLACE_ONE if more == fewer else ADD_OR_REMOVE_ONE
    if fewer > more:
        one, other = other, one
    return ObjectPair(dataset=one, neighbour=other, adjacency=adjacency)


@final
@dataclass(frozen=True, slots=True)
class _Held:
    """How many records two datasets hold, and how many of each the other does not hold."""

    sizes: tuple[int, int]
    differing: tuple[int, int]

    @staticmethod
    def of(one: Any, other: Any) -> _Held | None:
        """None for datasets whose records cannot be compared."""
        left, right, common = without_common_rows(one, other)
        first, second = records_of(left), records_of(right)
        if first is None or second is None:
            return None
        return _Held((len(first) + common, len(second) + common), differing(first, second))


def _not_neighbours(held: _Held, requirement: str) -> InvalidValue:
    more, fewer = held.differing
    said = f"{held.sizes[0]} and {held.sizes[1]} records, of which {more} and {fewer} are not in the other"
    remedy = "change, add or remove one record only; state the records of one user in an ObjectPair"
    return InvalidValue("neighbours", said, requirement, remedy)


def array_pair(neighbours: Neighbours) -> NeighbourPair:
    """Two arrays as neighbours, the larger one first: one record less is ADD_OR_REMOVE_ONE, equal lengths are
    REPLACE_ONE.

    Args:
        neighbours: a pair, which is given back as it is, or two datasets with records along their first axis, in either
            order. A user who holds several records is stated by `NeighbourPair`, with ``records_per_user``.

    Raises:
        InvalidValue: they are no two arrays, are equal, or differ in more than one record: what differs further is not
            covered by a claim about neighbours, and could refute one that holds.
    """
    if isinstance(neighbours, NeighbourPair):
        return neighbours
    given: object = neighbours  # what a caller passes is not always what the types say
    if not isinstance(given, tuple) or len(given) != 2:
        raise InvalidValue("neighbours", neighbours, "a NeighbourPair or two arrays", "give (dataset, neighbour)")
    assert not isinstance(neighbours, ObjectPair)
    made = []
    for dataset in neighbours:
        try:
            made.append(np.asarray(dataset))
        except ValueError:  # ragged
            raise InvalidValue("neighbours", dataset, "two arrays", "give records of one shape") from None
    one, other = made
    shapes = f"arrays of shapes {one.shape} and {other.shape}"
    if min(one.ndim, other.ndim) < 1 or abs(len(one) - len(other)) > 1 or one.shape[1:] != other.shape[1:]:
        requirement = "two datasets of equal length, or one a record shorter than the other"
        remedy = "change or remove exactly one record; state the records of one user in a NeighbourPair"
        raise InvalidValue("neighbours", shapes, requirement, remedy)
    if one.shape == other.shape and bool(_same_records(one, other).all()):
        raise InvalidValue("neighbours", shapes, "two different datasets", "change or remove one record")
    adjacency = REPLACE_ONE if len(one) == len(other) else ADD_OR_REMOVE_ONE
    if len(one) < len(other):
        one, other = other, one
    return NeighbourPair(dataset=one, neighbour=other, adjacency=adjacency)


def _same_records(one: NDArray[np.generic], other: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which records are equal, one by one: shape (n,). What is not a number in both is equal, as it is to a reader."""
    same: NDArray[np.bool_] = np.asarray(one == other)
    if one.dtype.kind in "fc" and other.dtype.kind in "fc":
        same = same | (np.isnan(one) & np.isnan(other))
    found: NDArray[np.bool_] = np.asarray(same.all(axis=tuple(range(1, one.ndim))))
    return found
