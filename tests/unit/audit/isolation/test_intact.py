"""What user code replaces in the packages that a verdict rests on is named; what it adds is its own affair."""

import json
import math
import sys
from collections.abc import Callable

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.isolation.intact import Snapshot
from dpverdict.audit.reports.report import Report


def test_nothing_is_found_where_nothing_is_replaced() -> None:
    snapshot = Snapshot()
    distinguish.__doc__ = distinguish.__doc__
    assert snapshot.describe() is None


@pytest.mark.parametrize(
    ("owner", "name"),
    [(np, "quantile"), (np, "exp"), (np.random, "default_rng"), (math, "exp"), (json, "dumps"), (Report, "status")],
)
def test_a_replaced_part_is_named(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    snapshot = Snapshot()
    monkeypatch.setattr(owner, name, lambda *arguments: 0)
    found = snapshot.describe()
    assert found is not None
    assert name in found
    monkeypatch.undo()
    assert snapshot.describe() is None


def test_replaced_code_and_modules_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(replace: Callable[[], None]) -> str:
        snapshot = Snapshot()
        replace()
        found = snapshot.describe()
        monkeypatch.undo()
        assert found is not None
        return found

    other = distinguish.__code__.replace(co_name="other")
    assert "distinguish" in changed(lambda: monkeypatch.setattr(distinguish, "__code__", other))
    assert "numpy.linalg" in changed(lambda: monkeypatch.delitem(sys.modules, "numpy.linalg"))
