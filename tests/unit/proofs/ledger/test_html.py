"""The page of the ledger: closed, linked, filtered without a script, and drawn with text alternatives."""

import dataclasses
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.ledger.html import render_html, write_html
from dpverdict.proofs.ledger.ledger import Ledger, make_ledger

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """The identifiers, links and loads of a page."""

    def __init__(self) -> None:
        HTMLParser.__init__(self)
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if "id" in named:
            self.ids.append(named["id"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        elif tag in ("script", "img", "iframe", "link") or "src" in named:
            self.loads.append(named.get("src", named.get("href", tag)))


def test_the_page_loads_nothing_and_every_statement_has_an_anchor(ledger: Ledger) -> None:
    text = render_html(ledger)
    page = Page()
    page.feed(text)
    assert page.loads == ["data:,"]
    assert len(page.ids) == len(set(page.ids))
    assert {entry.outcome.anchor for entry in ledger.entries} <= set(page.ids)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert text.count('class="formula"') == sum(bool(entry.statement.formula) for entry in ledger.entries)
    assert text == render_html(ledger)


def test_the_page_can_be_filtered_by_outcome_without_a_script(ledger: Ledger) -> None:
    text = render_html(ledger)
    assert "<script" not in text
    for key, number in {"all": 6, "caveat": 2, "fails": 2, "holds": 2}.items():
        assert re.search(rf'id="show-{key}"[^>]*> [^(]*\({number}\)', text), key
        assert key == "all" or f"body:has(#show-{key}:checked)" in text
    assert 'id="show-undecided"' not in text
    assert text.count(" checked>") == 1


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_renders_the_ledger_without_a_complaint(ledger: Ledger, tmp_path: Path) -> None:
    page = tmp_path / "ledger.html"
    drawn = [found for found in statements("new_results") if found.figure is not None][:1]
    write_html(Ledger((*ledger.entries, *make_ledger(drawn).entries)), page)
    quiet = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    command = [str(CHROMIUM), "--headless", "--no-sandbox", *quiet.split(), "--disable-sync", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    assert "<title>Ledger of statements</title>" in done.stdout
    assert "<desc id=" in done.stdout, "every drawing has a text alternative"


def test_what_a_statement_says_is_escaped(ledger: Ledger) -> None:
    entry = ledger.entries[0]
    hostile = dataclasses.replace(entry, outcome=dataclasses.replace(entry.outcome, text="<script>alert(1)</script>"))
    page = render_html(Ledger((hostile,)))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_figures_are_drawn_with_text_alternatives_and_identifiers_of_their_own() -> None:
    drawn = [found.figure() for found in statements() if found.figure is not None]
    assert len(drawn) >= 5
    assert all(figure.startswith("<svg") and 'role="img"' in figure and "<desc id=" in figure for figure in drawn)
    identifiers = [name for figure in drawn for name in re.findall(r' id="([^"]+)"', figure)]
    assert len(identifiers) == len(set(identifiers))
    assert all(not re.search(r"#[0-9a-f]{6}", figure) for figure in drawn), "colours are roles, for light and dark"
    assert sum("<table" in figure for figure in drawn) >= 3
