"""The figures of a report: the numbers that are drawn are those of the table beside them."""

from fractions import Fraction

import pytest

from dpverdict.audit.reports.figures import covariance, profile, trade_off
from dpverdict.audit.reports.report import Report


@pytest.mark.parametrize("kind", ["CERTIFIED", "REFUTED", "black box", "infinite"])
def test_every_report_has_both_curves_with_their_values(reports: dict[str, Report], kind: str) -> None:
    report = reports[kind]
    for figure in (trade_off(report), profile(report)):
        assert figure.drawing.startswith("<svg")
        assert figure.caption.endswith("breaks it.")
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
