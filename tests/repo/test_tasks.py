"""The eight tasks of the page take at most three steps each, and its commands do what they say."""

import ast
import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from dpverdict.cli.application import main

PAGE = Path(__file__).parents[2] / "docs" / "howto_eight_tasks.md"
MOST_STEPS = 3
EXITS = {"calibrate": 0, "curve": 0, "audit": 0, "scores": 1}


def tasks(text: str) -> dict[str, str]:
    """The sections by their headings."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands(section: str) -> list[str]:
    return [line for block in re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S) for line in block.splitlines()]


def steps(section: str) -> int:
    """Statements of a section, or its commands where they are more."""
    examples = doctest.DocTestParser().get_examples(section)
    return max(sum(len(ast.parse(one.source).body) for one in examples), len(commands(section)))


def test_every_task_takes_at_most_three_steps() -> None:
    found = {name: steps(section) for name, section in tasks(PAGE.read_text(encoding="utf-8")).items()}
    assert len(found) == 8
    assert all(1 <= number <= MOST_STEPS for number in found.values()), found


def test_a_planted_fourth_step_is_counted() -> None:
    assert steps("```python\n>>> a = 1; b = 2\n>>> c = 3\n>>> d = 4\n```\n") == 4


def test_the_commands_of_the_tasks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed, in a folder with the file of scores that the page speaks of; a fault exits with 2 or 70."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    scores = np.column_stack([rng.normal(3, 1, 500), rng.normal(0, 1, 500)])
    np.savetxt("scores.csv", scores, delimiter=",", header="with,without", comments="")
    lines = [line for section in tasks(PAGE.read_text(encoding="utf-8")).values() for line in commands(section)]
    for line in lines:
        _, name, *rest = shlex.split(line)
        assert main([name, *rest]) == EXITS[name], line
    assert {shlex.split(line)[1] for line in lines} == EXITS.keys()
    assert {path.name for path in tmp_path.iterdir()} == {"scores.csv", "curves.png", "scores.html"}
