"""Assertions for test suites: does this mechanism keep this claim?

    from dpverdict.testing import assert_private

    def test_counts_are_private():
        assert_private(noisy_counts, "eps=1", neighbours=(with_her, without_her), error_probability=1e-6, seed=1)

A mechanism whose noise law is known (one of `dpverdict.mechanisms`, or another `StructuredMechanism`) has to be
certified, and its releases must not contradict the certificate. Of a callable only the releases are seen: it must not
be refuted. With the schema of its table a plain function can be certified as well: `assert_certified`. Under pytest the
fixture ``privacy_audit`` gives the seed and the error probability.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from dpverdict.errors import InvalidValue, NotCertified

if TYPE_CHECKING:
    import numpy as np
    from dp_accounting.privacy_accountant import NeighboringRelation
    from numpy.typing import NDArray

    from dpverdict.audit.reports.report import Report
    from dpverdict.audit.tables.schema import TableSchema
    from dpverdict.audit.tracing.verdict import TracedVerdict
    from dpverdict.audit.trials.run import AnyMechanism
    from dpverdict.balls import Exact
    from dpverdict.mechanisms.core.guarantees import Guarantee
    from dpverdict.mechanisms.core.mechanism import StructuredMechanism
    from dpverdict.mechanisms.core.neighbours import Neighbours

Setting = TypeVar("Setting")

DEFAULT_SAMPLES: Final = 20_000
"""Releases per dataset of a callable, at most: enough for a gross error, seconds for most mechanisms."""

SHOWN: Final = ("subject", "worst", "witness", "reason", "statistics", "sequential", "tap", "tap_confirmation")
"""The sections of a report that a failure shows."""


@final
class PrivacyViolation(AssertionError):
    """A claim that was not kept, or for a mechanism of known structure could not be shown.

    Attributes:
        report: everything that was found.
        source: the file of the function, and the line where it begins; None of a mechanism that is no function.
    """

    def __init__(self, report: Report, source: tuple[str, int] | None = None) -> None:
        self.report = report
        self.source = source
        super().__init__(failure_text(report))


@final
class FunctionNotCertified(NotCertified):
    """A function that was followed, and is not certified for every table of its schema.

    Attributes:
        verdict: what was found.
        source: the file of the function, and the line where it begins; None if it has none.
    """

    def __init__(self, verdict: TracedVerdict, source: tuple[str, int] | None) -> None:
        self.verdict = verdict
        self.source = source
        super().__init__(verdict.text())


def assert_private(
    mechanism: StructuredMechanism | AnyMechanism,
    claim: Guarantee | str | None = None,
    *,
    error_probability: float,
    seed: int,
    neighbours: Neighbours | None = None,
    data: object | None = None,
    adjacency: NeighboringRelation | None = None,
    schema: TableSchema | str | None = None,
    user: str | None = None,
    search_seconds: float = 20.0,
    samples: int | None = None,
    score: Callable[[NDArray[np.float64]], object] | None = None,
    delta: Exact | None = None,
    sequential: bool = True,
    tap: bool = False,
) -> Report:
    """Audit a mechanism, and raise unless it keeps its claim.

    Args:
        mechanism: one of known structure, a callable as `dpverdict.audit.distinguish` takes it, an OpenDP measurement
            or a mechanism of diffprivlib, which state their claim and their neighbours themselves, or a model of
            diffprivlib, which states its claim.
        claim: what it promises, also as text ("eps=1, delta=1e-6"); may be left out for a mechanism that has one.
        error_probability: that a test refutes a true claim; 0 is not possible, 1e-6 is a good choice.
        seed: of every random number.
        neighbours: the datasets it is run on, the larger first; needed for a callable, or ``data`` in their place.
        data: a frame, an array or the path of a table, whose neighbours are searched, see
            `dpverdict.audit.find_neighbours`. Their difference is a note of the violation.
        adjacency, schema, user: of the table; see there. One of the first two is needed.
        search_seconds: of that search.
        samples: releases per dataset, at most; `DEFAULT_SAMPLES` if left out.
        score: scores releases, see `distinguish`.
        delta: at which epsilon is bounded from below.
        sequential: whether a callable is run pair by pair at first, and no further once its claim falls; otherwise it
            is run ``samples`` times in any case, with sharper bounds. See `dpverdict.audit.runs.audits`.
        tap: whether its noise is recorded on the one dataset and replayed on the other, too, see ``dpverdict tap``.
            What the tap finds fails the assertion as well, and is tested on fresh releases; where it cannot follow the
            function, it says nothing.

    Returns:
        The report, if the claim is certified, or, for a callable, not refuted.

    Raises:
        PrivacyViolation: otherwise, or with ``tap`` for what it finds; it is a refutation only if the report says so.
        DpverdictError: an argument that cannot be used, or a mechanism that fails.
    """
    __tracebackhide__ = True  # pytest shows the line of the caller, and the report

    from dpverdict.audit.exact.verdict import Status
    from dpverdict.audit.exact.worst_case import worst_case
    from dpverdict.audit.implementation.tap.confirmation import CONFIRMING, tap_and_confirm
    from dpverdict.audit.implementation.tap.tap_verdict import TapStatus
    from dpverdict.audit.runs.audits import Sampling, audit_callable, audit_mechanism, audit_sequentially
    from dpverdict.audit.trials.libraries.registry import adapter_for
    from dpverdict.audit.trials.run import mechanism_name
    from dpverdict.mechanisms.core.guarantees import as_guarantee
    from dpverdict.mechanisms.core.mechanism import StructuredMechanism
    from dpverdict.mechanisms.core.neighbours import NeighbourPair, array_pair, as_pair

    guarantee = as_guarantee(claim)
    searched = ""
    if data is not None:
        from dpverdict.audit.implementation.search.given_table import find_neighbours

        if neighbours is not None or guarantee is None or isinstance(mechanism, StructuredMechanism):
            remedy = "give data and a claim for a callable alone, without neighbours"
            raise InvalidValue("data", type(data).__name__, "the table of a callable", remedy)
        found_pair = find_neighbours(
            mechanism, guarantee, data=data, adjacency=adjacency, schema=schema, user=user, seed=seed,
            seconds=search_seconds,
        )  # fmt: skip
        neighbours, mechanism = found_pair.pair, found_pair.function
        searched = f"the neighbours: {found_pair.words}"
        searched += f"; what tells them apart: {found_pair.part}" if found_pair.part else ""
        searched += f"; what to change, for this pair at least: {found_pair.change}" if found_pair.change else ""
    make = adapter_for(mechanism)
    if make is not None:
        mechanism = measured = make()
        guarantee = guarantee or measured.read_claim(None if neighbours is None else "neighbours")
        neighbours = measured.pair if neighbours is None else neighbours
    sampling = Sampling(
        samples=DEFAULT_SAMPLES if samples is None else samples,
        error_probability=error_probability,
        seed=seed,
        score=score,
        delta=delta,
    )
    if isinstance(mechanism, StructuredMechanism):
        arrays = neighbours if neighbours is None or isinstance(neighbours, NeighbourPair) else array_pair(neighbours)
        report = audit_mechanism(mechanism, guarantee, sampling=sampling, neighbours=arrays)
        neighbours = arrays or (worst_case(mechanism).pair if tap else None)
        kept = report.status is Status.CERTIFIED
    else:
        if guarantee is None:
            raise InvalidValue("claim", None, "given for a callable", 'say what it promises, such as "eps=1"')
        if neighbours is None:
            remedy = "give two datasets, the larger first"
            raise InvalidValue("neighbours", None, "given for a callable", remedy)
        name = mechanism_name(mechanism)
        audit = audit_sequentially if sequential else audit_callable
        report = audit(mechanism, guarantee, neighbours=as_pair(neighbours), sampling=sampling, name=name)
        kept = report.status is not Status.REFUTED
    if tap:
        from dpverdict.audit.reports.evidence.tap import TapEvidence

        assert neighbours is not None  # given, or the worst pair
        found, fresh = tap_and_confirm(
            mechanism,
            neighbours,
            report.claim,
            seed=seed,
            error_probability=error_probability,
            samples=min(CONFIRMING, sampling.samples),
        )
        report = report.with_evidence(TapEvidence(found, fresh))
        kept = kept and found.status not in (TapStatus.REFUTED, TapStatus.FINDING)
    if not kept:
        violation = PrivacyViolation(report, source_of(mechanism))
        if searched:
            violation.add_note(searched)
        raise violation
    return report


def assert_certified(
    function: Callable[..., Any],
    claim: Guarantee | str,
    *,
    schema: TableSchema | str | os.PathLike[str],
) -> TracedVerdict:
    """Raise unless a plain function of NumPy or pandas is certified to keep a claim, for every table of a schema.

    The function is followed operation by operation, see `dpverdict.audit.certify`; nothing is sampled, so there is no
    error probability and no seed.

    Args:
        function: called with a table and a generator of NumPy, or with a table alone.
        claim: what it promises, also as text ("eps=1").
        schema: of the table: a `TableSchema`, or the path of its file.

    Returns:
        The verdict, with the table of what is released and the certificate.

    Raises:
        FunctionNotCertified: otherwise, which is a `NotCertified`; the message has the table, and the line that is not
            covered or the pair that breaks it.
        DpverdictError: an argument that cannot be used.
    """
    __tracebackhide__ = True

    from dpverdict.audit.exact.verdict import Status
    from dpverdict.audit.tracing.certify import certify_function

    verdict = certify_function(function, claim, schema=schema)
    if verdict.status is not Status.CERTIFIED:
        raise FunctionNotCertified(verdict, source_of(function))
    return verdict


def assert_private_at(
    settings: Sequence[Setting],
    make: Callable[[Setting], tuple[StructuredMechanism | AnyMechanism, Guarantee | str]],
    *,
    error_probability: float,
    seed: int,
    **options: Any,
) -> list[Report]:
    """Audit a mechanism at several settings of its parameters, and raise at the first that breaks its claim.

    Some mistakes are right at one setting: noise of scale epsilon in place of 1/epsilon keeps epsilon = 1.

    Args:
        settings: at least two, no two of them equal; each may be anything.
        make: a setting to the mechanism and what it promises there.
        error_probability: of the audits together; they share it equally.
        seed: of every random number.
        options: those of `assert_private`.

    Returns:
        The reports, in the order of the settings.

    Raises:
        InvalidValue: fewer than two different settings.
        PrivacyViolation: as `assert_private` does, with a note that names the setting.
    """
    __tracebackhide__ = True

    from dpverdict.audit.statistics.error_budget import divide_error

    if len(settings) < 2 or any(one == other for i, one in enumerate(settings) for other in settings[:i]):
        remedy = "add one where the noise has another scale"
        raise InvalidValue("settings", list(settings), "at least two, all different", remedy)
    shares = divide_error(error_probability, {str(i): 1.0 for i in range(len(settings))})
    reports: list[Report] = []
    for setting, share in zip(settings, shares.values(), strict=True):
        mechanism, claim = make(setting)
        try:
            reports.append(assert_private(mechanism, claim, error_probability=share, seed=seed, **options))
        except PrivacyViolation as violation:
            violation.add_note(f"at the setting {setting!r}")
            raise
    return reports


def source_of(mechanism: object) -> tuple[str, int] | None:
    """The file of a function, and the line where it begins; None of a mechanism that is no function."""
    from dpverdict.audit.trials.run import unmarked

    inner = unmarked(mechanism)
    while isinstance(inner, functools.partial):
        inner = inner.func
    code = getattr(inspect.unwrap(inner) if callable(inner) else inner, "__code__", None)
    return None if code is None else (str(code.co_filename), int(code.co_firstlineno))


def failure_text(report: Report) -> str:
    """What a failing test shows: the answer, the pair, the witness, and what it takes to see it again."""
    from dpverdict.audit.reports.terminal import report_text

    text = report_text(report, anchors=SHOWN, width=100)
    again = "" if report.seed is None else f"\nTo see it again: seed={report.seed}"
    return f"\n{text.rstrip()}{again}"
