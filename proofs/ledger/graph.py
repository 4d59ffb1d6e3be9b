"""The graph of what rests on what: a drawing of the statements of a paper that need others, or are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from dpverdict.proofs.checks.outcome import Outcome, Standing
from dpverdict.proofs.ledger.ledger import Ledger

_WIDTH, _HEIGHT, _GAP, _LINE = 168, 26, 70, 34


def levels(outcomes: Sequence[Outcome]) -> tuple[tuple[str, ...], ...]:
    """The anchors of the statements that need others or are needed, what needs nothing first, each after its needs.

    A level has the statements whose longest way down is of one length; in a level they have the order of the ledger.
    """
    listed = {outcome.anchor: outcome for outcome in outcomes}
    below = {anchor: [need.anchor for need in found.needs if need.anchor in listed] for anchor, found in listed.items()}
    depth: dict[str, int] = {}

    def down(anchor: str) -> int:
        if anchor not in depth:
            depth[anchor] = 1 + max((down(need) for need in below[anchor]), default=-1)
        return depth[anchor]

    joined = [anchor for anchor in listed if below[anchor] or any(anchor in needs for needs in below.values())]
    for anchor in joined:
        down(anchor)
    most = max(depth.values(), default=-1)
    return tuple(tuple(anchor for anchor in joined if depth[anchor] == level) for level in range(most + 1))


def needs_svg(ledger: Ledger, paper: str, classes: Mapping[Standing, str]) -> str:
    """The graph of one paper as an inline SVG without scripts; "" where no statement needs another of the paper.

    Every statement links to its row and has the colour of its standing; a line leads from what is needed to the right.
    """
    outcomes = [entry.outcome for entry in ledger.of(paper)]
    listed = {outcome.anchor: outcome for outcome in outcomes}
    columns = levels(outcomes)
    if len(columns) < 2:
        return ""
    place = {
        anchor: (x * (_WIDTH + _GAP) + 1, y * _LINE + 1)
        for x, column in enumerate(columns)
        for y, anchor in enumerate(column)
    }
    width = len(columns) * (_WIDTH + _GAP) - _GAP + 2
    height = max(map(len, columns)) * _LINE + 2
    parts = []
    for anchor, (x, y) in place.items():
        for need in listed[anchor].needs:
            if need.anchor in place:
                left, top = place[need.anchor]
                start, end = (left + _WIDTH, top + _HEIGHT / 2), (x, y + _HEIGHT / 2)
                middle = (start[0] + end[0]) / 2
                parts.append(
                    f'<path class="needs" d="M{start[0]} {start[1]}C{middle} {start[1]} {middle} {end[1]} '
                    f'{end[0]} {end[1]}"/>'
                )
    for anchor, (x, y) in place.items():
        found = listed[anchor]
        parts.append(
            f'<a href="#{escape(anchor)}" class="{classes[found.standing]}"><rect x="{x}" y="{y}" width="{_WIDTH}" '
            f'height="{_HEIGHT}" rx="6"/><text x="{x + 9}" y="{y + 18}">{escape(_short(found.label))}</text></a>'
        )
    title = f"What rests on what: {len(place)} statements, each to the right of those it needs."
    return (
        f'<svg class="graph" role="img" viewBox="0 0 {width} {height}" style="width:{width}px">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _short(label: str, most: int = 22) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"
