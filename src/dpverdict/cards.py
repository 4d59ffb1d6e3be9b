"""The card that a notebook shows of a result: its status and what follows from it, its claim, its answer, and tables.

Each kind of evidence has a table of its own.

It stands below every result, so that each says what is on its own card; all look the same. The style is inline and
takes ground and ink from the notebook, so a card is readable in light and dark; every text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

MARKS: Final = {"CERTIFIED": "\N{CHECK MARK}", "REFUTED": "\N{BALLOT X}", "INCONCLUSIVE": "?"}
"""What stands in the badge before the status, for the eye alone."""

DECISIONS: Final = {"CERTIFIED": "release", "REFUTED": "do not release", "INCONCLUSIVE": "not shown"}
"""What a status means for the release, if the promise that was audited is the one that is wanted."""

GROUNDS: Final = {"CERTIFIED": "#15803d", "REFUTED": "#b91c1c", "INCONCLUSIVE": "#854d0e"}
"""Behind the status, which is written in white."""

CARD: Final = (
    "max-width:46rem;padding:.8em 1em;border:1px solid rgba(128,128,128,.5);border-radius:8px;"
    "font-family:system-ui,sans-serif;font-size:14px;line-height:1.45;overflow-wrap:anywhere"
)
BADGE: Final = "display:inline-block;padding:.1em .7em;border-radius:99px;color:#fff;font-weight:700;background:"
NAME: Final = "padding:.15em 1em .15em 0;text-align:left;vertical-align:top;font-weight:400;opacity:.85"
VALUE: Final = "padding:.15em 0;text-align:left;vertical-align:top"
PLAIN: Final = "background:none;border:0"


def card(*, status: str, name: str, claim: str, answer: str, evidence: Mapping[str, Mapping[str, str]]) -> str:
    """The card as HTML.

    Args:
        status: ``CERTIFIED``, ``REFUTED`` or ``INCONCLUSIVE``.
        name: the mechanism.
        claim: what it promises, in words.
        answer: one sentence: why the status is what it is.
        evidence: for each kind of evidence, which is the caption of its table, its values by name; a kind without
            values has no table.
    """
    badge = f'<span style="{BADGE}{GROUNDS[status]}">{MARKS[status]} {status}: {DECISIONS[status]}</span>'
    claims = f"<strong>{escape(name)}</strong> claims <strong>{escape(claim)}</strong>"
    lines = [f'<div style="margin:0 0 .4em">{badge} {claims}</div>', f"<div>{escape(answer)}</div>"]
    lines += [_table(kind, rows) for kind, rows in evidence.items() if rows]
    return f'<div style="{CARD}">{"".join(lines)}</div>'


def _table(kind: str, rows: Mapping[str, str]) -> str:
    cells = "".join(
        f'<tr style="{PLAIN}"><th scope="row" style="{NAME}">{escape(name)}</th>'
        f'<td style="{VALUE}">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    caption = f'<caption style="caption-side:top;text-align:left;padding:0">{escape(kind)}</caption>'
    return f'<table style="margin:.7em 0 0;border-collapse:collapse;{PLAIN}">{caption}<tbody>{cells}</tbody></table>'
