"""The certificate of a function: both checkers refuse every field that was changed and sealed again.

One sentence of it says what is proved, and names the program (what a run showed: operations, draws, lines) by its
SHA-256. Where a forger writes that sentence again too, the file is about another program; it is accepted only where
all that is derived (the facts, what is spent, what is taken for granted) is what the file says, so that it is no lie
about the program that is in it. Of the facts, the claim, the schema and the relation nothing else is ever accepted.
"""

import json
import math
import runpy
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing import certificate as product
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.errors import DpverdictError
from dpverdict.proofs.ledger.certificates import sealed

TESTS = Path(__file__).parents[1]
independent = runpy.run_path(str(TESTS / "certificate_checker.py"))
forged = runpy.run_path(str(TESTS / "forgeries.py"))
functions = runpy.run_path(str(TESTS / "unit/audit/tracing/test_functions.py"))
forgeries, forge, seen, place = (forged[name] for name in ("forgeries", "forge", "seen", "place"))
Document = dict[str, Any]
STATED = ("function", "public", "versions", "steps.line", "releases.line")
"""Texts that no fact depends on."""
PROGRAM = ("steps.operation", "steps.operands", "steps.parameters", "releases")
"""What was done: another of them is another program."""
FEW = ("numpy:clipped_sums", "numpy:exponential_mechanism", "pandas:")


def noisy_moments(x: Any, rng: np.random.Generator) -> Any:
    kept = x[x[:, 0] > 50]
    total = np.log1p(np.clip(kept[:, 1], 0, 10)).sum() + rng.normal(scale=20)
    return total, np.histogram(x[:, 2], bins=[0, 10, 50, 100])[0] + rng.laplace(scale=3, size=3)


def mean_of_three(x: Any, rng: np.random.Generator) -> Any:
    return x.mean(axis=0) + rng.normal(scale=2.5, size=3)


def both_sides(x: Any, rng: np.random.Generator) -> Any:
    y = x[:, 0] / 64
    return y.sum() + rng.laplace(scale=2), (2 - y).sum() + rng.laplace(scale=2)


def both_sides_gaussian(x: Any, rng: np.random.Generator) -> Any:
    y = x[:, 1]
    return y.sum() + rng.normal(scale=50), (100 - y).sum() + rng.normal(scale=50)


def triangle(x: Any, rng: np.random.Generator) -> Any:
    y = x[:, 0] / 64
    return y.sum() + rng.laplace(scale=2), np.minimum(y, 1.5625 - y).sum() + rng.laplace(scale=2)


def clipped_rows(x: Any, rng: np.random.Generator) -> Any:
    n = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.maximum(1, n)).sum(axis=0) + rng.normal(size=3)


def scaled_rows(x: Any, rng: np.random.Generator) -> Any:
    n = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return (x * np.minimum(1, 2 / n)).sum(axis=0) + rng.normal(scale=2, size=3)


def rounded_sums(x: Any, rng: np.random.Generator) -> Any:
    return np.floor(x[:, 0].sum()) + rng.laplace(scale=101), np.trunc((x[:, 1] > 9).sum() * 3.0) + rng.laplace(
        scale=300
    )


def of_a_covariance(x: Any, rng: np.random.Generator) -> Any:
    cov = [[900, 300, 100], [300, 1600, 200], [100, 200, 2500]]
    return rng.multivariate_normal(x.sum(axis=0), cov), len(x) + rng.laplace(scale=9)


REPLACED = TableSchema.from_toml(
    functions["NUMPY"].to_toml().replace('"add-or-remove-one"  ', '"replace-one"\nrecords = 400  ')
)
OWN = [
    (noisy_moments, functions["NUMPY"], "eps=2, delta=1e-5"),
    (mean_of_three, REPLACED, "mu=0.2"),
    (mean_of_three, REPLACED, "rho=0.02"),
    (both_sides, functions["NUMPY"], "eps=1"),
    (both_sides_gaussian, functions["NUMPY"], "mu=2"),
    (triangle, REPLACED, "eps=0.78125"),
    (clipped_rows, functions["NUMPY"], "mu=1"),
    (scaled_rows, functions["NUMPY"], "mu=1"),
    (rounded_sums, functions["NUMPY"], "eps=1.01"),
    (of_a_covariance, functions["NUMPY"], "eps=60, delta=1e-5"),
]


def made(function: Any, schema: TableSchema, claim: str, name: str) -> Document:
    verdict = certify_function(function, claim, schema=schema, name=name, search=0)
    assert verdict.certificate is not None, verdict.text()
    found: Document = json.loads(sealed(verdict.certificate))
    return found


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    right = functions["RIGHT"]
    found = [made(one, functions["schema_of"](name), "eps=1", name) for name, one in right.items()]
    return [*found, *(made(one, schema, claim, one.__name__) for one, schema, claim in OWN)]


def accepted(document: Document) -> bool:
    try:
        product.check_certificate(document)
    except DpverdictError:
        return False
    return True


def accepted_there(document: Document) -> bool:
    try:
        grades = independent["check"](document)
    except (independent["Refused"], KeyError):
        return False
    return not grades[independent["OPEN"]]


CHECKERS = [accepted, accepted_there]


def derived(document: Document) -> Any:
    """What follows from the rest."""
    facts = [one["fact"] for one in document["steps"]]
    names = ("spent", "assumptions", "function", "claim", "schema", "relation", "records")
    return [facts, *(document[name] for name in names)]


def with_floats(document: Document, values: Any, turn: int) -> Iterator[tuple[Any, Any]]:
    """The forgeries, and of every number of floating point its neighbours, its double and its half."""
    yield from (
        (path, other) for path, other in forgeries(document, values, turn) if not _is_zero(document, path, other)
    )
    for path, value in forged["nodes"](document):
        if isinstance(value, float):
            for other in (math.nextafter(value, math.inf), math.nextafter(value, -math.inf), 2 * value + 1, value / 2):
                if other != value:
                    yield path, other
        elif value is None:
            yield from ((path, other) for other in (0, "", False, []))


def _is_zero(document: Document, path: Any, other: Any) -> bool:
    """Whether a forgery has -0.0 in place of 0.0."""
    inside: Any = document
    for part in path:
        inside = inside[part]
    return isinstance(other, float) and isinstance(inside, float) and other == inside


def follows(spent: dict[str, str], claim: str) -> bool:
    """Whether another claim follows from the largest loss of what is not Gaussian, and from mu^2 of what is.

    Exactly where it is rational, else by 60 digits with a margin: what is closer than that is no excuse.
    """
    pure, square = Fraction(spent["epsilon"]), Fraction(spent["mu_squared"])
    parts = [part.strip().split("=") for part in claim.split(",")]
    stated = {name: Fraction(number) for name, number in parts}
    if len(stated) < len(parts) or any(one < 0 for one in stated.values()):
        return False
    with mpmath.workdps(60):
        eps, mu = (
            mpmath.mpf(pure.numerator) / pure.denominator,
            mpmath.sqrt(square.numerator) / mpmath.sqrt(square.denominator),
        )
        if set(stated) == {"mu"}:
            left = stated["mu"] ** 2 - square
            if not pure or left <= 0:
                return not pure and left >= 0
            own = mpmath.sqrt(mpmath.mpf(left.numerator) / left.denominator)
            return bool(mpmath.ncdf(own / 2) >= 1 / (1 + mpmath.exp(-eps)) + MARGIN)
        if set(stated) == {"rho"}:
            return pure**2 / 2 + square / 2 <= stated["rho"]
        if set(stated) not in ({"eps"}, {"eps", "delta"}) or pure > stated["eps"]:
            return False
        if not square:
            return True
        rest = stated["eps"] - pure
        left_over, allowed = mpmath.mpf(rest.numerator) / rest.denominator, stated.get("delta", Fraction(0))
        delta = mpmath.ncdf(mu / 2 - left_over / mu) - mpmath.exp(left_over) * mpmath.ncdf(-mu / 2 - left_over / mu)
        return bool(delta + MARGIN <= mpmath.mpf(allowed.numerator) / allowed.denominator)


MARGIN = mpmath.mpf(10) ** -40
LEFT_OPEN = "a claim that the other checker leaves open"
"""Such as mu of several draws of Laplace noise, of which the other checker knows the sum of the epsilons alone."""


def about_another(document: Document, path: Any, forgery: Document, check: Callable[[Document], bool]) -> bool:
    """Whether a forgery is about another program, or is a weaker claim, and all that is derived is in the file.

    A claim of another kind follows if the other checker finds so too.
    """
    where = place(path)
    if where in STATED:
        return bool(independent["traced"]["assumed"](forgery) == forgery["assumptions"])
    if where == "claim":
        (other,) = (one for one in CHECKERS if one is not check)
        return follows(document["spent"], forgery["claim"]) or other(forgery)
    if where == "schema":
        return repr(tomllib.loads(forgery["schema"])) == repr(tomllib.loads(document["schema"]))
    whole = len(path) <= 2 and path[0] in ("steps", "releases")  # with the facts of that program
    if whole or any(where == one or where.startswith(one + ".") for one in PROGRAM):
        return repr(derived(forgery)[whole:]) == repr(derived(document)[whole:]) and (not whole or not_refused(forgery))
    return False


def not_refused(forgery: Document) -> bool:
    """Whether the checker that shares no code with the project finds that everything follows: an operation is another
    one together with its fact, so that the facts of the genuine file say nothing of it."""
    try:
        independent["check"](forgery)
    except (independent["Refused"], KeyError):
        return False
    return True


def tried(
    documents: list[Document], check: Callable[[Document], bool], step: int, *, sentence: bool
) -> tuple[int, Counter[str], list[str]]:
    """How many forgeries were tried, every ``step``-th; where other programs were accepted; and all else that was.

    Args:
        documents: the certificates.
        check: accepts one, or not.
        step: of how many one is tried.
        sentence: whether the forger writes what is proved again.
    """
    values, count, others, passed = seen(documents), 0, Counter[str](), list[str]()
    for turn, document in enumerate(documents):
        for i, (path, other) in enumerate(with_floats(document, values, turn)):
            if (i + turn) % step == 0 and (path != ("proved",) or not sentence):
                count += 1
                forgery = forge(document, path, other)
                if sentence:
                    try:
                        forgery = forge(forgery, ("proved",), product.proved(forgery))
                    except (AttributeError, LookupError, TypeError, ValueError):
                        continue  # there is no sentence about it
                if check(forgery):
                    if sentence and about_another(document, path, forgery, check):
                        others[place(path)] += 1
                    elif sentence and check is accepted and place(path) == "claim" and not_refused(forgery):
                        others[LEFT_OPEN] += 1
                    else:
                        passed.append(f"{document['function']} {path}: {other!r}"[:300])
    return count, others, passed


@pytest.mark.parametrize(
    ("spent", "claim", "so"),
    [
        (("1", "0"), "eps=1", True), (("1", "0"), "eps=0.99", False), (("0", "4"), "mu=2", True),
        (("0", "4"), "mu=1.99", False), (("0", "4"), "mu=-2", False), (("1", "0"), "eps=2, eps=0.1", False),
        (("0", "1/10000"), "eps=1", False), (("0", "1/10000"), "eps=1, delta=0", False), (("0", "1"), "delta=1", False),
        (("0", "1"), "eps=1, delta=0.13", True), (("0", "1"), "eps=1, delta=0.126", False),
        (("1", "0"), "mu=1.3", True), (("1", "0"), "mu=1.2", False), (("1", "1"), "rho=1", True),
        (("1", "1"), "rho=0.99", False), (("0", "4.0000000000000001"), "mu=2", False),
    ],
)  # fmt: skip
def test_only_a_claim_that_follows_is_an_excuse(spent: tuple[str, str], claim: str, *, so: bool) -> None:
    assert follows({"epsilon": spent[0], "mu_squared": spent[1]}, claim) is so


@pytest.mark.parametrize("check", CHECKERS)
def test_both_accept_what_is_genuine(documents: list[Document], check: Callable[[Document], bool]) -> None:
    assert len(documents) > 60
    assert sum(check(one) for one in documents) >= len(documents) - (check is accepted_there) * 5
    for one in documents:
        independent["check"](one)  # which refuses none, but leaves open a bound on all releases together


@pytest.mark.parametrize("check", CHECKERS)
def test_a_bound_on_all_releases_that_is_no_closer_is_refused(
    documents: list[Document], check: Callable[[Document], bool]
) -> None:
    plain = [one for one in documents if "together" not in one["spent"]]
    found = [one["function"] for one in plain[::7] if check(forge(one, ("spent",), {**one["spent"], "together": True}))]
    assert len(plain) > 60
    assert not found


@pytest.mark.parametrize("sentence", [False, True])
@pytest.mark.parametrize("check", CHECKERS)
def test_forgeries_are_refused(documents: list[Document], check: Callable[[Document], bool], *, sentence: bool) -> None:
    count, _, passed = tried(documents, check, 607, sentence=sentence)
    assert count > 150
    assert not passed


@pytest.mark.slow
@pytest.mark.parametrize("sentence", [False, True])
@pytest.mark.parametrize("check", CHECKERS)
def test_one_forgery_of_five_is_refused(
    documents: list[Document], check: Callable[[Document], bool], *, sentence: bool
) -> None:
    count, others, passed = tried(documents, check, 5, sentence=sentence)
    print(f"{count} forgeries of {len(documents)} certificates, {len(passed)} accepted; other programs: {others}")
    assert count > 20_000
    assert not passed
    assert others[LEFT_OPEN] <= 10


IGNORED = {
    "fact.high": ("steps.fact.high", "steps.fact.low"),
    "spent": ("spent.epsilon",),
    "assumptions": ("assumptions",),
}
"""What a checker may forget to derive, and where that shows."""


@pytest.mark.parametrize("field", IGNORED)
def test_a_checker_that_does_not_derive_one_field_is_caught(
    documents: list[Document], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: what stands in one field is taken from the file, in either checker."""
    there = independent["traced"]["derive"].__globals__
    own, need = product._same, there["need"]  # pyright: ignore[reportPrivateUsage]

    def same(one: Any, other: Any) -> bool:
        if (
            field == "fact.high"
            and isinstance(one, dict)
            and "high" in one
            and "low" in one
            and isinstance(other, dict)
        ):
            one = {**one, "low": other.get("low"), "high": other.get("high")}
        if field == "spent" and isinstance(one, dict) and "mu_squared" in one:
            return True
        return (field == "assumptions" and isinstance(one, list)) or own(one, other)

    words = {"fact.high": "the bounds: ", "spent": "what is spent", "assumptions": "what is taken for granted"}
    monkeypatch.setattr(product, "_same", same)
    monkeypatch.setitem(there, "need", lambda true, what: None if what.startswith(words[field]) else need(true, what))
    values = seen(documents)
    for check in CHECKERS:
        found = (
            forge(forge(document, path, other), ("proved",), product.proved(forge(document, path, other)))
            for turn, document in enumerate(documents)
            for path, other in with_floats(document, values, turn)
            if place(path) in IGNORED[field]
            and len(path) == len(IGNORED[field][0].split(".")) + 2 * (field == "fact.high")
        )
        assert any(check(forgery) for forgery in found)
