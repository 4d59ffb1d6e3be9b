"""The README's commands are the ones the gate runs."""

import doctest
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
commands = runpy.run_path(str(ROOT / "tests/repo/readme_commands.py"))["commands"]


def test_the_readme_names_the_main_job_and_the_test_command() -> None:
    found = commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert set(found) >= {"main", "test"}
    assert "dpverdict audit" in found["main"]
    assert "pytest" in found["test"]


def test_the_gate_runs_both_commands_from_the_readme() -> None:
    gate = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "beside main_command\nstep test_command\n" in gate
    assert "from_readme main" in gate
    assert "from_readme test" in gate


def test_a_mark_without_a_block_is_refused() -> None:
    with pytest.raises(ValueError, match="must be followed at once"):
        commands("<!-- command: test -->\n\nrun pytest\n")


def test_a_command_marked_twice_is_refused() -> None:
    block = "<!-- command: test -->\n```sh\npytest\n```\n"
    with pytest.raises(ValueError, match="marked twice"):
        commands(block + block)


@pytest.mark.parametrize("pages", [["README.md"], pytest.param([], marks=pytest.mark.slow)], ids=["readme", "all"])
def test_a_page_shows_what_its_commands_print(pages: list[str]) -> None:
    """By default the README alone; the gate asks for all pages at every commit, which takes a minute."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/transcripts.py"), *pages, "--check"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_transcript_is_noticed() -> None:
    renewed = runpy.run_path(str(ROOT / "tools/transcripts.py"))["renewed"]
    block = "<!-- transcript: dpverdict --version | first 1 -->\n```text\ndpverdict 0.0.0\n```"
    assert renewed(block) != block


def test_the_python_session_of_the_readme_is_real() -> None:
    outcome = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert outcome.attempted > 5
    assert outcome.failed == 0


def unmeasured(readme: str, page: str) -> list[str]:
    """The numbers in the paragraph of ratios of a README that are in no measured block of a page."""
    paragraph = re.findall(r"^<!-- ratios: docs/benchmarks\.md -->\n(.+?)\n\n", readme, re.MULTILINE | re.DOTALL)
    measured = re.findall(r"^<!-- benchmark: .+? -->\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(paragraph) == 1
    shown = set(re.findall(r"[\d.,%]+", re.sub(r"(?<=\d)[ ,](?=\d)", "", " ".join(measured))))
    found = re.findall(r"\d[\d.%]*\d%?|\d%?", re.sub(r"(?<=\d)[ ,](?=\d)", "", paragraph[0]))
    return [number for number in found if number not in shown]


def test_the_ratios_of_the_readme_are_measured() -> None:
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/benchmarks.md"))
    assert unmeasured(readme, page) == []
    assert unmeasured(readme.replace("24.3 times", "25.3 times"), page) == ["25.3"]


def test_the_readme_can_be_read_at_one_sitting() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 120
