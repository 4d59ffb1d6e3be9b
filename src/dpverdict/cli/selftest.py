"""``dpverdict selftest``: does this installation find what it must find, and find nothing where nothing is?

Seconds, no files, no network. Each check has two sides: something true that must be accepted, and something false that
must not. It is no substitute for the test suite: it shows that the parts are installed and work together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, final

from dpverdict.cli.session import Ended, ends, printing

ERROR_PROBABILITY: Final = 1e-9
SAMPLES: Final = 5_000
SEED: Final = 20250131


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """One check.

    Attributes:
        name: what is checked, in a few words.
        run: gives the sentence to print; raises `AssertionError`, or anything else, if the check fails.
    """

    name: str
    run: Callable[[], str]


def checks() -> tuple[SelfCheck, ...]:
    """Every check, in the order of the layers."""
    return (
        SelfCheck(name="ball arithmetic", run=_balls),
        SelfCheck(name="exact audit", run=_exact),
        SelfCheck(name="distinguishing test", run=_statistical),
        SelfCheck(name="composition", run=_composition),
        SelfCheck(name="reports", run=_reports),
        SelfCheck(name="theorems", run=_theorems),
    )


def self_checks() -> Iterator[tuple[SelfCheck, bool, str]]:
    """Run the checks one by one: the check, whether it passed, and what it found."""
    for check in checks():
        try:
            yield check, True, check.run()
        except Exception as error:  # whatever is wrong with an installation must be reported, not raised
            yield check, False, " ".join(f"{type(error).__name__}: {error}".split())


@ends
def selftest() -> Ended:
    """Check in seconds that this installation finds what it must find, and nothing where nothing is.

    Exit codes: 0 every check passed, 1 one did not.
    """
    from rich.console import Console
    from rich.text import Text

    console, failed = Console(highlight=False), 0
    with printing():
        for check, passed, found in self_checks():
            failed += not passed
            mark = Text("ok    ", style="green") if passed else Text("FAILED", style="bold red")
            console.print(Text.assemble(mark, f" {check.name}: {found}"))
    return Ended(code=1 if failed else 0)


def _must(condition: bool, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)


def _balls() -> str:
    import mpmath

    from dpverdict.audit.losses.closed_form import GaussianLoss

    with mpmath.workdps(40):
        upper, lower = mpmath.ncdf(mpmath.mpf(-1) / 2), mpmath.ncdf(mpmath.mpf(-3) / 2)
        truth = upper - mpmath.e * lower  # delta(1) of mu = 1: Phi(-1/2) - e Phi(-3/2)
        found = GaussianLoss(1).certified_delta(1)
        _must(found.lower <= truth <= found.upper, "the enclosure of delta(1) does not contain it")
        wrong = upper - lower  # without the factor e
        _must(not found.lower <= wrong <= found.upper, "an enclosure contains a wrong value")
    return f"delta(1) of mu = 1 is in [{found.lower!r}, {found.upper!r}], as another library finds to 40 digits"


def _exact() -> str:
    from dpverdict.audit.exact.decide import certify
    from dpverdict.audit.exact.verdict import Status
    from dpverdict.mechanisms.broken import by_name
    from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

    _must(certify(CorrelatedGaussian(dim=5, mu=1)).status is Status.CERTIFIED, "a right mechanism is not certified")
    _must(certify(by_name("M2").make(5, 1)).status is Status.REFUTED, "a wrong mechanism is not refuted")
    return "a right mechanism is certified, a wrong one refuted"


def _statistical() -> str:
    from dpverdict.audit.distinguishing.fixed_size import distinguish
    from dpverdict.audit.exact.worst_case import worst_case
    from dpverdict.mechanisms.broken import by_name
    from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

    outcomes = []
    for mechanism in (CorrelatedGaussian(dim=3, mu=1), by_name("M17").make(3, 1)):
        test = distinguish(
            mechanism,
            worst_case(mechanism).pair,
            mechanism.claim,
            error_probability=ERROR_PROBABILITY,
            samples=SAMPLES,
            seed=SEED,
        )
        outcomes.append(test.refuted)
    _must(outcomes == [False, True], f"refuted: {outcomes}, must be [False, True]")
    return (
        f"{SAMPLES} releases refute a wrong mechanism and not a right one, at error probability {ERROR_PROBABILITY:g}"
    )


def _composition() -> str:
    from dpverdict.audit.losses.closed_form import GaussianLoss
    from dpverdict.audit.losses.composition import compose

    composed, closed = compose(*[GaussianLoss("0.5")] * 4).certified_delta(1), GaussianLoss(1).certified_delta(1)
    _must(composed.lower <= closed.upper and closed.lower <= composed.upper, "4 times mu = 1/2 is not mu = 1")
    other = GaussianLoss("1.001").certified_delta(1)
    _must(other.lower > composed.upper, "mu = 1.001 is not told from mu = 1")
    return "four releases at mu = 1/2 are one at mu = 1, and not one at mu = 1.001"


def _reports() -> str:
    from dpverdict.audit.reports.html import render_html
    from dpverdict.audit.reports.to_json import read_schema, render_json
    from dpverdict.audit.runs.audits import audit_mechanism
    from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

    report = audit_mechanism(CorrelatedGaussian(dim=2, mu=1), sampling=None, command="<script>")
    page = render_html(report)
    _must("CERTIFIED" in page and "CERTIFIED" in render_json(report), "a report does not say its verdict")
    _must("<script>" not in page, "a text of the user's became markup")
    _must("properties" in read_schema(), "the schema of the report is missing")
    return "page, JSON and schema are complete"


def _theorems() -> str:
    from dpverdict.proofs.checks.outcome import Standing
    from dpverdict.proofs.checks.registry import matching

    (theorem,) = matching("lebeda2024", "lem3.1")
    (misprint,) = matching("lebeda2024", "poster.line1")
    outcome = theorem.verify()
    _must(not outcome.defects, "a planted fault is not refuted")
    _must(outcome.standing is Standing.HOLDS, "Lemma 3.1 of Lebeda (2024) does not hold")
    _must(misprint.verify().standing is Standing.FAILS_AS_PRINTED, "a misprint of the poster is not found")
    return "a lemma holds, its planted faults do not, and a misprint is found"
