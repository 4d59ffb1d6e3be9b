"""Right functions are certified, wrong ones never; each in the ways that tracing.py describes."""

import json
import linecache
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.handles.frames import frames
from dpverdict.errors import InvalidValue

HERE = Path(__file__).parent


def beside(name: str) -> dict[str, Any]:
    return runpy.run_path(str(HERE / f"{name}.py"))


RIGHT: dict[str, Callable[..., Any]] = beside("right_functions")["RIGHT"]
WRONG: dict[str, Callable[..., Any]] = beside("wrong_functions")["WRONG"]

NUMPY = TableSchema.from_toml(
    'relation = "add-or-remove-one"\ntable = "numpy"\n'
    + "".join(f'[columns.{name}]\ntype = "float"\nlow = 0\nhigh = 100\n' for name in "abc")
)
PANDAS = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 120
[columns.income]
type = "float"
nullable = true
[columns.city]
type = "category"
values = ["Bonn", "Oslo", "Rome"]
""")


def schema_of(name: str) -> TableSchema:
    return NUMPY if name.startswith("numpy") else PANDAS


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_is_certified_and_its_certificate_is_derived_again(name: str) -> None:
    verdict = certify_function(RIGHT[name], "eps=1", schema=schema_of(name), search=0)
    assert verdict.status is Status.CERTIFIED, verdict.text()
    document = json.loads(json.dumps(verdict.certificate))
    assert "keeps eps=1" in check_certificate(document)
    if document["releases"] and document["releases"][0]["noise"] is not None:
        changed = json.loads(json.dumps(document))
        first = changed["releases"][0]["noise"]
        if first["law"] in ("laplace", "gaussian"):
            first["scale"] = [one / 1e4 for one in first["scale"]]
            moved = any(value != 0 for value in document["steps"][changed["releases"][0]["statistic"]]["fact"]["high"])
            if moved:
                with pytest.raises(InvalidValue):
                    check_certificate(changed)


@pytest.mark.few(60)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_not_certified(name: str) -> None:
    verdict = certify_function(WRONG[name], "eps=1", schema=schema_of(name), search=0)
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason
    assert verdict.covered == verdict.reason.startswith("the bound")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["numpy:forgotten_factor", "numpy:half_the_scale", "pandas:clip_of_another_scale"])
def test_a_wrong_function_is_refuted_by_a_pair_that_is_shown(name: str) -> None:
    verdict = certify_function(WRONG[name], "eps=1", schema=schema_of(name))
    assert verdict.status is Status.REFUTED, verdict.text()
    assert verdict.witness is not None
    assert verdict.exit_code == 1


def test_a_module_that_seeds_its_noise_is_not_certified(tmp_path: Path) -> None:
    path = tmp_path / "seeded.py"
    for code in ("np.random.seed(1)\n", "", "rng = np.random.RandomState(1)\n"):
        text = f"import numpy as np\n{code}def f(x):\n    return x[:, 0].sum() + np.random.laplace(scale=100)\n"
        path.write_text(text)
        linecache.checkcache()
        names = runpy.run_path(str(path))
        verdict = certify_function(names["f"], "eps=1", schema=NUMPY, search=0)
        assert (verdict.status is Status.CERTIFIED) == (".seed(" not in code), code
    inside = "import numpy as np\ndef f(x):\n    np.random.seed(1)\n    return x.sum() + np.random.laplace(scale=300)\n"
    path.write_text(inside)
    linecache.checkcache()
    assert not certify_function(runpy.run_path(str(path))["f"], "eps=1", schema=NUMPY, search=0).covered


def test_what_is_not_covered_may_be_refuted_too() -> None:
    verdict = certify_function(WRONG["numpy:no_noise"], "eps=1", schema=NUMPY)
    assert verdict.status is Status.REFUTED
    assert not verdict.covered


MAILS = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "pandas"
[columns.mail]
type = "category"
values = ["a@b", "c & d", "x"]
[columns.age]
type = "int"
low = 0
high = 9
""")


@pytest.mark.parametrize("text", ["mail == 'a@b'", "mail == 'c & d' & age >= 0", "mail in ['a@b']"])
def test_signs_in_a_text_of_a_query_stay_as_they_are(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(df: Any, rng: Any) -> Any:
        return len(df.query(text)) + rng.laplace(scale=1)

    def hardly_noised(df: Any, rng: Any) -> Any:
        return len(df.query(text)) + rng.laplace(scale=0.001)

    assert certify_function(count, "eps=1", schema=MAILS, search=0).status is Status.CERTIFIED
    assert certify_function(hardly_noised, "eps=1", schema=MAILS, search=0).status is Status.INCONCLUSIVE
    right = frames._tree_of
    monkeypatch.setattr(
        frames, "_tree_of", lambda query: right(query.replace("a@b", "another").replace("c & d", "one"))
    )
    assert certify_function(hardly_noised, "eps=1", schema=MAILS, search=0).status is Status.CERTIFIED, (
        "the planted one"
    )
