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

    [[audit]]
    name = "a mean"               # of a function with the schema of its table: decided for every pair
    mechanism = "release.py:mean_age"
    schema = "patients.toml"
    claim = "eps=1"

    [[scores]]                    # recorded elsewhere; or scores and included, of one run
    name = "canaries"
    in = "in.npy"
    out = "out.npy"
    claim = "eps=1, delta=1e-5"

    [[sampler]]                   # how a loader makes its batches; its options are those of audit-sampler
    name = "batches"
    loader = "loader.py:make"
    sampling = "poisson"
    rate = 0.05
    records = 1000

    [[composition]]               # what releases spend together, written as for dpverdict compose
    name = "a year"
    releases = ["12 x gaussian sigma=25 sensitivity=1", "laplace scale=40 sensitivity=1"]
    claim = "eps=1, delta=1e-6"   # or delta alone, for the epsilon that is spent

    [deployment]                  # for `--packet` alone: what no audit can find out, see `deployment`
    privacy_unit = "one person"

Numbers are read as exact decimals. A path is relative to the folder of the plan.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, final

import msgspec

from dpverdict.audit.documents.plan import PlanEntry, PlanHead
from dpverdict.audit.documents.request import (
    CompositionRequest,
    PlannedRequest,
    Request,
    SamplerRequest,
    ScoresRequest,
    names_a_callable,
    option_of,
    parts,
)
from dpverdict.audit.documents.schema import converted, fields_of
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.process import NO_LIMITS, Limits, parse_limits
from dpverdict.audit.runs.plans.compositions import check_composition_request
from dpverdict.audit.runs.plans.deployment import Deployment, read_deployment
from dpverdict.audit.runs.samplers import check_sampler_request
from dpverdict.audit.trials.catalogue import CALIBRATION, offered, option
from dpverdict.audit.trials.user_functions import probability
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.files import read_limited
from dpverdict.numerics.text import whole_number
from dpverdict.suggestions import nearest

LARGEST_PLAN: Final = 2**24
"""Bytes of the file, at most."""

TESTS_PER_AUDIT: Final = 2
"""The check of the embedding and the distinguishing test: an audit has at most these."""


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
    request: PlannedRequest
    limits: Limits = NO_LIMITS

    @property
    def control(self) -> bool:
        """Whether it is wrong on purpose: a check that the audit finds what it has to, which is not released."""
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

    def request_of(self, audit: PlannedAudit, seed: int) -> PlannedRequest:
        """The request of an audit with its part of the error probability and a seed that depends on its name."""
        if audit.request.exact_only:
            return audit.request
        digest = hashlib.sha256(f"{seed}: {audit.name}".encode()).digest()
        own = int.from_bytes(digest[:8], "big") >> 1
        return msgspec.structs.replace(audit.request, seed=str(own), error_probability=repr(self.share()))


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
    _refuse_parts_of_an_audit(table)
    readers = {"audit": _audit_of_table, "scores": _scores, "sampler": _sampler, "composition": _composition}
    entries = [(reader, entry) for key, reader in readers.items() for entry in _entries(table, key)]
    head = converted(_whole_numbers_in_words(table), PlanHead)
    probability(head.error_probability, "error_probability")
    if not entries or ("audit" in table and not table["audit"]):
        remedy = "begin each with a line [[audit]], and give it a mechanism"
        raise InvalidValue("audit", table.get("audit", []), "a list of one or more tables", remedy)
    shared = parse_limits(head.timeout, head.memory)
    audits: list[PlannedAudit] = []
    for number, (reader, entry) in enumerate(entries, start=1):
        audit = reader(entry, number, folder, shared)
        for other in audits:
            if audit.anchor == other.anchor:
                remedy = f"{other.name!r} is too much like it: give each audit another name"
                raise InvalidValue("audit.name", audit.name, "a name that no other audit has", remedy)
        audits.append(audit)
    return Plan(
        title=head.title,
        seed=None if head.seed is None else whole_number(head.seed, "seed", at_least=0),
        error_probability=head.error_probability,
        audits=tuple(audits),
        folder=folder,
        accept_not_refuted=head.accept is not None,
        deployment=read_deployment(table.get("deployment", {})),
    )


def _refuse_parts_of_an_audit(table: Mapping[str, object]) -> None:
    """What belongs below [[audit]] is told apart from what nobody knows."""
    for key, value in table.items():
        if key in (*parts(Request), *fields_of(PlanEntry)) and key not in fields_of(PlanHead):
            remedy = f"the plan has {', '.join(fields_of(PlanHead))}; {option(key)} goes below [[audit]]"
            raise InvalidValue(key, value, "a key of the plan", remedy)


def _entries(table: Mapping[str, object], key: str) -> list[dict[str, object]]:
    """The tables that are written one after another below ``[[key]]``."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise InvalidValue(key, found, "a list of tables", f"begin each with a line [[{key}]]")
    return found


def _entry(table: Mapping[str, object], kind: type[PlannedRequest], key: str, number: int) -> PlanEntry:
    """What an entry says of itself beside its request, after a check of the names of all of its keys."""
    for shared in parts(kind, "shared"):
        if shared in table:
            remedy = "write it at the top of the plan: all audits share it"
            raise InvalidValue(f"{key}.{shared}", table[shared], f"left out of audit {number}", remedy)
    own = {name: value for name, value in table.items() if name in fields_of(PlanEntry)}
    return converted(_whole_numbers_in_words(own), PlanEntry, key)


def _keys(kind: type[PlannedRequest]) -> dict[str, str]:
    """The parts of a request that an entry of a plan gives, by their keys there."""
    shared = parts(kind, "shared")
    names = {name: name if kind is Request else option_of(kind, name).removeprefix("--") for name in parts(kind)}
    return {key: name for name, key in names.items() if name not in shared}


def _words_of(table: Mapping[str, object], keys: Mapping[str, str], kind: str) -> dict[str, str]:
    """The values of an entry whose keys are all known."""
    for key, value in table.items():
        known = (*fields_of(PlanEntry), *keys)
        if key not in known:
            remedy = f"{nearest(key, known)}an entry of [[{kind}]] has {', '.join(known)}"
            raise InvalidValue(f"{kind}.{key}", value, f"a key of [[{kind}]]", remedy)
    found = _in_words({key: table[key] for key in keys if key in table}, kind)
    return {key: str(value) for key, value in found.items()}


def _sampler(table: Mapping[str, object], number: int, folder: Path, shared: Limits) -> PlannedAudit:
    """An audit of how batches are made."""
    entry, keys = _entry(table, SamplerRequest, "sampler", number), _keys(SamplerRequest)
    asked = {keys[key]: word for key, word in _words_of(table, keys, "sampler").items()}
    if "loader" not in asked:
        raise InvalidValue("sampler.loader", None, f"given for audit {number}", 'add loader = "loader.py:make"')
    given = asked["loader"]
    request = converted(asked | {"loader": _path_from_plan(given, folder, is_path=False)}, SamplerRequest, "sampler")
    check_sampler_request(request)
    return _planned_audit(entry, request, f"{number} batches of {given}", given, shared)


def _composition(table: Mapping[str, object], number: int, folder: Path, shared: Limits) -> PlannedAudit:
    """Releases that are composed."""
    entry, keys = _entry(table, CompositionRequest, "composition", number), _keys(CompositionRequest)
    releases = table.get("releases")
    if not isinstance(releases, list) or not releases or not all(isinstance(text, str) for text in releases):
        remedy = 'write releases = ["30 x gaussian sigma=20 sensitivity=1"]'
        raise InvalidValue("composition.releases", releases, "a list of one or more texts", remedy)
    words = _words_of({key: value for key, value in table.items() if key != "releases"}, keys, "composition")
    asked = {keys[key]: word for key, word in words.items()}
    request = converted({**asked, "releases": releases, "folder": str(folder)}, CompositionRequest, "composition")
    check_composition_request(request)
    if request.claim is None and entry.expect == "refuted":
        remedy = 'add claim = "eps=1, delta=1e-6" in place of the delta'
        raise InvalidValue("composition.expect", entry.expect, "left out without a claim", remedy)
    return _planned_audit(entry, request, f"{number} composition", "releases", shared)


def _scores(table: Mapping[str, object], number: int, folder: Path, shared: Limits) -> PlannedAudit:
    """An audit of recorded scores."""
    entry, keys = _entry(table, ScoresRequest, "scores", number), _keys(ScoresRequest)
    words = _words_of(table, keys, "scores")
    files = parts(ScoresRequest, "names")
    asked = {keys[key]: str(folder / str(word)) if keys[key] in files else word for key, word in words.items()}
    request = converted({"claim": None, **asked}, ScoresRequest, "scores")
    return _planned_audit(entry, request, f"{number} recorded scores", "recorded scores", shared)


def _audit_of_table(table: Mapping[str, object], number: int, folder: Path, shared: Limits) -> PlannedAudit:
    entry, keys = _entry(table, Request, "audit", number), _keys(Request)
    if "mechanism" not in table:
        raise InvalidValue("audit.mechanism", None, f"given for audit {number}", 'add mechanism = "..."')
    known = (*keys, *fields_of(PlanEntry))
    options = {key: value for key, value in table.items() if key not in known}
    for key, value in options.items():
        meant = nearest(key, known)
        if meant and key != CALIBRATION and key.replace("-", "_") not in offered():
            remedy = f"{meant}parameters of the mechanism go there too"
            raise InvalidValue(f"audit.{key}", value, "a key of [[audit]]", remedy)
    asked = _in_words({key: table[key] for key in keys if key in table}, "audit", kept=("exact_only",))
    for key, what in {key: said["names"] for key, said in parts(Request, "names").items() if key in asked}.items():
        asked[key] = _path_from_plan(str(asked[key]), folder, is_path=what == "file")
    words = {key.replace("-", "_"): word for key, word in _in_words(options, "audit").items()}
    request = converted({**asked, "options": words}, Request, "audit")
    mechanism = str(table["mechanism"])
    return _planned_audit(entry, request, f"{number} {mechanism}", mechanism, shared)


def _planned_audit(
    entry: PlanEntry, request: PlannedRequest, called: str, mechanism: str, shared: Limits
) -> PlannedAudit:
    """The audit of an entry.

    Args:
        entry: what it says of itself.
        request: what is audited.
        called: its name, if the entry gives none.
        mechanism: as the plan writes it.
        shared: the limits of the plan.
    """
    name = " ".join((called if entry.name is None else entry.name).split())
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not slug:
        raise InvalidValue("audit.name", name, "a name with a letter or a digit in it", "call it what it releases")
    followed = isinstance(request, Request) and request.followed
    black_box = isinstance(request, ScoresRequest | SamplerRequest) or (names_a_callable(mechanism) and not followed)
    expect = entry.expect or ("not refuted" if black_box else "certified")
    if black_box and expect == "certified":
        seen = "the batches" if isinstance(request, SamplerRequest) else "of a function without a schema the releases"
        remedy = f'only {seen} are seen: expect "not refuted" or "refuted"'
        raise InvalidValue("audit.expect", expect, f"possible for {mechanism}", remedy)
    return PlannedAudit(
        name=name,
        anchor=f"audit-{slug}",
        expect=Expected(expect),
        request=request,
        limits=parse_limits(entry.timeout, entry.memory).merge(shared),
    )


def _path_from_plan(text: str, folder: Path, *, is_path: bool) -> str:
    """A relative path, alone or before ``:function``, from the folder of the plan."""
    if names_a_callable(text):
        where, _, function = text.rpartition(":")
        return f"{folder / where}:{function}" if where.endswith(".py") else text
    return str(folder / text) if is_path else text


def _whole_numbers_in_words(table: Mapping[str, object]) -> dict[str, object]:
    """The table, with whole numbers as texts, which all other numbers of a plan are already."""
    return {key: str(value) if type(value) is int else value for key, value in table.items()}


def _in_words(table: Mapping[str, object], name: str, kept: Collection[str] = ()) -> dict[str, object]:
    """The values of a table as they would stand on the command line, and what is kept as it is."""
    return {key: value if key in kept else _value_in_words(value, f"{name}.{key}") for key, value in table.items()}


def _value_in_words(value: object, name: str) -> str:
    if isinstance(value, list):
        return ",".join(_value_in_words(part, name) for part in value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidValue(name, value, "a text, a number or a list of numbers", "write it as on the command line")
    return str(value)
