"""Forms of noise, of choices and of statistics, as text: whether each is certified, and whose certificate holds."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.verdict import TracedVerdict

HEAD = """
import math
import random
import numpy as np
import pandas as pd
import scipy.stats
from scipy.special import softmax
CITIES = ["Bonn", "Oslo", "Rome"]
REGION = pd.DataFrame({"city": CITIES, "region": ["n", "n", "s"]})
PRICE = pd.DataFrame({"city": CITIES, "price": [1.0, 2.0, 3.0]})
"""
TABLES = {
    "NUMPY": 'relation = "add-or-remove-one"\ntable = "numpy"\n'
    + "".join(f'[columns.{name}]\ntype = "float"\nlow = 0\nhigh = 100\n' for name in "abc"),
    "PANDAS": """
relation = "add-or-remove-one"
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 100
[columns.sex]
type = "category"
values = ["f", "m"]
[columns.city]
type = "category"
values = ["Bonn", "Oslo", "Rome"]
""",
    "REPLACED": """
relation = "replace-one"
records = 400
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 100
""",
}

FORMS = {one["name"]: one for one in tomllib.loads((Path(__file__).parent / "forms.toml").read_text())["form"]}


def function_of(text: str, path: Path) -> Any:
    path.write_text(HEAD + text)
    names: dict[str, Any] = {"__name__": "a_form", "__file__": str(path)}
    exec(compile(HEAD + text, str(path), "exec"), names)
    return names["f"]


def verdict_on(name: str, folder: Path) -> TracedVerdict:
    form = FORMS[name]
    schema = TableSchema.from_toml(TABLES[form["table"].upper()])
    return certify_function(function_of(form["code"], folder / "form.py"), form["claim"], schema=schema, search=0)


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form["right"]])
def test_a_right_form_is_certified(name: str, tmp_path: Path) -> None:
    verdict = verdict_on(name, tmp_path)
    assert verdict.status is Status.CERTIFIED, verdict.text()
    assert "derived again" in check_certificate(json.loads(json.dumps(verdict.certificate)))


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if not form["right"]])
def test_a_wrong_form_is_not_certified(name: str, tmp_path: Path) -> None:
    verdict = verdict_on(name, tmp_path)
    assert verdict.status is Status.INCONCLUSIVE
    assert "raises" not in verdict.reason, verdict.reason
