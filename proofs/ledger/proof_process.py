"""``prove`` as data: the outcomes as JSON values, the faces as text; for code of others from a process of its own.

A check in a user's file may end its process, hang, or say anything. What its process sends is data; the exit
code is read here from the findings of every statement, and outcomes that contradict their findings are none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from dpverdict.audit.isolation.code_snapshot import CodeSnapshot
from dpverdict.audit.isolation.process import NO_LIMITS, Limits, run_isolated
from dpverdict.audit.isolation.provenance import Recorder
from dpverdict.audit.runs.finished_audit import console_facts, printed
from dpverdict.audit.runs.subprocesses.audit import AuditFailed, engine_fields, telling
from dpverdict.audit.trials.engines import chosen_engine
from dpverdict.errors import DpverdictError, MechanismFailure, error_to_send, in_one_line, raise_error_sent
from dpverdict.numerics.stages import watched_by
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.rooms import rooms
from dpverdict.proofs.ledger.certificates import certificates
from dpverdict.proofs.ledger.html import render_html
from dpverdict.proofs.ledger.ledger import Ledger, Progress, as_json
from dpverdict.proofs.ledger.prove import Proof, prove_statements
from dpverdict.proofs.ledger.terminal import print_explanations, print_ledger, print_overview
from dpverdict.proofs.verdicts.derivation import difference

ENTRY: Final = "dpverdict.proofs.ledger.proof_process:work"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WantedProofFaces:
    """Which faces of a ledger are wanted.

    Attributes:
        page: whether the page is.
        explained: whether the terminal shows every condition and planted fault.
        console: see `audited.Wanted`.
        certified: whether the certificates are.
    """

    page: bool
    explained: bool
    console: Mapping[str, object]
    certified: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """A finished ledger as data.

    Attributes:
        fields: as ledger.schema.json has it.
        page, text: the page, or "", and what the terminal shows.
        files: what the user's code was in, or read.
        certificates: the files of the certificates by their paths.
        exit_code: 0 if every standing is the recorded one and every planted fault was found, 1 otherwise.
    """

    fields: Mapping[str, object]
    page: str
    text: str
    files: tuple[str, ...]
    certificates: Mapping[str, str]
    exit_code: int

    @property
    def json(self) -> str:
        """The ledger as JSON text."""
        return json.dumps(self.fields, indent=2, ensure_ascii=False) + "\n"


def proved(
    request: Proof, faces: WantedProofFaces, limits: Limits = NO_LIMITS, progress: Progress | None = None
) -> Proved:
    """Check the statements, in a process of its own if they are in a user's module or have a limit.

    Raises:
        DpverdictError: no such paper or statement, or the process did not finish, or sent no ledger.
    """
    if not limits and (request.paper is None or request.paper in rooms()):
        return _proved_of(_sent(prove_statements(request, progress), faces, ()), request.paper or "the ledger")
    return _proved_apart(request, faces, limits, progress)


def _proved_apart(request: Proof, faces: WantedProofFaces, limits: Limits, progress: Progress | None) -> Proved:
    what = request.paper or "the ledger"
    sent = {"proof": asdict(request), "faces": {**asdict(faces), "console": dict(faces.console)}}
    sent["engine"] = engine_fields()
    told = None if progress is None else telling(progress)
    answer = run_isolated(ENTRY, sent, what=what, limits=limits, told=told)
    raise_error_sent(answer, AuditFailed)
    return _proved_of(answer, what)


def unlike_source(document: Mapping[str, Any]) -> str | None:
    """Where a certificate of a statement of the ledger is not the one that the installed source gives, in words.

    The certificate is made again in a process of its own; what made it, and when, is not compared.

    Raises:
        DpverdictError: the process did not finish, found no such statement, or sent no ledger.
    """
    stated = document["statement"]
    paper, number = stated["paper"], stated["number"]
    if paper not in rooms():
        return f"statement.paper: {paper!r} is no paper of the ledger, so that its source is not at hand"
    faces = WantedProofFaces(page=False, explained=False, console=console_facts(), certified=True)
    made = _proved_apart(Proof(paper=paper, number=number), faces, NO_LIMITS, None).certificates
    again = [json.loads(text) for name, text in made.items() if name.endswith(".json") and name != "MANIFEST.json"]
    own = next((one for one in again if one["statement"]["number"] == number), None)
    if own is None:
        return f"statement.number: {paper} has no statement {number!r}"
    return difference(_compared(document), _compared(own), "certificate")


def _compared(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in ("versions", "sha256")}


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: the ledger as data, or the message of why there is none."""
    recorder, snapshot = Recorder(network="dask" in request["engine"]), CodeSnapshot()
    proof, faces = Proof(**request["proof"]), WantedProofFaces(**request["faces"])
    try:
        with watched_by(tell), chosen_engine(**request["engine"]), recorder.recording():
            made = prove_statements(proof, lambda what, done, total: tell([what, done, total]))
        changed = snapshot.describe()
        if changed is not None:
            return {"error": f"the statements of {proof.paper} {changed}: do not replace what is not yours"}
        return _sent(made, faces, tuple(recorder.provenance().files))
    except (DpverdictError, OSError) as error:
        return error_to_send(error)
    except BaseException as error:  # the user's code may raise anything: SystemExit is no outcome
        problem = f"the statements of {proof.paper} ended their check with {in_one_line(error)}, which is no outcome"
        return {"error": f"{problem}: let a check yield its findings"}


def _sent(made: Ledger, faces: WantedProofFaces, files: tuple[str, ...]) -> dict[str, object]:
    whole = print_ledger if faces.console.get("details", True) else print_overview
    show = print_explanations if faces.explained else whole
    return {
        "fields": as_json(made),
        "page": render_html(made) if faces.page else "",
        "text": printed(lambda console: show(made, console), faces.console),
        "files": list(files),
        "certificates": certificates([(e.statement.paper, e.statement.number) for e in made.entries])
        if faces.certified
        else {},
    }


def _proved_of(answer: object, what: str) -> Proved:
    """What was sent, if it does not contradict itself.

    Raises:
        MechanismFailure: it is no ledger, or one whose outcomes are not those of its findings.
    """
    try:
        if not isinstance(answer, dict) or set(answer) != {"fields", "page", "text", "files", "certificates"}:
            raise ValueError("it is no ledger")
        found: dict[str, Any] = answer
        texts = (*found["certificates"].keys(), *found["certificates"].values(), *found["files"])
        if not all(isinstance(one, str) for one in (found["page"], found["text"], *texts)):
            raise ValueError("a face of it is no text")
        code = _exit_code(found["fields"])
        return Proved(
            fields=found["fields"],
            page=found["page"],
            text=found["text"],
            files=tuple(found["files"]),
            certificates=dict(found["certificates"]),
            exit_code=code,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"sent something that is no ledger ({in_one_line(error)})"
        raise MechanismFailure(what, problem, "look at what it replaces or writes to") from None


def _exit_code(fields: Mapping[str, Any]) -> int:
    """0 if every outcome is the recorded one and every check can fail, 1 otherwise.

    Raises:
        ValueError: an outcome is not that of its findings.
        KeyError, TypeError: a field is missing, or is of another kind.
    """
    if not fields["statements"]:
        raise ValueError("it holds no statement")
    changed = False
    for row in fields["statements"]:
        standing, recorded = Standing[row["outcome"]], Standing[row["expected"]]
        holds = [finding["holds"] for finding in row["findings"]]
        missed = not row["planted"] or any(fault["found"] is not True for fault in row["planted"])
        unguarded = {one["name"] for one in row["findings"]} - {fault["condition"] for fault in row["planted"]}
        given = all(one["missing"] == "" for one in row["needs"])
        defective = bool(row["defects"]) or missed or bool(unguarded) or not given
        if standing is not Standing.UNDECIDED:
            right = any(one is False for one in holds)
            if standing is not Standing.FAILS_AS_PRINTED:
                right = bool(holds) and all(one is True for one in holds)
            if standing is Standing.HOLDS:
                right = right and not any(_on_range(one) for one in (*row["findings"], *row["needs"]))
            if defective or not right:
                raise ValueError(f"the outcome of {row['number']} is not that of its findings")
        changed = changed or defective or standing is not recorded
    if fields["as_expected"] is not (not changed):
        raise ValueError("its summary is not that of its outcomes")
    return 1 if changed else 0


def _on_range(row: Mapping[str, Any]) -> bool:
    """Whether a condition, or a statement needed, says more than the cases that ran."""
    if "cases" not in row:
        return row["on_range"] is not False
    return row["cases"] is not None and row["named"] is not True and not row["confirms"]
