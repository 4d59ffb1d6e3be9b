"""Options that commands share: each is in the help of every command that takes it, and reaches its mechanism."""

import re

import pytest
import typer

from dpverdict.audit.trials.catalogue import mechanism_classes, option, parameters_of
from dpverdict.cli.application import app, main
from dpverdict.cli.options import ERROR_PROBABILITY

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group has commands


@pytest.mark.parametrize("command", ["audit", "curve"])
def test_every_parameter_of_every_mechanism_has_an_option(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    shown = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    for mechanism in mechanism_classes().values():
        assert {option(parameter) for parameter in parameters_of(mechanism)} <= shown
    assert "--no-such-parameter" not in shown


@pytest.mark.parametrize("command", ["audit", "run", "prove"])
def test_what_runs_long_can_run_on_several_processes(command: str) -> None:
    assert {"--jobs", "--dask"} <= {name for parameter in COMMANDS[command].params for name in parameter.opts}


def test_every_option_has_a_sentence_in_the_help() -> None:
    for name, command in COMMANDS.items():
        for parameter in command.params:
            assert parameter.param_type_name == "argument" or parameter.help, (name, parameter.name)
    assert 0 < float(ERROR_PROBABILITY) < 1
