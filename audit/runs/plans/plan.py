"""A plan: many audits written down in one TOML file, to be run together, stopped and continued.

    title = "Spring release"
    seed = 7
    error_probability = "1e-6"    # that any test of the plan refutes a true claim; they share it equally

    [[audit]]
    name = "counts"
    mechanism = "correlated-gaussian"
    dim = 100
    mu = 1

    [[audit]]
    name = "a release that must be caught"
    mechanism = "release.py:noisy_counts"
    neighbours = "pair.npz"
    claim = "eps=1, delta=1e-6"
    samples = 1e5
    expect = "refuted"
    timeout = 600                 # seconds; at the top of the plan it is for every audit
    memory = "2G"                 # of each process of the audit

    [[scores]]                    # recorded elsewhere; or scores and included, of one run
    name = "canaries"
    in = "in.npy"
    out = "out.npy"
    claim = "eps=1, delta=1e-5"

    [deployment]                  # for `--packet` alone: what no audit can find out, see `deployment`
    privacy_unit = "one person"

Numbers are read as exact decimals. A path is relative to the folder of the plan.

Every audit is run once, and kept when it is finished, so that a run that was stopped can be continued. The seed of a
plan without one, and the time of its first start, are kept too: a run that was killed and started again ends with the
result, to the byte, of one that was not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import secrets
import time
import tomllib
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final, final

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.grounds import file_hash, package_hash
from dpverdict.audit.isolation.process import NO_LIMITS, Limits, parse_limits
from dpverdict.audit.reports.report import EXIT_CODES
from dpverdict.audit.runs.apart import audit_as_asked
from dpverdict.audit.runs.audited import Wanted, audited_of, status_of_fields
from dpverdict.audit.runs.plans.deployment import Deployment, read_deployment
from dpverdict.audit.runs.request import DEFAULT_ERROR_PROBABILITY, Bar, Request
from dpverdict.audit.runs.scores import ScoresRequest
from dpverdict.audit.trials.catalogue import CALIBRATION, offered, option
from dpverdict.audit.trials.journal import Journal
from dpverdict.audit.trials.whole_files import hold, remove_left_over
from dpverdict.audit.trials.words import names_a_callable, nearest, probability
from dpverdict.balls import exactly
from dpverdict.checks import check_seed
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.numerics.files import open_at_once, read_limited
from dpverdict.numerics.text import whole_number

LARGEST_PLAN: Final = 2**24
"""Bytes of the file, at most."""

TESTS_PER_AUDIT: Final = 2
"""The check of the embedding and the distinguishing test: an audit has at most these."""

_LIMITS: Final = ("timeout", "memory")
_OF_THE_PLAN: Final = ("title", "seed", "error_probability", *_LIMITS, "audit", "scores", "deployment")
_PATHS: Final = ("data", "neighbours")
_FUNCTIONS: Final = ("mechanism", "score")
_OF_TESTS: Final = ("claim", "record", "samples", "test_delta", "numbers", "search", "observe", "tap")
_OF_A_REQUEST: Final = (*_OF_TESTS, *_PATHS, *_FUNCTIONS)
_OF_SCORES: Final = {"in": "scores_in", "out": "scores_out", "scores": "scores", "included": "included"}
_OF_THE_AUDIT: Final = ("name", "expect", "exact_only", *_LIMITS)
_SHARED: Final = ("seed", "error_probability")


@final
class Expected(Enum):
    """What must come out for an audit to count as good."""

    CERTIFIED = "certified"
    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"

    def met_by(self, status: Status) -> bool:
        """Whether ``status`` is what was expected."""
        if self is Expected.NOT_REFUTED:
            return status is not Status.REFUTED
        return status.name == self.name


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAudit:
    """One audit of a plan.

    Attributes:
        name: unique in the plan.
        anchor: the name as part of an address: small letters, digits and hyphens; unique in the plan.
        expect: what must come out.
        request: what is audited; its seed and its error probability are those of the plan.
        limits: what it may take.
    """

    name: str
    anchor: str
    expect: Expected
    request: Request | ScoresRequest
    limits: Limits = NO_LIMITS

    @property
    def control(self) -> bool:
        """Whether it is wrong on purpose: no release of anyone's, but a check that the audit finds what it has to."""
        return self.expect is Expected.REFUTED


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Many audits.

    Attributes:
        title: of the report.
        seed: of every random number; None to draw one.
        error_probability: that any test of the plan refutes a true claim, as it was written.
        audits: in the order of the file.
        folder: relative paths begin here.
        deployment: what the plan states of the release that no audit can find out, for the packet.
        text: of the file; "" for a plan that was not read from one.
    """

    title: str
    seed: int | None
    error_probability: str
    audits: tuple[PlannedAudit, ...]
    folder: Path
    deployment: Deployment = field(default_factory=Deployment)
    text: str = ""

    @property
    def inputs(self) -> dict[str, str]:
        """The files that its audits read, by a word for each."""
        return {f"{what} of {audit.name}": path for audit in self.audits for what, path in audit.request.inputs.items()}

    def share(self) -> float:
        """The error probability of one test: an equal part, so that all together stay within that of the plan."""
        tests = TESTS_PER_AUDIT * max(1, sum(not audit.request.exact_only for audit in self.audits))
        return float(exactly(self.error_probability, name="error_probability") / tests)

    def request_of(self, audit: PlannedAudit, seed: int) -> Request | ScoresRequest:
        """The request of an audit with its part of the error probability and a seed that depends on its name."""
        if audit.request.exact_only:
            return audit.request
        digest = hashlib.sha256(f"{seed}: {audit.name}".encode()).digest()
        own = int.from_bytes(digest[:8], "big") >> 1
        return dataclasses.replace(audit.request, seed=str(own), error_probability=repr(self.share()))


def read_plan(path: str | Path) -> Plan:
    """Read and check a plan; no audit is begun.

    Raises:
        InvalidValue: a file that is missing or is not TOML, a key nobody knows, a value of the wrong kind.
    """
    file = Path(path)
    try:
        text = read_limited(str(file), "plan", LARGEST_PLAN).decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"reading it fails with {type(error).__name__}"
        raise InvalidValue("plan", str(path), "a readable file of UTF-8 text", problem) from None
    try:
        table = tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise InvalidValue("plan", str(path), "a TOML file", " ".join(str(error).split())) from None
    return dataclasses.replace(plan_of(table, file.resolve().parent), text=text)


def plan_of(table: Mapping[str, object], folder: Path) -> Plan:
    """The plan that a TOML table describes; see `read_plan`."""
    _only(table, _OF_THE_PLAN, "the plan")
    title = _text(table.get("title", "Privacy audits"), "title")
    error = _text(table.get("error_probability", DEFAULT_ERROR_PROBABILITY), "error_probability")
    probability(error, "error_probability")
    seed = table.get("seed")
    entries, recorded = table.get("audit", []), table.get("scores", [])
    if not isinstance(recorded, list) or not all(isinstance(entry, dict) for entry in recorded):
        raise InvalidValue("scores", recorded, "a list of tables", "begin each with a line [[scores]]")
    if recorded and "audit" not in table:
        entries = []
    elif not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        remedy = "begin each with a line [[audit]], and give it a mechanism"
        raise InvalidValue("audit", entries, "a list of one or more tables", remedy)
    shared = _limits(table, "the plan", NO_LIMITS)
    audits: list[PlannedAudit] = []
    for number, entry in enumerate([*entries, *recorded], start=1):
        audit = (_audit if number <= len(entries) else _scores)(entry, number, folder)
        audit = dataclasses.replace(audit, limits=_limits(entry, f"audit {audit.name}", shared))
        for other in audits:
            if audit.anchor == other.anchor:
                remedy = f"{other.name!r} is too much like it: give each audit another name"
                raise InvalidValue("audit.name", audit.name, "a name that no other audit has", remedy)
        audits.append(audit)
    return Plan(
        title=title,
        seed=None if seed is None else whole_number(_text(seed, "seed"), "seed", at_least=0),
        error_probability=error,
        audits=tuple(audits),
        folder=folder,
        deployment=read_deployment(table.get("deployment", {})),
    )


def _scores(entry: Mapping[str, object], number: int, folder: Path) -> PlannedAudit:
    """An audit of recorded scores."""
    _leave_to_the_plan(entry, "scores", number)
    words = {key: _text(value, f"scores.{key}") for key, value in entry.items()}
    for key in words:
        own = ("name", "expect", "claim", "delta", *_LIMITS, *_OF_SCORES)
        if key not in own:
            remedy = f"{nearest(key, own)}an audit of scores has {', '.join(own)}"
            raise InvalidValue(f"scores.{key}", words[key], "a key of [[scores]]", remedy)
    name, anchor = _named(words.get("name", f"{number} recorded scores"))
    paths = {_OF_SCORES[key]: str(folder / words[key]) for key in _OF_SCORES if key in words}
    return PlannedAudit(
        name=name,
        anchor=anchor,
        expect=_expected(words.get("expect", "not refuted"), "recorded scores", name, black_box=True),
        request=ScoresRequest(claim=words.get("claim"), delta=words.get("delta"), **paths),
    )


def _limits(table: Mapping[str, object], what: str, others: Limits) -> Limits:
    """The limits that a table of the plan sets, and others where it sets none."""
    given = {key: _text(table[key], f"{key} of {what}") for key in _LIMITS if key in table}
    return parse_limits(given.get("timeout"), given.get("memory")).or_those_of(others)


def _leave_to_the_plan(entry: Mapping[str, object], kind: str, number: int) -> None:
    for shared in _SHARED:
        if shared in entry:
            remedy = "write it at the top of the plan: all audits share it"
            raise InvalidValue(f"{kind}.{shared}", entry[shared], f"left out of audit {number}", remedy)


def _named(text: str) -> tuple[str, str]:
    """The name of an audit, and the name as part of an address."""
    name = " ".join(text.split())
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not slug:
        raise InvalidValue("audit.name", name, "a name with a letter or a digit in it", "call it what it releases")
    return name, f"audit-{slug}"


def _expected(wanted: str, mechanism: str, name: str, *, black_box: bool) -> Expected:
    if wanted not in [kind.value for kind in Expected]:
        raise InvalidValue("audit.expect", wanted, 'one of "certified", "refuted", "not refuted"', f"mend audit {name}")
    if black_box and wanted == "certified":
        remedy = 'of a function only the releases are seen: expect "not refuted" or "refuted"'
        raise InvalidValue("audit.expect", wanted, f"possible for {mechanism}", remedy)
    return Expected(wanted)


def _audit(entry: Mapping[str, object], number: int, folder: Path) -> PlannedAudit:
    _leave_to_the_plan(entry, "audit", number)
    if "mechanism" not in entry:
        raise InvalidValue("audit.mechanism", None, f"given for audit {number}", 'add mechanism = "..."')
    for key, value in entry.items():
        meant = nearest(key, (*_OF_A_REQUEST, *_OF_THE_AUDIT))
        if (
            meant
            and key not in (*_OF_A_REQUEST, *_OF_THE_AUDIT, CALIBRATION)
            and key.replace("-", "_") not in offered()
        ):
            raise InvalidValue(
                f"audit.{key}", value, "a key of [[audit]]", f"{meant}parameters of the mechanism go there too"
            )
    words = {key: _text(value, f"audit.{key}") for key, value in entry.items() if key != "exact_only"}
    mechanism = words["mechanism"]
    exact_only = entry.get("exact_only", False)
    if not isinstance(exact_only, bool):
        raise InvalidValue("audit.exact_only", exact_only, "true or false", "write exact_only = true")
    name, anchor = _named(words.get("name", f"{number} {mechanism}"))
    black_box = names_a_callable(mechanism)
    wanted = words.get("expect", "not refuted" if black_box else "certified")
    expect = _expected(wanted, mechanism, name, black_box=black_box)
    asked = {key: words[key] for key in _OF_A_REQUEST if key in words}
    for key in (*_PATHS, *_FUNCTIONS):
        if key in asked:
            asked[key] = _placed(asked[key], folder, is_path=key in _PATHS)
    others = {key.replace("-", "_"): words[key] for key in words if key not in (*_OF_A_REQUEST, *_OF_THE_AUDIT)}
    return PlannedAudit(
        name=name,
        anchor=anchor,
        expect=expect,
        request=Request(options=others, exact_only=exact_only, **asked),
    )


def _placed(text: str, folder: Path, *, is_path: bool) -> str:
    """A relative path, alone or before ``:function``, from the folder of the plan."""
    if names_a_callable(text):
        where, _, function = text.rpartition(":")
        return f"{folder / where}:{function}" if where.endswith(".py") else text
    return str(folder / text) if is_path else text


def _text(value: object, name: str) -> str:
    """A value of the plan as it would stand on the command line."""
    if isinstance(value, list):
        return ",".join(_text(part, name) for part in value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidValue(name, value, "a text, a number or a list of numbers", "write it as on the command line")
    return str(value)


def _only(table: Mapping[str, object], known: tuple[str, ...], what: str) -> None:
    for key, value in table.items():
        if key not in known:
            remedy = f"{nearest(key, known)}{what} has {', '.join(known)}"
            if key in (*_OF_A_REQUEST, *_OF_THE_AUDIT):
                remedy += f"; {option(key)} goes below [[audit]]"
            raise InvalidValue(key, value, f"a key of {what}", remedy)


ERROR_CODE: Final = 2
"""What the command line returns if an audit could not be run."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What came out of one audit of a plan.

    Attributes:
        audit: as it was planned.
        status: None if it could not be run.
        fields: the report as JSON values; empty if it could not be run.
        page: the report as part of a page; empty if it could not be run.
        error: why it could not be run; None if it was.
        seconds: what it took when it was run.
        files: what code of the user's was in, or read.
        grounds: what the result rests on, as `Grounds.to_json` has it; None for this package alone.
    """

    audit: PlannedAudit
    status: Status | None
    fields: Mapping[str, object]
    page: str
    error: str | None
    seconds: float
    files: tuple[str, ...] = ()
    grounds: Mapping[str, object] | None = None

    @property
    def met(self) -> bool:
        """Whether what was expected came out."""
        return self.status is not None and self.audit.expect.met_by(self.status)

    @property
    def answer(self) -> str:
        """Why the status is what it is, or why there is none."""
        return self.error or str(self.fields["answer"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """What came out of a plan.

    Attributes:
        plan: as it was read.
        seed: of every random number.
        created: when the plan was first started, in UTC.
        results: of every audit, in the order of the plan.
    """

    plan: Plan
    seed: int
    created: datetime
    results: tuple[AuditResult, ...]

    @property
    def files(self) -> dict[str, str]:
        """The files that code of the user's was in, or read, by a word for each."""
        return {f"the file {path} that {one.audit.name} used": path for one in self.results for path in one.files}

    @property
    def not_run(self) -> str | None:
        """Which audits could not be run, and why the first could not; None if all were run."""
        failed = [result for result in self.results if result.status is None]
        if not failed:
            return None
        others = f" (and {len(failed) - 1} more of {len(self.results)})" if len(failed) > 1 else ""
        return f"audit {failed[0].audit.name} was not run: {failed[0].error}{others}"

    @property
    def status(self) -> Status:
        """Of the whole plan: CERTIFIED only where a verdict met every expectation, REFUTED where one was not met.

        A test that found nothing against a claim meets "not refuted" without a verdict: the plan is INCONCLUSIVE then.
        """
        if not all(result.met for result in self.results):
            return Status.REFUTED
        decided = all(result.status is not Status.INCONCLUSIVE for result in self.results)
        return Status.CERTIFIED if decided else Status.INCONCLUSIVE

    @property
    def exit_code(self) -> int:
        """0 if all came out as expected; else 1 if one was refuted, or was not though it had to be, 2 if an audit could
        not be run, and 3 otherwise: what was refuted comes first, also where another audit was not run."""
        wrong = [result for result in self.results if not result.met]
        ran = [result for result in wrong if result.status is not None]
        if any(result.status is Status.REFUTED or result.audit.control for result in ran):
            return EXIT_CODES[Status.REFUTED]
        if len(ran) < len(wrong):
            return ERROR_CODE
        return EXIT_CODES[Status.INCONCLUSIVE] if wrong else EXIT_CODES[Status.CERTIFIED]


@contextlib.contextmanager
def open_journal(plan: Path, folder: Path | None, *, fresh: bool = False) -> Generator[Journal]:
    """The journal of a plan, for one run at a time.

    Args:
        plan: the file.
        folder: where the journal is; None for the file's own path with ``.journal`` after it.
        fresh: whether to forget what it holds.

    Raises:
        InvalidValue: another run is using it, or the folder cannot be written to.
    """
    where = plan.with_name(plan.name + ".journal") if folder is None else folder
    journal = Journal(where)
    try:
        lock = open_at_once(where / "lock", "ab")
    except OSError as error:
        raise InvalidValue("journal", str(where), "a folder that can be written to", str(error.strerror)) from None
    with lock:
        try:
            hold(lock)
        except OSError:
            remedy = "wait for it, or give this run a --journal of its own"
            raise InvalidValue("journal", str(where), "used by one run at a time", remedy) from None
        for entry in {path.name[1:].partition(".entry.")[0] for path in where.glob(".*.entry.*.tmp")}:
            remove_left_over(where / f"{entry}.entry")
        if fresh:
            journal.clear_all()
        yield journal


def run_plan(plan: Plan, journal: Journal, bar: Bar | None = None, limits: Limits = NO_LIMITS) -> PlanResult:
    """Run what the journal does not hold, and give everything.

    An audit of the user's code, or one with a limit, has a process of its own. An audit that cannot be run, or does not
    finish, is reported with the reason, and the others go on; it is tried again the next time.

    Args:
        plan: what is audited.
        journal: what is finished; an entry counts only while all that it rests on is as it was.
        bar: told how far the run is.
        limits: of each audit that the plan sets none for.
    """
    seed, created = _start(plan, journal)
    results = []
    for number, audit in enumerate(plan.audits):
        if bar is not None:
            bar("audits", number, len(plan.audits))
        limited = dataclasses.replace(audit, limits=audit.limits.or_those_of(limits))
        results.append(_result(plan, limited, seed, created, journal, bar))
    if bar is not None:
        bar("audits", len(plan.audits), len(plan.audits))
    return PlanResult(plan=plan, seed=seed, created=created, results=tuple(results))


def _start(plan: Plan, journal: Journal) -> tuple[int, datetime]:
    """The seed and the time of the first start."""
    kept = journal.read("start")
    if kept is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH")  # a convention of reproducible builds
        created = datetime.now(UTC).replace(microsecond=0)
        if epoch is not None:
            try:
                created = datetime.fromtimestamp(int(epoch), UTC)
            except (ValueError, OverflowError, OSError):
                remedy = "unset it, or give seconds since 1970"
                raise InvalidValue("SOURCE_DATE_EPOCH", epoch, "a whole number of seconds", remedy) from None
        kept = json.dumps({"created": created.isoformat(), "drawn": secrets.randbits(63)}).encode()
        journal.write("start", kept)
    first = json.loads(kept)
    seed = first["drawn"] if plan.seed is None else plan.seed
    return check_seed(seed), datetime.fromisoformat(first["created"])


def _result(
    plan: Plan, audit: PlannedAudit, seed: int, created: datetime, journal: Journal, bar: Bar | None
) -> AuditResult:
    request = plan.request_of(audit, seed)
    try:
        name = _entry(audit, request, created)
        kept = _kept(journal, name, audit)
        if kept is None:
            trials = journal.part(name)
            kept = _run(audit, request, created, trials, bar)
            journal.write(name, json.dumps(kept).encode())
            trials.clear()  # the report says all that later runs need
    except (DpverdictError, OSError, MemoryError) as error:
        problem = str(error) or type(error).__name__
        return AuditResult(audit=audit, status=None, fields={}, page="", error=problem, seconds=0.0)
    fields: Mapping[str, Any] = kept["fields"]
    return AuditResult(
        audit=audit,
        status=status_of_fields(fields),
        fields=fields,
        page=kept["part"],
        error=None,
        seconds=kept["seconds"],
        files=() if kept["grounds"] is None else tuple(kept["grounds"]["files"]),
        grounds=kept["grounds"],
    )


def _kept(journal: Journal, name: str, audit: PlannedAudit) -> dict[str, Any] | None:
    """The entry of an audit, if there is one and all that it rests on is as it was."""
    content = journal.read(name)
    if content is None:
        return None
    kept: dict[str, Any] = json.loads(content)
    grounds = audited_of(kept, audit.name).grounds  # without any it rests on what is in its name
    return kept if grounds is None or grounds.changed() is None else None


def _run(
    audit: PlannedAudit, request: Request | ScoresRequest, created: datetime, trials: Journal, bar: Bar | None
) -> dict[str, Any]:
    """Run an audit: here, or in a process of its own."""
    began = time.monotonic()
    done = audit_as_asked(
        request, Wanted(created=created, anchor=audit.anchor, trials=trials), limits=audit.limits, bar=bar
    )
    return {
        "fields": done.fields,
        "part": done.part,
        "grounds": None if done.grounds is None else done.grounds.to_json(),
        "seconds": round(time.monotonic() - began, 3),
    }


def _entry(audit: PlannedAudit, request: Request | ScoresRequest, created: datetime) -> str:
    """The name of the entry of an audit: everything its report depends on, so that a change runs it again."""
    parts = {
        "anchor": audit.anchor,
        "request": dataclasses.asdict(request),
        "created": created.isoformat(),
        "versions": software_versions(),
        "package": package_hash(),
        "files": {path: file_hash(path) for path in sorted(_files(request))},
    }
    return "audit " + json.dumps(parts, sort_keys=True)


def _files(request: Request | ScoresRequest) -> Iterator[str]:
    """Files that a request reads: tables, pairs, bounds. What the user's code reads is in the grounds of its entry."""
    if isinstance(request, ScoresRequest):
        yield from (path for path in request.inputs.values() if Path(path).is_file())
        return
    yield from (path for path in (request.data, request.neighbours) if path is not None and Path(path).is_file())
    bounds = request.options.get("bounds")
    if bounds is not None and bounds.startswith("@") and Path(bounds[1:]).is_file():
        yield bounds[1:]
