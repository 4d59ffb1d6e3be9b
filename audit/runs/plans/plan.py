"""A plan: many audits written down in one TOML file, to be run together, stopped and continued.

    title = "Spring release"
    seed = 7
    error_probability = "1e-6"    # that any test of the plan refutes a true claim; they share it equally
    accept = "not refuted"        # optional: exit code 0 also where a test found nothing against a claim, see `results`

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
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, final

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.process import NO_LIMITS, Limits, parse_limits
from dpverdict.audit.runs.plans.deployment import Deployment, read_deployment
from dpverdict.audit.runs.request import DEFAULT_ERROR_PROBABILITY, Request
from dpverdict.audit.runs.scores import ScoresRequest
from dpverdict.audit.trials.catalogue import CALIBRATION, offered, option
from dpverdict.audit.trials.words import names_a_callable, nearest, probability
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.files import read_limited
from dpverdict.numerics.text import whole_number

LARGEST_PLAN: Final = 2**24
"""Bytes of the file, at most."""

TESTS_PER_AUDIT: Final = 2
"""The check of the embedding and the distinguishing test: an audit has at most these."""

_LIMITS: Final = ("timeout", "memory")
_OF_THE_PLAN: Final = ("title", "seed", "error_probability", "accept", *_LIMITS, "audit", "scores", "deployment")
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
        accept_not_refuted: whether the plan says that it is enough if a test found nothing against a claim.
        deployment: what the plan states of the release that no audit can find out, for the packet.
        text: of the file; "" for a plan that was not read from one.
    """

    title: str
    seed: int | None
    error_probability: str
    audits: tuple[PlannedAudit, ...]
    folder: Path
    accept_not_refuted: bool = False
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
        accept_not_refuted=_accepted(table),
        deployment=read_deployment(table.get("deployment", {})),
    )


def _accepted(table: Mapping[str, object]) -> bool:
    """Whether the plan accepts what was only not refuted."""
    if "accept" not in table:
        return False
    if table["accept"] != Expected.NOT_REFUTED.value:
        remedy = "write it so, or leave it out: then only what is decided is enough"
        raise InvalidValue("accept", table["accept"], f'"{Expected.NOT_REFUTED.value}"', remedy)
    return True


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
