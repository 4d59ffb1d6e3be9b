"""Statements are found by paper and number; a paper is a folder."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import load, matching, papers, statements, title, verify
from dpverdict.proofs.checks.rooms import RESULTS, rooms
from dpverdict.proofs.checks.statement import Statement

ROOT = Path(__file__).parents[4]

Make = Callable[..., Statement]


def test_statements_are_found_by_number_name_and_digits(paper: str, make: Make) -> None:
    make(paper, Standing.HOLDS, 2, number="lem3.4")
    make(paper, Standing.HOLDS, 2, number="lem3.4.proof")
    make(paper, Standing.HOLDS, 2, number="lem3.40")
    assert [found.number for found in matching(paper, "3.4")] == ["lem3.4", "lem3.4.proof"]
    assert [found.number for found in matching(paper, "Lemma 3.4")] == ["lem3.4"]
    assert verify(paper, "3.4").number == "lem3.4"
    make(paper, Standing.HOLDS, 2, number="thm3.4")
    with pytest.raises(InvalidValue, match=r"lem3\.4, thm3\.4"):
        verify(paper, "3.4")
    with pytest.raises(InvalidValue, match="statement"):
        verify(paper, "9.9")
    with pytest.raises(InvalidValue, match="paper"):
        statements("no such paper")
    with pytest.raises(InvalidValue, match="paper"):
        load("no.such.module")


def test_the_papers_are_listed() -> None:
    assert papers()[:5] == ("andersson2024", "bun2016", "ji2024", "lebeda2024", "lebeda2024sampling")
    assert papers()[5:7] == ("poulsen2022", "new_results")
    assert len(statements("lebeda2024")) >= 48


FIFTH = '''
from dpverdict.proofs import Plant, Standing, StatementKind, statement
from dpverdict.proofs.checks.boxes import equal
from dpverdict.balls import Real

@statement(paper="bassily2014", number="{number}", kind=StatementKind.PROPOSITION, expected=Standing.HOLDS,
           text="one is one",
           printed=1, planted=(Plant("one", "two", 2),), named=("one",))
def check(claim):
    """It is."""
    yield equal("one", Real.of(claim), Real.of(1), scope="one number")
'''


def test_a_fifth_paper_is_a_folder(tmp_path: Path) -> None:
    """In a copy of the product, one new folder puts a paper into the ledger, in the order of its files."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    room = tmp_path / "src/dpverdict/proofs/bassily2014"
    room.mkdir()
    (room / "__init__.py").write_text('"""Concentrated Differential Privacy\n(Bun and Steinke)."""\n')
    for number, name in {"propA.1": "appendix_a", "prop12": "section12", "prop3.1": "section3_1"}.items():
        (room / f"{name}.py").write_text(FIFTH.format(number=number))
    asked = (
        "from dpverdict.proofs.checks.registry import papers, statements, title, verify\n"
        "print(papers()[1], title('bassily2014'), *(s.number for s in statements('bassily2014')), sep='; ')\n"
        "print(verify('bassily2014', 'Proposition 12').standing.value)"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == (
        "bassily2014; Concentrated Differential Privacy (Bun and Steinke); prop3.1; prop12; propA.1\nholds\n"
    ), done.stderr


@pytest.mark.parametrize("paper", [paper for paper in rooms() if paper != RESULTS])
def test_the_text_checked_is_pinned_or_said_not_to_be_there(paper: str) -> None:
    """By the version in the title or the date of a report; else every row says that nothing was supplied."""
    pinned = re.search(r"arXiv:\d{4}\.\d{5}v\d+|report of \d+ \w+ \d{4}", title(paper))
    assert pinned or all("not supplied" in found.restored for found in statements(paper))
