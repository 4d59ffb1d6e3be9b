"""Entries are run: the broken release is found, the fixed one is not refuted, and N of M counts what ran."""

from dataclasses import replace
from pathlib import Path

import pytest

from dpverdict.cli.corpus.entries import entries
from dpverdict.cli.corpus.running import NOT_RUN, Result, Seen, as_json, exit_code, run_entries, summary


def seen(status: str) -> Seen:
    return Seen(
        install=("a==1",), where="installed here", status=status, epsilon_lower=None, detail="words", seconds=0.1
    )


def result(broken: str, control: str, expected: str = "REFUTED") -> Result:
    return Result(
        id="one",
        package="a",
        expected=expected,
        control_is="fixed release",
        broken=seen(broken),
        control=seen(control),
        date="2026-01-01",
        python="3.11",
    )


def test_both_releases_of_a_package_come_out_as_they_must(own: Path, kept: Path) -> None:
    path = own / "tiny-noise.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"numbers"', '"releases"'), encoding="utf-8")
    (found,) = run_entries(entries(own), kept, seed=1)
    assert (found.broken.status, found.control.status) == ("REFUTED", "NOT REFUTED")
    assert found.broken.where == "a folder of its own"
    assert found.as_it_must is True
    assert summary([found]) == ("1 of 1 defects found in the versions that have them, 0 of 1 controls refuted")
    assert as_json([found])[0]["broken"]["status"] == "REFUTED"


def test_a_release_without_the_defect_is_not_taken_for_a_broken_one(own: Path, kept: Path) -> None:
    (entry,) = entries(own)
    (found,) = run_entries([replace(entry, broken=entry.control)], kept, seed=1)
    assert found.broken.status == "NOT REFUTED"
    assert exit_code([found]) == 1
    assert "0 of 1 defects found" in summary([found])
    assert "not found: tiny-noise" in summary([found])


def test_a_release_that_cannot_be_had_is_not_counted(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (entry,) = entries(own)
    absent = replace(entry, needs=("no-such-distribution",))
    for one in run_entries([entry, absent], tmp_path / "kept", seed=1):
        assert one.broken.status == one.control.status == NOT_RUN
        assert "No matching distribution" in one.broken.detail or "no-such-distribution" in one.broken.detail
        assert exit_code([one]) == 3
        assert summary([one]).startswith("0 of 0 defects found")


@pytest.mark.parametrize(
    ("broken", "control", "expected", "code"),
    [
        ("REFUTED", "NOT REFUTED", "REFUTED", 0),
        ("REFUTED", "QUIET", "FINDING", 0),
        ("FINDING", "QUIET", "FINDING", 0),
        ("FINDING", "QUIET", "REFUTED", 1),
        ("FINDING", "FINDING", "FINDING", 1),
        ("REFUTED", "REFUTED", "REFUTED", 1),
        ("NOT REFUTED", "NOT REFUTED", "REFUTED", 1),
        ("NOT COVERED", "NOT COVERED", "FINDING", 1),
        ("REFUTED", "FAILED", "REFUTED", 1),
        ("FAILED", "NOT REFUTED", "REFUTED", 1),
        (NOT_RUN, "NOT REFUTED", "REFUTED", 3),
        (NOT_RUN, "REFUTED", "REFUTED", 1),
        ("NOT REFUTED", NOT_RUN, "REFUTED", 1),
    ],
)
def test_the_exit_code_says_whether_all_came_out_as_it_must(
    broken: str, control: str, expected: str, code: int
) -> None:
    assert exit_code([result(broken, control, expected)]) == code


def test_one_that_came_out_otherwise_decides() -> None:
    good, absent = result("REFUTED", "QUIET"), result(NOT_RUN, NOT_RUN)
    assert [exit_code([good, good]), exit_code([good, absent]), exit_code([absent, result("QUIET", "QUIET")])] == [
        0,
        3,
        1,
    ]
    assert "1 not installable here" in summary([good, absent])
