"""The terminal face of a report, at the widths and encodings that terminals have."""

import dataclasses
import io
import re
from collections.abc import Iterator, Mapping

import pytest
from rich.console import Console

from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import Brief, Check, Section
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.terminal import print_report, report_text

Reports = dict[str, Report]


class ManyChecks(Evidence):
    name = "many"
    position = 99

    def __init__(self, checks: tuple[Check, ...]) -> None:
        self.checks = checks

    def brief(self, known: OtherEvidence) -> Brief:
        return Brief(checks=self.checks)

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        yield from ()

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        return {}


def printed(
    report: Report, *, width: int = 80, encoding: str = "utf-8", terminal: bool = False, details: bool = True
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(file=stream, width=width, force_terminal=terminal, color_system="standard" if terminal else None)
    print_report(report, console, details=details)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.few(2)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_report_fits_its_width_and_says_its_status_first(reports: Reports, width: int) -> None:
    for report in reports.values():
        for details in (True, False):
            lines = printed(report, width=width, details=details).splitlines()
            assert report.status.name in lines[1]
            assert max(map(len, lines)) <= width


def test_what_a_person_reads_first_is_thirty_lines(reports: Reports) -> None:
    for kind, report in reports.items():
        lines = printed(report, details=False).splitlines()
        assert len(lines) <= 29, kind  # a command adds where the rest is
        text = " ".join(" ".join(lines).split())
        assert text.count("...") <= 3, text
        checks = [one for evidence in report.evidence for one in evidence.brief(report.known).checks]
        assert all(f"{one.name} {one.result}" in text for one in checks), kind
        assert any(one.result == "FAILS" for one in checks) or report.status.name != "REFUTED"


def test_what_fails_stands_first_and_is_never_left_out(reports: Reports) -> None:
    """Planted: a failing check after more checks than are shown."""
    report = reports["CERTIFIED"]
    many = tuple(Check(name=f"check {i}", result="holds", seen="as it should") for i in range(9))
    planted = ManyChecks((*many, Check(name="the last one", result="FAILS", seen="not as it should")))
    others = sum(len(evidence.brief(report.known).checks) for evidence in report.evidence)
    text = report_text(report.with_evidence(planted), details=False)
    assert text.index("the last one  FAILS") < text.index("exact audit")
    assert f"and {others + 10 - 6} checks more" in text


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


@pytest.mark.parametrize("width", [60, 80])
def test_no_word_and_no_number_is_broken_in_the_middle(reports: Reports, width: int) -> None:
    """Where the words of a table do not fit beside each other, each row is a list; a hash is longer than a line."""
    for kind, report in reports.items():
        words = set(re.split(r"\s+", report_text(report, width=2000)))
        narrow = re.split(r"[\s\u2500-\u257f]+", report_text(report, width=width))
        assert [word for word in narrow if word not in words and not re.fullmatch("[0-9a-f]+", word)] == [], kind


def test_a_table_that_would_break_words_is_a_list_of_its_rows(reports: Reports) -> None:
    """Planted: a column for each of six headers on 60 columns."""
    ledger = report_text(reports["black box, refuted"], anchors=("statistics",), width=60)
    assert "statement    " in ledger
    assert re.search(r"statement +bound +tested by", report_text(reports["black box, refuted"], width=160)) is not None


def test_the_arrays_of_a_score_are_left_to_the_json(reports: Reports) -> None:
    text = report_text(reports["black box, refuted"], width=2000)
    assert "[[" not in text
    assert not re.search(r"\d\.\d{14,}", text.partition("Statistical evidence")[2])
