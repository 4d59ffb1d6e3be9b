"""Functions of several steps as engineers write them, in three libraries: right ones are certified, wrong ones never.

Each says in a comment how far a record moves what is released. Those marked `replace` are of 200 records of which one
is replaced.
"""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import certify_function

HERE = Path(__file__).parent / "engineers"
LIBRARIES = ("numpy", "pandas", "polars")
NOT_COVERED = {
    "numpy:right_suppress_small_cells": "so often that not every path can be run: use np.where",
    "numpy:right_plain_numbers_each": "data that become a plain number: add noise first",
    "pandas:right_order_in_a_loop": "a loop after it: keep it as an array of NumPy",
    "polars:right_filter_in_agg": "a part of the records within agg",
    "polars:right_remap_nullable": 'fill it first: .fill_null("missing")',
}
"""Right ones that are not covered, and a part of what they are told; what it says is done by a neighbour of each."""


def functions() -> dict[str, Callable[..., Any]]:
    found = {}
    for library in LIBRARIES:
        names = runpy.run_path(str(HERE / f"{library}_functions.py"))
        found |= {f"{library}:{name}": one for name, one in names.items() if name.startswith(("right_", "wrong_"))}
    return found


def schemas() -> dict[tuple[str, str], TableSchema]:
    found = {}
    for library in LIBRARIES:
        text = (HERE / f"{library}.toml").read_text()
        replace = text.replace('"add-or-remove-one"', '"replace-one"\nrecords = 200')
        found |= {(library, "add"): TableSchema.from_toml(text), (library, "replace"): TableSchema.from_toml(replace)}
    return found


FUNCTIONS, SCHEMAS = functions(), schemas()


def some(names: list[str]) -> list[Any]:
    """All of them, of which the default run takes one in three."""
    return [pytest.param(name, marks=[pytest.mark.slow] if i % 3 else []) for i, name in enumerate(names)]


RIGHT = [name for name in FUNCTIONS if ":right_" in name]
WRONG = [name for name in FUNCTIONS if ":wrong_" in name]


def verdict_on(name: str, *, claim: str | None = None) -> Any:
    function: Any = FUNCTIONS[name]
    schema = SCHEMAS[name.partition(":")[0], function.relation]
    return certify_function(function, claim or function.claim, schema=schema, search=0)


@pytest.mark.parametrize("name", some(RIGHT))
def test_a_right_function_is_certified(name: str) -> None:
    verdict = verdict_on(name)
    if name in NOT_COVERED:
        assert not verdict.covered
        assert verdict.reason.startswith("line ")
        assert NOT_COVERED[name] in verdict.reason, verdict.reason
        return
    assert verdict.status is Status.CERTIFIED, verdict.text()
    assert "derived again" in check_certificate(verdict.certificate)


@pytest.mark.parametrize("name", some(WRONG))
def test_a_wrong_function_is_not_certified(name: str) -> None:
    verdict = verdict_on(name)
    assert verdict.status is Status.INCONCLUSIVE
    assert "raises" not in verdict.reason, verdict.reason


def test_a_wrong_function_is_certified_at_what_it_spends() -> None:
    """Else one that is never certified would pass for one that is wrong."""
    assert verdict_on("pandas:wrong_sum_and_count", claim="eps=2").status is Status.CERTIFIED
    assert verdict_on("numpy:wrong_budget_of_three", claim="eps=3").status is Status.CERTIFIED
    assert verdict_on("polars:wrong_l2_of_three", claim="mu=1.7321").status is Status.CERTIFIED
