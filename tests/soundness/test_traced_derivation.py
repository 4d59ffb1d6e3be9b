"""Two sets of rules for one program: what the trace says of it is derived again by code that shares none with it.

Random programs are certified by what they spend, and the independent checker derives the same facts, to the last bit
where they are exact. A rule of the trace that is wrong makes certificates that this checker refuses: one is planted for
each operation.
"""

import dataclasses
import datetime
import itertools
import json
import runpy
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing import certificate as product
from dpverdict.audit.tracing import spending
from dpverdict.audit.tracing.certificate import certificate_of, spent_of
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.losses.claims import keeps
from dpverdict.audit.tracing.rules import joint
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.rules.facts import Fact, NoiseFact
from dpverdict.audit.tracing.rules.operations import Setting, TracedOperand
from dpverdict.audit.tracing.run import Trace, followed
from dpverdict.audit.tracing.spending import alternatives, jointly
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.guarantees import parse_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.proofs.ledger.certificates import sealed

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "soundness"))
from frame_programs import PandasProgram, PolarsProgram, pandas_schema, polars_schema  # noqa: E402
from tracing_programs import Program, random_schema  # noqa: E402

independent = runpy.run_path(str(TESTS / "certificate_checker.py"))
functions = runpy.run_path(str(TESTS / "unit/audit/tracing/test_functions.py"))
there = independent["traced"]["derive"].__globals__
own_need = there["need"]
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


KINDS = {"numpy": (Program, random_schema), "pandas": (PandasProgram, pandas_schema),
         "polars": (PolarsProgram, polars_schema)}  # fmt: skip


def agree(kind: str, seed: int, programs: int) -> tuple[Counter[str], list[str]]:
    """How many random programs are derived, and those of which the two sets of rules say something else."""
    rng, count, apart = np.random.default_rng(seed), Counter[str](), []
    of_kind, schema_of = KINDS[kind]
    for _ in range(programs):
        replace = bool(rng.random() < 0.4)
        schema, program = schema_of(rng, replace=replace), of_kind(rng, replace=replace)
        made = certificate(program.function(), schema)
        if made is not None:
            found = derived(made)
            count[found] += 1
            count["common draws"] += found == "derived" and any(
                one["noise"] is not None and one["noise"]["law"] == "mixed gaussian" for one in made["releases"]
            )
            if found == "refused":
                apart.append(f"{schema.to_toml()}\n{program.text}")
    return count, apart


@pytest.mark.parametrize("kind", KINDS)
def test_both_sets_of_rules_agree_on_random_programs(kind: str, seed: int) -> None:
    count, apart = agree(kind, seed, 12)
    assert not apart
    assert count["derived"] >= 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_both_sets_of_rules_agree_on_many_random_programs(kind: str, seed: int) -> None:
    count, apart = agree(kind, seed, 1000)
    assert not apart
    assert count["common draws"] >= 10
    assert count["derived"] >= 0.6 * (count.total() - count["common draws"]) >= 300


# draws that several numbers have in common ----------------------------------------------------------------------------

COVARIANCE = [[900.0, 300.0, 100.0], [300.0, 1600.0, 200.0], [100.0, 200.0, 2500.0]]


def of_a_covariance(x: Any, rng: np.random.Generator) -> Any:
    return rng.multivariate_normal(x.sum(axis=0), COVARIANCE)


def of_two_releases(x: Any, rng: np.random.Generator) -> Any:
    common, own = rng.normal(scale=40), rng.normal(scale=30, size=2)
    return x[:, 0].sum() + (common + own[0]), 2 * x[x[:, 0] > 50][:, 1].sum() + (own[1] - common)


def of_a_draw_twice(x: Any, rng: np.random.Generator) -> Any:
    z = rng.normal(scale=90, size=2)
    return x[:, 0].sum() + z[0], (100 - x[:, 1]).sum() + (z[0] + z[1]), x[:, 2].sum() + rng.normal(scale=70)


def beside_other_noise(x: Any, rng: np.random.Generator) -> Any:
    return rng.multivariate_normal([(x[:, 0] > 5).sum(), 3.0], [[2, 1], [1, 2]]), len(x) + rng.laplace(scale=9)


def of_many_numbers(x: Any, rng: np.random.Generator) -> Any:
    cells = np.histogram(x[:, 0], bins=np.linspace(0, 100, 14))[0]
    return rng.multivariate_normal(cells, np.diag(np.full(13, 3.0)) + 1)


REPLACED = dataclasses.replace(functions["NUMPY"], relation=REPLACE_ONE, records=400)
WITH_COMMON_DRAWS = [of_a_covariance, of_two_releases, of_a_draw_twice, beside_other_noise, of_many_numbers]


def of_relation(relation: str) -> TableSchema:
    return functions["NUMPY"] if relation == "add-or-remove-one" else REPLACED


def mixed_terms(document: Document) -> list[Any]:
    return [term for one in document["releases"] if one["noise"]["law"] == "mixed gaussian"
            for term in one["noise"]["terms"]]  # fmt: skip


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("program", WITH_COMMON_DRAWS)
def test_draws_that_several_numbers_have_in_common_are_derived(program: Any, relation: str) -> None:
    made = certificate(program, of_relation(relation))
    assert made is not None
    assert mixed_terms(made)
    assert derived(made) == "derived"


def test_the_bound_of_a_covariance_is_that_of_its_worst_corner() -> None:
    made = certificate(of_a_covariance, functions["NUMPY"])
    assert made is not None
    corners = [np.array(one) for one in itertools.product((-100.0, 0.0, 100.0), repeat=3)]
    most = max(float(one @ np.linalg.solve(COVARIANCE, one)) for one in corners)
    assert float(Fraction(made["spent"]["mu_squared"])) == pytest.approx(most, rel=1e-12)


def accepted_by_the_product(document: Document) -> bool:
    try:
        product.check_certificate(document)
    except DpverdictError:
        return False
    return True


def with_smaller_bound(made: Document) -> None:
    made["spent"]["mu_squared"] = str(Fraction(made["spent"]["mu_squared"]) * Fraction(99, 100))


def with_another_covariance(made: Document) -> None:
    term = mixed_terms(made)[0][0]
    term[1] = str(Fraction(term[1]) * 2)


def with_a_lowered_move(made: Document) -> None:
    fact = made["steps"][made["releases"][0]["statistic"]]["fact"]
    fact["high"] = [one / 2 for one in fact["high"]]


def with_a_swapped_sign(made: Document) -> None:
    term = next(pair for term in mixed_terms(made)[1:] if len(term) > 1 for pair in term)
    term[1] = str(-Fraction(term[1]))


def with_a_draw_named_twice(made: Document) -> None:
    """z written as 2 z - z, of which the variance is not 2^2 - 2."""
    for term in mixed_terms(made):
        number, factor = term.pop(0)
        term[:0] = [[number, str(-Fraction(factor))], [number, str(2 * Fraction(factor))]]


def with_a_draw_of_two_laws(made: Document) -> None:
    made["releases"][-1]["noise"]["numbers"] = [mixed_terms(made)[0][0][0]]


FORGED_DRAWS: list[tuple[Any, Any]] = [
    (of_a_covariance, with_smaller_bound), (of_a_covariance, with_another_covariance),
    (of_a_covariance, with_a_lowered_move), (of_a_covariance, with_a_swapped_sign),
    (of_a_draw_twice, with_smaller_bound), (of_a_draw_twice, with_another_covariance),
    (of_a_draw_twice, with_a_lowered_move), (of_a_draw_twice, with_a_draw_named_twice),
    (of_a_draw_twice, with_a_draw_of_two_laws), (of_a_covariance, with_a_draw_named_twice),
]  # fmt: skip


@pytest.mark.parametrize(("program", "forge"), FORGED_DRAWS)
def test_forged_draws_are_refused_by_both_checkers(program: Any, forge: Any) -> None:
    """The forger writes the sentence and the seal again: they do not help."""
    genuine = certificate(program, functions["NUMPY"], "mu=1000")
    assert genuine is not None
    made: Document = json.loads(json.dumps(genuine))
    forge(made)
    made["proved"] = product.proved(made)
    made = json.loads(sealed({name: value for name, value in made.items() if name != "sha256"}))
    assert accepted_by_the_product(genuine)
    assert not accepted_by_the_product(made)
    assert (derived(genuine), derived(made)) == ("derived", "refused")


def with_what_it_spends(made: Document) -> Document:
    """The file with what the product finds that its releases spend, and that sentence, sealed again."""
    schema = TableSchema.from_toml(made["schema"])
    setting = Setting(schema.relation is REPLACE_ONE, schema.records)
    for number, one in enumerate(made["steps"]):
        setting.steps.append(product._derived(setting, schema, number, one))  # pyright: ignore[reportPrivateUsage]
    releases = product._releases(made["releases"], setting.steps)  # pyright: ignore[reportPrivateUsage]
    made["spent"] = spent_of(alternatives(releases, replace=setting.replace))
    made["proved"] = product.proved(made)
    found: Document = json.loads(sealed({name: value for name, value in made.items() if name != "sha256"}))
    return found


def test_a_draw_named_twice_in_one_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws are taken as they stand in the file, so that z written as 2 z - z would have a larger variance."""
    genuine = certificate(of_a_draw_twice, functions["NUMPY"], "mu=1000")
    assert genuine is not None
    made: Document = json.loads(json.dumps(genuine))
    with_a_draw_named_twice(made)
    with monkeypatch.context() as patch:
        patch.setattr(product, "in_order", lambda terms: True)
        made = with_what_it_spends(made)
        assert Fraction(made["spent"]["mu_squared"]) < Fraction(genuine["spent"]["mu_squared"])
        assert accepted_by_the_product(made)  # the planted fault
    assert not accepted_by_the_product(made)
    assert derived(made) == "refused"


def test_noise_on_what_is_known_up_to_a_number_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores less their largest: a record moves all of them by a number of which the fact says nothing."""

    def chosen(x: Any, rng: np.random.Generator) -> Any:
        scores = x.sum(axis=0) / 400
        weights = np.exp(scores - scores.max())
        return rng.choice(3, p=weights / weights.sum())

    made = certificate(chosen, functions["NUMPY"], "eps=1000")
    assert made is not None
    number = next(i for i, one in enumerate(made["steps"]) if one["operation"] == "from the largest")
    noise = {"kind": "noise", "law": "gaussian", "parameter": None, "shape": [3], "numbers": [0, 1, 2],
             "scale": [1.0, 1.0, 1.0]}  # fmt: skip
    made["releases"][0] |= {"statistic": number, "noise": noise}
    made["claim"] = "mu=1000"
    genuine = made["steps"][number]["fact"]["up_to_a_shift"]
    assert genuine is True
    made["spent"] = {"epsilon": "0", "mu_squared": "3/16"}
    made["proved"] = product.proved(made)
    made = json.loads(sealed({name: value for name, value in made.items() if name != "sha256"}))
    assert not accepted_by_the_product(made)
    assert derived(made) == "refused"
    monkeypatch.setitem(there, "need", lambda true, what: None if "up to a number" in what else own_need(true, what))
    assert derived(made) == "derived"  # the planted fault: nothing else is wrong with it


# all releases together ------------------------------------------------------------------------------------------------


def random_programs(seed: int, programs: int) -> Iterator[tuple[Any, TableSchema, str]]:
    rng = np.random.default_rng(seed)
    for _ in range(programs):
        replace = bool(rng.random() < 0.4)
        schema, program = random_schema(rng, replace=replace), Program(rng, replace=replace)
        yield program.function(), schema, program.text


def by_cases(programs: Iterable[tuple[Any, TableSchema, str]]) -> tuple[Counter[str], list[str]]:
    """What cases say of bounds on all releases together, and the programs of which a record spends more than that."""
    count, above = Counter[str](), list[str]()
    attained: dict[bool, Fraction] = {}
    run = joint._Search.run  # pyright: ignore[reportPrivateUsage]

    def noting(search: Any) -> Any:
        found = run(search)
        attained[search.square] = search.best
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint._Search, "run", noting)  # pyright: ignore[reportPrivateUsage]
        for function, schema, text in programs:
            replace, trace = schema.relation is REPLACE_ONE, followed(function, schema, seed=1)
            if trace.refused is not None:
                continue
            attained.clear()
            options = jointly(alternatives(trace.releases, replace=replace), trace.releases, replace=replace)
            if not any(one.jointly for one in options):
                continue
            claim = parse_guarantee("eps=1000000, delta=0.5")
            made: Document = json.loads(sealed(certificate_of(trace, schema, claim, "program", options=options)))
            derivation = there["Derivation"](made)
            for one in made["steps"]:
                derivation.step(one)
            plain, fixed, free = there["spent_by"](made, derivation.facts, derivation.exact, replace)
            most = {name: max(one[i] for one in plain) for i, name in enumerate(("epsilon", "mu_squared"))}
            try:
                less = there["spent_together"](made, derivation.columns, most, fixed, free, replace)
            except there["Beyond"]:
                count["too much"] += 1
                continue
            stated = [Fraction(made["spent"][name]) for name in less]
            count["the same" if stated == list(less.values()) else "another"] += 1
            for (name, size), square in zip(less.items(), (False, True), strict=True):
                if square in attained and size < min(most[name], fixed[square] + attained[square]):
                    above.append(f"{schema.to_toml()}\n{text}\n{name}: {size}, {attained[square]}")
    return count, above


def test_no_record_spends_more_than_the_cases_say(seed: int) -> None:
    count, above = by_cases(random_programs(seed, 12))
    assert not above
    assert count["the same"] >= 4


@pytest.mark.slow
def test_no_record_spends_more_than_the_cases_say_of_many_programs(seed: int) -> None:
    count, above = by_cases(random_programs(seed, 150))
    assert not above
    assert count["the same"] >= 0.6 * count.total() >= 50


WRONG_CASES: dict[str, Any] = {
    "where": (
        "_where", lambda right: lambda self, operands, p: self.operand(operands[2]),
        lambda x: [np.where(x > 50, x, 0).sum(), x.sum(), (100 - x).sum()],
    ),
    "a clip": (
        "below", lambda right: lambda self, one, *, strictly: False,
        lambda x: [np.maximum(x, 50).sum(), (100 - x).sum()],
    ),
    "a sign": (
        "_move", lambda right: lambda self, operands, p: right(self, operands, {**p, "name": "subtract"}),
        lambda x: [x.sum() + np.minimum(x, 60).sum(), x.sum(), (100 - x).sum()],
    ),
    "a mask": (
        "chosen", lambda right: lambda self, operand: False,
        lambda x: [x[x > 50].sum(), x.sum(), (100 - x).sum()],
    ),
}  # fmt: skip
"""A method that is wrong, and statistics of a column of which it then says too little."""


@pytest.mark.parametrize("case", WRONG_CASES)
def test_a_wrong_case_is_found(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong, statistics = WRONG_CASES[case]

    def program(x: Any, rng: np.random.Generator) -> Any:
        return [one + rng.laplace(scale=100) for one in statistics(x[:, 0])]

    def above() -> list[str]:
        count, found = by_cases([(program, functions["NUMPY"], case)])
        assert count.total() == 1
        return found

    assert not above()
    cases = there["joint"]["Cases"]
    monkeypatch.setattr(cases, name, wrong(getattr(cases, name)))
    assert above()


def test_a_bound_on_all_releases_that_is_too_small_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    def both_sides(x: Any, rng: np.random.Generator) -> Any:
        return x[:, 0].sum() + rng.laplace(scale=200), (100 - x[:, 0]).sum() + rng.laplace(scale=200)

    def made() -> Document:
        verdict = certify_function(both_sides, "eps=0.5", schema=functions["NUMPY"], name="f", search=0)
        assert verdict.certificate is not None
        found: Document = json.loads(sealed(verdict.certificate))
        assert found["spent"] == {"epsilon": found["spent"]["epsilon"], "mu_squared": "0", "together": True}
        return found

    assert derived(made()) == "derived"
    right = spending.most_spent
    monkeypatch.setattr(
        spending,
        "most_spent",
        lambda *given, **words: {
            part: dataclasses.replace(one, bound=one.bound * Fraction(9, 10))
            for part, one in right(*given, **words).items()
        },
    )
    assert derived(made()) == "open"


@pytest.mark.parametrize(
    ("claim", "found"),
    [("mu=1.24", "derived"), ("mu=1.2", "open"), ("order=4, eps=0.9", "derived"), ("order=4, eps=0.85", "open")],
)
def test_a_claim_of_another_kind_about_laplace_noise(claim: str, found: str) -> None:
    """What is 1-DP is 1.2303-GDP, and has a Renyi divergence of order 4 of at most 0.8960."""

    def total(x: Any, rng: np.random.Generator) -> Any:
        return x[:, 0].sum() + rng.laplace(scale=100)

    made = certificate(total, functions["NUMPY"], claim)
    assert made is not None
    assert derived(made) == found


def test_a_choice_by_exponential_noise() -> None:
    def largest(x: Any, rng: np.random.Generator) -> Any:
        return np.argmax(x.sum(axis=0) + rng.exponential(scale=200, size=3))

    made = certificate(largest, functions["NUMPY"], "eps=0.5")
    assert made is not None
    assert made["spent"] == {"epsilon": "1/2", "mu_squared": "0"}
    assert derived(made) == "derived"
    made["spent"]["epsilon"] = "1/4"
    assert derived(json.loads(sealed(made))) == "refused"


def shrunk(fact: Fact) -> Fact:
    """A fact that says that everything moves half as far."""
    if isinstance(fact, NoiseFact):
        return fact
    low, high = fact.low / 2, fact.high / 2
    norm = None if fact.norm is None else dataclasses.replace(fact.norm, bound=fact.norm.bound / 2)
    return dataclasses.replace(fact, low=low, high=high, norm=norm)


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
    "part of a date": lambda df, rng: (df["day"].dt.year() > 2020).sum() + df["day"].dt.month().sum()
    + rng.laplace(scale=13),
    "comparison of dates": lambda df, rng: (df["day"] > datetime.date(2024, 3, 1)).sum() + rng.laplace(),
    "isin of dates": lambda df, rng: df["day"].is_in([datetime.date(2024, 3, 1)]).sum() + rng.laplace(),
    "in 32 bits": lambda df, rng: (MONTHS.join(df.group_by(pl.col("day").dt.month().alias("m")).len(), on="m",
                                               how="left",
                                               maintain_order="left").fill_null(0)["len"].to_numpy()
                                   + rng.laplace(size=12)),
}  # fmt: skip
"""Functions that use what those of the unit tests do not."""


POLARS = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "polars"
[columns.rate]
type = "float"
low = -1
high = 1
nullable = true
[columns.day]
type = "date"
low = 2019-02-01
high = 2024-12-31
""")
MONTHS = pl.DataFrame({"m": list(range(1, 13))}, schema={"m": pl.Int8})
OF_POLARS = ("fill null", "fill nan", "part of a date", "comparison of dates", "isin of dates", "in 32 bits")


def the_program(name: str) -> tuple[Any, TableSchema]:
    if name in MORE:
        if name in OF_POLARS:
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

    def rule(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
        return shrunk(right.rule(setting, operands, given))

    monkeypatch.setitem(OPERATIONS, operation, dataclasses.replace(right, rule=rule))
    made = [certificate(*the_program(name)) for name in users[operation][:4]]
    found = [derived(one) for one in made if one is not None]
    assert "refused" in found
