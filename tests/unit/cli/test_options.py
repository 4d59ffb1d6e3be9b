"""Options that commands share: each is in the help of every command that takes it, and reaches its mechanism."""

import re
import subprocess
import sys

import pytest
import typer

from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY
from dpverdict.audit.trials.catalogue import constructors_of, mechanism_classes, option, parameters_of
from dpverdict.cli.application import app, main

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group has commands


@pytest.mark.parametrize("command", ["audit", "curve"])
def test_every_parameter_of_every_mechanism_has_an_option(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    general = set(re.findall(r"--[a-z][a-z0-9-]*", capsys.readouterr().out))
    assert "--noise-multiplier" not in general
    for name, mechanism in mechanism_classes().items():
        assert main([command, name, "--help"]) == 0
        shown = set(re.findall(r"--[a-z][a-z0-9-]*", capsys.readouterr().out))
        assert {option(parameter) for parameter in parameters_of(mechanism)} <= shown
        assert "--no-such-parameter" not in shown


@pytest.mark.parametrize("command", ["audit", "curve", "calibrate", "tap"])
def test_the_help_of_a_mechanism_fits_two_screens(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in mechanism_classes():
        assert main([command, name, "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 60, name
        assert max(map(len, lines)) <= 80


def test_options_of_the_mechanism_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"COMP_WORDS": "dpverdict audit dp-sgd --", "COMP_CWORD": "3", "_DPVERDICT_COMPLETE": "complete_bash"}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    offered = set(capsys.readouterr().out.split())
    assert {"--noise-multiplier", "--steps", "--claim"} <= offered
    assert not {"--horizon", "--arity", "--options"} & offered


@pytest.mark.parametrize("name", [*sorted(mechanism_classes()), "broken:M3", "release.py:counts"])
def test_the_help_of_one_mechanism_has_its_parameters_and_no_others(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["audit", name, "--help"]) == 0
    panel = re.search(r"─ Mechanism ─.*?╰", capsys.readouterr().out, re.DOTALL)
    shown = set() if panel is None else set(re.findall(r"│ (--[a-z0-9-]+)", panel[0]))
    mechanism = mechanism_classes().get(name)
    if mechanism is None:
        assert shown == ({"--dim", "--mu"} if name == "broken:M3" else set())
    else:
        built = {option(parameter) for build in constructors_of(mechanism) for parameter in parameters_of(build)}
        assert shown - {"--calibration"} == built
        assert ("--calibration" in shown) == bool(mechanism.calibrations)


def test_every_command_that_takes_arguments_shows_an_example() -> None:
    groups = {name: group.commands for name, group in COMMANDS.items() if hasattr(group, "commands")}
    inside = {f"{name} {each}": command for name, group in groups.items() for each, command in group.items()}
    assert inside
    for name, command in (COMMANDS | inside).items():
        shown = f"For example: dpverdict {name}"
        assert shown in " ".join(command.help.split()) or name in {"list", "selftest", "doctor", *groups}, name


def test_everything_that_is_missing_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "correlated-gaussian"]) == 2
    assert "add --dim and --mu" in capsys.readouterr().err


def test_a_reader_who_closes_the_help_early_sees_no_traceback() -> None:
    code = "from dpverdict.cli.application import main; raise SystemExit(main(['audit', '--help']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_a_shell_gets_completions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in {
        "_DPVERDICT_COMPLETE": "complete_bash",
        "COMP_WORDS": "dpverdict cal",
        "COMP_CWORD": "1",
    }.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    assert capsys.readouterr().out.split() == ["calibrate"]


@pytest.mark.parametrize("command", ["audit", "run", "prove"])
def test_what_runs_long_can_run_on_several_processes(command: str) -> None:
    assert {"--jobs", "--dask"} <= {name for parameter in COMMANDS[command].params for name in parameter.opts}


def test_every_option_has_a_sentence_in_the_help() -> None:
    for name, command in COMMANDS.items():
        for parameter in command.params:
            assert parameter.param_type_name == "argument" or parameter.help, (name, parameter.name)
    assert 0 < float(DEFAULT_ERROR_PROBABILITY) < 1
