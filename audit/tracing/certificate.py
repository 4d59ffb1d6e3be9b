"""A certificate of a function: its operations with their facts, from which every step is derived again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.rules.facts import Noise, Total, fact_from_json
from dpverdict.audit.tracing.rules.operations import NotCovered, Operand, Setting, Step
from dpverdict.audit.tracing.run import Trace
from dpverdict.audit.tracing.spending import Released, alternatives, decided
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

FORMAT: Final = "dpverdict traced certificate"
VERSION: Final = 1


def certificate_of(
    trace: Trace, schema: TableSchema, claim: Guarantee, name: str, assumptions: tuple[str, ...], *, rounded: bool
) -> dict[str, Any]:
    """The certificate of a function that keeps a claim, as JSON values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "function": name,
        "claim": claim.describe(),
        "rounded": rounded,
        "schema": schema.to_toml(),
        "relation": "replace-one" if schema.relation is REPLACE_ONE else "add-or-remove-one",
        "records": schema.records,
        "steps": [
            {
                "operation": step.name,
                "operands": [_operand(one) for one in step.operands],
                "parameters": dict(step.parameters),
                "fact": step.fact.to_json(),
                "line": step.line,
            }
            for step in trace.steps
        ],
        "releases": [
            {
                "statistic": number,
                "noise": None if one.noise is None else one.noise.to_json(),
                "only_the_largest": one.only_the_largest,
                "line": one.line,
            }
            for number, one in zip(trace.statistics, trace.releases, strict=True)
        ],
        "assumptions": list(assumptions),
    }


def _operand(one: Operand) -> Any:
    if one.number is not None:
        return {"step": one.number}
    if isinstance(one.value, dict):
        return {"mapping": [list(item) for item in one.value.items()]}
    array = np.asarray(one.value)
    return {"value": array.tolist(), "dtype": str(array.dtype) if array.dtype.kind != "U" else "str",
            "list": isinstance(one.value, list)}  # fmt: skip


def _operand_of(given: Mapping[str, Any], steps: list[Step]) -> Operand:
    if "step" in given:
        number = int(given["step"])
        if not 0 <= number < len(steps):
            raise InvalidValue("certificate", number, "an operation before this one", "write the certificate again")
        return Operand(number, steps[number].fact)
    if "mapping" in given:
        return Operand(None, None, dict(given["mapping"]))
    if given["list"]:
        return Operand(None, None, list(given["value"]))
    return Operand(None, None, np.array(given["value"], dtype=given["dtype"]))


def check_certificate(given: Mapping[str, Any]) -> str:
    """Derive every step of a certificate again, and hold the releases to the claim; the function is not run.

    Returns:
        What was shown, in a sentence.

    Raises:
        InvalidValue: a step that does not follow, a table that is not the schema's, or a claim that is not kept.
    """
    if given.get("format") != FORMAT or given.get("version") != VERSION:
        raise InvalidValue("certificate", given.get("format"), f"{FORMAT}, version {VERSION}", "give another file")
    schema = TableSchema.from_toml(given["schema"])
    if schema.records != given["records"] or (schema.relation is REPLACE_ONE) != (given["relation"] == "replace-one"):
        raise InvalidValue("certificate", given["relation"], "that of its schema", "write the certificate again")
    if schema.observed:
        raise InvalidValue("certificate", list(schema.observed), "of bounds that are promised", "edit the schema")
    setting = Setting(schema.relation is REPLACE_ONE, schema.records)
    for number, one in enumerate(given["steps"]):
        operands = [_operand_of(operand, setting.steps) for operand in one["operands"]]
        name = one["operation"]
        if name not in OPERATIONS:
            raise InvalidValue("certificate", name, "a covered operation", "write the certificate again")
        if name == "table":
            _must_be_of(schema, one["parameters"])
        try:
            fact = OPERATIONS[name].rule(setting, operands, one["parameters"])
        except NotCovered as error:
            raise InvalidValue(
                "certificate", f"step {number}, {name}", "an operation that is covered", str(error)
            ) from None
        if json.dumps(fact.to_json(), default=str) != json.dumps(one["fact"], default=str):
            raise InvalidValue("certificate", f"step {number}, {name}", "a fact that follows", "write it again")
        setting.steps.append(Step(name, tuple(operands), one["parameters"], fact, one["line"]))
    releases, used = [], set[int]()
    for one in given["releases"]:
        fact = setting.steps[one["statistic"]].fact
        noise = None if one["noise"] is None else fact_from_json(one["noise"])
        if not isinstance(fact, Total) or not isinstance(noise, Noise | None):
            raise InvalidValue("certificate", one["statistic"], "a statistic with noise", "write it again")
        if noise is not None:
            numbers = noise.numbers.ravel().tolist()
            if noise.shape != fact.shape or len(set(numbers)) != len(numbers) or used & set(numbers) or fact.weights:
                raise InvalidValue("certificate", one["line"], "noise of its own for each number", "write it again")
            used |= set(numbers)
        elif not (fact.weights and fact.normalised):
            raise InvalidValue("certificate", one["line"], "a choice by weights", "write it again")
        releases.append(Released(fact, noise, bool(one["only_the_largest"]), one["line"]))
    claim = as_guarantee(given["claim"])
    assert claim is not None
    found = decided(alternatives(releases, replace=setting.replace), claim)
    if not found.kept or (found.rounded and not given["rounded"]):
        raise InvalidValue("certificate", given["claim"], "a claim that the releases keep", "write it again")
    return (f"{given['function']} keeps {given['claim']}: {len(given['steps'])} operations and {len(releases)} releases "  # noqa: E501
            "were derived again")  # fmt: skip


def _must_be_of(schema: TableSchema, given: Mapping[str, Any]) -> None:
    """The bounds of a column are those of the schema."""
    from dpverdict.audit.tracing.handles.tables import bounds_of

    for i, name in enumerate(given["names"]):
        column = schema.column(name)
        if given["dtype"] == "category":
            listed = list(column.values) if column.type == "category" else None
            same = given["values"] == listed and bool(given["missing"][i]) == column.nullable
        else:
            low, high, missing = bounds_of(column, np.dtype(given["dtype"]))
            same = (float(given["low"][i]), float(given["high"][i]), bool(given["missing"][i])) == (low, high, missing)
        if not same:
            raise InvalidValue("certificate", name, "a column with the bounds of the schema", "write it again")
