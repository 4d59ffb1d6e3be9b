"""Does a user's function keep a claim, for every pair of neighbouring tables of a schema?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import assumed, certificate_of
from dpverdict.audit.tracing.losses.claims import in_words, nearest_kept, true_from
from dpverdict.audit.tracing.rules.facts import Total
from dpverdict.audit.tracing.rules.operations import Step
from dpverdict.audit.tracing.run import Trace, followed
from dpverdict.audit.tracing.search.moves import widest_pairs
from dpverdict.audit.tracing.search.pairs import ERROR, Broken, find_pair
from dpverdict.audit.tracing.spending import SpentRelease, alternatives, jointly
from dpverdict.audit.tracing.verdict import Line, TracedVerdict
from dpverdict.audit.trials.run import mechanism_name
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, as_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, adjacency_name
from dpverdict.numerics.stages import shown_in_a_notebook
from dpverdict.numerics.text import at_least, at_most

SEARCH_SECONDS: Final = 40.0
"""For the search of a pair that breaks the claim, where the bound does not prove it."""
LARGEST_SHARE: Final = 0.25
MOST_SECONDS: Final = 10.0
"""Of that, for the records that move the releases furthest."""


def as_schema(schema: TableSchema | str | os.PathLike[str]) -> TableSchema:
    """A schema, from its file where it is named by a path."""
    return schema if isinstance(schema, TableSchema) else TableSchema.from_toml(schema)


@shown_in_a_notebook("following the function")
def certify_function(
    function: Callable[..., Any],
    claim: Guarantee | str,
    *,
    schema: TableSchema | str | os.PathLike[str],
    name: str | None = None,
    seed: int = 0,
    search: float = SEARCH_SECONDS,
    error: float = ERROR,
) -> TracedVerdict:
    """Decide whether a function of a user's keeps a claim, for every pair of neighbouring tables of a schema.

    The function is run a few times on made-up tables, and every operation on data is followed with facts that hold for
    all tables of the schema: how far one record moves a statistic. The releases then have a privacy loss that dominates
    that of every pair. Where it does not prove the claim, pairs at the ends of the schema are measured.

    Args:
        function: called with a table and a generator of NumPy, or with a table alone.
        claim: what it promises, also as text. A claim that is missed by the rounding of the function's own float64
            numbers alone is not certified, but a claim that is larger by that; the verdict states it.
        schema: of the table: `TableSchema`, or the path of its file.
        name: of the function, for messages.
        seed: of the made-up tables, and of the search.
        search: seconds for the search of a pair; 0 for none.
        error: of refuting a claim that holds, where a pair is measured by fresh releases.

    Raises:
        InvalidValue: no claim, no schema, or something that is no function.
    """
    guarantee, known = as_guarantee(claim), as_schema(schema)
    if guarantee is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidValue("claim", None, "given for a function", 'say what it promises, such as "eps=1"')
    if not callable(function):
        raise InvalidValue("function", function, "a function", "give a function of a table, or of a table and an rng")
    called = name or mechanism_name(function)
    trace = followed(function, known, seed=seed)
    replace = known.relation is REPLACE_ONE
    shared: dict[str, Any] = {
        "name": called, "claim": guarantee.describe(), "relation": adjacency_name(known.relation), "runs": trace.runs,
    }  # fmt: skip
    if trace.refused is not None:
        broken = find_pair(function, known, guarantee, seed=seed, seconds=search, error=error)
        return _not_proved(shared, broken, f"{trace.refused}", covered=False, lines=())
    options = alternatives(trace.releases, replace=replace)
    kept = nearest_kept(options, guarantee)
    if kept is None:
        options = jointly(options, trace.releases, replace=replace)
        kept = nearest_kept(options, guarantee)
    lines = lines_of(trace, known)
    if kept is not None:
        assumptions = assumed(trace, known)
        every = "replaced" if replace else "added or removed"
        reason = f"for every table of the schema and every {every} record, the loss is within the claim"
        if kept is not guarantee:
            reason += f", which is {guarantee.describe()} and what the rounding of its float64 numbers adds to it"
            shared["claim"] = kept.describe()
        if known.observed:
            reason = (f"the claim would hold, but the bounds of {', '.join(known.observed)} were only observed: "
                      "put in what is promised, and delete observed = true")  # fmt: skip
            return TracedVerdict(
                status=Status.INCONCLUSIVE, reason=reason, lines=lines, assumptions=assumptions, **shared
            )
        found = certificate_of(trace, known, kept, called, options=options)
        return TracedVerdict(status=Status.CERTIFIED, reason=reason, lines=lines, assumptions=assumptions,
                             certificate=found, true_from=true_from(options, guarantee), **shared)  # fmt: skip
    most = min(LARGEST_SHARE * search, MOST_SECONDS)
    first = widest_pairs(function, known, trace, options, seed=seed, seconds=most) if search > 0 else []
    broken = find_pair(function, known, guarantee, seed=seed, seconds=search - most, first=first, error=error)
    least = true_from(options, guarantee)
    unit = {PureDP: "eps", ApproximateDP: "eps", GaussianDP: "mu"}.get(type(guarantee), "the claimed quantity")  # pyright: ignore[reportArgumentType, reportCallIssue]
    reason = "the bound on the loss does not prove the claim"
    if least is not None:
        reason += f": it is true from {unit} {at_most(least, 6)}"
    return _not_proved(shared, broken, reason, covered=True, lines=lines, least=least)


def _not_proved(
    shared: dict[str, Any], broken: Broken, reason: str, *, covered: bool, lines: tuple[Line, ...],
    least: float | None = None,
) -> TracedVerdict:  # fmt: skip
    """The verdict, where the bound does not prove the claim: a pair breaks it, or nothing is known."""
    if broken.witness is not None:
        said = f"{broken.reason}" + ("" if covered else f"; not covered by the trace: {reason}")
        return TracedVerdict(status=Status.REFUTED, reason=said, lines=lines, covered=covered, witness=broken.witness,
                             tables=broken.tables, true_from=least, found_up_to=broken.largest, **shared)  # fmt: skip
    if broken.pairs:
        seen = "nothing" if broken.largest is None else f"nothing above {at_least(broken.largest, 4)}"
        reason += f"; {seen} was found on {broken.pairs} pairs"
    return TracedVerdict(status=Status.INCONCLUSIVE, reason=reason, lines=lines, covered=covered, true_from=least,
                         found_up_to=broken.largest, **shared)  # fmt: skip


# the table ------------------------------------------------------------------------------------------------------------


def lines_of(trace: Trace, schema: TableSchema) -> tuple[Line, ...]:
    """One line for each release."""
    replace = schema.relation is REPLACE_ONE
    found = []
    for release, number in zip(trace.releases, trace.statistics, strict=True):
        spent = alternatives([release], replace=replace)
        worst = max(spent, key=lambda one: (float(one.gaussian), float(one.epsilon() or 0)))
        found.append(Line(line=release.line, statistic=_shortened(expression(trace.steps, number, 6)),
                          moved=_moved(release, replace=replace), noise=_noise(release), spent=in_words(worst)))  # fmt: skip  # noqa: E501
    return tuple(found)


def _shortened(text: str) -> str:
    return text if len(text) <= 56 else f"{text[:53]}..."


def _moved(release: SpentRelease, *, replace: bool) -> str:
    fact: Total = release.fact
    sizes = fact.high - fact.low if replace else np.maximum(np.abs(fact.low), np.abs(fact.high))
    text = f"{float(sizes.max(initial=0.0)):.6g}"
    cells = len(set(fact.supports)) > 1
    if fact.norm is not None:
        text = f"{fact.norm.bound * (2 if replace else 1):.6g} in l{fact.norm.order}"
    elif sizes.size > 1:
        text += (
            f" in {'two cells' if replace else 'one cell'} of {sizes.size}" if cells else f" in each of {sizes.size}"
        )
    return text


def _noise(release: SpentRelease) -> str:
    if release.noise is None:
        return "a choice by exp(score)"
    noise = release.noise
    scales = sorted(set(noise.scale.ravel().tolist()))
    text = f"scale {scales[0]:.6g}" if len(scales) == 1 else f"scales {scales[0]:.6g} to {scales[-1]:.6g}"
    if noise.parameter is not None:
        text = f"rate {noise.parameter:.6g}"
    return f"{noise.law}, {text}" + (", the largest" if release.only_the_largest else "")


def expression(steps: Sequence[Step], number: int, depth: int) -> str:
    """What an operation computes, in the words of NumPy."""
    step = steps[number]
    if step.name == "table":
        names = step.parameters["names"]
        return names[0] if len(names) == 1 else "x"
    if depth == 0:
        return "..."
    inner = [expression(steps, one.number, depth - 1) if one.number is not None else _public(one.value)
             for one in step.operands]  # fmt: skip
    given = step.parameters
    signs = {"add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "less": "<", "less_equal": "<=",
             "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=", "bitwise_and": "&",
             "bitwise_or": "|"}  # fmt: skip
    name = str(given.get("name", step.name))
    if step.name == "index":
        return f"{inner[0]}[:, {_key(given['key'])}]"
    if step.name == "select":
        return f"{inner[0]}[{inner[1]}]"
    if step.name == "sampled":
        return f"random < {float(Fraction(given['rate'])):.6g}"
    if step.name == "pick":
        return f"{inner[0]}[...]"
    if step.name == "weights":
        return f"exp({inner[0]})"
    if step.name in ("from the largest", "normalised weights"):  # of which a choice sees nothing
        return inner[0]
    if step.name == "count":
        return f"count({inner[0]})"
    if step.name in ("sum", "mean", "bincount", "histogram", "where", "map", "astype", "fill", "isin"):
        return f"{step.name}({', '.join(inner[:2])})"
    if name in signs and len(inner) == 2:
        return f"({inner[0]} {signs[name]} {inner[1]})"
    return f"{name}({', '.join(inner)})"


def _key(key: Any) -> str:
    if isinstance(key, dict) and "tuple" in key:
        return ", ".join(_key(one) for one in key["tuple"])
    return str(key) if isinstance(key, int) else "..."


def _public(value: Any) -> str:
    array = np.asarray(value) if not isinstance(value, dict) else np.zeros(2)
    return f"{array.item()!r}"[:12] if array.size == 1 else "..."
