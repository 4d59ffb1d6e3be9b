"""The pytest plugin: the fixture ``privacy_audit``, one error budget for the whole run, the seed in the header.

    def test_counts_are_private(privacy_audit):
        privacy_audit(noisy_counts, "eps=1", neighbours=(with_her, without_her))

Every audit of a run draws on one error probability: that of refuting a mechanism that keeps its claim, anywhere in the
run. The tests that use the fixture share it equally, and the j-th audit of a test gets 1/(j (j + 1)) of the share of
its test, so that the sum never exceeds the budget, however many audits a test makes.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any, Final, final

import pytest

if TYPE_CHECKING:
    from dpverdict.audit.reports.report import Report
    from dpverdict.audit.tracing.verdict import TracedVerdict

DEFAULT_ERROR_PROBABILITY: Final = "1e-6"
FIXTURE: Final = "privacy_audit"
MARKER: Final = "slow_audit"

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
