"""What is installed here, and whether it works: ``dpverdict list``, ``doctor`` and ``selftest``.

The doctor looks, and changes nothing: versions against the bounds that this package declares, optional libraries with
what they are for, and what the system allows (a process of its own for code under audit, limits of memory, files).

The selftest takes seconds, no files, no network. Each check has two sides: something true that must be accepted,
and something false that must not. It is no substitute for the test suite: it shows that the parts work together.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final, final

import typer

from dpverdict.cli.session import CommandResult, exit_with, printing


@exit_with
def list_mechanisms(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Of a mechanism; broken for the known-wrong ones.")
    ] = None,
) -> CommandResult:
    """The mechanisms, one a line; or one of them with its options; or the known-wrong ones with their true privacy.

    For example: dpverdict list dp-sgd, or dpverdict list broken
    """
    from dpverdict.audit.reports.catalogue import print_catalogue, print_mechanism

    with printing():
        if name is None:
            print_catalogue()
        else:
            print_mechanism(name)
    return CommandResult(code=0)


# doctor --------------------------------------------------------------------------------------------------------------

OPTIONAL: Final = {
    "scikit-learn": "scores that see interactions: pip install scikit-learn",
    "pyarrow": "scores in .parquet files, and Arrow tables: pip install pyarrow",
    "distributed": "trials on a Dask cluster: pip install distributed",
    "opendp": "audits of OpenDP measurements: pip install opendp",
    "pandas": "audits of functions of data frames: pip install pandas",
    "hypothesis": "strategies for test suites: pip install hypothesis",
}
"""What is used where it is installed, with what it is for."""

_SECONDS: Final = 60.0
_MARKS: Final = {True: ("ok      ", "green"), False: ("MISSING ", "bold red"), None: ("optional", "yellow")}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationFinding:
    """What was looked at, whether it is as it should be (None: optional, and missing), and what was seen."""

    name: str
    good: bool | None
    seen: str


def findings() -> Iterator[InstallationFinding]:
    """Everything that is looked at, one after the other."""
    yield InstallationFinding(
        name="python", good=sys.version_info >= (3, 11), seen=f"{platform.python_version()}, 3.11 or newer"
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield InstallationFinding(
        name="machine", good=True, seen=f"{platform.system()} {platform.machine()}, {cores} cores"
    )
    yield from _check_libraries()
    for name, use in OPTIONAL.items():
        version = _version(name)
        yield InstallationFinding(
            name=name, good=None if version is None else True, seen=version or f"not here; for {use}"
        )
    yield _own_process()
    limited = sys.platform.startswith("linux")
    yield InstallationFinding(name="--memory", good=limited or None, seen="kept" if limited else "kept on Linux only")
    yield _files()


def _check_libraries() -> Iterator[InstallationFinding]:
    """The libraries that this package cannot do without, against their bounds."""
    import importlib.metadata

    try:
        lines = importlib.metadata.requires("dpverdict") or []
    except importlib.metadata.PackageNotFoundError:
        yield InstallationFinding(name="dpverdict", good=None, seen="runs from its sources: versions are not compared")
        return
    for line in lines:
        said = re.fullmatch(r"([\w.-]+)\s*>=\s*([\d.]+)", line.partition(";")[0].strip())
        if "extra ==" in line or said is None:
            continue
        version = _version(said[1])
        good = version is not None and _numbers(version) >= _numbers(said[2])
        seen = f"{version or 'missing'}, {said[2]} or newer" + ("" if good else f": pip install -U {said[1]}")
        yield InstallationFinding(name=said[1], good=good, seen=seen)


def _own_process() -> InstallationFinding:
    """Whether code under audit gets a process of its own, and answers from it."""
    from dpverdict.audit.isolation.process import Limits, run_isolated
    from dpverdict.errors import DpverdictError

    name = "own process"
    try:
        found = run_isolated(f"{__name__}:answer", {}, what="doctor", limits=Limits(seconds=_SECONDS))
    except (DpverdictError, OSError) as error:
        return InstallationFinding(name=name, good=False, seen=f"code under audit cannot be run: {error}")
    seen = "code under audit runs in one" if found else "answered wrongly"
    return InstallationFinding(name=name, good=found is True, seen=seen)


def answer(request: object, tell: object) -> bool:
    """What the process that `doctor` starts says."""
    return True


def _files() -> InstallationFinding:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"0")
    except OSError as error:
        return InstallationFinding(name="temporary files", good=False, seen=f"{error}: set TMPDIR")
    return InstallationFinding(name="temporary files", good=True, seen=tempfile.gettempdir())


def _version(name: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version.

    >>> _numbers("1.26.4") < _numbers("2.0"), _numbers("3.8.4rc1")
    (True, (3, 8, 4))
    """
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()


@exit_with
def doctor() -> CommandResult:
    """What this environment has of what an audit may need, and what to do where something is missing.

    Exit codes: 0 nothing that is needed is missing, 1 something is.
    """
    from rich.console import Console
    from rich.text import Text

    console, failed = Console(highlight=False), False
    for found in findings():
        failed |= found.good is False
        with printing():
            console.print(Text.assemble(_MARKS[found.good], f" {found.name}: {found.seen}"))
    return CommandResult(code=int(failed))


# selftest ------------------------------------------------------------------------------------------------------------

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
        SelfCheck(name="exact audit", run=_check_exact),
        SelfCheck(name="distinguishing test", run=_check_statistical),
        SelfCheck(name="composition", run=_check_composition),
        SelfCheck(name="reports", run=_check_reports),
        SelfCheck(name="theorems", run=_check_theorems),
    )


def self_checks() -> Iterator[tuple[SelfCheck, bool, str]]:
    """Run the checks one by one: the check, whether it passed, and what it found."""
    for check in checks():
        try:
            yield check, True, check.run()
        except Exception as error:  # whatever is wrong with an installation must be reported, not raised
            yield check, False, " ".join(f"{type(error).__name__}: {error}".split())


@exit_with
def selftest() -> CommandResult:
    """Check in seconds that this installation finds what it must find, and nothing where nothing is.

    Exit codes: 0 every check passed, 1 one did not.
    """
    from rich.console import Console
    from rich.text import Text

    console, failed = Console(highlight=False), 0
    for check, passed, found in self_checks():
        failed += not passed
        mark = Text("ok    ", style="green") if passed else Text("FAILED", style="bold red")
        with printing():
            console.print(Text.assemble(mark, f" {check.name}: {found}"))
    return CommandResult(code=1 if failed else 0)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)


def _balls() -> str:
    import mpmath

    from dpverdict.audit.losses.closed_form import GaussianLoss

    with mpmath.workdps(40):
        upper, lower = mpmath.ncdf(mpmath.mpf(-1) / 2), mpmath.ncdf(mpmath.mpf(-3) / 2)
        truth = upper - mpmath.e * lower  # delta(1) of mu = 1: Phi(-1/2) - e Phi(-3/2)
        found = GaussianLoss(1).certified_delta(1)
        _require(found.lower <= truth <= found.upper, "the enclosure of delta(1) does not contain it")
        wrong = upper - lower  # without the factor e
        _require(not found.lower <= wrong <= found.upper, "an enclosure contains a wrong value")
    return f"delta(1) of mu = 1 is in [{found.lower!r}, {found.upper!r}], as another library finds to 40 digits"


def _check_exact() -> str:
    from dpverdict.audit.exact.decide import certify
    from dpverdict.audit.exact.verdict import Status
    from dpverdict.mechanisms.broken import by_name
    from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

    _require(certify(CorrelatedGaussian(dim=5, mu=1)).status is Status.CERTIFIED, "a right mechanism is not certified")
    _require(certify(by_name("M2").make(5, 1)).status is Status.REFUTED, "a wrong mechanism is not refuted")
    return "a right mechanism is certified, a wrong one refuted"


def _check_statistical() -> str:
    from dpverdict.audit.distinguishing.fixed_size import distinguish
    from dpverdict.audit.exact.worst_case import worst_case
    from dpverdict.mechanisms.broken import by_name
    from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
    from dpverdict.numerics.text import rounded_text

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
    _require(outcomes == [False, True], f"refuted: {outcomes}, must be [False, True]")
    error = rounded_text(ERROR_PROBABILITY)
    return f"{SAMPLES} releases refute a wrong mechanism and not a right one, at error probability {error}"


def _check_composition() -> str:
    from dpverdict.audit.losses.closed_form import GaussianLoss
    from dpverdict.audit.losses.composition import compose

    composed, closed = compose(*[GaussianLoss("0.5")] * 4).certified_delta(1), GaussianLoss(1).certified_delta(1)
    _require(composed.lower <= closed.upper and closed.lower <= composed.upper, "4 times mu = 1/2 is not mu = 1")
    other = GaussianLoss("1.001").certified_delta(1)
    _require(other.lower > composed.upper, "mu = 1.001 is not told from mu = 1")
    return "four releases at mu = 1/2 are one at mu = 1, and not one at mu = 1.001"


def _check_reports() -> str:
    from dpverdict.audit.reports.html import render_html
    from dpverdict.audit.reports.to_json import read_schema, render_json
    from dpverdict.audit.runs.audits import audit_mechanism
    from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

    report = audit_mechanism(CorrelatedGaussian(dim=2, mu=1), sampling=None, command="<script>")
    page = render_html(report)
    _require("CERTIFIED" in page and "CERTIFIED" in render_json(report), "a report does not say its verdict")
    _require("<script>" not in page, "the user's text became markup")
    _require("properties" in read_schema(), "the schema of the report is missing")
    return "page, JSON and schema are complete"


def _check_theorems() -> str:
    from dpverdict.proofs.checks.outcome import Standing
    from dpverdict.proofs.checks.registry import matching

    (theorem,) = matching("lebeda2024", "lem3.1")
    (misprint,) = matching("lebeda2024", "poster.line1")
    outcome = theorem.verify()
    _require(not outcome.defects, "a planted fault is not refuted")
    _require(outcome.standing is Standing.HOLDS, "Lemma 3.1 of Lebeda (2024) does not hold")
    _require(misprint.verify().standing is Standing.FAILS_AS_PRINTED, "a misprint of the poster is not found")
    return "a lemma holds, its planted faults do not, and a misprint is found"
