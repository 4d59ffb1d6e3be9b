"""The page of a report: complete in itself, escaped, deterministic, and right in a browser."""

import dataclasses
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpverdict.audit.reports.evidence.membership import MembershipEvidence
from dpverdict.audit.reports.html import render_html, write_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import sections

Reports = dict[str, Report]
VOID = {"meta", "link", "br", "img", "wbr", "path", "use", "rect"}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """What a browser would see: tags, identifiers, links, text, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        HTMLParser.__init__(self)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.identifiers: list[str] = []
        self.references: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.identifiers.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.references.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


@pytest.fixture(scope="module")
def pages(reports: Reports) -> dict[str, str]:
    """Every report as its page, made once."""
    return {kind: render_html(report) for kind, report in reports.items()}


def test_every_report_is_a_closed_page_that_loads_nothing(pages: dict[str, str]) -> None:
    for text in pages.values():
        page = Page(text)
        assert page.open == []
        assert not page.tags & {"script", "img", "iframe", "object", "embed", "form"}
        assert page.handlers == []
        assert len(page.identifiers) == len(set(page.identifiers))
        assert {reference for reference in page.references if not reference.startswith("#")} == {"data:,"}
        assert {reference[1:] for reference in page.references if reference.startswith("#")} <= set(page.identifiers)
        assert "@import" not in text
        assert re.findall(r"url\((?!#)", text) == []


def test_the_page_says_everything_that_the_sections_say(reports: Reports, pages: dict[str, str]) -> None:
    for kind, report in reports.items():
        page = Page(pages[kind])
        assert report.summary.sentence in page.text
        for section in sections(report):
            assert section.anchor in page.identifiers
            for table in section.tables:
                for row in table.rows:
                    assert all(cell in page.text for cell in row)


def test_user_text_never_becomes_markup(reports: Reports) -> None:
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}</style></title>&amp;"
    report = dataclasses.replace(
        reports["REFUTED"],
        name=evil,
        parameters={evil: evil},
        assumptions=(evil,),
        versions={evil: evil},
        command=evil,
    ).with_evidence(MembershipEvidence({evil: evil}))
    page = Page(render_html(report))
    assert not page.tags & {"script", "img"}
    assert page.handlers == []
    assert page.text.count(evil) >= 8


def test_no_line_ends_within_a_number(pages: dict[str, str]) -> None:
    for kind, page in pages.items():
        visible = re.sub(r"<style.*?</style>|<svg.*?</svg>|<[^>]*title=.*?>", "", page, flags=re.DOTALL)
        without = re.sub(r'<span class="whole">[\d.]+e-\d+</span>', "", visible)
        assert re.findall(r"<(?:p|dd|h1|td)\b[^>]*>[^<]*\de-\d", without) == [], kind
    assert any('<span class="whole">' in page for page in pages.values())


def test_the_same_report_gives_the_same_bytes(reports: Reports, pages: dict[str, str]) -> None:
    assert pages["CERTIFIED"] == render_html(dataclasses.replace(reports["CERTIFIED"]))


def test_the_plots_show_what_there_is(reports: Reports) -> None:
    exact, measured = "exact, certified", "measured, confidence rectangles"
    for kind, marks in {"CERTIFIED": (True, True), "INCONCLUSIVE": (True, False), "black box": (False, True)}.items():
        text = render_html(reports[kind])
        assert (exact in text, measured in text) == marks


def test_text_that_is_not_unicode_is_written_as_an_escape(reports: Reports, tmp_path: Path) -> None:
    write_html(dataclasses.replace(reports["black box"], name="half \udcff"), tmp_path / "report.html")
    assert r"half \udcff" in (tmp_path / "report.html").read_text(encoding="utf-8")


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def browse(page: Path) -> subprocess.CompletedProcess[str]:
    """The page as chromium builds it (standard output), and what it complains of (standard error)."""
    quiet = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    command = [str(CHROMIUM), "--headless", "--no-sandbox", *quiet.split(), "--disable-sync", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={page.parent / 'profile'}", "--enable-logging=stderr", "--v=0"]
    return subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)


@pytest.mark.few(2)
@needs_chromium
@pytest.mark.parametrize("kind", ["CERTIFIED", "REFUTED", "INCONCLUSIVE", "black box"])
def test_a_browser_renders_the_page_without_a_complaint(reports: Reports, tmp_path: Path, kind: str) -> None:
    page = tmp_path / "report.html"
    report = dataclasses.replace(reports[kind], name="<script>document.title='broken in'</script>")
    write_html(report, page)
    done = browse(page)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    seen = Page(done.stdout)
    assert f"<title>{report.status.name}: " in done.stdout
    assert "broken in" in seen.text
    assert {"svg", "table", "details"} <= seen.tags
    assert "script" not in seen.tags


@needs_chromium
def test_a_planted_script_is_blocked_and_complained_of(reports: Reports, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    planted = "<script>document.title = 'broken in'</script><img src='http://localhost:9/x.png'></body>"
    page.write_text(render_html(reports["CERTIFIED"]).replace("</body>", planted), encoding="utf-8")
    done = browse(page)
    assert "CONSOLE" in done.stderr
    assert "<title>CERTIFIED: " in done.stdout
