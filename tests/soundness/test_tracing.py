"""No certified program is above its certificate, and a wrong rule of any operation is found.

The programs and the plain measurement of a pair are in `tracing_programs.py`, and the programs of pandas and polars in
`frame_programs.py`; they use none of the rules.
"""

import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.rules import records, statistics
from dpverdict.audit.tracing.rules.bounds import ELEMENTWISE, Interval, constant
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.rules.facts import Rows, Total
from dpverdict.audit.tracing.rules.values import Values
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.spending import alternatives, jointly

PROGRAMS = runpy.run_path(str(Path(__file__).parent / "tracing_programs.py"))
suite, measured, dominated, pairs = (PROGRAMS[name] for name in ("suite", "measured", "dominated", "pairs"))
FRAMES = runpy.run_path(str(Path(__file__).parent / "frame_programs.py"))
KINDS = {
    "numpy": {},
    "pandas": {"made": FRAMES["PandasProgram"], "schema_of": FRAMES["pandas_schema"]},
    "polars": {"made": FRAMES["PolarsProgram"], "schema_of": FRAMES["polars_schema"]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_certified_program_is_above_its_certificate(kind: str, seed: int) -> None:
    programs = {"numpy": 60, "pandas": 16, "polars": 30}[kind]
    found = suite(seed, programs=programs, pairs_each=10, **KINDS[kind])
    assert found.covered > programs / 2
    assert found.above == []


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_random_programs_find_a_wrong_rule(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = OPERATIONS["groups"]

    def wrong(setting: Any, operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
        return shrunk(right.rule(setting, operands, given))

    monkeypatch.setitem(OPERATIONS, "groups", replace(right, rule=wrong))
    assert any(suite(seed + i, programs=20, pairs_each=10, **KINDS[kind]).above for i in range(5))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_no_certified_program_of_frames_is_above_its_certificate(kind: str, seed: int) -> None:
    found = suite(seed, programs=3000, pairs_each=20, **KINDS[kind])
    assert found.covered > 2000
    assert found.above == []


@pytest.mark.slow
def test_no_certified_program_is_above_its_certificate_at_full_size(seed: int) -> None:
    found = suite(seed, programs=100_000, pairs_each=20)
    assert found.covered > 80_000
    assert found.above == []


@pytest.mark.slow
def test_four_in_five_bounds_are_attained_by_a_pair_that_is_shown(seed: int) -> None:
    """Of four seeds that no rule was made by, 183 of 199 are; with 50 programs the standard deviation is 4 in 100."""
    found = PROGRAMS["attained"](seed, programs=100, seconds=10)
    assert found.boxes > 25
    assert found.above == []
    assert found.reached >= 0.8 * found.boxes


# the bounds of elementwise functions ----------------------------------------------------------------------------------

ENDS = np.array([-np.inf, -1000.0, -2.0, -1.0, -0.5, 0.0, 1 / 3, 0.5, 1.0, 2.0, 3.5, 1000.0, np.inf])
BOOLEAN = ("logical", "bitwise", "invert")


def random_interval(rng: np.random.Generator) -> Interval:
    low, high = np.sort(rng.choice(ENDS, size=2))
    if low == high and np.isinf(low):
        low, high = -1.0, 1.0
    return Interval.of(low, high, bool(rng.random() < 0.2))


def value_in(rng: np.random.Generator, interval: Interval) -> float:
    low, high = float(interval.low), float(interval.high)
    if bool(interval.missing) and rng.random() < 0.2:
        return float("nan")
    options = [low, high]
    options += [one for one in (0.0, -0.0, 1.0, -1.0) if low <= one <= high]
    options += [float(rng.uniform(max(low, -1e4), min(high, 1e4)))] if max(low, -1e4) <= min(high, 1e4) else []
    return float(options[int(rng.integers(len(options)))])


def leaves(found: Interval, value: Any) -> bool:
    """Whether a value lies outside of its bounds."""
    if np.isnan(value):
        return not bool(found.missing)
    return not float(found.low) <= float(value) <= float(found.high)


def misses(name: str, rule: Callable[..., Interval], rng: np.random.Generator, tries: int) -> bool:
    """Whether a value outside of the bounds of a rule is found."""
    function = getattr(np, name)
    for _ in range(tries):
        intervals = [random_interval(rng) for _ in range(function.nin)]
        bounds = rule(*intervals)
        for _ in range(8):
            values: list[Any] = [value_in(rng, one) for one in intervals]
            if name.startswith(BOOLEAN):
                values = [bool(one > 0) for one in values]
            with np.errstate(all="ignore"):
                if leaves(bounds, function(*values)):
                    return True
    return False


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values_of_an_elementwise_function_lie_in_its_bounds(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rule = ELEMENTWISE[name][0]
    assert not misses(name, rule, rng, 300)

    def planted(*intervals: Interval) -> Interval:
        low, high, missing = rule(*intervals)
        bounded = np.isfinite(high) & np.isfinite(low)
        width = np.where(bounded, high, 0.0) - np.where(bounded, low, 0.0)
        top = np.where(bounded, low + 0.9 * width, np.minimum(high, 100.0))
        return Interval(low, np.maximum(top, low), missing & False)

    assert misses(name, planted, rng, 600), "a bound that is too small was not found"


def test_numbers_are_rounded_outward() -> None:
    third = constant(np.float64(1 / 3))
    assert float(third.low) == float(third.high) == 1 / 3
    large = constant(2**60 + 1)
    assert int(float(large.low)) < 2**60 + 1 < int(float(large.high))


# a wrong rule of each operation ---------------------------------------------------------------------------------------

CLIPPED = "y = np.clip(x[:, 0], 0, 2)\n    "
PLANTED = {
    "table": "return [x[:, 0].sum() + rng.laplace(scale=3)]",
    "elementwise": "return [(x[:, 0] * 2).sum() + rng.laplace(scale=3)]",
    "clipped by norm": "n = np.linalg.norm(x, axis=1)\n    y = x / np.maximum(1, n / 3)[:, None]\n    "
    "return [y.sum(axis=0) + rng.normal(0, 2, 3)]",
    "row norm": "return [np.linalg.norm(x, axis=1).sum() + rng.laplace(scale=3)]",
    "select": CLIPPED + "return [y[x[:, 1] > 1].sum() + rng.laplace(scale=3), y[x[:, 1] > 1.5].sum() + rng.laplace()]",
    "isin": "return [np.isin(np.floor(x[:, 0]), [0, 1]).sum() + rng.laplace()]",
    "where": "return [np.where(x[:, 1] > 1, x[:, 0], 0.5).sum() + rng.laplace()]",
    "index": "return [x[:, 0].sum() + rng.laplace()]",
    "astype": "return [x[:, 0].astype(int).sum() + rng.laplace()]",
    "fill": "return [np.nan_to_num(x[:, 2], nan=9.0).sum() + rng.laplace()]",
    "sampled": "return [(rng.random(len(x)) < 0.5).sum() + rng.laplace()]",
    "remainder": "return [(x[:, 0] % 1.5).sum() + rng.laplace()]",
    "digitize": "return [np.digitize(x[:, 0], [0.5, 1.0, 2.0]).sum() + rng.laplace()]",
    "along the row": "return [x[:, :2].sum(axis=1).sum() + rng.laplace()]",
    "row times matrix": "return [(x[:, :2] @ np.array([1.0, 2.0])).sum() + rng.laplace()]",
    "columns": "return [np.column_stack([x[:, 0], x[:, 1]]).sum(axis=0) + rng.laplace(size=2)]",
    "sum": "return [x[:, :2].sum(axis=0) + rng.laplace(size=2)]",
    "mean": "return [x[:, 0].mean() + rng.laplace()]",
    "count": "return [x.shape[0] * 1.0 + rng.laplace()]",
    "bincount": "return [np.bincount(np.clip(x[:, 0], 0, 2).astype(int), minlength=3) * 1.0 + rng.laplace(size=3)]",
    "histogram": "return [np.histogram(x[:, 0], bins=[0, 1, 2, 4])[0] * 1.0 + rng.laplace(size=3)]",
    "product of columns": "return [x[:, 0] @ x[:, 1] + rng.laplace()]",
    "move": "return [x[:, 0].sum() * 3 + rng.laplace()]",
    "negative": "return [-(x[:, 0].sum()) + rng.laplace()]",
    "pick": "return [x.sum(axis=0)[:1] + rng.laplace(size=1)]",
    "stack": "return [np.array([x[:, 0].sum(), x[:, 1].sum()]) + rng.laplace(size=2)]",
    "sum of coordinates": "return [x[:, :2].sum(axis=0).sum() + rng.laplace()]",
    "times matrix": "return [x[:, :2].sum(axis=0) @ np.array([1.0, 3.0]) + rng.laplace()]",
    "not steeper": "return [np.maximum(x[:, 0].sum(), 1) + rng.laplace()]",
    "absolute": "return [np.abs(x[:, 0].sum()) + rng.laplace()]",
    "rounded": "return [np.floor(x[:, 0].sum() / 2) + rng.laplace()]",
    "converted": "return [(x[:, 0] > 1).sum().astype(float) + rng.laplace()]",
    "weights": "w = np.exp(x[:, :2].sum(axis=0))\n    return [rng.choice(2, p=w / w.sum())]",
    "normalised weights": "w = np.exp(x[:, :2].sum(axis=0))\n    return [rng.choice(2, p=w / w.sum())]",
    "from the largest": "s = x[:, :2].sum(axis=0)\n    w = np.exp(s - s.max())\n    return [rng.choice(2, p=w / w.sum())]",  # noqa: E501
    "scaled scores": "s = x[:, :2].sum(axis=0)\n    w = np.exp(2 * (s - s.max()))\n    return [rng.choice(2, p=w / w.sum())]",  # noqa: E501
}
"""For each operation, a program in which it matters; those of pandas are tried in tests/unit/audit/tracing."""

ELSEWHERE = {"is missing", "drop missing", "map", "groups", "groups of several columns", "fill null", "fill nan",
             "part of a date", "comparison of dates", "isin of dates", "in 32 bits"}  # fmt: skip
"""Those of pandas and polars, which are tried in their own tests."""
SCHEMA = """
relation = "{}"
table = "numpy"
{}
[columns.a]
type = "float"
low = 0
high = 3
[columns.b]
type = "float"
low = 0
high = 3
[columns.c]
type = "float"
low = -2
high = 3
nullable = {}
"""


def made(body: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"np": np, "__name__": "a_planted_program"}
    exec(compile(f"def program(x, rng):\n    {body}\n", "<planted>", "exec"), names)
    found: Callable[..., Any] = names["program"]
    return found


def above(body: str, schema: TableSchema, rng: np.random.Generator) -> bool | None:
    """Whether a pair is above what the trace says; None where it is not covered."""
    function = made(body)
    trace = followed(function, schema)
    if trace.refused is not None:
        return None
    replaced = schema.records is not None
    options = jointly(alternatives(trace.releases, replace=replaced), trace.releases, replace=replaced)
    return any(not dominated(measured(function, one, other), options) for one, other in pairs(schema, rng, 60))


def shrunk(fact: Any) -> Any:
    """A fact that claims too little."""
    if isinstance(fact, Rows):
        middle = np.where(
            np.isfinite(fact.low) & np.isfinite(fact.high), fact.low + (fact.high - fact.low) / 2, fact.low
        )
        middle = np.where(fact.low == fact.high, fact.low, middle)
        return replace(
            fact, high=middle, norm=None if fact.norm is None else replace(fact.norm, bound=fact.norm.bound / 2)
        )
    assert isinstance(fact, Total)
    norm = None if fact.norm is None else replace(fact.norm, bound=fact.norm.bound / 2)
    return replace(fact, low=fact.low / 2, high=fact.high / 2, norm=norm)


NORM = "n = np.linalg.norm(x, axis=1, keepdims=True)\n    "
LARGER = (
    NORM + "return [(x * np.minimum(1, 2 / np.maximum(n, 1e-12))).sum(axis=0) + rng.normal(0, 2, 3)]",
    NORM + "return [(x * np.minimum(1, 2 / (n + 1e-6))).sum(axis=0) + rng.normal(0, 2, 3)]",
    NORM + "return [(x / np.maximum(1, (n + 1e-6) / 2)).sum(axis=0) + rng.normal(0, 2, 3)]",
    NORM + "return [2 * (x / np.maximum(1, n)).sum(axis=0) + rng.normal(0, 2, 3)]",
)


def test_a_norm_that_is_made_larger_clips_to_the_same_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, schema = np.random.default_rng(seed), TableSchema.from_toml(SCHEMA.format("add-or-remove-one", "", "false"))
    for body in LARGER:
        assert above(body, schema, rng) is False
        (release,) = followed(made(body), schema).releases
        assert release.fact.norm is not None
        assert release.fact.norm.bound == 2
    not_by_one = NORM + "return [(x / np.maximum(0.5, n)).sum(axis=0) + rng.normal(0, 1, 3)]"
    assert above(not_by_one, schema, rng) is False
    assert followed(made(not_by_one), schema).releases[0].fact.norm is None
    smaller = NORM + "return [(x * np.minimum(1, 1 / np.maximum(n - 2, 1e-12))).sum(axis=0) + rng.normal(0, 1, 3)]"
    assert above(smaller, schema, rng) is False  # nothing is said of it

    def wrong(setting: Any, step: Any) -> Any:
        known = step.name == "elementwise" and step.parameters["name"] in ("maximum", "subtract")
        return step.operands[0].number if known else None

    monkeypatch.setattr(records, "_made_larger", wrong)
    assert above(smaller, schema, rng) is True, "the planted one"


# rounding -------------------------------------------------------------------------------------------------------------

PRODUCT = "s = np.clip(x[:, 0], 0, 1) @ np.clip(x[:, 1], 0, 2)\n    "
ROUNDED_PAIR = (np.array([[2 / 3, 2.0, 0.0]] * 6), np.array([[2 / 3, 2.0, 0.0]] * 6 + [[1.0, 2.0, 0.0]]))
"""Six times 4/3 is 7.999... in floats, and with 2 more it is 10: floor moves by 3, and ceil of the negative too."""


@pytest.mark.parametrize("step", ["np.floor(s)", "s.astype(int)", "np.trunc(s)", "-np.ceil(-s)", "np.floor(np.abs(s))"])
def test_a_whole_step_of_a_rounded_sum_counts_one_more(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = TableSchema.from_toml(SCHEMA.format("add-or-remove-one", "", "false"))
    function = made(PRODUCT + f"return [{step} + rng.laplace()]")

    def spent() -> list[Any]:
        trace = followed(function, schema)
        assert trace.refused is None
        return jointly(alternatives(trace.releases, replace=False), trace.releases, replace=False)

    pair = measured(function, *ROUNDED_PAIR)
    assert pair.size == 3
    assert dominated(pair, spent())
    monkeypatch.setattr(statistics, "whole_numbers", lambda setting, number: np.ones(1))
    assert not dominated(pair, spent()), "the planted one: a sum in floats taken for a whole number"


@pytest.mark.parametrize(
    "count",
    ["(x[:, 0] > 1).sum()", "(x[:, 0] > 1).sum() * 1.0", "np.floor(x[:, 0]).astype(int).sum() * 0.5 * 2",
     "np.bincount(np.clip(x[:, 0], 0, 2).astype(int), minlength=3) + 0.0", "np.histogram(x[:, 0], [0, 1, 3])[0] / 1.0"],
)  # fmt: skip
def test_whole_numbers_keep_their_bound_where_they_are_rounded(count: str) -> None:
    schema = TableSchema.from_toml(SCHEMA.format("add-or-remove-one", "", "false"))

    def bounds(body: str) -> Any:
        trace = followed(made(f"s = {count}\n    return [{body}]"), schema)
        assert trace.refused is None
        (release,) = trace.releases
        return release.fact.low.tolist(), release.fact.high.tolist(), release.fact.supports

    noise = "rng.laplace(size=np.shape(s))"
    whole = "0.5" not in count  # of half of a number it is not known
    assert (bounds(f"np.floor(s) + {noise}") == bounds(f"s + {noise}")) is whole


SCORES = "s = x[:, :2] @ np.array([0.1, 0.7])\n    "


@pytest.mark.parametrize(
    "step",
    ["(s > 0.5).sum()", "np.floor(s).sum()", "s.astype(int).sum()", "np.round(s, 1).sum()", "(s % 0.5).sum()",
     "np.digitize(s, [0.5, 1.0]).sum()", "np.histogram(s, [0, 1, 9])[0]", "np.isin(s, [0.5]).sum()", "(-s == 1).sum()",
     "np.where(s > 1, 1, 0).sum()", "np.clip(s, 0, 1).astype(bool).sum()", "x[:, 0][s > 1].sum()"],
)  # fmt: skip
def test_a_step_of_a_product_with_a_matrix_is_not_covered(step: str) -> None:
    """The last bit of a row of x @ w depends on how many rows there are, so every record may take the step at once."""
    schema = TableSchema.from_toml(SCHEMA.format("add-or-remove-one", "", "false"))
    trace = followed(made(SCORES + f"n = {step}\n    return [n + rng.laplace(size=np.shape(n))]"), schema)
    assert trace.refused is not None
    assert "whose last bit depends on the number of records" in trace.refused
    smooth = followed(made(SCORES + "return [np.clip(s, 0, 1).sum() + rng.laplace()]"), schema)
    assert smooth.refused is None


def test_a_wrong_bound_of_cells_of_two_columns_is_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault of histogram2d: what a record moves in its cell is said to be half of it."""
    rng, schema = np.random.default_rng(seed), TableSchema.from_toml(SCHEMA.format("add-or-remove-one", "", "false"))
    body = "h, *_ = np.histogram2d(x[:, 0], x[:, 1], [[0, 1, 3], [0, 2, 3]])\n    return [h + rng.laplace(size=(2, 2))]"
    assert above(body, schema, rng) is False
    assert [one.epsilon() for one in spent_by(body, schema)] == [1]
    numbers = OPERATIONS["groups of several columns"]

    def wrong(setting: Any, operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
        return shrunk(numbers.rule(setting, operands, given))

    monkeypatch.setitem(OPERATIONS, "groups of several columns", replace(numbers, rule=wrong))
    assert above(body, schema, rng) is True, "the planted one"


def spent_by(body: str, schema: TableSchema) -> list[Any]:
    trace = followed(made(body), schema)
    assert trace.refused is None, trace.refused
    return [one for one in alternatives(trace.releases, replace=schema.records is not None) if one.epsilon()]


def test_values_of_a_histogram_of_two_columns_are_those_of_numpy(seed: int) -> None:
    """The bins that the groups are counted by are those of NumPy, at edges and beyond them too."""
    rng = np.random.default_rng(seed)
    x, y = rng.choice([-1.0, 0.0, 0.5, 1.0, 3.0, 4.0], size=(2, 200))
    edges = [np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.5, 4.0])]
    keys = [np.where(v == e[-1], len(e) - 1, np.digitize(v, e)) for v, e in zip((x, y), edges, strict=True)]
    counts = [[np.sum((keys[0] == i) & (keys[1] == j)) for j in (1, 2)] for i in (1, 2)]
    np.testing.assert_array_equal(np.histogram2d(x, y, edges)[0], counts)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - ELSEWHERE))
def test_a_wrong_rule_is_found(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    replaced = name == "mean"
    relation, records = ("replace-one", "records = 5") if replaced else ("add-or-remove-one", "")
    gaps = "true" if name == "fill" else "false"
    schema = TableSchema.from_toml(SCHEMA.format(relation, records, gaps))
    assert above(PLANTED[name], schema, rng) is False, "the rule as it is"
    right = OPERATIONS[name]

    def wrong(setting: Any, operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
        return shrunk(right.rule(setting, operands, given))

    monkeypatch.setitem(OPERATIONS, name, replace(right, rule=wrong))
    assert above(PLANTED[name], schema, rng) is True, "the planted one"


# closer bounds --------------------------------------------------------------------------------------------------------

JUST_BELOW = (np.array([[np.nextafter(2.0, 0.0), 1, 0]]), np.array([[np.nextafter(2.0, 0.0), 1, 0], [3, 1, 0]]))
"""With 3 more, what is just below 2 is rounded to 5: floor moves by 4."""
FAULTS: dict[str, tuple[str, str, Any, str]] = {
    "a step of floats": (
        "_ROUNDED", "return [np.floor(x[:, 0].sum()) + rng.laplace()]", Fraction(0), "added"
    ),
    "records that are apart": (
        "_up_to_a_number", "return [np.floor(np.clip(x[:, 0], 0.9, 1.2).sum()) + rng.laplace()]",
        lambda setting, supports, shape: np.ones(shape, dtype=np.bool_), "added",
    ),
    "a cell that is reached": (
        "_reached", "return [np.histogram(x[:, 0], bins=[0, 1, 2, 4])[0] * 1.0 + rng.laplace(size=3)]",
        lambda key, cell: False, "added",
    ),
    "values of a statistic": (
        "ranges", "return [np.maximum(x[:, 0].sum(), 1) + rng.laplace()]",
        lambda setting, number: Values(np.zeros(()), np.zeros(())), "added",
    ),
    "a public number of records": (
        "ranges", "return [np.minimum(x[:, 0].sum(), 5) + rng.laplace()]",
        lambda setting, number: Values(np.full((), 9.0), np.full((), 15.0)), "replaced",
    ),
    "what is not rounded": (
        "unrounded", "return [np.floor(x[:, 0].sum()) + rng.laplace()]",
        lambda setting, number: np.ones(1, dtype=np.bool_), "added",
    ),
    "a whole number": (
        "whole_numbers", "return [np.floor(x[:, 0].sum()) + rng.laplace()]",
        lambda setting, number: np.ones(1), "added",
    ),
    "who is selected": (
        "_of_selected", CLIPPED + "return [y[x[:, 1] > 1].sum() + rng.laplace()]",
        lambda setting, fact, low, high: (np.zeros(low.shape), np.zeros(high.shape)), "added",
    ),
}  # fmt: skip
"""What a closer bound rests on, by its name in the rules; a program, what is put in its place, and the relation."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_reason_of_a_closer_bound_is_found(fault: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name, body, wrong, relation = FAULTS[fault]
    schema = TableSchema.from_toml(
        SCHEMA.format(
            "replace-one" if relation == "replaced" else "add-or-remove-one",
            "records = 5" if relation == "replaced" else "",
            "false",
        )
    )

    def found() -> bool:
        trace = followed(made(body), schema)
        assert trace.refused is None, trace.refused
        replaced = schema.records is not None
        options = jointly(alternatives(trace.releases, replace=replaced), trace.releases, replace=replaced)
        tried = pairs(schema, np.random.default_rng(seed), 200)
        tried += [] if replaced else [JUST_BELOW, JUST_BELOW[::-1]]
        tried += [] if replaced else [(np.array([[0.9, 1.0, 0.0]]), np.array([[0.9, 1.0, 0.0], [1.2, 1.0, 0.0]]))]
        return any(not dominated(measured(made(body), one, other), options) for one, other in tried)

    assert not found()
    monkeypatch.setattr(statistics, name, wrong)
    assert found(), "the planted one"


@pytest.mark.parametrize(
    ("body", "added", "replaced"),
    [
        ("np.abs(x[:, 2].sum())", 3, 5), ("np.maximum(x[:, 2].sum(), 1)", 3, 5),
        ("np.maximum(x[:, 0].sum(), -1)", 3, 3),
        ("np.minimum(x[:, 0].sum(), 15)", 3, 3), ("np.maximum(x[:, 0].sum(), 15)", 3, 0),
        ("np.minimum(x[:, 0].sum(), 0)", 0, 0), ("np.floor(np.clip(x[:, 0], 1, 1.5).sum())", 2, 1),
        ("np.stack([np.floor(x[:, 0]).sum(), 2.0]).astype(int)[0]", 3, 3),
        ("np.floor(np.maximum((x[:, 0] > 1).sum(), 0.5))", 1, 1), ("np.floor((x[:, 0] > 1).sum() / 0.25)", 4, 4),
        ("(np.floor(x[:, 0]) * 2 + 1).sum().astype(int)", 7, 6), ("np.floor(x[:, 0].sum())", 4, 4),
        ("np.floor(x[:, 0][x[:, 1] > 1].sum())", 4, 4),
        ("np.histogram(x[:, 0], bins=[4, 5, 9])[0].sum()", 0, 0), ("(x[:, 0] > 5).sum()", 0, 0),
        ("x[:, 0][x[:, 0] >= 0].sum()", 3, 3), ("np.cos(np.clip(x[:, 0], 0, 1)).sum()", 1, 1 - np.cos(1)),
    ],
)  # fmt: skip
def test_bounds_are_those_of_the_extreme_records(body: str, added: float, replaced: float) -> None:
    for relation, count, most in (("add-or-remove-one", "", added), ("replace-one", "records = 5", replaced)):
        schema = TableSchema.from_toml(SCHEMA.format(relation, count, "false"))
        trace = followed(made(f"return [{body} + rng.laplace()]"), schema)
        assert trace.refused is None, trace.refused
        found = max(one.epsilon() or 0 for one in alternatives(trace.releases, replace=bool(count)))
        assert float(found) == pytest.approx(most, abs=1e-12)


def test_long_chains_are_followed() -> None:
    """What is known of a statistic is derived step by step: neither too deep nor again and again."""
    body = (
        "a, s = np.floor(x[:, 0]), x[:, 1].sum()\n    for _ in range(400):\n        a, s = -(a + 0), -np.maximum(s, -9)"
    )
    end = "\n    return [np.abs(np.floor(s)) + rng.laplace(), np.floor(a.sum() * 1.0) + rng.laplace()]"
    doubled = "\n    for _ in range(30):\n        a, s = a * 0.5 + a * 0.5, np.stack([s, s])[0]"
    trace = followed(made(body + doubled + end), TableSchema.from_toml(SCHEMA.format("add-or-remove-one", "", "false")))
    assert trace.refused is None, trace.refused
