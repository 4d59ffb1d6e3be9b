"""A notebook shows a report, a verdict and a test as the same card: escaped, and readable on any ground."""

import dataclasses
import re
import runpy
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.reports.evidence.exact import ExactEvidence
from dpverdict.audit.reports.report import Report

Reports = dict[str, Report]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' style='x"
tools = runpy.run_path(str(Path(__file__).parents[3] / "browser.py"))


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html))


@pytest.fixture(scope="module")
def cards(reports: Reports) -> dict[str, str]:
    """The card of each report."""
    return {kind: report._repr_html_() for kind, report in reports.items()}


def test_a_card_says_status_claim_and_answer(reports: Reports, cards: dict[str, str]) -> None:
    for kind, report in reports.items():
        text = words(cards[kind])
        assert report.status.name in text
        assert report.claim.describe() in text
        assert (report.answer if report.worst is None else report.summary.sentence) in text


def test_a_verdict_is_shown_as_a_report_of_it_is(reports: Reports) -> None:
    for kind in ("CERTIFIED", "REFUTED", "INCONCLUSIVE"):
        report, verdict = reports[kind], reports[kind].verdict
        assert verdict is not None
        bare = Report(
            name=verdict.mechanism,
            claim=verdict.claim,
            created=report.created,
            evidence=(ExactEvidence(verdict=verdict),),
        )
        assert verdict._repr_html_() == bare._repr_html_()


def test_a_test_is_shown_as_a_report_of_it_is(reports: Reports) -> None:
    for kind in ("black box", "black box, refuted"):
        report, test = reports[kind], reports[kind].test
        assert test is not None
        assert test._repr_html_() == dataclasses.replace(report, name=test.mechanism)._repr_html_()


def test_the_card_of_a_test_draws_what_was_measured_on_the_side_that_is_certain(reports: Reports) -> None:
    test = reports["black box"].test
    assert test is not None
    measured, claim = test.drawn
    x, y = test.region.alpha_upper, test.region.beta_upper
    of_level: dict[float, list[float]] = {float(alpha): [] for alpha in x}
    for alpha, beta in zip(x, y, strict=True):
        of_level[float(alpha)].append(float(beta))
    for alpha, betas in of_level.items():
        assert min(betas) <= measured.beta(np.array([alpha]))[0] <= max(betas)
    epsilons = np.array([0.0, 0.5, 1.0])
    corners = 1 - y[:, None] - np.exp(epsilons) * x[:, None]
    assert np.array_equal(measured.delta(epsilons), np.maximum(corners.max(axis=0), 0))
    assert (measured.beta(np.zeros(1))[0], measured.beta(np.ones(1))[0]) == (1, 0)
    assert claim.promised
    assert "data:image/svg+xml" in test._repr_html_()


def test_exact_and_statistical_numbers_are_in_tables_of_their_own(reports: Reports, cards: dict[str, str]) -> None:
    exact, statistical = re.findall(r"<table.*?</table>", cards["REFUTED"])
    assert words(exact).split()[0] == "exact"
    assert "samples" not in words(exact)
    assert words(statistical).split()[0] == "statistical"
    assert reports["REFUTED"].verdict is not None
    assert reports["REFUTED"].verdict.witness is not None
    assert reports["REFUTED"].verdict.witness.event in words(exact)


def test_no_text_of_a_user_becomes_markup(reports: Reports) -> None:
    verdict = reports["INCONCLUSIVE"].verdict
    assert verdict is not None
    for shown in (
        dataclasses.replace(reports["CERTIFIED"], name=EVIL)._repr_html_(),
        dataclasses.replace(verdict, mechanism=EVIL, reason=EVIL)._repr_html_(),
    ):
        assert EVIL in words(shown)
        assert set(re.findall(r"<(\w+)", shown)) <= {
            "div",
            "span",
            "strong",
            "table",
            "caption",
            "tbody",
            "tr",
            "th",
            "td",
            "img",
        }


def test_a_card_needs_no_style_sheet(cards: dict[str, str]) -> None:
    for shown in cards.values():
        assert " class=" not in shown
        assert " id=" not in shown
        assert len(re.sub(r'"data:image/svg[^"]*"', "", shown)) < 10_000
        assert len(shown) < 60_000


@pytest.mark.skipif(tools["CHROMIUM"] is None, reason="chromium is not installed")
def test_a_browser_shows_every_card_in_light_and_dark_and_on_a_phone(cards: dict[str, str], tmp_path: Path) -> None:
    checks = runpy.run_path(str(Path(__file__).with_name("test_html_browser.py")))
    page = tmp_path / "notebook.html"
    with tools["Browser"](tmp_path / "profile") as browser:
        for dark, ground, ink in ((False, "#fff", "#111"), (True, "#111", "#ddd")):
            body = f"<body style='background: {ground}; color: {ink}'>{''.join(cards.values())}</body>"
            page.write_text(f"<!doctype html><meta charset=utf-8><meta name=viewport content='width=390'>{body}")
            browser.open(page, width=390, dark=dark)
            assert browser.ask(checks["TOO_FAINT"]) == []
            assert browser.ask(checks["TOO_WIDE"]) == []
            assert browser.complaints() == []
