"""Functions of the shapes that public code has, rewritten in our own words: what the trace says of each.

The page shows what the benchmark prints; here each row is followed again, without the search of pairs.
"""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import certify_function

ROOT = Path(__file__).parents[4]
FOUND = runpy.run_path(str(ROOT / "benchmarks/public_functions.py"))
ROWS = FOUND["ROWS"]
SHOWN = re.findall(
    r"^(CERTIFIED|REFUTED|INCONCLUSIVE|NOT COVERED) +(.+); (.+?), (?:add or remove|replace) one.*\n +\[(.+)\]$",
    (ROOT / "docs/reference_tracing.md").read_text(encoding="utf-8"), re.MULTILINE,
)  # fmt: skip
ANSWERS = {(source, what): answer for answer, what, _, source in SHOWN}
REFUTED = [row for row in ROWS if ANSWERS.get(row[:2]) == "REFUTED"]


def named(row: Any) -> str:
    return str(row[2].__name__)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_page_says_what_the_trace_says(row: Any) -> None:
    _, _, function, schema, claim = row
    verdict = certify_function(function, claim, schema=schema, search=0)
    assert (verdict.heading == "CERTIFIED") is (ANSWERS[row[:2]] == "CERTIFIED"), verdict.text()
    if verdict.heading == "CERTIFIED":
        assert "derived again" in check_certificate(verdict.certificate)
    elif ANSWERS[row[:2]] != "REFUTED":
        assert verdict.heading == ANSWERS[row[:2]]


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", REFUTED, ids=named)
def test_what_the_page_calls_refuted_is(row: Any) -> None:
    _, _, function, schema, claim = row
    assert certify_function(function, claim, schema=schema, search=40).heading == "REFUTED"


def test_the_page_has_every_row_once() -> None:
    assert sorted((source, what) for source, what, *_ in ROWS) == sorted((one[3], one[1]) for one in SHOWN)
    assert len(ROWS) >= 30
