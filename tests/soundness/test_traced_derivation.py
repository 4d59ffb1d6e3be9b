"""Two sets of rules for one program: what the trace says of it is derived again by code that shares none with it.

Random programs are certified by what they spend, and the independent checker derives the same facts, to the last bit
where they are exact. A rule of the trace that is wrong makes certificates that this checker refuses: one is planted for
each operation.
"""

import dataclasses
import json
import runpy
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import certificate_of, spent_of
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.rules.facts import Fact, Noise
from dpverdict.audit.tracing.rules.operations import Operand, Setting
from dpverdict.audit.tracing.run import Trace, followed
from dpverdict.audit.tracing.spending import alternatives, keeps
from dpverdict.mechanisms.core.guarantees import parse_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.proofs.ledger.certificates import sealed

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "soundness"))
from tracing_programs import Program, random_schema  # noqa: E402

independent = runpy.run_path(str(TESTS / "certificate_checker.py"))
functions = runpy.run_path(str(TESTS / "unit/audit/tracing/test_functions.py"))
Document = dict[str, Any]


def claim_for(trace: Trace, *, replace: bool) -> str:
    """A claim that what is spent keeps, of a kind that the checker decides."""
    spent = spent_of(alternatives(trace.releases, replace=replace))
    pure, square = float(Fraction(spent["epsilon"])), float(Fraction(spent["mu_squared"]))
    if not square:
        return f"eps={2 * pure + 1:.3f}"  # what choices and other noise spend together is bounded, not exact
    if not pure:
        return f"mu={square**0.5 * 1.01:.4g}"
    return f"eps={2 * pure + 8 * square**0.5 + 1 + square:.3f}, delta=0.001"


def certificate(function: Any, schema: TableSchema, claim: str | None = None) -> Document | None:
    trace = followed(function, schema, seed=1)
    if trace.refused is not None:
        return None
    replace = schema.relation is REPLACE_ONE
    guarantee = parse_guarantee(claim or claim_for(trace, replace=replace))
    options = alternatives(trace.releases, replace=replace)
    if not keeps(options, guarantee):
        return None
    found: Document = json.loads(sealed(certificate_of(trace, schema, guarantee, "program", options=options)))
    return found


def derived(document: Document) -> str:
    """ "derived", "open" where a bound on all releases together is closer than what is derived, or "refused"."""
    try:
        grades = independent["check"](document)
    except independent["Refused"]:
        return "refused"
    return "open" if grades[independent["OPEN"]] else "derived"


def agree(seed: int, programs: int) -> tuple[Counter[str], list[str]]:
    """How many random programs are derived, and those of which the two sets of rules say something else."""
    rng, count, apart = np.random.default_rng(seed), Counter[str](), []
    for _ in range(programs):
        replace = bool(rng.random() < 0.4)
        schema, program = random_schema(rng, replace=replace), Program(rng, replace=replace)
        made = certificate(program.function(), schema)
        if made is not None:
            count[derived(made)] += 1
            if derived(made) == "refused":
                apart.append(f"{schema.to_toml()}\n{program.text}")
    return count, apart


def test_both_sets_of_rules_agree_on_random_programs(seed: int) -> None:
    count, apart = agree(seed, 12)
    assert not apart
    assert count["derived"] >= 6


@pytest.mark.slow
def test_both_sets_of_rules_agree_on_many_random_programs(seed: int) -> None:
    count, apart = agree(seed, 1000)
    assert not apart
    assert count["derived"] >= 0.6 * count.total() >= 300


def shrunk(fact: Fact) -> Fact:
    """A fact that says that everything moves half as far."""
    if isinstance(fact, Noise):
        return fact
    low, high = fact.low / 2, fact.high / 2
    norm = None if fact.norm is None else dataclasses.replace(fact.norm, bound=fact.norm.bound / 2)
    return dataclasses.replace(fact, low=low, high=high, norm=norm)


REPLACED = dataclasses.replace(functions["NUMPY"], relation=REPLACE_ONE, records=400)
MATRIX = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])
MORE = {
    "mean": lambda x, rng: x.mean(axis=0) + rng.laplace(scale=3, size=3),
    "remainder": lambda x, rng: (x[:, 0] % 7).sum() + rng.laplace(scale=7),
    "negative": lambda x, rng: -x.sum(axis=0) + rng.laplace(scale=300, size=3),
    "pick": lambda x, rng: x.sum(axis=0)[[2, 0]] + rng.laplace(scale=200, size=2),
    "sum of coordinates": lambda x, rng: x.sum(axis=0).cumsum() + rng.laplace(scale=600, size=3),
    "times matrix": lambda x, rng: MATRIX @ x.sum(axis=0) + rng.laplace(scale=900, size=2),
    "absolute": lambda x, rng: np.abs(x.sum(axis=0)) + rng.laplace(scale=300, size=3),
    "rounded": lambda x, rng: np.floor(x.sum(axis=0)) + rng.laplace(scale=300, size=3),
    "converted": lambda x, rng: np.histogram(x[:, 0], bins=[0, 5, 9])[0].astype(float) + rng.laplace(size=2),
    "drop missing": lambda df, rng: df["income"].clip(0, 10).dropna().sum() + rng.laplace(scale=10),
    "fill null": lambda df, rng: df["rate"].fill_null(9).fill_nan(0).sum() + rng.laplace(scale=9),
    "fill nan": lambda df, rng: df["rate"].fill_null(0).fill_nan(9).sum() + rng.laplace(scale=9),
}
"""Functions that use what those of the unit tests do not."""


POLARS = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "polars"
[columns.rate]
type = "float"
low = -1
high = 1
nullable = true
""")


def the_program(name: str) -> tuple[Any, TableSchema]:
    if name in MORE:
        if name in ("fill null", "fill nan"):
            return MORE[name], POLARS
        schema = "PANDAS" if name == "drop missing" else "NUMPY"
        return MORE[name], REPLACED if name == "mean" else functions[schema]
    return functions["RIGHT"][name], functions["schema_of"](name)


@pytest.fixture(scope="module")
def users() -> dict[str, list[str]]:
    """Which functions use an operation."""
    found: dict[str, list[str]] = {}
    for name in (*MORE, *functions["RIGHT"]):
        made = certificate(*the_program(name))
        assert made is not None, name
        for step in made["steps"]:
            found.setdefault(step["operation"], []).append(name)
    return found


@pytest.mark.few(12)
@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "sampled"])  # it is left open
def test_a_wrong_rule_is_found_by_the_other_set_of_rules(
    operation: str, users: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = OPERATIONS[operation]

    def rule(setting: Setting, operands: Sequence[Operand], given: Mapping[str, Any]) -> Fact:
        return shrunk(right.rule(setting, operands, given))

    monkeypatch.setitem(OPERATIONS, operation, dataclasses.replace(right, rule=rule))
    made = [certificate(*the_program(name)) for name in users[operation][:4]]
    found = [derived(one) for one in made if one is not None]
    assert "refused" in found
