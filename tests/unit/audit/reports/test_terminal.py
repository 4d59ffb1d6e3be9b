"""The terminal face of a report, at the widths and encodings that terminals have."""

import dataclasses
import io

import pytest
from rich.console import Console

from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.terminal import print_report

Reports = dict[str, Report]


def printed(report: Report, *, width: int = 80, encoding: str = "utf-8", terminal: bool = False) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(file=stream, width=width, force_terminal=terminal, color_system="standard" if terminal else None)
    print_report(report, console)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_report_fits_its_width_and_says_its_status_first(reports: Reports, width: int) -> None:
    for report in reports.values():
        lines = printed(report, width=width).splitlines()
        assert report.status.name in lines[1]
        assert max(map(len, lines)) <= width


def test_what_is_piped_has_no_escapes_and_no_other_alphabet_than_the_pipe(reports: Reports) -> None:
    for report in reports.values():
        text = printed(report, encoding="ascii")
        assert text.isascii()
        assert "\x1b" not in text


def test_a_terminal_gets_the_colour_of_the_status(reports: Reports) -> None:
    for kind, colour in (("CERTIFIED", "32"), ("REFUTED", "31"), ("INCONCLUSIVE", "33")):
        assert f"\x1b[1;{colour}m{kind}" in printed(reports[kind], terminal=True)


def test_names_are_neither_markup_nor_commands_to_the_terminal(reports: Reports) -> None:
    name = "[red]x[/red] [/] :smile: \x1b[2J\x07 \u202e caf\u00e9"
    report = dataclasses.replace(reports["black box"], name=name)
    text = printed(report, width=120)
    assert r"[red]x[/red] [/] :smile: \x1b[2J\x07 \u202e café" in text
    assert r"caf\xe9" in printed(report, width=120, encoding="ascii")


def test_exact_and_statistical_sections_are_marked(reports: Reports) -> None:
    text = printed(reports["CERTIFIED"])
    assert "Certificate  [exact]" in text
    assert "Statistical evidence  [statistical]" in text
    assert "Statistical" not in printed(reports["INCONCLUSIVE"])


def test_a_witness_shows_the_event_with_both_probabilities(reports: Reports) -> None:
    report = reports["REFUTED"]
    assert report.verdict is not None
    assert report.verdict.witness is not None
    text = printed(report, width=400)
    assert report.verdict.witness.event in text
    assert report.verdict.witness.statement in text
    assert "P(event)" in text
    assert "Q(event)" in text
