"""The parts a report is made of: sections of text and tables, each with the kind of evidence it holds."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final


class Evidence(enum.Enum):
    """What a section rests on; no section rests on both."""

    EXACT = "exact evidence: ball or rational arithmetic, no error probability"
    STATISTICAL = "statistical evidence: samples, with an error probability"
    NONE = "no evidence: what was audited, and how to run it again"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under a header; without a header, the first column names what the others say.

    Attributes:
        caption: what the rows are, in a few words; may be empty.
        header: the names of the columns, or () for a list of facts.
        rows: the cells; all rows have the same length, that of the header if there is one.
    """

    caption: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report under one title.

    Attributes:
        anchor: the name of the section in a link, unique in the report.
        title: its heading.
        evidence: what it rests on.
        text: paragraphs.
        tables: tables, in order.
    """

    anchor: str
    title: str
    evidence: Evidence
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def facts(named: Mapping[str, str], *, caption: str = "") -> Table:
    """A list of facts, one row for each name."""
    return Table(caption=caption, rows=tuple(named.items()))
