"""Functions as engineers write them, on a frame of five columns: right ones are certified, wrong ones never."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.cli.application import main

HERE = Path(__file__).parent
NAMES = [line[4:].partition("(")[0] for line in (HERE / "team_release.py").read_text().splitlines()
         if line.startswith(("def R", "def W"))]  # fmt: skip
SCHEMA = """
relation = "add-or-remove-one"
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 100
[columns.visits]
type = "int"
low = 0
high = 20
[columns.income]
type = "float"
nullable = true
[columns.city]
type = "category"
values = ["Bonn", "Oslo", "Rome"]
[columns.sex]
type = "category"
values = ["f", "m"]
"""


@pytest.fixture(scope="module")
def release() -> Iterator[ModuleType]:
    """The module, with that of its helpers beside it."""
    sys.path.insert(0, str(HERE))
    yield importlib.import_module("team_release")
    sys.path.remove(str(HERE))
    for name in ("team_release", "team_noise"):
        sys.modules.pop(name)


def test_there_are_right_and_wrong_ones() -> None:
    assert sum(name[0] == "R" for name in NAMES) >= 30
    assert sum(name[0] == "W" for name in NAMES) >= 20


@pytest.mark.parametrize("name", [name for name in NAMES if name[0] == "R"])
def test_a_right_function_is_certified(name: str, release: ModuleType) -> None:
    verdict = certify_function(getattr(release, name), "eps=1", schema=TableSchema.from_toml(SCHEMA), search=0)
    assert verdict.status is Status.CERTIFIED, verdict.text()
    assert "keeps eps=1" in check_certificate(json.loads(json.dumps(verdict.certificate)))


@pytest.mark.parametrize("name", [name for name in NAMES if name[0] == "W"])
def test_a_wrong_function_is_not_certified(name: str, release: ModuleType) -> None:
    verdict = certify_function(getattr(release, name), "eps=1", schema=TableSchema.from_toml(SCHEMA), search=0)
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.covered == verdict.reason.startswith("the bound")
    assert verdict.covered or verdict.reason.startswith(("line", "data reach", "team_"))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "code"),
    [("R01_mean", 0), ("W01_mean", 1), ("W12_seed", 1), ("W22_same_noise", 1), ("W02_helper_module", 1),
     ("R28_module_generator_of_helper", 0), ("W26_np_where", 1), ("W04_columns_loop", 1), ("W36_logged_exact", 1)],
)  # fmt: skip
def test_the_command_says_so(name: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    path, schema = HERE / "team_release.py", tmp_path / "s.toml"
    assert main(["audit", f"{path}:{name}", "--schema", str(schema), "--claim", "eps=1", "--quiet"]) == code
