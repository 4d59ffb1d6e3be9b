"""Wrong command lines of every kind: one line that says which option is wrong and what is nearest to what was meant."""

import contextlib
import io
from collections import Counter
from pathlib import Path

import pytest
from tests.wrong_command_lines import Wrong, problems, write_files, wrong_lines

from dpverdict.cli.application import main
from dpverdict.cli.mistakes import in_words_of_the_line
from dpverdict.errors import DpverdictError, InvalidValue

pytestmark = pytest.mark.usefixtures("warm_copies")

LINES = wrong_lines()
KINDS = sorted({one.mistake for one in LINES})
KNOWN: dict[str, str] = {}
"""Answers that are not as they should be, with the reason."""
IN_A_PROCESS_OF_ITS_OWN = ("release.py", "loaders.py", "loader.py", "prove", "event.json", "check", "replay")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)


def answer(wrong: Wrong) -> tuple[int, str, str]:
    printed, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
        code = main(list(wrong.words))
    return code, printed.getvalue(), told.getvalue()


def not_as_they_should_be(lines: list[Wrong]) -> list[str]:
    found = []
    for one in lines:
        code, printed, told = answer(one)
        wrong = problems(one, code, printed, told)
        if wrong and one.line not in KNOWN:
            found.append(f"{one.line}\n    {told.strip()}\n    {'; '.join(wrong)}")
    return found


QUICK = [one for one in LINES if not any(word in one.line for word in IN_A_PROCESS_OF_ITS_OWN)]


@pytest.mark.usefixtures("folder")
def test_a_tenth_of_the_wrong_command_lines_is_answered_with_the_remedy() -> None:
    assert not_as_they_should_be(QUICK[::10]) == []


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_command_line_is_answered_with_the_remedy(kind: str) -> None:
    assert not_as_they_should_be([one for one in LINES if one.mistake == kind]) == []


def test_there_are_more_than_500_of_many_kinds() -> None:
    assert len({one.words for one in LINES}) == len(LINES) > 1000
    assert len(KINDS) > 40
    assert {line for line in KNOWN if line in {one.line for one in LINES}} == set(KNOWN)
    assert len(KNOWN) < 0.05 * len(LINES)
    assert Counter(one.words[0] for one in LINES)["audit"] > 300


ONE = Wrong(("audit", "dp-sgd", "--sampling", "possion"), "misspelt choice", (("--sampling",), ("poisson",)))
GOOD = "error: --sampling='possion' must be one of poisson, shuffle: did you mean poisson?\n"


@pytest.mark.parametrize(
    ("code", "printed", "told", "fault"),
    [
        (1, "", GOOD, "exit code 1"),
        (2, "REFUTED\n", GOOD, "standard output"),
        (2, "", GOOD.replace("--sampling", "m"), "inner words"),
        (2, "", GOOD.replace("--sampling", "noise_multiplier"), "inner words"),
        (2, "", GOOD.replace("--sampling", "sampling"), "without --sampling"),
        (2, "", GOOD.replace("poisson", "fixed"), "without poisson"),
        (2, "", GOOD + "Traceback (most recent call last):\n", "inner words"),
        (2, "", GOOD + "more\n" * 9, "letters"),
    ],
)
def test_a_planted_fault_of_an_answer_is_found(code: int, printed: str, told: str, fault: str) -> None:
    assert problems(ONE, 2, "", GOOD) == []
    assert any(fault in problem for problem in problems(ONE, code, printed, told))


def test_the_parts_of_an_error_are_read_and_not_its_text() -> None:
    line = ["audit", "release.py:f", "--samples", "3"]
    error = InvalidValue("samples", "3", "a whole number >= 100", "give more")
    assert in_words_of_the_line(error, line) == f"--{error}"
    sent = DpverdictError(str(error))
    sent.__cause__ = error
    assert in_words_of_the_line(sent, line) == f"--{error}"
    said_by_others = DpverdictError(str(error))
    assert in_words_of_the_line(said_by_others, line) == str(error)
    said_by_others.__cause__ = InvalidValue("samples", "4", "a whole number", "give one")
    assert in_words_of_the_line(said_by_others, line) == str(error)
