"""The pages in a real browser: on a phone, in the dark, on paper, with the keyboard alone, without seeing the plots."""

import dataclasses
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.comparisons.at_one_claim import compare_mechanisms
from dpverdict.audit.reports.html import render_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.runs.audits import with_risk
from dpverdict.audit.runs.plans.plan import read_plan
from dpverdict.audit.runs.plans.renderings import render_plan_html
from dpverdict.audit.runs.plans.run import open_journal, run_plan
from dpverdict.proofs import statements
from dpverdict.proofs.ledger.html import render_html as render_ledger
from dpverdict.proofs.ledger.ledger import Ledger, make_ledger

tools = runpy.run_path(str(Path(__file__).parents[3] / "browser.py"))
Browser = Any  # of tools, which are loaded by path
KINDS = ["CERTIFIED", "REFUTED", "INCONCLUSIVE", "black box, refuted", "plan", "ledger", "risk", "compare"]
PAPER = 718  # pixels between the margins of an A4 sheet, as Chromium prints it
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
WIDE = "<p style='width: 500px'>wide</p>"
LONG = "a-name-without-a-place-to-break-" * 8
PLAN = f"""
title = "Release {EVIL}"
seed = 7
error_probability = "1e-6"
[[audit]]
name = "{EVIL} {LONG}"
mechanism = "correlated-gaussian"
dim = 3
mu = 1
exact_only = true
[[audit]]
name = "a function"
mechanism = "release.py:noisy"
neighbours = "pair.npz"
claim = "eps=1"
samples = 500
expect = "not refuted"
"""
RELEASE = """
from dpverdict.audit import batched

@batched
def noisy(dataset, rng, trials):
    return dataset.sum(axis=0) + rng.laplace(scale=1.0, size=(trials, 1))
"""

pytestmark = pytest.mark.skipif(tools["CHROMIUM"] is None, reason="chromium is not installed")

FOCUSABLE = "a[href], summary, button, input:not([type=radio]), input[type=radio]:checked"
TOO_WIDE = """
(() => {
  const wide = document.documentElement.clientWidth + 1, found = [];
  if (document.documentElement.scrollWidth > wide) found.push('the page: ' + document.documentElement.scrollWidth);
  for (const one of document.querySelectorAll('body *')) {
    if (one.closest('svg') && one.tagName !== 'svg') continue;
    let inside = one.parentElement, scrolls = false;
    for (; inside; inside = inside.parentElement)
      scrolls ||= inside !== document.body && ['auto', 'scroll', 'hidden'].includes(getComputedStyle(inside).overflowX);
    const box = one.getBoundingClientRect();
    if (!scrolls && box.width > 0 && box.right > wide) found.push(one.tagName + ' ' + one.className + ' ' + box.right);
  }
  return found;
})()
"""
SCROLLED = """
[...document.querySelectorAll('table.stack, table.facts')].filter(one => {
  const box = one.closest('.scroll');
  return box && one.checkVisibility() && box.scrollWidth > box.clientWidth + 1;
}).map(one => one.textContent.trim().slice(0, 100))
"""
TOO_FAINT = """
(() => {
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const found = [];
  for (const one of document.querySelectorAll('body, body *')) {
    if (!one.checkVisibility() || ['title', 'desc', 'style'].includes(one.tagName.toLowerCase())) continue;
    const text = [...one.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join('');
    if (!text) continue;
    let behind = one, ground = [0, 0, 0, 0];
    for (; behind; behind = behind.parentElement) {
      ground = numbers(getComputedStyle(behind).backgroundColor);
      if (ground.length === 3 || ground[3] === 1) break;
    }
    const style = getComputedStyle(one), ink = numbers(one.closest('svg') ? style.fill : style.color);
    const [dark, bright] = [light(ink), light(ground)].sort((x, y) => x - y);
    const ratio = (bright + 0.05) / (dark + 0.05);
    if (ratio < 4.5) found.push(ratio.toFixed(2) + ' ' + one.tagName + '.' + one.getAttribute('class') + ': ' + text);
  }
  return found;
})()
"""
WITHOUT_WORDS = """
[...document.querySelectorAll('svg, img')].filter(one => {
  if (one.closest('[aria-hidden=true]')) return false;
  const named = (one.getAttribute('aria-labelledby') || '').split(' ').map(id => document.getElementById(id));
  const own = one.querySelector(':scope > title');
  const words = named.every(Boolean) ? named : own ? [own] : [];
  return one.getAttribute('role') !== 'img' || !words.length || words.some(word => !word.textContent.trim());
}).map(one => one.outerHTML.slice(0, 200))
"""
WITHOUT_VALUES = """
[...document.querySelectorAll('figure')].filter(one =>
  one.querySelector('svg') &&
  !one.querySelector('table tbody tr td') && !one.parentElement.querySelector('table tbody tr td')
).map(one => one.textContent.trim().slice(0, 200))
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with tools["Browser"](tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def pages(
    reports: dict[str, Report], tmp_path_factory: pytest.TempPathFactory, warm_copies_of_module: None
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    texts = {
        kind: render_html(dataclasses.replace(reports[kind], name=f"{kind} {EVIL} {LONG}", parameters={EVIL: LONG}))
        for kind in KINDS
        if kind in reports
    }
    (folder / "plan.toml").write_text(PLAN)
    (folder / "release.py").write_text(RELEASE)
    np.savez(folder / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    with open_journal(folder / "plan.toml", folder / "journal") as kept:
        texts["plan"] = render_plan_html(run_plan(read_plan(folder / "plan.toml"), kept))
    chosen = [one for one in statements("lebeda2024") if one.number in ("poster.line1", "lem3.1")]
    chosen += [one for one in statements("new_results") if one.number in ("r1.new.curve", "pou.new.boundary")]  # drawn
    entries = make_ledger(chosen).entries
    hostile = dataclasses.replace(entries[0].outcome, text=f"{EVIL} {LONG}")
    texts["ledger"] = render_ledger(Ledger((dataclasses.replace(entries[0], outcome=hostile), *entries[1:])))
    named = dataclasses.replace(reports["REFUTED"], name=f"{EVIL} {LONG}")
    texts["risk"] = render_html(with_risk(named, "0.001"))
    names = ["gaussian", "laplace", "geometric"]
    found_least = compare_mechanisms(names, {"dim": "2"}, "eps=1, delta=1e-6", "0.001")
    texts["compare"] = dataclasses.replace(found_least, notes=(f"{EVIL} {LONG}",)).page()
    found = {}
    for kind, text in texts.items():
        found[kind] = folder / f"{kind}.html"
        found[kind].write_text(text, encoding="utf-8")
    return found


def planted(page: Path, fault: str) -> Path:
    """The page with some markup before its footer."""
    path = page.with_name("planted.html")
    path.write_text(page.read_text(encoding="utf-8").replace("</main>", fault + "</main>", 1), encoding="utf-8")
    return path


def tab_order(browser: Browser) -> tuple[list[int], int]:
    """Press the tabulator through the page: which controls had the focus, in that order; and how many there are."""
    browser.ask(f"window.controls = [...document.querySelectorAll('{FOCUSABLE}')].filter(one => one.checkVisibility())")
    number = int(browser.ask("window.controls.length"))
    seen: list[int] = []
    for _ in range(2 * number + 40):
        browser.press("Tab")
        at = int(browser.ask("window.controls.indexOf(document.activeElement)"))
        if seen and at == seen[0]:
            break
        if at >= 0:
            seen.append(at)
    return seen, number


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_shown_and_printed_without_a_complaint(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    browser.open(pages[kind])
    assert browser.ask("document.querySelectorAll('main table').length") >= 1
    assert browser.ask("document.querySelectorAll('script, img, iframe').length") == 0
    assert browser.ask(f"document.body.textContent.includes({json.dumps(EVIL)})")
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 1
    assert browser.complaints() == []


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_runs_off_a_phone(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    browser.open(pages[kind], width=390)
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(SCROLLED) == []
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.ask(TOO_WIDE) == []


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_runs_off_the_paper(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    browser.open(pages[kind], width=PAPER, media="print")
    assert browser.ask(TOO_WIDE) == []
    hidden = "[...document.querySelectorAll('figure td')].filter(one => !one.checkVisibility()).length"
    assert browser.ask(hidden) == 0


@pytest.mark.few(4)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_text_stands_out_from_its_ground(browser: Browser, pages: dict[str, Path], kind: str, dark: bool) -> None:
    browser.open(pages[kind], dark=dark)
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in re.findall(r"\d+", ground)[:3]) < 200) == dark
    assert browser.ask(TOO_FAINT) == []


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_every_control_is_reached_by_the_keyboard_in_the_order_of_the_page(
    browser: Browser, pages: dict[str, Path], kind: str
) -> None:
    browser.open(pages[kind])
    seen, number = tab_order(browser)
    assert number >= 3
    assert seen == list(range(number))
    browser.press("Tab")
    assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_ledger_is_filtered_by_the_keyboard(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["ledger"])
    rows = "[...document.querySelectorAll('tr')].filter(one => one.checkVisibility()).length"
    every = browser.ask(rows)
    while browser.ask("document.activeElement.name") != "show":
        browser.press("Tab")
    browser.press("ArrowDown")
    assert browser.ask("document.activeElement.checked")
    assert 0 < browser.ask(rows) < every


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_has_words_and_its_values_in_a_table(browser: Browser, pages: dict[str, Path], kind: str) -> None:
    browser.open(pages[kind])
    assert browser.ask(WITHOUT_WORDS) == []
    assert browser.ask(WITHOUT_VALUES) == []
    assert browser.ask("document.querySelectorAll('figure svg').length") >= 2


@pytest.mark.parametrize(
    ("fault", "question"),
    [
        (WIDE, TOO_WIDE),
        (f"<div class='scroll'><table class='stack'><tr><td>{WIDE}</td></tr></table></div>", SCROLLED),
        ("<p style='color: #999; background: #fff'>faint</p>", TOO_FAINT),
        ("<svg viewBox='0 0 1 1'></svg>", WITHOUT_WORDS),
        ("<svg role='img' aria-labelledby='nothing' viewBox='0 0 1 1'></svg>", WITHOUT_WORDS),
        ("<section><figure><svg viewBox='0 0 1 1'></svg></figure></section>", WITHOUT_VALUES),
    ],
    ids=["wide", "scrolled", "faint", "no role", "no words", "no values"],
)
def test_a_planted_fault_of_a_page_is_found(
    browser: Browser, pages: dict[str, Path], fault: str, question: str
) -> None:
    browser.open(planted(pages["CERTIFIED"], fault), width=390)
    assert len(browser.ask(question)) >= 1


def test_a_planted_control_that_the_keyboard_skips_is_found(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(planted(pages["CERTIFIED"], "<a href='#top' tabindex='-1'>skipped</a>"))
    seen, number = tab_order(browser)
    assert len(seen) == number - 1


def test_a_planted_script_is_complained_of(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(planted(pages["CERTIFIED"], "<script>document.title = 'broken in'</script>"))
    assert len(browser.complaints()) >= 1
    assert browser.ask("document.title") != "broken in"
