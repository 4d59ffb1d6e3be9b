"""What user code replaces in the packages that a verdict rests on is named; what it adds is its own affair."""

import hashlib
import json
import math
import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.isolation.code_snapshot import CodeSnapshot
from dpverdict.audit.reports.report import Report
from dpverdict.audit.statistics import joint_test
from dpverdict.numerics.text import decimal


def test_nothing_is_found_where_nothing_is_replaced() -> None:
    snapshot = CodeSnapshot()
    distinguish.__doc__ = distinguish.__doc__
    assert snapshot.describe() is None


@pytest.mark.parametrize(
    ("owner", "name"),
    [(np, "quantile"), (np, "exp"), (np.random, "default_rng"), (math, "exp"), (json, "dumps"), (Report, "status")],
)
def test_a_replaced_part_is_named(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    snapshot = CodeSnapshot()
    monkeypatch.setattr(owner, name, lambda *arguments: 0)
    found = snapshot.describe()
    assert found is not None
    assert name in found
    monkeypatch.undo()
    assert snapshot.describe() is None


def test_replaced_code_and_modules_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(replace: Callable[[], None]) -> str:
        snapshot = CodeSnapshot()
        replace()
        found = snapshot.describe()
        monkeypatch.undo()
        assert found is not None
        return found

    defaults = {**(distinguish.__kwdefaults__ or {}), "samples": 7}
    assert "distinguish" in changed(lambda: monkeypatch.setattr(distinguish, "__kwdefaults__", defaults))
    assert "_SLACK" in changed(lambda: monkeypatch.setattr(joint_test, "_SLACK", 1e9))
    assert "math.pi" in changed(lambda: monkeypatch.setattr(math, "pi", 3.0))
    assert "hashlib.sha256" in changed(lambda: monkeypatch.setattr(hashlib, "sha256", lambda data: None))
    other = distinguish.__code__.replace(co_name="other")
    assert "distinguish" in changed(lambda: monkeypatch.setattr(distinguish, "__code__", other))
    assert "numpy.linalg" in changed(lambda: monkeypatch.delitem(sys.modules, "numpy.linalg"))


def test_a_foreign_function_in_a_module_that_was_loaded_later_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = CodeSnapshot()
    later = ModuleType("dpverdict.later")
    vars(later).update(exp=np.exp, dumps=json.dumps, decimal=decimal)
    monkeypatch.setitem(sys.modules, "dpverdict.later", later)
    assert snapshot.describe() is None
    assert snapshot.failure("mine") is None
    other = ModuleType("numpy.other")
    vars(other).update(decimal=lambda: "1")
    monkeypatch.setitem(sys.modules, "numpy.other", other)
    assert str(snapshot.failure("mine")).startswith("mechanism mine replaced numpy.other.decimal, on which")
    vars(later)["exp"] = np.log
    assert "dpverdict.later.exp" in snapshot.changes()
