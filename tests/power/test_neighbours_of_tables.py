"""Functions of tables whose violating neighbours are not obvious are refuted from the table alone.

Every function of `wrong_functions_of_tables` claims eps = 1; the search measures 300 pairs, and one pair is tested with
2000 fresh releases per table at error probability 1e-6. The controls are right functions of the same tables.
"""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpverdict.audit import distinguish, find_neighbours
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE

functions: Any = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "wrong_functions_of_tables.py")))
ERROR = 1e-6
SAMPLES = 2000
MEASURED = 300

WRONG = [
    functions.keys_by_presence,
    functions.records_of_a_person,
    functions.last_day,
    functions.numpy_small_sum,
    functions.true_threshold,
    functions.deviation_of_a_group,
    functions.unguarded_quotient,
    functions.sum_that_wraps,
    functions.bound_of_the_data,
    functions.polars_groups,
    functions.polars_oldest,
    functions.polars_mean_of_few,
    functions.numpy_largest,
    functions.numpy_edges,
]
RIGHT = [
    functions.counts_of_known_cities,
    functions.numpy_clipped,
    functions.polars_counts,
    functions.noisy_threshold,
    functions.clipped_sum,
    functions.mean_of_noisy_parts,
    functions.polars_clipped,
    functions.numpy_known_edges,
]


def given(function: Any) -> Any:
    """The table as a function takes it; an array holds the columns of numbers."""
    table = functions.people()
    if function.__name__.startswith("numpy"):
        return table[["age", "income", "smoker"]].fillna(0).astype(float).to_numpy()
    return table


def searched_and_tested(function: Any, seed: int, *, measured: int, error: float, samples: int) -> Any:
    found = find_neighbours(
        function,
        "eps=1",
        data=given(function),
        adjacency=ADD_OR_REMOVE_ONE,
        user="person" if function is functions.records_of_a_person else None,
        seed=seed,
        most=measured,
    )
    return found, distinguish(
        found.function, found.pair, "eps=1", error_probability=error, samples=samples, seed=seed, delta=0
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("function", WRONG, ids=lambda one: one.__name__)
def test_a_function_that_is_wrong_on_few_neighbours_is_refuted_from_its_table(function: Any, seed: int) -> None:
    found, test = searched_and_tested(function, seed, measured=MEASURED, error=ERROR, samples=SAMPLES)
    assert test.refuted, found.words
    assert found.promising
    assert found.words
    assert found.part


@pytest.mark.few(2)
@pytest.mark.parametrize("function", RIGHT, ids=lambda one: one.__name__)
def test_a_function_that_keeps_its_claim_is_not_refuted(function: Any, seed: int) -> None:
    _, test = searched_and_tested(function, seed, measured=MEASURED, error=ERROR, samples=SAMPLES)
    assert not test.refuted


def test_the_group_of_one_is_named_with_what_tells(seed: int) -> None:
    found, test = searched_and_tested(functions.keys_by_presence, seed, measured=20, error=ERROR, samples=400)
    assert test.refuted
    assert found.words.startswith("row 123 removed: city=Vaduz")
    assert "the only one with city=Vaduz" in found.words
    assert found.part == "the key 'Vaduz', which is there on the larger table only"


def test_an_array_under_replace_one_keeps_its_number_of_records(seed: int) -> None:
    def lengths(table: np.ndarray[Any, Any], rng: np.random.Generator) -> float:
        return len(table) + rng.laplace(scale=1e-9)

    found = find_neighbours(
        lengths, "eps=1", data=given(functions.numpy_clipped)[:40], adjacency=REPLACE_ONE, seed=seed, most=60
    )
    assert len(found.pair.dataset) == len(found.pair.neighbour) == 40
    assert not found.promising


benchmark: Any = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "right_functions_of_tables.py"))
)


@pytest.mark.few(2)
@pytest.mark.parametrize("number", range(len(benchmark.RIGHT)), ids=[one.__name__ for one, _ in benchmark.RIGHT])
def test_a_function_at_the_edge_of_its_claim_is_not_refuted_by_a_search(number: int, seed: int) -> None:
    """Those whose false alarms `benchmarks/right_functions_of_tables.py` counts, at a smaller error probability."""
    function, given = benchmark.RIGHT[number]
    assert not benchmark.refuted(function, given, seed, measured=24, samples=400, error=ERROR)


def test_what_counts_false_alarms_sees_a_function_that_is_wrong(seed: int) -> None:
    def a_quarter_of_the_noise(table: pd.DataFrame, rng: np.random.Generator) -> float:
        return len(table) + rng.laplace(scale=0.25)

    given = {"claim": "eps=1", "adjacency": ADD_OR_REMOVE_ONE}
    assert benchmark.refuted(a_quarter_of_the_noise, given, seed, measured=24, samples=400, error=ERROR)
