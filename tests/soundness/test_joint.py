"""Bounds on all releases of one record together: no pair is above them, wrong forms are found, corners attain them."""

import dataclasses
import runpy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.audit.tracing.rules import boxes, joint
from dpverdict.audit.tracing.rules.boxes import FORMS, BoxSide, Form
from dpverdict.audit.tracing.rules.operations import Setting
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.spending import alternatives, jointly

HERE = Path(__file__).parent
SUITE = runpy.run_path(str(HERE / "test_tracing.py"))
SCHEMA, PLANTED, above, made = (SUITE[name] for name in ("SCHEMA", "PLANTED", "above", "made"))
ADDED = TableSchema.from_toml(SCHEMA.format("add-or-remove-one", "", "false"))
REPLACED = TableSchema.from_toml(SCHEMA.format("replace-one", "records = 5", "false"))
TWICE = "return [{}.sum() + rng.laplace(scale=1), ({} - 1).sum() + rng.laplace(scale=1)]"
"""The same column in two statistics, so that the bound on both together is below the sum of theirs."""


def spent(body: str, schema: TableSchema) -> Spent:
    trace = followed(made(body), schema)
    assert trace.refused is None, trace.refused
    replaced = schema.records is not None
    found = jointly(alternatives(trace.releases, replace=replaced), trace.releases, replace=replaced)
    return max(found, key=lambda one: (one.gaussian, one.epsilon() or 0))


@pytest.mark.parametrize(
    ("body", "added", "replaced"),
    [
        ("return [x[:, 0].sum() + rng.laplace(), (3 - x[:, 0]).sum() + rng.laplace()]", 3, 6),
        ("return [x[:, 0].sum() + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]", 5, 6),
        ("y = x[:, 0]\n    return [y[y > 1].sum() + rng.laplace(), y[y <= 1].sum() + rng.laplace()]", 3, 4),
        ("y = np.clip(x[:, 0], 1, 2)\n    return [y.sum() + rng.laplace(), (2 - y).sum() + rng.laplace()]", 2, 2),
        ("return [np.abs(x[:, 2]).sum() + rng.laplace(), (3 - np.abs(x[:, 2])).sum() + rng.laplace()]", 3, 6),
        ("y = x[:, :2] @ np.array([1.0, -1.0])\n    "
         "return [y.sum() + rng.laplace(), x[:, 0].sum() + rng.laplace()]", 6, 9),
        ("k = np.floor(x[:, 0] / 2).astype(int)\n    c = np.bincount(k, minlength=2) * 1.0\n    "
         "return [c + rng.laplace(size=2), x[:, 0].sum() + rng.laplace(scale=3)]", 2, 3),
    ],
)  # fmt: skip
def test_one_column_in_several_statistics_is_counted_once(body: str, added: float, replaced: float) -> None:
    assert float(spent(body, ADDED).epsilon() or 0) == pytest.approx(added, abs=1e-12)
    assert float(spent(body, REPLACED).epsilon() or 0) == pytest.approx(replaced, abs=1e-12)


def test_gaussian_squares_add_up_at_one_record() -> None:
    body = "return [x[:, 0].sum() + rng.normal(0, 1), (3 - x[:, 0]).sum() + rng.normal(0, 1)]"
    assert spent(body, ADDED).gaussian == 9
    assert spent(body, REPLACED).gaussian == 18


def test_a_search_that_stops_at_once_gives_the_bound_of_each_coordinate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "MOST_BOXES", 0)
    assert spent(TWICE.format("np.where(x[:, 0] > 1, x[:, 0], 0)", "x[:, 0]"), ADDED).epsilon() == 5
    body = "y = x[:, 0]\n    return [y[y > 1].sum() + rng.laplace(), y[y < 2].sum() + rng.laplace()]"
    assert spent(body, ADDED).epsilon() == 6
    monkeypatch.undo()
    assert float(spent(body, ADDED).epsilon() or 0) == pytest.approx(4, abs=1e-12)


FORMED = {
    "elementwise": TWICE.format("(x[:, 0] * 2)", "(x[:, 0] * 2)"),
    "where": TWICE.format("np.where(x[:, 0] >= 0, x[:, 0], 7.0)", "x[:, 0]"),
    "index": TWICE.format("x[:, 0]", "x[:, 0]"),
    "select": "y = x[:, 0]\n    z = y[y >= 0]\n    return [z.sum() + rng.laplace(), (z - 1).sum() + rng.laplace()]",
    "fill": TWICE.format("np.nan_to_num(x[:, 0])", "x[:, 0]"),
    "astype": TWICE.format("x[:, 0].astype(np.float64)", "x[:, 0].astype(np.float64)"),
    "columns": TWICE.format("np.column_stack([x[:, 0], x[:, 0]])[:, 1]", "x[:, 0]"),
    "along the row": TWICE.format("x[:, :2].sum(axis=1)", "x[:, :2].sum(axis=1)"),
    "row times matrix": TWICE.format("(x[:, :2] @ np.array([1.0, 2.0]))", "x[:, 0]"),
    "sum": TWICE.format("x[:, 0]", "x[:, 0]"),
    "count": "n = x.shape[0] * 1.0\n    return [n + rng.laplace(), x[:, 0].sum() + rng.laplace(), "
    "(x[:, 0] - 1).sum() + rng.laplace()]",
    "bincount": "k = x[:, 0].astype(int)\n    return [np.bincount(k, minlength=4) * 1.0 + rng.laplace(size=4), "
    "(x[:, 0] * (k > 1)).sum() + rng.laplace()]",
    "histogram": "c = np.histogram(x[:, 0], bins=[0, 1, 2, 4])[0]\n    return [c * 1.0 + rng.laplace(size=3), "
    "x[:, 0].sum() + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
    "groups of several columns": "c, *_ = np.histogram2d(x[:, 0], x[:, 1], [[0, 1, 3], [0, 3]])\n    "
    "return [c.ravel() + rng.laplace(size=2), x[:, 0].sum() + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
    "product of columns": "y = x[:, 0] * 0 + 1.0\n    "
    "return [x[:, 0] @ y + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
    "move": "return [x[:, 0].sum() * 3 + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
    "negative": "return [-(x[:, 0].sum()) + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
    "pick": "return [x[:, :2].sum(axis=0)[:1] + rng.laplace(size=1), (x[:, 0] - 1).sum() + rng.laplace()]",
    "stack": "return [np.array([x[:, 0].sum(), (x[:, 0] - 1).sum()]) + rng.laplace(size=2)]",
    "sum of coordinates": "y = np.column_stack([x[:, 0], 1 - x[:, 0]])\n    "
    "return [y.sum(axis=0).sum() + rng.laplace()]",
    "times matrix": "y = np.column_stack([x[:, 0], 1 - x[:, 0]])\n    "
    "return [y.sum(axis=0) @ np.array([1.0, 1.0]) + rng.laplace()]",
    "not steeper": "return [np.maximum(x[:, 0].sum(), -9) + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
    "absolute": "return [np.abs(x[:, 0].sum()) + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
    "converted": "return [x[:, 0].sum().astype(float) + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]",
}  # fmt: skip
"""For each operation that carries forms on, a program in which the form matters."""
ELSEWHERE = {"mean", "groups", "drop missing", "digitize"}
"""As `sum`, `bincount` and `fill`: the same functions; of bins there is no form, but where to divide a box."""


@pytest.mark.parametrize("name", sorted(set(FORMS) - ELSEWHERE))
def test_a_wrong_form_is_found(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    schema = ADDED
    assert above(FORMED[name], schema, rng) is False, "the forms as they are"
    right = FORMS[name]

    def halved(*given: Any) -> Any:
        found = right(*given)
        return None if found is None else boxes._mapped(lambda one: one.times(Fraction(1, 2)), found)

    monkeypatch.setitem(FORMS, name, halved)
    assert above(FORMED[name], schema, rng) is True, "the planted one"


@pytest.mark.parametrize("name", sorted(set(FORMS) & {"mean"}))
def test_a_wrong_form_of_a_mean_is_found(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    body = "return [x[:, 0].mean() + rng.laplace(), (3 - x[:, 0]).mean() + rng.laplace()]"
    assert above(body, REPLACED, rng) is False
    right = FORMS[name]
    monkeypatch.setitem(FORMS, name, lambda *given: boxes._mapped(lambda one: one.times(Fraction(1, 2)), right(*given)))
    assert above(body, REPLACED, rng) is True


@pytest.mark.parametrize("fault", ["a part is lost", "corners are left out", "an end that is left out"])
def test_a_wrong_division_is_found(fault: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    body = (
        "y, z = np.where(x[:, 0] > 1, x[:, 0], 0), np.where(x[:, 0] > 1, 0, x[:, 0])\n    "
        "return [y.sum() + rng.laplace(), z.sum() + rng.laplace()]"
    )
    assert above(body, ADDED, rng) is False
    if fault == "a part is lost":
        right: Callable[..., Any] = joint._Search._divided
        monkeypatch.setattr(joint._Search, "_divided", lambda self, box: (right(self, box) or [None])[:1])
    elif fault == "corners are left out":
        body = "return [x[:, 0].sum() + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]"
        monkeypatch.setattr(Form, "at", lambda self, corner: self.constant)
    else:
        parts = BoxSide.parts
        monkeypatch.setattr(
            BoxSide, "parts", lambda self, at: tuple(replace(one, high=one.low) for one in parts(self, at))
        )
    assert above(body, ADDED, rng) is True


def test_the_parts_of_a_side_hold_every_entry_of_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(300):
        low, high = np.sort(rng.normal(scale=3, size=2)).tolist()
        whole = bool(rng.random() < 0.3)
        side = (
            BoxSide(np.floor(low), np.ceil(high) + 1, bool(rng.random() < 0.2), True)
            if whole
            else BoxSide(low, high, False)
        )
        below, above_it = side.parts(float(rng.normal(scale=3)) if rng.random() < 0.7 else None)
        if side.missing:
            assert below == replace(side, missing=False)
            assert above_it.missing
            continue
        assert (below.low, above_it.high) == (side.low, side.high)
        assert above_it.low == (below.high + 1 if whole else np.nextafter(below.high, np.inf))


def test_values_of_a_statistic_are_those_of_every_record(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: in a box, the other records are taken for records of the box too."""
    body = "return [np.minimum(x[:, 0].sum(), 9) + rng.laplace(), (x[:, 0] - 1).sum() + rng.laplace()]"
    assert above(body, REPLACED, np.random.default_rng(seed)) is False
    monkeypatch.setattr(Setting, "of_every_record", property(lambda setting: dataclasses.replace(setting, known={})))
    assert above(body, REPLACED, np.random.default_rng(seed)) is True
