"""What a short command does not import: it answers before libraries are loaded that it does not use."""

import json
import subprocess
import sys

import pytest

from dpverdict.cli.application import main

HEAVY = [
    *("dp_accounting.pld", "scipy.signal", "scipy.stats", "scipy.optimize", "scipy.integrate", "scipy.sparse"),
    *("sympy", "matplotlib", "sklearn", "jinja2", "pandas", "polars", "pyarrow", "distributed", "hypothesis", "pytest"),
]
SCRIPT = """
import contextlib, io, json, sys
from dpverdict.cli.application import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""
LINES = {
    "--help": ["scipy", "numpy", "flint", "mpmath"],
    "list": ["scipy.special", "scipy.linalg", "pydantic"],
    "calibrate gaussian --claim mu=1 --sensitivity 1": ["scipy.linalg", "rich"],
}


@pytest.mark.parametrize("line", LINES)
def test_a_command_does_not_import_what_it_does_not_use(line: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *line.split()], capture_output=True, check=True, text=True)
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    assert {*HEAVY, *LINES[line]} & set(modules) == set()


def test_certify_is_reached_without_them() -> None:
    script = """
import json, sys
from dpverdict.audit import certify
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, CorrelatedGaussian
certify(CorrelatedGaussian(dim=100, mu=1)).require()
print(json.dumps(sorted(sys.modules)))
import dp_accounting
assert ADD_OR_REMOVE_ONE is dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert {*HEAVY, "scipy.special", "typer", "rich"} & set(json.loads(done.stdout)) == set()


def test_list_is_parsed_where_there_is_something_to_parse(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--nonsense"]) == 2
    assert "No such option" in capsys.readouterr().err
