"""What every test shares: one seed, printed, and one set of Hypothesis settings."""

import hashlib
import importlib
import json
import os
import sys
import warnings
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

DEFAULT_SEED = 20250131
SEED = int(os.environ.get("DPVERDICT_SEED", DEFAULT_SEED))

# One thread of linear algebra a process: tests run on every core already, and threads that wait for each other there
# took eight times the processor time. Set before NumPy is loaded, and for every process that a test starts.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("DPVERDICT_JOURNAL_KEY", "of the tests" * 3)  # none of them makes a key for the user
os.environ.setdefault("DPVERDICT_CACHE", "off")  # nor reads or writes what is kept for the user

settings.register_profile("local", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


PARTS = 10
ROTATION = os.environ.get("DPVERDICT_ROTATION", "")
"""The commit whose part of the tests is run, by its hash; empty for all of them."""


def part(name: str) -> int:
    """The part that a test belongs to, by its name alone."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % PARTS


def turn(commit: str) -> int:
    """The part whose turn it is at a commit."""
    return int(commit, 16) % PARTS


def in_rotation(names: Sequence[str], commit: str) -> list[str]:
    """The tests of those names whose turn it is at a commit, in an order of its own, so that each is early at some."""
    chosen = [name for name in names if part(name) == turn(commit)]
    return sorted(chosen, key=lambda name: hashlib.sha256(f"{commit} {name}".encode()).digest())


def spread(total: int, kept: int) -> set[int]:
    """Which of so many cases stay in the default run: the first, the last, and what lies evenly between."""
    if kept >= total:
        return set(range(total))
    return {0} if kept == 1 else {round(place * (total - 1) / (kept - 1)) for place in range(kept)}


def mark_all_but_a_few(items: Sequence[pytest.Item]) -> None:
    """Of a function marked ``few(n)``, n cases stay in the default run; the others are slow, hence run in rotation."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") is not None and item.get_closest_marker("slow") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in cases.values():
        marker = group[0].get_closest_marker("few")
        assert marker is not None
        kept = spread(len(group), marker.args[0])
        for place, item in enumerate(group):
            if place not in kept:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    mark_all_but_a_few(items)
    yield  # the marks choose
    if ROTATION:
        by_name = {item.nodeid: item for item in items}
        chosen = in_rotation(list(by_name), ROTATION)
        config.hook.pytest_deselected(items=[by_name[name] for name in by_name.keys() - set(chosen)])
        items[:] = [by_name[name] for name in chosen]


def pytest_report_header() -> list[str]:
    lines = [f"dpverdict seed: {SEED} (to repeat this session: DPVERDICT_SEED={SEED} pytest)"]
    if ROTATION:
        lines.append(f"dpverdict rotation: part {turn(ROTATION)} of 0..{PARTS - 1} (DPVERDICT_ROTATION={ROTATION})")
    return lines


def processor_seconds() -> float:
    """Of this process and of those it has started and seen end."""
    return sum(os.times()[:4])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"processor time: {processor_seconds():.0f} s, that of the workers included")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Every core for the whole suite or a folder of it; one process for files that are named."""
    named = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    return 0 if named and not any(Path(name).is_dir() for name in named) else None


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of this session: give it to numpy.random.default_rng, or spawn from it."""
    return SEED


@pytest.fixture(autouse=True)
def code_of_this_test_alone() -> Generator[None]:
    """The folders of user's code that a test names are forgotten: each load reads every loaded module below them.

    The folder of this repository, once named, would make that every test file, two seconds each time.
    """
    from dpverdict.audit.isolation.imports import _BESIDE

    former = [*_BESIDE.folders]
    yield
    _BESIDE.folders[:] = former


RUN_ISOLATED = [
    f"dpverdict.{module}.run_isolated"
    for module in (
        *("audit.isolation.process", "audit.isolation.requests", "audit.runs.subprocesses.audit"),
        *("audit.runs.subprocesses.replay", "audit.runs.traced", "proofs.ledger.proof_process"),
        "proofs.ledger.certificate_files",
    )
]


LONGEST_COPY = 600
"""Seconds on the clock of what a copy does; a shorter limit is kept by a fresh interpreter."""


@pytest.fixture(scope="session")
def warmed_up() -> None:
    """What every audit imports and looks up first is there, so that no copy of this process does it again."""
    from dpverdict.audit.isolation.code_snapshot import CodeSnapshot
    from dpverdict.audit.isolation.provenance import distribution_of

    CodeSnapshot()
    distribution_of(pytest.__file__)
    for name in RUN_ISOLATED:  # a module that was first imported while it is replaced would keep what replaces it
        importlib.import_module(name.rpartition(".")[0])


def replace_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """See `warm_copies`."""
    from dpverdict.audit.isolation import provenance
    from dpverdict.audit.isolation.child import in_a_child
    from dpverdict.audit.isolation.process import Limits, run_isolated

    def copied(entry: str, request: Mapping[str, object], *, limits: Limits, **others: Any) -> object:
        if limits.memory is not None or (limits.seconds is not None and limits.seconds < LONGEST_COPY):
            return run_isolated(entry, request, limits=limits, **others)
        module, _, function = entry.partition(":")
        work = getattr(importlib.import_module(module), function)
        sent = json.loads(json.dumps(request))

        def worked() -> tuple[str]:
            warnings.simplefilter("ignore")  # code of the user's is not held to the warnings of this session
            fresh = [reader for reader in provenance.READERS if reader not in sys.modules]
            monkeypatch.setattr(provenance, "READERS", fresh)  # in the copy: what other tests loaded, this code did not
            return (json.dumps(work(sent, lambda _: None)),)

        return json.loads(in_a_child(worked, kind=tuple, seconds=LONGEST_COPY)[0])

    for name in RUN_ISOLATED:
        monkeypatch.setattr(name, copied)


@pytest.fixture
def warm_copies(monkeypatch: pytest.MonkeyPatch, warmed_up: None) -> None:
    """Code of the user's runs in copies of this process, where it would run in fresh interpreters without short limits.

    The start of an interpreter is most of the time of such an audit. What is asked and answered crosses as JSON, as it
    does otherwise. The fresh interpreter itself is tested in unit/audit/isolation, unit/audit/runs, in
    unit/cli/test_session and in integration/test_misbehaving_code.
    """
    replace_interpreters(monkeypatch)


@pytest.fixture(scope="module")
def warm_copies_of_module(warmed_up: None) -> Generator[None]:
    """`warm_copies` for what the tests of a module share."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        replace_interpreters(monkeypatch)
        yield
