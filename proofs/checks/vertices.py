"""Exact brute force: every vertex, every integer of a range, with dense rational linear algebra.

It shares no formula with `dpverdict.mechanisms`, so that a closed form can be checked against it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from flint import fmpq, fmpq_mat

from dpverdict.proofs.checks.evidence import Evidence, is_recorded, note, number, sides_of
from dpverdict.proofs.checks.outcome import Finding, Method, means_of_proof

T = TypeVar("T")
Vector = Sequence[Fraction | int]
MOST_VALUES = 64
"""Values of one quadratic form that are kept as evidence."""


def binary_records(dim: int, most_ones: int | None = None) -> Iterator[tuple[int, ...]]:
    """All of {0,1}^dim, or those with at most ``most_ones`` ones."""
    for record in itertools.product((0, 1), repeat=dim):
        if most_ones is None or sum(record) <= most_ones:
            yield record


def grid_records(dim: int, parts: int) -> Iterator[tuple[Fraction, ...]]:
    """All of {0, 1/parts, ..., 1}^dim."""
    yield from itertools.product([Fraction(i, parts) for i in range(parts + 1)], repeat=dim)


def form_of(covariance: Sequence[Vector]) -> Callable[[Vector], Fraction]:
    """v -> v^T S^-1 v, by inverting S in rationals once.

    Raises:
        ZeroDivisionError: S is singular.

    >>> form_of([[2, 1], [1, 2]])((1, 1))
    Fraction(2, 3)
    """
    size = len(covariance)
    inverse = fmpq_mat(size, size, [_fmpq(x) for row in covariance for x in row]).inv()
    kept = _inverse(covariance, inverse) if is_recorded() else None

    def form(difference: Vector) -> Fraction:
        vector = fmpq_mat(size, 1, [_fmpq(x) for x in difference])
        value = (vector.transpose() * inverse * vector)[0, 0]
        made = Fraction(int(value.p), int(value.q))
        if kept is not None and len(kept["values"]) < MOST_VALUES:
            kept["values"].append([[number(x) for x in difference], number(made)])
        return made

    return form


def _inverse(covariance: Sequence[Vector], inverse: fmpq_mat) -> Evidence:
    """A matrix, its inverse, and the values of its form, which are added as they are found."""
    rows = [[number(Fraction(int(x.p), int(x.q))) for x in row] for row in inverse.tolist()]
    made: Evidence = {
        "kind": "inverse",
        "matrix": [[number(x) for x in row] for row in covariance],
        "inverse": rows,
        "values": [],
    }
    note(lambda: made)  # the same object, so that the values are added to what is kept
    return made


def squared_parameter(covariance: Sequence[Vector], difference: Vector) -> Fraction | None:
    """mu^2 = v^T S^-1 v of one difference; None for a singular S.

    >>> squared_parameter([[2, 1], [1, 2]], [1, 1])
    Fraction(2, 3)
    """
    try:
        return form_of(covariance)(difference)
    except ZeroDivisionError:
        return None


# Any: the entries are Fractions or numbers of one quadratic field
def shared_noise_covariance(dim: int, vz: Any, ve: Any, loading: int | None, vw: Any = 0) -> list[list[Any]]:
    """The dense covariance of (eta + z_1, ..., eta + z_dim, loading * eta + w); without the last entry for None."""
    rows = [[ve + vz if i == k else ve + 0 * vz for k in range(dim)] for i in range(dim)]
    if loading is None:
        return rows
    rows = [[*row, loading * ve] for row in rows]
    return [*rows, [loading * ve for _ in range(dim)] + [loading * loading * ve + vw]]


def block_diagonal(block: Sequence[Sequence[Any]], copies: int) -> list[list[Any]]:
    """The matrix with ``copies`` of the block on its diagonal."""
    size = len(block)
    return [
        [block[i % size][k % size] if i // size == k // size else 0 for k in range(copies * size)]
        for i in range(copies * size)
    ]


@means_of_proof
def every(
    name: str,
    items: Iterable[T],
    holds: Callable[[T], bool | None],
    *,
    over: str,
    cases: int,
    argued: str = "",
    method: Method = Method.EXACT,
    show: Callable[[T], str] | None = None,
) -> Finding:
    """``holds`` is True of every item; the first for which it is False is the witness.

    Args:
        over: what an item is: the names of its numbers, "d" or "k, h", and after a colon what is looked at in each. The
            ranges in the scope are those of the items that ran.
        cases: how many items there are. Where another number of them ran, the finding is undecided: so no enumeration
            can be cut short unnoticed.
        argued: why it should hold beyond the items, in words that nothing checks.
        show: an item in words, for witnesses; its numbers by their names in ``over`` if not given.

    >>> every("n^2 < 50", range(8), lambda n: n * n < 50, over="n", cases=8).scope
    'n = 0..7 (8 cases)'
    """
    show = _by_names(over) if show is None else show
    ran = list[T]()
    decided: bool | None = None
    broken, witness = False, ""
    for item in items:
        ran.append(item)
        note(_case, name, item, show)
        decided = holds(item)
        if decided is not True:
            broken, witness = True, show(item)
            break
    if not broken and not (ran and len(ran) == cases):
        decided, witness = None, f"{len(ran)} of {cases} cases ran"
    return Finding(
        name=name,
        holds=decided,
        method=method,
        scope=ranges(over, ran),
        witness=witness,
        sides=sides_of(holds),
        cases=len(ran),
        argued=argued,
    )


def _by_names(over: str) -> Callable[[object], str]:
    """Shows an item as "k = 3, h = 2", by the names of its numbers."""
    names = [name.strip() for name in over.partition(":")[0].split(",")]

    def show(item: object) -> str:
        parts: Sequence[object] = item if isinstance(item, tuple) else (item,)
        if len(parts) != len(names) or not all(name.isidentifier() for name in names):
            return str(item)
        return ", ".join(f"{name} = {part}" for name, part in zip(names, parts, strict=True))

    return show


def ranges(over: str, ran: Sequence[object]) -> str:
    """The scope of an enumeration, from the items that ran: "k = 2..9, T = 1..130 (196 cases): full trees"."""
    head, _, more = over.partition(":")
    names = [name.strip() for name in head.split(",")]
    rows = [item if isinstance(item, tuple) else (item,) for item in ran]
    columns = list(zip(*rows, strict=True)) if len({len(row) for row in rows}) == 1 else []
    if len(columns) != len(names) or not all(_is_number(value) for column in columns for value in column):
        return f"{len(ran)} cases of {over}"
    parts = ", ".join(f"{name} = {_range(column)}" for name, column in zip(names, columns, strict=True))
    return f"{parts} ({len(ran)} case{'s'[: len(ran) != 1]})" + (f": {more.strip()}" if more else "")


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", value) is not None
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _range(column: Sequence[Any]) -> str:  # Any: whole numbers, Fractions and decimals as text
    """ "2..9" without a gap, "3, 5, ..., 19" in equal steps, a few numbers in full, "7 values from 1/8 to 4" else."""
    shown = {Fraction(value): str(value) for value in column}
    values = sorted(shown)
    steps = {later - earlier for earlier, later in itertools.pairwise(values)}
    if len(values) > 2 and steps == {1}:
        return f"{shown[values[0]]}..{shown[values[-1]]}"
    if len(values) > 4 and len(steps) == 1:
        return f"{shown[values[0]]}, {shown[values[1]]}, ..., {shown[values[-1]]}"
    if len(values) <= 8:
        return ", ".join(shown[value] for value in values)
    return f"{len(values)} values from {shown[values[0]]} to {shown[values[-1]]}"


def _case(name: str, item: T, show: Callable[[T], str]) -> Evidence:
    """The case of an enumeration that is looked at next."""
    return {"kind": "case", "of": name, "case": show(item)}


def _fmpq(value: Fraction | int) -> fmpq:
    rational = Fraction(value)
    return fmpq(rational.numerator, rational.denominator)
