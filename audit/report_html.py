"""The page of a report: one self-contained HTML file that loads nothing, to attach to a release review."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib import resources
from typing import Final, final

from dpverdict.audit.atomic_file import write_atomically
from dpverdict.audit.report import Report
from dpverdict.audit.report_figures import covariance, profile, trade_off
from dpverdict.audit.report_numbers import gdp_parameter, shown
from dpverdict.audit.report_sections import sections
from dpverdict.audit.report_sequential import sequential_tiles
from dpverdict.audit.report_statistics import statistical_tiles
from dpverdict.audit.report_table import Evidence
from dpverdict.audit.verdict import Status

MARKS: Final = {Status.CERTIFIED: "\N{CHECK MARK}", Status.REFUTED: "\N{BALLOT X}", Status.INCONCLUSIVE: "?"}
"""What stands in the badge before the status, for the eye alone."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A number to read first, and the kind of evidence it is."""

    name: str
    value: str
    evidence: Evidence


def write_html(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all.

    Raises:
        OSError: the directory is missing, or cannot be written to.
    """
    write_atomically(path, render_html(report))


def render_html(report: Report) -> str:
    """The page as text: the same report gives the same bytes.

    Every text of the report is escaped; only the drawings, made here from numbers, and the style sheet are markup.
    """
    return render("report.html.j2", style=style_sheet(), **_parts(report)) + "\n"


def render_part(report: Report, prefix: str) -> str:
    """What one audit says, for a page with many: without frame and footer, every anchor beginning with ``prefix``."""
    part = render("report_body.html.j2", **_parts(report))
    part = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", part)  # a quote in a text is escaped: never id="
    return re.sub(
        r'aria-labelledby="([^"]*)"',
        lambda match: 'aria-labelledby="' + " ".join(f"{prefix}-{name}" for name in match[1].split()) + '"',
        part,
    )


def render(template: str, **values: object) -> str:
    """A template of this folder with its values; text is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_resource),
    )
    environment.filters["shape"] = _shape
    environment.filters["drawing"] = Markup
    return environment.get_template(template).render(**values)


def style_sheet() -> str:
    """The style of every page, as markup."""
    from markupsafe import Markup

    return Markup(_resource("report.css"))


def _parts(report: Report) -> dict[str, object]:
    return {
        "report": report,
        "sections": sections(report),
        "figures": (trade_off(report), profile(report)),
        "covariance": None if report.covariance is None else covariance(report.covariance),
        "tiles": numbers_to_read_first(report),
        "mark": MARKS[report.status],
    }


def numbers_to_read_first(report: Report) -> list[Tile]:
    """The claim, the exact parameter and the bounds from samples, as far as there are any."""
    tiles = [Tile(name="Claim", value=report.claim.describe(), evidence=Evidence.NONE)]
    if report.worst is not None:
        mu = gdp_parameter(report.worst.loss)
        if mu is not None:
            name = "Exact mu of the worst neighbours" if report.worst.exact else "Mu of any neighbours, at most"
            tiles.append(Tile(name=name, value=shown(mu, 10), evidence=Evidence.EXACT))
    named = {} if report.test is None else statistical_tiles(report.test)
    if report.sequential is not None:
        named |= sequential_tiles(report.sequential)
    tiles += [Tile(name=name, value=value, evidence=Evidence.STATISTICAL) for name, value in named.items()]
    return tiles


def _shape(cell: str) -> str:
    """The class of a cell: a number, a good or a bad word, or plain text."""
    if cell in ("holds", "no"):
        return "good" if cell == "holds" else "text"
    if cell == "FAILS":
        return "bad"
    return "number" if re.fullmatch(r"[\[\d.+-][\d.,e+\- \]a-z/]*", cell) else "text"


def _resource(name: str) -> str:
    return resources.files("dpverdict.audit").joinpath(name).read_text(encoding="utf-8")
