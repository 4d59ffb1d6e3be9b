"""The membership-inference game on a real table: with and without one of its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpverdict.audit.exact.worst_case import gdp_parameter, neighbour_loss, worst_case
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.trials.run import Progress
from dpverdict.balls import compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import DETAILED, shown


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MembershipGame:
    """The table with and without (or with another in place of) one record, and the exact loss of that pair.

    Attributes:
        pair: the table, and the table without the record or with it replaced.
        index: the record's position in the table.
        loss: the exact privacy loss of the pair.
        how: how the record was chosen, in words.
        replacement: None under ADD_OR_REMOVE_ONE, what takes the record's place under REPLACE_ONE.
    """

    pair: NeighbourPair
    index: int
    loss: PrivacyLoss
    how: str
    replacement: Array | None

    def describe(self) -> dict[str, str]:
        """The game in words, with its exact numbers."""
        facts = {
            "records in the table": str(len(self.pair.dataset)),
            "record": f"index {self.index} (the first is 0), {self.how}",
            "its values": _record_values(self.pair.dataset[self.index]),
            "game": "with and without this record",
            "largest advantage of a guess": shown(self.loss.certified_advantage(), DETAILED),
        }
        if self.replacement is not None:
            facts["game"] = f"this record, or in its place {_record_values(self.replacement)}"
        mu = gdp_parameter(self.loss)
        if mu is not None:
            facts["exact mu of this record"] = mu.show()
        return facts


def membership_game(
    mechanism: StructuredMechanism, table: Array, *, record: int | None = None, progress: Progress | None = None
) -> MembershipGame:
    """The game for one record of a table: the given one, or the most exposed one.

    The most exposed record has the largest exact GDP parameter mu among the rows; ties go to the first. Under
    REPLACE_ONE every row is replaced by the records of the worst pair and by the corner that is farthest from it, and
    the replacement that exposes it most counts.

    Args:
        mechanism: what is released about the table.
        table: records along the first axis, in the range that the mechanism accepts.
        record: the index of the record; None for the most exposed one.
        progress: told how many of the distinct rows were examined.

    Raises:
        InvalidValue: a table the mechanism does not accept, an index out of range, or a mechanism whose users hold
            several records each.
    """
    table = mechanism.check_records(table)
    worst = worst_case(mechanism).pair
    if worst.records_per_user != 1:
        remedy = "leave the table out: the worst neighbours are tested then"
        requirement = f"left out for {mechanism.name}, whose users hold several records"
        raise InvalidValue("data", "a table", requirement, remedy)
    if record is not None and not 0 <= record < len(table):
        raise InvalidValue("record", record, f"in 0..{len(table) - 1}", "count the records of the table from 0")
    add_remove = mechanism.adjacency is ADD_OR_REMOVE_ONE
    rows = [record] if record is not None else list(range(len(table)))
    if record is None and not mechanism.is_stream:  # equal rows are equally exposed
        _, first = np.unique(table, axis=0, return_index=True)
        rows = sorted(int(i) for i in first)
    best: tuple[int, Array | None, PrivacyLoss] | None = None
    for done, row in enumerate(rows):
        for replacement in [None] if add_remove else _possible_replacements(mechanism, table[row], worst):
            loss = neighbour_loss(mechanism, table[row], replacement, position=row)
            if best is None or _exposes_more(loss, best[2]):
                best = row, replacement, loss
        if progress is not None:
            progress(done + 1, len(rows))
    assert best is not None  # the two records of the worst pair differ, so one of them is left for every row
    index, replacement, loss = best
    if replacement is None:
        neighbour = np.delete(table, index, axis=0)
    else:
        neighbour = table.copy()
        neighbour[index] = replacement
    pair = NeighbourPair(dataset=table, neighbour=neighbour, adjacency=mechanism.adjacency)
    how = "the most exposed: no other row has a larger exact mu" if record is None else "as asked"
    if record is None and not add_remove:
        how += " against the records of the worst pair and the farthest corner"
    return MembershipGame(pair=pair, index=index, loss=loss, how=how, replacement=replacement)


def _possible_replacements(mechanism: StructuredMechanism, record: Array, worst: NeighbourPair) -> list[Array]:
    """What may take the place of a record: the records of the worst pair, and coordinate by coordinate the farther one.

    The last is the farthest corner of a box or cube; between disjoint groups it is no record.
    """
    first, second = worst.record, worst.neighbour[worst.position()]
    found = [second, first]
    if len(mechanism.record_shape) == 1:
        found.append(np.where(np.abs(record - first) > np.abs(record - second), first, second))
    return [replacement for replacement in found if not np.array_equal(replacement, record)]


def _record_values(record: Array) -> str:
    head = np.array2string(record.ravel()[:16], separator=", ", max_line_width=1000)
    return head if record.size <= 16 else f"{head[:-1]}, ...] ({record.size} values)"


def _exposes_more(loss: PrivacyLoss, other: PrivacyLoss) -> bool:
    """Whether ``loss`` certainly has the larger GDP parameter, infinite for disjoint laws; else a larger advantage."""
    if isinstance(loss, GaussianLoss) and isinstance(other, GaussianLoss):
        return compare(loss.mu_squared, other.mu_squared) == 1
    if isinstance(loss, DisjointLoss) or isinstance(other, DisjointLoss):
        return not isinstance(other, DisjointLoss)
    return loss.advantage() > other.advantage()
