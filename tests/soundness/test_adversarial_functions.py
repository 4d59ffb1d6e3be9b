"""Functions in `adversarial`, which break their claim: none is certified, but with a planted fault."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing import run
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.handles import draws, functions, released, tape
from dpverdict.audit.tracing.handles.frames import frames, groups, polars_groups
from dpverdict.audit.tracing.rules import records
from dpverdict.audit.tracing.source import reach

COLUMNS = "".join(f'[columns.{name}]\ntype = "float"\nlow = 0\nhigh = 100\n' for name in "abc")
FRAME = """
[columns.age]
type = "int"
low = 0
high = 120
[columns.income]
type = "float"
low = 0
high = 100
nullable = true
[columns.other]
type = "float"
low = 0
high = 0
[columns.city]
type = "category"
values = ["Bonn", "Oslo", "Rome"]
nullable = true
[columns.sex]
type = "category"
values = ["f", "m"]
"""
WHOLE = '[columns.age]\ntype = "int"\nlow = 0\nhigh = 120\n'
DATES = WHOLE + '[columns.d]\ntype = "date"\nlow = 2020-01-01\nhigh = 2024-12-31\n'
SIGNS = WHOLE + '[columns.city]\ntype = "category"\nvalues = ["@a", "b"]\n'
QUOTIENTS = '[columns.a]\ntype = "float"\nlow = -1.1\nhigh = 0\n[columns.b]\ntype = "float"\nlow = 1\nhigh = 1.05\n'
ADDED = 'relation = "add-or-remove-one"\ntable = "{}"\n'
TABLES = {
    "of_pandas": ADDED.format("pandas") + FRAME,
    "more_of_pandas": ADDED.format("pandas") + FRAME,
    "of_polars": ADDED.format("polars") + FRAME,
    "quotients": ADDED.format("numpy") + QUOTIENTS,
    "expressions": ADDED.format("polars") + FRAME,
    "frames": ADDED.format("pandas") + FRAME,
    "frames_of_dates": ADDED.format("pandas") + DATES,
    "frames_of_signs": ADDED.format("pandas") + SIGNS,
    "replaced": 'relation = "replace-one"\nrecords = 5\ntable = "numpy"\n' + QUOTIENTS,
}


def collected() -> dict[str, Callable[..., Any]]:
    groups: dict[str, type] = {}
    for file in sorted((Path(__file__).parent / "adversarial").glob("*_functions.py")):
        names = runpy.run_path(str(file), run_name="adversarial")
        groups |= {name: one for name, one in names.items()
                   if isinstance(one, type) and one.__module__ == "adversarial" and name.islower()}  # fmt: skip
    return {f"{group}:{name}": one for group, held in groups.items() for name, one in vars(held).items()
            if callable(one) and not name.startswith("_")}  # fmt: skip


FUNCTIONS = collected()


def verdict_on(name: str) -> Any:
    schema = TableSchema.from_toml(TABLES.get(name.partition(":")[0], ADDED.format("numpy") + COLUMNS))
    return certify_function(FUNCTIONS[name], "eps=1", schema=schema, search=0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if i % 4 else []) for i, name in enumerate(FUNCTIONS)]
)
def test_none_is_certified(name: str) -> None:
    assert verdict_on(name).status is Status.INCONCLUSIVE


def nothing(*args: Any, **given: Any) -> Any:
    return None


def none_of_them(*args: Any, **given: Any) -> Any:
    return ()


PLANTED = {
    "frames:rest_of_a_selection": [(groups, "of_the_same_records", lambda columns: True)],
    "of_polars:rest_of_a_filter_in_agg": [(polars_groups, "of_the_same_records", lambda columns: True)],
    "memories:on_a_module": [(reach, "_changed", nothing)],
    "memories:in_a_deque": [(run, "fingerprint", nothing)],
    "outcomes:attribute_of_a_list": [(run, "_beside", none_of_them)],
    "outcomes:attrs_of_a_series": [(run, "_labels", nothing)],
    "after_noise:default_of_get": [(released, "_apart_from_data", nothing), (run, "_leaves", none_of_them)],
    "after_noise:loop_over_positions": [(released, "_COUNTING", ())],
    "after_noise:size_of_what_is_large": [(released, "_is_public_key", lambda key: True)],
    "copies:flattened_records": [(functions, "_copied", lambda array: array)],
    "kinds:length_is_an_int": [(draws, "_kinds_of", nothing)],
    "operations:mask_with_a_list": [(functions, "_is_plain_index", lambda one: True)],
    "operations:separated_indices": [(functions, "_must_stay_in_order", nothing)],
    "operations:inner_of_a_matrix": [(functions, "_product", lambda a, b, out, most: a @ b)],
    "operations:reshape_to_five": [(functions, "_reshaped_records", lambda array, *shape: array)],
    "operations:squeeze_one": [(functions, "_reshaped_records", lambda array, *shape: array)],
    "operations:zero_d_array": [(functions, "_as_array", lambda array: array)],
    "operations:math_of_a_column": [(draws, "_no_records", nothing)],
    "of_python:single_ends": [(records, "as_stored", lambda found, dtype: found)],
    "of_python:piecewise": [(released, "_calls_back", nothing)],
    "of_python:slice_by_noise": [(tape, "data_beside", nothing)],
    "of_python:dictionary_by_text": [(tape, "data_beside", nothing)],
    "frames:column_of_a_selection": [(frames, "of_the_same_records", lambda columns: True)],
    "frames:columns_twice": [(frames.FollowedFrame, "_names_differ", nothing)],
}
"""Functions that are certified where a part of what finds them is taken away."""


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_lets_one_be_certified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for where, part, other in PLANTED[name]:
        monkeypatch.setattr(where, part, other)
    assert verdict_on(name).status is Status.CERTIFIED, verdict_on(name).text()
