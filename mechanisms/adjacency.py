"""Which datasets are neighbours: the two relations of Lebeda (2024), Definition 2.1, under dp_accounting's names."""

from __future__ import annotations

from dp_accounting import NeighboringRelation

from dpverdict.errors import InvalidValue

ADD_OR_REMOVE_ONE: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
"""One dataset is the other with one record more; the number of records differs by one."""

REPLACE_ONE: NeighboringRelation = NeighboringRelation.REPLACE_ONE
"""Both datasets have the same number of records and differ in one of them."""

_NAMES = {"add-or-remove-one": ADD_OR_REMOVE_ONE, "replace-one": REPLACE_ONE}


def parse_adjacency(text: str) -> NeighboringRelation:
    """The neighbouring relation of a name: ``add-or-remove-one`` or ``replace-one`` (underscores and capitals too)."""
    name = text.strip().lower().replace("_", "-")
    if name not in _NAMES:
        raise InvalidValue("adjacency", text, "one of " + ", ".join(_NAMES), "write the neighbouring relation in full")
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
