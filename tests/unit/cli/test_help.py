"""The help of every command and of every mechanism: short, and no line wider than a terminal."""

from typing import Any

import pytest
import typer

from dpverdict.audit.trials.catalogue import mechanism_classes
from dpverdict.cli.application import app, main
from dpverdict.cli.options import MechanismCommand

COLUMNS = 80
SCREEN = 50
TOP: Any = typer.main.get_command(app)
COMMANDS = [
    *TOP.commands,
    *(f"{name} {inner}" for name, one in TOP.commands.items() for inner in getattr(one, "commands", ())),
]
OF_MECHANISMS = [
    f"{command} {name}"
    for command, one in TOP.commands.items()
    if isinstance(one, MechanismCommand)
    for name in mechanism_classes()
]


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def helped(words: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main([*words.split(), "--help"]) == 0
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_what_every_audit_takes_is_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped("audit", capsys)
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= COLUMNS
    text = "\n".join(lines)
    for option in ("--claim", "--data", "--schema", "--samples", "--jobs", "--certificate", "--no-tap", "--details"):
        assert option in text
    assert "dpverdict audit NAME --help" in text
    assert "--noise-multiplier" not in text


def test_the_options_of_a_function_are_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped("audit release.py:noisy_counts", capsys)
    assert len(lines) <= 2 * SCREEN
    text = " ".join(" ".join(lines).replace("│", "").split())
    assert "leave out what exceptions say" in text
    assert "--jobs" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_is_short(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped(command, capsys)
    assert len(lines) <= 60
    assert max(map(len, lines)) <= COLUMNS


@pytest.mark.few(8)
@pytest.mark.parametrize("words", OF_MECHANISMS)
def test_the_help_of_a_mechanism_is_short(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = helped(words, capsys)
    assert len(lines) <= 60
    assert max(map(len, lines)) <= COLUMNS


def test_every_command_and_every_mechanism_is_looked_at() -> None:
    assert {"audit", "compare", "risk", "compose", "corpus show", "list"} <= set(COMMANDS)
    assert {"audit dp-sgd", "compare laplace", "tap gaussian"} <= set(OF_MECHANISMS)
