"""The pytest plugin: the fixture ``privacy_audit``, one error budget for the whole run, the seed in the header.

    def test_counts_are_private(privacy_audit):
        privacy_audit(noisy_counts, "eps=1", neighbours=(with_her, without_her))

Every audit of a run draws on one error probability: that of refuting a mechanism that keeps its claim, anywhere in the
run. The tests that use the fixture share it equally, and the j-th audit of a test gets 1/(j (j + 1)) of the share of
its test, so that the sum never exceeds the budget, however many audits a test makes.

``--dpverdict-sarif FILE`` writes each claim that a test found not to be kept, at the line of the user's code, for code
scanning. JUnit XML is pytest's own ``--junitxml``.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import pytest

if TYPE_CHECKING:
    from dpverdict.audit.reports.report import Report
    from dpverdict.audit.tracing.verdict import TracedVerdict

DEFAULT_ERROR_PROBABILITY: Final = "1e-6"
FIXTURE: Final = "privacy_audit"
MARKER: Final = "slow_audit"

_NOTED: Final = "dpverdict_sarif"
"""The attribute of a test's report that holds what it found."""
_SEED: Final = pytest.StashKey[int]()
_TESTS: Final = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dpverdict", "privacy audits")
    group.addoption(
        "--dpverdict-seed", metavar="N", help="seed of every privacy audit; drawn fresh, and printed, if not given"
    )
    group.addoption(
        "--dpverdict-error-probability",
        metavar="P",
        help="that any privacy audit of the run refutes a mechanism that keeps its claim",
    )
    group.addoption(
        "--dpverdict-sarif", metavar="FILE", help="write the claims that are not kept, with their lines, as SARIF 2.1.0"
    )
    group.addoption("--slow-audits", action="store_true", help=f"run the tests marked {MARKER}, too")
    parser.addini("dpverdict_error_probability", "see --dpverdict-error-probability", default=DEFAULT_ERROR_PROBABILITY)
    parser.addini("dpverdict_seed", "see --dpverdict-seed", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}: a privacy audit with many trials; run it with --slow-audits")
    worker = getattr(config, "workerinput", None)  # a worker of pytest-xdist takes the seed of its controller
    if worker is not None and "dpverdict_seed" in worker:
        config.stash[_SEED] = int(worker["dpverdict_seed"])
    else:
        text = config.getoption("--dpverdict-seed") or config.getini("dpverdict_seed")
        config.stash[_SEED] = _whole_number(text) if text else secrets.randbits(63)
    _error_budget(config)
    file = config.getoption("--dpverdict-sarif")
    if file is not None and worker is None:  # the controller hears of the tests of its workers
        config.pluginmanager.register(_SarifFile(file), "dpverdict_sarif")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Called by pytest-xdist for each of its workers."""
    node.workerinput["dpverdict_seed"] = str(node.config.stash[_SEED])


def pytest_report_header(config: pytest.Config) -> str:
    seed, budget = config.stash[_SEED], _error_budget(config)
    return (
        f"dpverdict: error probability {_plain_number(budget)} for all privacy audits together, --dpverdict-seed={seed}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow-audits"):
        return
    skip = pytest.mark.skip(reason="a slow privacy audit: run it with --slow-audits")
    for item in items:
        if item.get_closest_marker(MARKER) is not None:
            item.add_marker(skip)


def pytest_collection_finish(session: pytest.Session) -> None:
    users = sum(FIXTURE in getattr(item, "fixturenames", ()) for item in session.items)
    session.config.stash[_TESTS] = max(1, users)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what a failed test found, on its report, which a worker of pytest-xdist sends to its controller."""
    report = yield
    if report.failed and call.excinfo is not None and item.config.getoption("--dpverdict-sarif") is not None:
        entry = _entry_of(call.excinfo.value, item)
        if entry is not None:
            setattr(report, _NOTED, entry)
    return report


@final
class _SarifFile:
    """Hears of each test, and writes the file at the end."""

    def __init__(self, file: str) -> None:
        self._file: Final = Path(file)
        self._entries: Final[list[dict[str, Any]]] = []
        if not self._file.absolute().parent.is_dir() or self._file.is_dir():
            raise pytest.UsageError(
                f"--dpverdict-sarif={file!r} must be a file in a folder that exists: make the folder"
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        entry = getattr(report, _NOTED, None)
        if entry is not None:
            self._entries.append(entry)

    def pytest_sessionfinish(self) -> None:
        from dpverdict.audit.runs.plans.sarif import sarif_log

        order = sorted(self._entries, key=str)  # workers end in any order
        self._file.write_text(sarif_log(order), encoding="utf-8")


def _entry_of(error: BaseException, item: pytest.Item) -> dict[str, Any] | None:
    """The result of SARIF for an exception of `dpverdict.testing`; None for any other."""
    from dpverdict.testing import FunctionNotCertified, PrivacyViolation

    if not isinstance(error, FunctionNotCertified | PrivacyViolation):
        return None
    from dpverdict.audit.reports.to_json import report_fields
    from dpverdict.audit.runs.plans.sarif import Finding, entry_of

    file, line, _ = item.location
    source = error.source or (str(item.config.rootpath / file), (line or 0) + 1)
    if isinstance(error, PrivacyViolation):
        report = error.report
        name, claim, status, answer = report.name, report.claim.describe(), report.status, report.answer
        fields: Any = report_fields(report)
    else:
        verdict = error.verdict
        name, claim, status, answer = verdict.name, verdict.claim, verdict.status, verdict.reason
        fields = {"traced": verdict.to_dict()}
    found = Finding(name=name, claim=claim, status=status, answer=f"{answer} (test {item.nodeid})", fields=fields,
                    source=source)  # fmt: skip
    return entry_of(found)


@final
class PrivacyAudit:
    """Audits within one test; see `dpverdict.testing.assert_private` for what it takes and does.

    Attributes:
        share: the error probability of all its audits together.
        seed: from which the seeds of its audits are made.
        audits: how many it has made.
    """

    audits: int

    def __init__(self, share: float, seed: int) -> None:
        self.share: Final = share
        self.seed: Final = seed
        self.audits = 0

    def __call__(self, mechanism: Any, claim: Any = None, **options: Any) -> Report:
        """Audit ``mechanism``, and fail the test unless it keeps ``claim``.

        Args:
            mechanism: see `assert_private`.
            claim: see `assert_private`.
            options: those of `assert_private`, but for the error probability and the seed.
        """
        from dpverdict.testing import assert_private

        __tracebackhide__ = True
        part, seed = self._next()
        return assert_private(mechanism, claim, error_probability=part, seed=seed, **options)

    def at(self, settings: Any, make: Any, **options: Any) -> list[Report]:
        """Audit a mechanism at several settings of its parameters, and fail the test unless it keeps every claim.

        Args:
            settings: see `dpverdict.testing.assert_private_at`.
            make: see there.
            options: those of `assert_private`, but for the error probability and the seed.
        """
        from dpverdict.testing import assert_private_at

        __tracebackhide__ = True
        part, seed = self._next()
        return assert_private_at(settings, make, error_probability=part, seed=seed, **options)

    def certified(self, function: Any, claim: Any, *, schema: Any) -> TracedVerdict:
        """Follow a plain function, and fail the test unless it is certified for every table of a schema.

        Args:
            function: see `dpverdict.testing.assert_certified`.
            claim: see there.
            schema: see there.
        """
        from dpverdict.testing import assert_certified

        __tracebackhide__ = True
        return assert_certified(function, claim, schema=schema)

    def _next(self) -> tuple[float, int]:
        """The error probability and the seed of the next audit."""
        self.audits += 1
        part = self.share / (self.audits * (self.audits + 1)) / 2  # an audit has at most two tests
        return part, _derived_seed(self.seed, str(self.audits))


@pytest.fixture
def privacy_audit(request: pytest.FixtureRequest) -> PrivacyAudit:
    """Fails the test unless a mechanism keeps a claim: ``privacy_audit(mechanism, claim, neighbours=(x, y))``."""
    config = request.config
    share = _error_budget(config) / config.stash.get(_TESTS, 1)
    return PrivacyAudit(share, _derived_seed(config.stash[_SEED], request.node.nodeid))


def _plain_number(number: float) -> str:
    """As `numerics.text.rounded_text`, which would load the arithmetic into every session of the user."""
    return f"{number:g}".replace("e-0", "e-")


def _error_budget(config: pytest.Config) -> float:
    text = config.getoption("--dpverdict-error-probability") or config.getini("dpverdict_error_probability")
    try:
        budget = float(text)
    except ValueError:
        budget = 0.0
    if not 0 < budget < 1:
        raise pytest.UsageError(f"dpverdict_error_probability={text!r} must be strictly between 0 and 1: try 1e-6")
    return budget


def _whole_number(text: str) -> int:
    if not text.isdecimal():
        raise pytest.UsageError(f"dpverdict_seed={text!r} must be a whole number >= 0: copy it from a header")
    return int(text)


def _derived_seed(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}: {name}".encode()).digest()[:8], "big") >> 1
