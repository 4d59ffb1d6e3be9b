"""A certificate of a function: its operations with their facts, from which every step is derived again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.losses.claims import keeps
from dpverdict.audit.tracing.losses.samples import samples_of
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.rules.facts import MIXED, NoiseFact, Total, fact_from_json, in_order
from dpverdict.audit.tracing.rules.operations import NotCovered, Setting, Step, TracedOperand
from dpverdict.audit.tracing.run import ONE_SIDED, Trace
from dpverdict.audit.tracing.spending import SpentRelease, alternatives, jointly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

FORMAT: Final = "dpverdict traced certificate"
VERSION: Final = 2
FIELDS: Final = (
    "format", "version", "proved", "function", "claim", "schema", "relation", "records", "public",
    "versions", "steps", "releases", "spent", "assumptions", "sha256",
)  # fmt: skip
LAWS: Final = ("laplace", "gaussian", "two-sided geometric", "gumbel", "exponential", MIXED)
PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "along the row": ("axis", "dtype", "keepdims", "name"),
    "astype": ("dtype",),
    "bincount": ("dtype", "size"),
    "clipped by norm": ("dtype", "name"),
    "columns": ("dtype", "new"),
    "comparison of dates": ("date", "name"),
    "converted": ("dtype",),
    "count": ("each", "present"),
    "digitize": ("right",),
    "elementwise": ("dtype", "name"),
    "fill": ("dtype",),
    "fill nan": ("dtype",),
    "fill null": ("dtype",),
    "from the largest": ("largest",),
    "groups": ("dtype", "values"),
    "groups of several columns": ("dtype", "keys", "values"),
    "histogram": ("dtype", "edges"),
    "index": ("key",),
    "isin of dates": ("dates",),
    "map": ("dtype",),
    "mean": ("all", "dtype"),
    "move": ("dtype", "name"),
    "negative": ("dtype",),
    "normalised weights": ("sum",),
    "not steeper": ("dtype", "name"),
    "part of a date": ("dtype", "name"),
    "pick": ("places", "shape"),
    "product of columns": ("dtype",),
    "remainder": ("dtype",),
    "rounded": ("dtype", "name"),
    "row norm": ("keepdims", "order"),
    "row times matrix": ("dtype",),
    "sampled": ("draws", "rate"),
    "scaled scores": ("dtype", "name"),
    "stack": ("dtype", "places", "shape"),
    "sum": ("all", "dtype"),
    "sum of coordinates": ("dtype", "groups", "over", "shape"),
    "table": ("dtype", "high", "low", "missing", "names", "single", "values"),
    "times matrix": ("shape",),
    "where": ("dtype",),
}
"""The parameters of an operation; of those that are left out, none."""


def certificate_of(
    trace: Trace, schema: TableSchema, claim: Guarantee, name: str, *, options: Sequence[Spent]
) -> dict[str, Any]:
    """The certificate of a function that keeps a claim, as JSON values.

    What a run shows is stated: the operations with what they were applied to, the draws, and the lines. What follows
    from it is stated too, so that both checkers derive it: the fact of each operation, what a record spends at most,
    and what is taken for granted.
    """
    replace = schema.relation is REPLACE_ONE
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "function": name,
        "claim": claim.describe(),
        "schema": schema.to_toml(),
        "relation": "replace-one" if replace else "add-or-remove-one",
        "records": schema.records,
        "public": list(trace.read),
        "versions": {"numpy": np.__version__},
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
        "spent": spent_of(options),
        "assumptions": list(assumed(trace, schema)),
    }
    return {**document, "proved": proved(document)}


def proved(document: Mapping[str, Any]) -> str:
    """What a certificate proves, in a sentence; it names the schema and the program by their SHA-256.

    The program is what a run showed: the operations with their operands and lines, the draws, the names that are read.
    """
    steps = [{name: value for name, value in one.items() if name != "fact"} for one in document["steps"]]
    run = [steps, document["releases"], document["public"], document["versions"]]
    text = json.dumps(run, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    schema, program = (hashlib.sha256(one.encode()).hexdigest() for one in (document["schema"], text))
    spent = document["spent"]
    return (
        f"{document['claim']} of {document['function']} (program {program}), {document['relation']}, for every table "
        f"of the schema {schema}: a record spends epsilon {spent['epsilon']} and mu^2 {spent['mu_squared']} at most"
    )


def spent_of(options: Sequence[Spent]) -> dict[str, Any]:
    """What a record spends at most: the largest loss but for Gaussian noise, and the largest mu^2 of that.

    Of releases of a sample it is what a record in the sample spends. Where it is a bound on all releases together,
    which `jointly` derives, "together" is true.
    """
    whole = [one.by_all_records() for one in options]
    pure = max((dataclasses.replace(one, gaussian=Fraction(0)).epsilon() or Fraction(0) for one in whole),
               default=Fraction(0))  # fmt: skip
    found = {"epsilon": str(pure), "mu_squared": str(max((one.gaussian for one in whole), default=Fraction(0)))}
    return {**found, "together": True} if any(one.jointly for one in options) else found


def assumed(trace: Trace, schema: TableSchema) -> tuple[str, ...]:
    """What the certificate of a function that was followed takes for granted."""
    replace = schema.relation is REPLACE_ONE
    return assumptions_of(
        len(trace.steps), replace=replace, records=schema.records, numpy=np.__version__, public=trace.read
    )


def assumptions_of(
    steps: int, *, replace: bool, records: int | None, numpy: str, public: Sequence[str]
) -> tuple[str, ...]:
    """What a certificate takes for granted.

    Args:
        steps: how many operations were followed.
        replace: whether neighbours differ by a replaced record.
        records: the public number of records; None where there is none.
        numpy: its version.
        public: the names that the function reads beside its table.
    """
    found = [
        "exact real arithmetic",
        "the draws are independent, and their generator is not started from a known number",
    ]
    found.append(f"numpy {numpy} does what its documentation says of the {steps} operations")
    if not replace or records is None:
        found.append("a table has fewer than 2^33 records")
    found.append("no warning is turned into an error")
    found.append("every table that is handed over fits the schema, and each record is of another person")
    if public:
        found.append(f"public: {', '.join(public[:8])}")
    return tuple(found)


def _operand(one: TracedOperand) -> Any:
    if one.number is not None:
        return {"step": one.number}
    if isinstance(one.value, dict):
        return {"mapping": [list(item) for item in one.value.items()]}
    array = np.asarray(one.value)
    return {"value": array.tolist(), "dtype": str(array.dtype) if array.dtype.kind != "U" else "str",
            "list": isinstance(one.value, list)}  # fmt: skip


def _operand_of(given: Mapping[str, Any], steps: list[Step]) -> TracedOperand:
    if set(given) == {"step"}:
        number = given["step"]
        if type(number) is not int or not 0 <= number < len(steps):
            raise _wrong(number, "an operation before this one")
        return TracedOperand(number, steps[number].fact)
    if set(given) == {"mapping"}:
        found = TracedOperand(None, None, dict(given["mapping"]))
    elif given["list"] is True:
        found = TracedOperand(None, None, list(given["value"]))
    else:
        found = TracedOperand(None, None, np.array(given["value"], dtype=given["dtype"]))
    if not _same(_operand(found), given):
        raise _wrong(str(given)[:60], "a public value as it is written")
    return found


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, with their types."""
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def _wrong(value: object, requirement: str) -> InvalidValue:
    return InvalidValue("certificate", value, requirement, "write the certificate again")


def check_certificate(given: Mapping[str, Any]) -> str:
    """Derive every step of a certificate again, and hold the releases to the claim; the function is not run.

    Returns:
        What was shown, in a sentence.

    Raises:
        InvalidValue: a step that does not follow, a table that is not the schema's, or a claim that is not kept.
    """
    if given.get("format") != FORMAT or given.get("version") != VERSION:
        raise InvalidValue("certificate", given.get("format"), f"{FORMAT}, version {VERSION}", "give another file")
    try:
        return _checked(given)
    except InvalidValue:
        raise
    except _UNREADABLE as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise _wrong(said, "a certificate whose parts fit together") from None


_UNREADABLE: Final = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, StopIteration, TypeError,
    ValueError,
)  # fmt: skip
"""What rules raise of operands that no run gives them."""


def _checked(given: Mapping[str, Any]) -> str:
    if not set(FIELDS) - {"sha256"} <= set(given) <= set(FIELDS):
        raise _wrong(sorted(set(given) ^ set(FIELDS)), "of the fields of a certificate alone")
    schema = TableSchema.from_toml(given["schema"])
    claim = as_guarantee(given["claim"])
    assert claim is not None
    replace = schema.relation is REPLACE_ONE
    head = {
        "schema": schema.to_toml(),
        "claim": claim.describe(),
        "relation": "replace-one" if replace else "add-or-remove-one",
        "records": schema.records,
    }
    for name, value in head.items():
        if not _same(value, given[name]):
            raise _wrong(given[name], f"the {name} of its schema and claim, as they are written")
    if schema.observed:
        raise InvalidValue("certificate", list(schema.observed), "of bounds that are promised", "edit the schema")
    texts = [given["function"], *given["public"], *given["versions"].values()]
    if set(given["versions"]) != {"numpy"} or not all(isinstance(one, str) and one for one in texts):
        raise _wrong(texts, "texts for the function, what it reads, and the version of numpy")
    setting = Setting(replace, schema.records)
    for number, one in enumerate(given["steps"]):
        setting.steps.append(_derived(setting, schema, number, one))
    releases = _releases(given["releases"], setting.steps)
    options = alternatives(releases, replace=replace)
    if given["spent"].get("together") is True:
        plain, options = spent_of(options), jointly(options, releases, replace=replace)
        if _same(spent_of(options), {**plain, "together": True}):
            raise _wrong(given["spent"], "a bound on all releases together only where it is closer")
    if not keeps(options, claim):
        raise InvalidValue("certificate", given["claim"], "a claim that the releases keep", "write it again")
    if not _same(spent_of(options), given["spent"]):
        raise _wrong(given["spent"], "what the releases spend")
    if not _same(proved(given), given["proved"]):
        raise _wrong(given["proved"], "what such a certificate proves")
    taken = assumptions_of(len(setting.steps), replace=replace, records=schema.records,
                           numpy=given["versions"]["numpy"], public=given["public"])  # fmt: skip
    if not _same(list(taken), given["assumptions"]):
        raise _wrong(given["assumptions"], "what such a certificate takes for granted")
    steps, released = len(given["steps"]), len(releases)
    return (
        f"{given['function']} keeps {given['claim']}, {head['relation']}: {steps} operation{'s' * (steps != 1)} and "
        f"{released} release{'s' * (released != 1)} derived again; that the function does these is what the trace saw"
    )


def _derived(setting: Setting, schema: TableSchema, number: int, one: Mapping[str, Any]) -> Step:
    """One operation, with the fact that its rule gives."""
    name, given = one["operation"], one["parameters"]
    shown = f"step {number}, {name}"
    if name not in OPERATIONS or set(one) != {"operation", "operands", "parameters", "fact", "line"}:
        raise InvalidValue("certificate", shown, "a covered operation", "write the certificate again")
    if set(given) != set(PARAMETERS.get(name, ())) or not isinstance(one["line"], str):
        raise _wrong(shown, f"an operation with the parameters {', '.join(PARAMETERS.get(name, ())) or 'none'}")
    for key in ("all", "each", "present", "keepdims", "single", "new", "right"):
        if key in given and type(given[key]) is not bool:
            raise _wrong(shown, f"an operation of which {key} is true or false")
    operands = [_operand_of(operand, setting.steps) for operand in one["operands"]]
    if name == "table":
        _must_be_of(schema, given)
    try:
        fact = OPERATIONS[name].rule(setting, operands, given)
    except NotCovered as error:
        raise InvalidValue("certificate", shown, "an operation that is covered", str(error)) from None
    if not _same(fact.to_json(), one["fact"]):
        raise _wrong(shown, "an operation with the fact that follows")
    return Step(name, tuple(operands), given, fact, one["line"])


def _releases(given: Sequence[Mapping[str, Any]], steps: list[Step]) -> list[SpentRelease]:
    """The releases, each with draws of its own."""
    releases, used, mixed = [], set[int](), set[int]()
    _one_use_of_draws(steps)
    for one in given:
        number = one["statistic"]
        if set(one) != {"statistic", "noise", "only_the_largest", "line"} or not isinstance(one["line"], str):
            raise _wrong(sorted(one), "a release with its statistic, its noise and its line")
        if type(number) is not int or not 0 <= number < len(steps) or type(one["only_the_largest"]) is not bool:
            raise _wrong(number, "a release of one of the operations")
        fact = steps[number].fact
        noise = None if one["noise"] is None else fact_from_json(one["noise"])
        if not isinstance(fact, Total) or not isinstance(noise, NoiseFact | None):
            raise _wrong(number, "a statistic with noise")
        if noise is not None:
            numbers = [] if noise.law == MIXED else noise.draws
            mixed |= set(noise.draws) if noise.law == MIXED else set()
            fits = noise.shape == fact.shape and not fact.weights and _same(noise.to_json(), one["noise"])
            fits = fits and not fact.up_to_a_shift and (noise.law != MIXED or in_order(noise.terms or ()))
            known = noise.law in LAWS and bool(((noise.scale > 0) & np.isfinite(noise.scale)).all())
            geometric = noise.law == "two-sided geometric"
            known = known and (noise.parameter is None) is not geometric
            if (
                not (fits and known)
                or len(set(numbers)) != len(numbers)
                or used & set(numbers)
                or ((used | set(numbers)) & mixed)
            ):
                raise _wrong(one["line"], "noise of its own for each number")
            if geometric and not (float(noise.parameter or 0) > 0 and np.dtype(fact.dtype).kind in "iu"):
                raise _wrong(one["line"], "noise on whole numbers, of a positive rate")
            one_scale = len(set(noise.scale.ravel().tolist())) == 1
            if noise.law in ONE_SIDED and not (one["only_the_largest"] and one_scale):
                raise _wrong(one["line"], f"of {noise.law} noise the largest alone, with one scale")
            used |= set(numbers)
        elif not (fact.weights and fact.normalised) or one["only_the_largest"]:
            raise _wrong(one["line"], "a choice by weights")
        releases.append(SpentRelease(fact, noise, one["only_the_largest"], one["line"]))
    samples = samples_of(steps, [one["statistic"] for one in given])
    return [dataclasses.replace(one, sample=sample) for one, sample in zip(releases, samples, strict=True)]


def _one_use_of_draws(steps: Sequence[Step]) -> None:
    """The draws of each sample are its own."""
    numbers = [step.parameters["draws"] for step in steps if step.name == "sampled"]
    if any(type(one) is not int for one in numbers) or len(set(numbers)) != len(numbers):
        raise _wrong(numbers, "samples by draws of their own")


def _must_be_of(schema: TableSchema, given: Mapping[str, Any]) -> None:
    """The bounds of a column are those of the schema."""
    from dpverdict.audit.tracing.handles.tables import bounds_of

    names = given["names"]
    lengths = {len(given[key]) for key in ("low", "high", "missing")} | {len(names)}
    if len(lengths) != 1 or given["single"] is not (len(names) == 1):
        raise _wrong(names, "columns with one bound on each side of each")
    listed = None
    for i, name in enumerate(names):
        column = schema.column(name)
        category = list(column.values) if column.type == "category" else None
        if given["dtype"] == "category":
            listed = category
            low, high, missing = 0.0, 0.0, column.nullable
        else:
            listed = category if given["single"] and given["values"] is not None else None
            low, high, missing = bounds_of(column, np.dtype(given["dtype"]))
        stated = [given[key][i] for key in ("low", "high", "missing")]
        if not _same(stated, [repr(low), repr(high), missing]):
            raise _wrong(name, "a column with the bounds of the schema")
    if not _same(given["values"], listed):
        raise _wrong(given["values"], "the categories of the schema")
