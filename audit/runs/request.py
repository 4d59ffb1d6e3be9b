"""One audit, from a request in words to a report: every part is checked, then the audit is carried out.

A search for neighbours is asked for by the domain of the records, and pays for itself from the samples.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.search.neighbour_search import Domain, NeighbourSearch, search_neighbours
from dpverdict.audit.distinguishing.search.record_search import parse_table, search_records
from dpverdict.audit.distinguishing.witness_document import (
    FORMAT,
    VERSION,
    checksum,
    dataset_fields,
    source_hash,
    strict_json,
)
from dpverdict.audit.documents.request import (
    DEFAULT_ERROR_PROBABILITY,
    Request,
    names_a_callable,
    option_of,
    with_seed,
)
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.implementation.membership import membership_game
from dpverdict.audit.implementation.search.given_table import releases_for, search_for, search_seconds, table_for
from dpverdict.audit.implementation.search.table_search import FoundPair
from dpverdict.audit.implementation.tap.confirmation import CONFIRMING, confirm
from dpverdict.audit.implementation.tap.tap_verdict import NO_NOISE_ERROR
from dpverdict.audit.implementation.tap.tapped_runs import tap
from dpverdict.audit.reports.evidence.exact import witness_fields
from dpverdict.audit.reports.evidence.tap import TapEvidence
from dpverdict.audit.reports.evidence.traced import TracedEvidence
from dpverdict.audit.reports.report import Report
from dpverdict.audit.runs.audits import (
    NumbersUnderClaim,
    Sampling,
    audit_callable,
    audit_mechanism,
    default_samples,
    with_risk,
)
from dpverdict.audit.runs.traced import audit_traced, traced_witness
from dpverdict.audit.trials.catalogue import find, names_foreign_code
from dpverdict.audit.trials.data_files import read_pair, read_table, real_pair
from dpverdict.audit.trials.libraries.adapter import LibraryRelease
from dpverdict.audit.trials.outcomes.observed import FEWEST_BY_DEFAULT, observed, parse_observed
from dpverdict.audit.trials.run import AnyMechanism, Sampler, mechanism_name
from dpverdict.audit.trials.user_functions import load_callable, probability
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, parse_guarantee
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import AnyPair, NeighbourPair, adjacency_name, parse_adjacency
from dpverdict.numerics.stages import begin_stage
from dpverdict.numerics.text import rounded_text, time_stamp, whole_number
from dpverdict.risk import checked_base_rate
from dpverdict.suggestions import listed, nearest

SEARCH_SHARE: Final = 0.25
"""Of the samples: spent on the search, and never used to test the claim."""
DEFAULT_SAMPLES: Final = 40_000
"""Per dataset, search included, if the user names no number."""


def parse_domain(text: str) -> tuple[Domain, int]:
    """The domain of the records: ``binary:20`` is {0, 1}^20, ``unit:20`` is [0, 1]^20.

    >>> parse_domain("binary:20")
    ('binary', 20)
    """
    kind, colon, size = text.strip().partition(":")
    remedy = "write binary:20 for 20 entries 0 or 1, unit:20 for 20 numbers from 0 to 1, table:0..100? for a column"
    if not colon or kind not in ("binary", "unit"):
        raise InvalidValue("search", text, "a domain of records", remedy)
    try:
        dim = whole_number(size, "search", at_least=1)
    except InvalidValue:
        raise InvalidValue("search", text, "a domain of records", remedy) from None
    return ("binary" if kind == "binary" else "unit"), dim


def search_from_request(
    text: str,
    mechanism: AnyMechanism,
    claim: Guarantee,
    *,
    adjacency: NeighboringRelation | None,
    samples: int,
    seed: int,
) -> tuple[NeighbourSearch, int]:
    """The search, and the samples that are left for the test."""
    table = parse_table(text)
    if adjacency is None:
        remedy = "add --adjacency add-or-remove-one or --adjacency replace-one: it changes what is claimed"
        raise InvalidValue("adjacency", None, "given with --search", remedy)
    if table is not None:
        spent = int(SEARCH_SHARE * samples)
        found = search_records(
            mechanism, claim, columns=table[0], dtype=table[1], adjacency=adjacency, samples=spent, seed=seed
        )
        return found, samples - found.samples
    domain, dim = parse_domain(text)
    search = search_neighbours(
        mechanism,
        claim,
        dim=dim,
        adjacency=adjacency,
        samples=int(SEARCH_SHARE * samples),
        seed=seed,
        domain=domain,
    )
    return search, samples - search.samples


MOST_SAMPLES: Final = 10**10
"""Releases of each dataset that a test may ask for: hours of work."""

Bar = Callable[[str, int, int], None]
"""A progress bar: told what is being done, how much of it is done, and how much there is to do."""


def audit_request(request: Request, bar: Bar | None = None) -> Report:
    """Check every part of a request, then run the audit it asks for.

    Raises:
        DpverdictError: a part that cannot be used, with its name, value, requirement and remedy.
    """
    if request.base_rate is None:
        return _audited(request, bar)
    rate = checked_base_rate(request.base_rate)
    return with_risk(_audited(request, bar), rate)


def _audited(request: Request, bar: Bar | None) -> Report:
    """The report of an audit, before it is read at a base rate."""
    if request.followed:
        return audit_traced(request)
    _check_combination(request)
    if request.mechanism.endswith(".py"):
        remedy = f"write {request.mechanism}:NAME, with the name of the function"
        raise InvalidValue("mechanism", request.mechanism, "a function of the file", remedy)
    tapped = None if request.tap is None else yes_or_no(request.tap)
    seed = secrets.randbits(63) if request.seed is None else whole_number(request.seed, "seed", at_least=0)
    error = probability(request.error_probability or DEFAULT_ERROR_PROBABILITY, "error_probability")
    samples = (
        None if request.samples is None else whole_number(request.samples, "samples", at_least=1, at_most=MOST_SAMPLES)
    )
    record = None if request.record is None else whole_number(request.record, "record", at_least=0)
    if request.test_delta is not None:
        probability(request.test_delta, "test_delta")
    claim = None if request.claim is None else parse_guarantee(request.claim)
    score = None if request.score is None else load_callable(request.score, name="score")
    relation = request.options.get("adjacency")
    adjacency = None if relation is None else parse_adjacency(relation)
    searched = request.data is not None and names_foreign_code(request.mechanism)
    seconds = search_seconds(request.search_time)
    table = None if request.data is None or searched else read_table(request.data)
    pair = None if request.neighbours is None else read_pair(request.neighbours, adjacency)
    options = dict(request.options)
    if request.search is not None or searched:
        options.pop("adjacency", None)  # it is that of the search
    if pair is not None and not names_a_callable(request.mechanism):
        pair = real_pair(pair)
    arrays = pair if isinstance(pair, NeighbourPair) else None
    named = find(request.mechanism, options, table=table, pair=arrays)
    parameters: dict[str, str] = {}
    if searched and isinstance(named.mechanism, StructuredMechanism | LibraryRelease):
        requirement = f"left out for {request.mechanism}, which is no function of a table"
        raise InvalidValue("data", request.data, requirement, "give two datasets: --neighbours")
    if isinstance(named.mechanism, LibraryRelease):
        given = "neighbours" if request.neighbours is not None else "search" if request.search is not None else None
        claim = claim or named.mechanism.read_claim(given)
        pair = pair or named.mechanism.pair
        if pair is None and request.search is None:
            named.mechanism.read_claim(None)  # which says that two tables are missing
        parameters |= named.mechanism.describe()
    elif not isinstance(named.mechanism, StructuredMechanism):
        _check_black_box(request)
    elif request.search is not None:
        requirement = f"left out for {request.mechanism}, whose worst neighbours are known exactly"
        raise InvalidValue("search", request.search, requirement, "drop --search")
    if request.observe is not None:
        named = replace(named, mechanism=with_observed(named.mechanism, request.observe))
        parameters["also observed"] = request.observe
    if request.search is not None:
        assert claim is not None  # see _check_black_box
        assert not isinstance(named.mechanism, StructuredMechanism)
        begin_stage("search of neighbours")
        search, samples = search_from_request(
            request.search,
            named.mechanism,
            claim,
            adjacency=adjacency,
            samples=DEFAULT_SAMPLES if samples is None else samples,
            seed=seed,
        )
        pair = search.best.pair
        parameters["neighbours searched"] = (
            f"{len(search.ranking)} pairs with {search.samples} releases per dataset, then thrown away; tested on the "
            f"best: {search.best.origin}"
        )
    found = None
    if searched:
        assert claim is not None  # see _check_black_box
        given_table = table_for(
            named.mechanism, str(request.data), adjacency=adjacency, schema=request.schema, user=request.user
        )
        begin_stage("search of neighbours")
        found = search_for(named.mechanism, claim, given_table, seed=seed, seconds=seconds)
        pair = found.pair
        if found.looked_at:
            assert callable(found.function)
            named = replace(named, mechanism=found.function)
        parameters |= {**given_table.describe(), **_found_in_words(found)}
        if samples is None:
            samples = releases_for(found)
            parameters["releases per dataset"] = f"{samples} (from what the search saw; --samples sets it)"
    sampling = None
    if not request.exact_only:
        if samples is None:
            samples = default_samples(_release_size(named.mechanism, pair, seed))
            if isinstance(named.mechanism, observed) and named.mechanism.timeout is not None:
                samples = min(samples, FEWEST_BY_DEFAULT)
            parameters["releases per dataset"] = f"{samples} (from the size of a release; --samples sets it)"
        if found is not None:
            parameters["error probability"] = _whole_error(error, tapped=tapped is not False)
            error = error if tapped is False else error / 2
        elif request.error_probability is None:
            parameters["error probability"] = f"{DEFAULT_ERROR_PROBABILITY} for each test (--error-probability sets it)"
        told = None if bar is None else partial(bar, "releases")
        sampling = Sampling(
            samples=samples,
            error_probability=error,
            seed=seed,
            score=score,
            delta=request.test_delta,
            numbers=numbers_of(request.numbers),
            progress=told,
        )
    command = _with_seed(request, seed)
    mechanism = named.mechanism
    if not isinstance(mechanism, StructuredMechanism):
        assert claim is not None  # see _check_black_box, for all three
        assert pair is not None
        assert sampling is not None
        if request.neighbours is not None:
            parameters["pair of datasets"] = request.neighbours
        report = audit_callable(
            mechanism,
            claim,
            neighbours=pair,
            sampling=sampling,
            name=request.mechanism,
            parameters=parameters,
            command=command,
        )
        return report if tapped is False else _with_tap(report, mechanism, pair, sampling)
    game = None
    if table is not None:
        parameters["table"] = str(request.data)
        told = None if bar is None else partial(bar, "records")
        game = membership_game(mechanism, table, record=record, progress=told)
    if pair is not None:
        parameters["pair of datasets"] = f"{request.neighbours}; the lengths say {adjacency_name(pair.adjacency)}"
    report = audit_mechanism(
        mechanism,
        claim,
        sampling=sampling,
        game=game,
        neighbours=arrays,
        parameters=parameters,
        notes=named.notes,
        command=command,
    )
    if not tapped:
        return report
    assert sampling is not None  # see _check_combination
    return _with_tap(report, mechanism, arrays or (worst_case(mechanism).pair if game is None else game.pair), sampling)


TAP_SECONDS: Final = 60.0
"""For all runs of the noise tap in an audit; then the function is not covered by it."""


def _with_tap(report: Report, mechanism: AnyMechanism, pair: AnyPair, sampling: Sampling) -> Report:
    """A report with what the noise tap sees, and a test of what it finds where nothing has refuted the claim yet."""
    inner, limit = mechanism, TAP_SECONDS
    if isinstance(mechanism, observed):  # what else is observed is not tapped
        inner = mechanism.function
        limit = limit if mechanism.timeout is None else min(limit, 1 + 20 * mechanism.timeout)
    begin_stage("noise tap")
    verdict = tap(inner, pair, report.claim, seed=sampling.seed, seconds=limit)
    fresh = None
    if report.status is not Status.REFUTED:
        fresh = confirm(
            verdict,
            mechanism,
            pair,
            report.claim,
            seed=(sampling.seed + 1) % 2**128,  # the releases of the audit are those of its own seed
            error_probability=sampling.error_probability,
            samples=min(CONFIRMING, sampling.samples),
        )
    return report.with_evidence(TapEvidence(verdict, fresh))


def with_observed(mechanism: StructuredMechanism | AnyMechanism, text: str) -> observed:
    """The mechanism with more of each call observed, as ``text`` says.

    Raises:
        InvalidValue: a text that cannot be read, or a mechanism that is not called once a trial.
    """
    words = parse_observed(text)
    if isinstance(mechanism, StructuredMechanism) or not callable(mechanism):
        remedy = "drop --observe: it is for functions that are called once for each release"
        raise InvalidValue("observe", text, f"left out for {mechanism_name(mechanism)}", remedy)
    return observed(mechanism, **words)


def yes_or_no(text: str) -> bool:
    """Whether the noise tap is asked for."""
    if text not in ("yes", "no", "true", "false", "True", "False"):
        raise InvalidValue("tap", text, "yes or no", "write no to leave the recorded and replayed noise out")
    return text in ("yes", "true", "True")


def numbers_of(text: str | None) -> NumbersUnderClaim:
    """What the claim is about, of its name."""
    known = [numbers.value for numbers in NumbersUnderClaim]
    if text is not None and text not in known:
        remedy = f"{nearest(text, known)}real rounds every output before it is looked at, double searches the low bits"
        raise InvalidValue("numbers", text, f"one of {', '.join(known)}", remedy)
    return NumbersUnderClaim.RELEASED if text is None else NumbersUnderClaim(text)


def _release_size(mechanism: StructuredMechanism | AnyMechanism, pair: AnyPair | None, seed: int) -> int:
    """How many numbers a release holds."""
    if isinstance(mechanism, StatisticMechanism):
        return mechanism.noise.size
    if isinstance(mechanism, StructuredMechanism):
        pair = pair or worst_case(mechanism).pair
    assert pair is not None  # see _check_black_box
    return Sampler.prepare(mechanism, pair.dataset, where="the dataset", seed=seed).size


def _found_in_words(found: FoundPair) -> dict[str, str]:
    """What a search found, for the parameters of a report."""
    said = {"neighbours searched": found.describe(), "the neighbours": found.words}
    if found.looked_at:
        said["what is tested"] = f"{found.looked_at}; a claim about an outcome is one about all that is made of it"
    if found.part:
        said["what tells them apart"] = found.part
    if found.change:
        said["what to change"] = f"{found.change} (for this pair at least)"
    if not found.promising:
        said["the neighbours"] += " (nothing that the claim does not allow was seen on any pair)"
    return said


def _whole_error(error: float, *, tapped: bool) -> str:
    whole = f"{rounded_text(error)} for the whole command"
    if not tapped:
        return f"{whole}: the search is on releases of its own, and one pair is tested"
    return (
        f"{whole}: one half for the test of the one pair that the search left, one for fresh releases of what the "
        f"noise tap finds on it; the search is on releases of its own. A function without noise is refuted by repeated "
        f"runs, with error {rounded_text(NO_NOISE_ERROR)}"
    )


def _check_combination(request: Request) -> None:
    """Refuse what would be ignored."""
    if request.data is None:
        _leave_out(request, "without --data", "record", "user", "search_time")
    elif names_foreign_code(request.mechanism):
        _leave_out(request, "for a function, of whose table the neighbours are searched", "record")
    else:
        _leave_out(request, "for a mechanism of known structure", "user", "search_time", "schema")
    if request.data is not None:
        _leave_out(request, "with --data", "neighbours")
    if request.search is not None:
        _leave_out(request, "with --search", "neighbours", "data")
    if request.exact_only:
        tests = ("neighbours", "samples", "error_probability", "seed", "score", "test_delta", "numbers", "search")
        _leave_out(request, "with --no-test", *tests, "observe", "tap")


def _leave_out(request: Request, why: str, *names: str) -> None:
    for name in names:
        value = getattr(request, name)
        if value is not None:
            remedy = f"drop {option_of(Request, name)}, or change the other option"
            raise InvalidValue(name, value, f"left out {why}", remedy)


def _check_black_box(request: Request) -> None:
    examples = {
        "neighbours": "a .npz file with the arrays dataset and neighbour; or --data with a table, in which they are "
        "searched (extremes, gaps, rare categories), or --search binary:20, in made-up records, with "
        "--adjacency; or --schema, for every pair",
        "claim": '"mu=1"',
    }
    missing = [
        name
        for name in examples
        if getattr(request, name) is None and (name == "claim" or (request.search is None and request.data is None))
    ]
    if missing:
        requirement = f"given for {request.mechanism}, of which only the releases are seen"
        remedy = "add " + listed([f"{option_of(Request, name)}, for example {examples[name]}" for name in missing])
        raise InvalidValue(listed(missing), None, requirement, remedy)


def _with_seed(request: Request, seed: int) -> str | None:
    return request.command if request.exact_only else with_seed(request.command, request.seed, seed)


def report_witness(report: Report, request: Request) -> dict[str, Any] | None:
    """The document of a refutation by a command; None if the report refutes nothing.

    A test of the releases comes first, then a leak through low bits, then an exact refutation.

    Args:
        report: what the audit found.
        request: what was asked for.
    """
    if "what is tested" in report.parameters:
        return None  # replay would run the function, and not what was made of its outcomes
    traced = report.find(TracedEvidence)
    if traced is not None:
        return traced_witness(traced.verdict, report, request)
    test, leak, verdict = report.test, report.leak, report.verdict
    pair: tuple[NDArray[np.generic] | None, NDArray[np.generic] | None] = (None, None)
    evidence: Mapping[str, Any]
    if test is not None and test.witness is not None:
        found: Any = test.to_dict()["witness"]
        kind, evidence = "payoff" if test.witness.row.event is None else "event", found["row"]
        evidence = {**evidence, "epsilon": test.witness.row.epsilon, "inequality": found["inequality"]}
        pair = test.witness.dataset, test.witness.neighbour
    elif leak is not None and leak.refuted:
        kind, evidence = "low bits", leak.describe()
        pair = leak.datasets or pair
    elif verdict is not None and verdict.witness is not None:
        kind, evidence = "exact", witness_fields(verdict.witness)
        pair = verdict.witness.pair.dataset, verdict.witness.pair.neighbour
    else:
        return None
    filled = request.neighbours is not None or request.data is not None or request.search is not None
    options = dict(request.options)
    if request.search is not None or (request.data is not None and names_foreign_code(request.mechanism)):
        options.pop("adjacency", None)  # it is that of the search, and the datasets show it
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "created": time_stamp(report.created),
        "claim": report.claim.describe(),
        "relation": report.parameters.get("neighbouring relation", ""),
        "mechanism": {
            "name": request.mechanism,
            "options": options,
            "options_from_data": filled,
            "source_sha256": source_hash(request.mechanism),
            **({} if request.observe is None else {"observe": request.observe}),
        },
        "datasets": {name: dataset_fields(data) for name, data in zip(("dataset", "neighbour"), pair, strict=True)},
        "mode": "float64, bit for bit" if kind == "low bits" else "" if test is None else test.mode,
        "grid": 0.0 if test is None or test.grid is None or kind == "low bits" else test.grid,
        "kind": kind,
        "evidence": dict(evidence),
        "score": test.witness.score if test is not None and test.witness is not None else None,
        "score_function": request.score,
        **_numbers(test, kind, evidence),
        "versions": dict(report.versions),
        "command": report.command,
    }
    document = strict_json(document)  # type: ignore[assignment]  # a mapping stays one
    return {**document, "sha256": checksum(document)}


def _numbers(test: DistinguishingTest | None, kind: str, evidence: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {} if test is None else test.to_dict()
    statistical = kind != "exact"
    source: Mapping[str, Any] = evidence if kind == "low bits" else found
    names = ("mu_lower", "epsilon_lower", "delta")
    return {
        "level": source.get("error_probability") if statistical else None,
        "bounds": {name: source.get(name) for name in names} if statistical else None,
        "p_value": source.get("p_value") if statistical else None,
        "samples": source.get("samples") if statistical else None,
        "seed": source.get("seed") if statistical else None,
        "ledger": found.get("ledger"),
    }
