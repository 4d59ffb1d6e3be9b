"""The figures of a report: the numbers that are drawn are those of the table beside them."""

import re
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit import GaussianLoss, certify, worst_case
from dpverdict.audit.losses.base import curves_of
from dpverdict.audit.reports.evidence.exact import ExactEvidence
from dpverdict.audit.reports.evidence.risk import RiskEvidence
from dpverdict.audit.reports.figures import attacks, compared, covariance, profile, trade_off
from dpverdict.audit.reports.report import Report
from dpverdict.audit.runs.audits import audit_mechanism, with_risk
from dpverdict.audit.trials.catalogue import find_white_box
from dpverdict.mechanisms import CorrelatedGaussian, GaussianDP, parse_guarantee


@pytest.mark.parametrize("kind", ["CERTIFIED", "REFUTED", "black box", "infinite"])
def test_every_report_has_both_curves_with_their_values(reports: dict[str, Report], kind: str) -> None:
    report = reports[kind]
    for figure in (trade_off(report), profile(report)):
        assert figure.drawing.startswith("<svg")
        assert "breaks it." in figure.caption
        assert ("Worst violation" in figure.caption) == (kind in ("REFUTED", "infinite"))
        table = figure.tables[0]
        assert len({len(row) for row in table.rows}) == 1
        assert len(table.rows[0]) == len(table.header)
        assert any("certified" in name for name in table.header) == (report.worst is not None)


def test_what_was_measured_has_a_table_of_its_own(reports: dict[str, Report]) -> None:
    assert len(trade_off(reports["CERTIFIED"]).tables) == 2
    assert len(trade_off(reports["INCONCLUSIVE"]).tables) == 1


def test_the_pattern_of_a_covariance_names_what_is_there() -> None:
    entries = {"query": Fraction(2), "query-query": Fraction(1), "query-count": Fraction(1), "count": Fraction(4)}
    drawn = covariance(entries)
    assert drawn is not None
    assert drawn.caption == "with four queries: a: query, b: query-query, c: query-count, d: count"
    independent = covariance({"query": Fraction(2), "query-query": Fraction(0)})
    assert independent is not None
    assert "b:" not in independent.caption
    assert covariance({"row": Fraction(1)}) is None
    assert covariance({}) is None


def test_the_profile_is_drawn_through_the_claims_own_epsilon_and_delta(reports: dict[str, Report]) -> None:
    assert "claim: epsilon 4.89 at delta 1e-6" in profile(reports["CERTIFIED"]).drawing


def test_the_worst_violation_is_where_the_curves_are_furthest_apart() -> None:
    mechanism = CorrelatedGaussian(dim=3, mu=2)
    report = audit_mechanism(mechanism, GaussianDP(1), sampling=None)
    figure = trade_off(report)
    found = re.search(r"at ([\d.]+) % false alarms ([\d.]+) % are missed, and at least ([\d.]+) % was", figure.caption)
    assert found is not None
    level, missed, promised = (Fraction(number) / 100 for number in found.groups())
    alphas = np.linspace(0, 1, 10_001)
    widest = np.max(GaussianDP(1).beta_lower(alphas) - GaussianLoss(2).beta(alphas))
    assert float(promised - missed) > widest - 0.002
    assert (
        GaussianLoss(2).certified_beta(level).contains(missed)
        or abs(float(missed) - GaussianLoss(2).beta(level)) < 2e-3
    )
    assert "worst violation" in figure.drawing
    assert "worst violation" in profile(report).drawing


def test_a_black_box_shows_what_was_measured(reports: dict[str, Report]) -> None:
    report = reports["black box"]
    assert report.test is not None
    drawn = profile(report).drawing
    assert ("measured: epsilon at least" in drawn) == bool(report.test.epsilon_lower)
    assert "measured, at least" in drawn


def test_a_slow_loss_is_drawn_through_certified_points_and_says_so() -> None:
    mechanism, _ = find_white_box("rank1-gaussian", {"dim": "100", "epsilon": "1", "delta": "1e-6"})
    worst = worst_case(mechanism)
    loss = worst.loss
    points = loss.through_points(1e-12)
    assert points is not None
    middle = len(points.epsilons) // 2
    epsilon, delta = float(points.epsilons[middle]), float(points.deltas[middle])
    assert 0 <= delta - loss.certified_delta(epsilon).upper < 1e-5 * delta
    assert np.all(np.diff(points.alphas) > 0)
    assert np.all(np.diff(points.betas) <= 0)
    verdict = certify(mechanism)
    report = Report(
        name="R1SMG",
        claim=verdict.claim,
        created=datetime(2026, 1, 1, tzinfo=UTC),
        evidence=(ExactEvidence(verdict=verdict, worst=worst),),
    )
    assert "certified at the dots" in trade_off(report).drawing
    assert "certified at the dots" in profile(report).drawing


def marked(drawing: str, role: str) -> list[tuple[float, float]]:
    """Where a drawing has diamonds of a role, as parts of the plot from its lower left corner."""
    frame = re.search(
        r'<g id="attacks-patch_2">\s*<path d="M ([\d.]+) ([\d.]+)\s+L ([\d.]+) [\d.]+\s+L [\d.]+ ([\d.]+)', drawing
    )
    assert frame is not None
    left, bottom, right, top = map(float, frame.groups())
    found = re.findall(rf'<use xlink:href="#[^"]+" x="([\d.]+)" y="([\d.]+)" style="[^"]*{re.escape(role)}', drawing)
    places = [((float(x) - left) / (right - left), (bottom - float(y)) / (bottom - top)) for x, y in found]
    return [place for place in places if 0 <= place[0] <= 1 and 0 <= place[1] <= 1]


@pytest.mark.parametrize(("kind", "side", "role"), [("CERTIFIED", 1, "var(--exact)"), ("REFUTED", 0, "var(--bad)")])
def test_attacks_are_marked_where_they_are(reports: dict[str, Report], kind: str, side: int, role: str) -> None:
    assert attacks(reports[kind]) is None
    read = with_risk(reports[kind], Fraction(1, 1000))
    figure, found = attacks(read), read.find(RiskEvidence)
    assert figure is not None
    assert found is not None
    least, most = np.log([1e-4, 1e-4]), np.log([1.2, 1.6])
    expected = [
        (np.log([float(one.false_alarms), float(one.found[side])]) - least) / (most - least)
        for one in found.risk.attacks
    ]
    drawn = marked(figure.drawing, role)
    for place in expected:  # the legend has diamonds too
        assert any(np.allclose(place, one, atol=2e-3) for one in drawn)
    assert not any(np.allclose(place * (1, 0.9), one, atol=2e-3) for place in expected for one in drawn)
    assert figure.tables[0].rows == found.risk.rows()
    assert "found" not in trade_off(read).drawing  # there they would lie on each other in the corner


def test_a_claim_that_is_drawn_alone_says_so(reports: dict[str, Report]) -> None:
    for name, report in reports.items():
        alone = report.worst is None and report.test is None
        assert ("drawn alone" in profile(report).caption) == alone, name


def test_compared_curves_are_drawn_to_where_the_claim_is_flat_with_their_values() -> None:
    curves = [curves_of(GaussianLoss(mu), f"mu {mu}") for mu in (1, 0.5)]
    trade_offs, profiles = compared(curves, curves_of(parse_guarantee("eps=1, delta=1e-6"), "the claim"))
    for figure in (trade_offs, profiles):
        table = figure.tables[0]
        assert table.header[1:] == ("mu 1", "mu 0.5", "the claim")
        assert all(label in figure.drawing for label in table.header[1:])
    assert 1 < float(profiles.tables[0].rows[-1][0]) < 10  # the profile of the claim never falls below its delta
    assert float(trade_offs.tables[0].rows[0][1]) == pytest.approx(GaussianLoss(1).beta(0.001), rel=1e-3)
