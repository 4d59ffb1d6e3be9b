"""Small functions as people write them at first, in three libraries: right ones are certified, wrong ones never."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.run import statistics_of

HERE = Path(__file__).parent / "newcomers"
NOT_COVERED = {
    "pandas:right_pd_categorical": "of a series of data",
    "pandas:right_dict_comp_series": "without noise",
    "pandas:right_eval": "whole columns",
    "pandas:right_sum_builtin": "value_counts",
    "numpy:right_einsum": "x.T @ y",
    "numpy:right_try": "an exception that is caught",
    "numpy:right_eye": "np.arange(k)",
    **dict.fromkeys(
        (f"polars:right_{name}" for name in ("group_by_join_fill", "group_by_two", "group_by_len", "value_counts")),
        "maintain_order",
    ),
}
"""Right ones that are not covered, and a part of what they are told."""


def functions() -> dict[str, Callable[..., Any]]:
    found = {}
    for library in ("numpy", "pandas", "polars"):
        names = runpy.run_path(str(HERE / f"{library}_functions.py"))
        found |= {f"{library}:{name}": one for name, one in names.items() if name.startswith(("right_", "wrong_"))}
    return found


FUNCTIONS = functions()
SCHEMAS = {one: TableSchema.from_toml((HERE / f"{one}.toml").read_text()) for one in ("numpy", "pandas", "polars")}
RIGHT = [name for name in FUNCTIONS if ":right_" in name]
WRONG = [name for name in FUNCTIONS if ":wrong_" in name]


def verdict_on(name: str) -> Any:
    function = FUNCTIONS[name]
    claim = getattr(function, "claim", "eps=1")
    return certify_function(function, claim, schema=SCHEMAS[name.partition(":")[0]], search=0)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_is_certified(name: str) -> None:
    verdict = verdict_on(name)
    if name in NOT_COVERED:
        assert not verdict.covered
        assert NOT_COVERED[name] in verdict.reason, verdict.reason
        return
    assert verdict.status is Status.CERTIFIED, verdict.text()
    assert "derived again" in check_certificate(verdict.certificate)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_not_certified(name: str) -> None:
    verdict = verdict_on(name)
    assert verdict.status is Status.INCONCLUSIVE
    assert "raises" not in verdict.reason, verdict.reason


class _NoNoise:
    """A generator whose draws are 0."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given, size=None, **words: np.zeros(size) if size is not None else 0.0


def numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from numbers_in(one)
    elif hasattr(value, "to_numpy"):
        yield from np.ravel(value.to_numpy()).astype(float).tolist()
    else:
        yield from np.ravel(value).astype(float).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", SCHEMAS)
def test_the_trace_has_the_values_that_the_library_gives(library: str, seed: int) -> None:
    """Of functions that return the noisy statistics themselves, on a table of the schema."""
    schema, rng = SCHEMAS[library], np.random.default_rng(seed)
    table = schema.dataset([schema.random_record(rng) for _ in range(40)])
    same = 0
    for name in RIGHT:
        if not name.startswith(library) or name in NOT_COVERED:
            continue
        releases = statistics_of(FUNCTIONS[name]).on(schema, table)
        if releases is None or any(one.noise is None for one in releases):
            continue
        try:
            found = np.array(list(numbers_in(FUNCTIONS[name](table, _NoNoise()))))
        except (TypeError, ValueError):
            continue  # it makes its own generator, or returns more than numbers
        traced = np.concatenate([np.ravel(one.value) for one in releases])
        if found.shape == traced.shape and not any(word in name for word in ("sort", "normalise", "variance")):
            assert np.allclose(np.sort(found), np.sort(traced)), name
            same += 1
    assert same >= 15
