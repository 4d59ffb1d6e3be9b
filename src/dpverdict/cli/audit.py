"""``dpverdict audit`` and ``dpverdict replay``: one audit, and the check of what it found on fresh random numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpverdict.audit.documents.request import Request, parts
from dpverdict.cli.options import (
    Dask,
    Details,
    HtmlReport,
    Jobs,
    JsonReport,
    Junit,
    Memory,
    Quiet,
    Sarif,
    Timeout,
    option,
    takes,
)
from dpverdict.cli.session import (
    CommandResult,
    Outputs,
    engine_of_options,
    exit_with,
    print_lines,
    printing,
    progress_bar,
    say,
    say_more,
)

if TYPE_CHECKING:
    from dpverdict.audit.exact.verdict import Status


@exit_with
@takes(Request)
def audit(
    context: typer.Context,
    request: Request,
    jobs: Jobs = None,
    dask: Dask = None,
    timeout: Timeout = None,
    memory: Memory = None,
    json: JsonReport = None,
    witness: Annotated[
        Path | None,
        option("--witness", "FILE", "Write what refutes the claim, for dpverdict replay.", "Output"),
    ] = None,
    report: HtmlReport = None,
    junit: Junit = None,
    sarif: Sarif = None,
    certificate: Annotated[
        Path | None,
        option("--certificate", "FILE", "Write what the verdict rests on, for dpverdict check.", "Output"),
    ] = None,
    details: Details = False,
    quiet: Quiet = False,
) -> CommandResult:
    """Audit a mechanism: does it keep the promise it makes?

    A mechanism of known structure is certified or refuted exactly, and its releases are tested as well. Of a function
    of your own only the releases are seen with --neighbours and --claim; it can be refuted, but not certified. With
    --schema and --claim it is followed operation by operation, for every table of the schema, and can be certified.
    It runs in a process of its own.

    For example: dpverdict audit correlated-gaussian --dim 100 --mu 1 --report out.html

    Of your own: dpverdict audit release.py:noisy_counts --schema patients.toml --claim "eps=1"

    Exit codes: 0 certified, 1 refuted, 3 inconclusive or not covered, 2 usage error.
    """
    from dpverdict.audit.distinguishing.witness_document import render_witness
    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.audit.runs.accounts import asks_for_epsilon, names_an_event
    from dpverdict.audit.runs.costs import announced
    from dpverdict.audit.runs.finished_audit import WantedRenderings, console_facts
    from dpverdict.audit.runs.plans.renderings import render_junit
    from dpverdict.audit.runs.plans.sarif import alone, render_sarif
    from dpverdict.audit.runs.subprocesses.audit import audit_from_request
    from dpverdict.errors import InvalidValue
    from dpverdict.proofs.ledger.certificates import sealed

    limits = parse_limits(timeout, memory)
    if request.followed:
        for name, value in {"jobs": jobs, "dask": dask}.items():
            if value is not None:
                raise InvalidValue(name, value, "left out beside --schema", "a function is followed in one process")
    if request.claim is None and asks_for_epsilon(request.mechanism, request.options):
        return _say_epsilon(request, Outputs(json=json, report=report), quiet=quiet)
    if names_an_event(request.mechanism):
        for name, value in {"jobs": jobs, "dask": dask, "timeout": timeout, "memory": memory}.items():
            if value is not None:
                raise InvalidValue(name, value, "left out for an event", "nothing is run")
        for name, file in {"certificate": certificate, "junit": junit, "sarif": sarif}.items():
            if file is not None:
                raise InvalidValue(name, str(file), "left out for an event", "name the mechanism instead")
        return _audit_event(request, Outputs(json=json, report=report, witness=witness), quiet=quiet)
    with Outputs(
        json=json, report=report, junit=junit, sarif=sarif, witness=witness, certificate=certificate
    ) as outputs:
        outputs.refuse_overwriting(request.inputs)
        followed = request.followed
        exact = _exact_certificate(request) if "certificate" in outputs and not followed else None
        wanted = WantedRenderings(
            page="report" in outputs,
            witness="witness" in outputs,
            console=None if quiet else console_facts(details=details),
        )
        cost = announced(request)
        if cost is not None:
            say(f"note: {cost}")
        with engine_of_options(jobs, dask), progress_bar() as bar:
            made = audit_from_request(request, wanted, limits, bar)
        if made.provenance is not None:  # what the user's code read
            outputs.refuse_overwriting({f"the file {path} that was used": path for path in made.provenance.files})
        outputs.write(
            json=lambda: made.json,
            report=lambda: made.page,
            junit=lambda: render_junit(alone(request, made)),
            sarif=lambda: render_sarif(alone(request, made)),
            witness=lambda: render_witness(made.witness),
            certificate=lambda: exact if made.certificate is None else sealed(made.certificate),
        )
    if not quiet:
        with printing():
            sys.stdout.write(made.text)
            if not details and not followed:
                say_more()
            if outputs.files or not followed:
                outputs.conclude(_status_in_words(made.status))
    return CommandResult(code=made.exit_code)


def _say_epsilon(request: Request, outputs: Outputs, *, quiet: bool) -> CommandResult:
    """The epsilon at a delta of a mechanism that takes none itself: nothing is claimed, and nothing sampled."""
    import json

    from dpverdict.audit.runs.account_documents import composition_document, composition_page
    from dpverdict.audit.runs.accounts import risk_lines, spent_by

    given = {name: word for name, word in request.options.items() if word is not None}
    delta = given.pop("delta")
    with outputs:
        found, notes = spent_by(request.mechanism, given, delta)
        risk = None if request.base_rate is None else found.loss.risk(request.base_rate)
        document = composition_document(found, risk, request.command)
        outputs.write(
            json=lambda: json.dumps(document, indent=2, allow_nan=False) + "\n",
            report=lambda: composition_page(found, risk, document),
        )
    if not quiet:
        answer = found.text().splitlines()[0]
        hint = f'to audit it, add --claim "eps=..., delta={delta}" in place of --delta'
        print_lines([answer, *(f"  {note}" for note in notes), *risk_lines(risk), f"  {hint}"])
        with printing():
            if outputs.files:
                outputs.conclude("answered")
    return CommandResult(code=0)


def _exact_certificate(request: Request) -> str:
    """The certificate of the exact verdict on a mechanism of this library.

    Raises:
        InvalidValue: code of others, of which the releases are tested, or a claim that is not decided.
    """
    from dpverdict.audit.trials.catalogue import find_white_box, names_foreign_code
    from dpverdict.errors import InvalidValue
    from dpverdict.mechanisms.core.guarantees import as_guarantee
    from dpverdict.proofs.ledger.certificates import sealed
    from dpverdict.proofs.ledger.verdict_certificate import verdict_certificate

    if names_foreign_code(request.mechanism):
        remedy = "choose one of: dpverdict list"
        raise InvalidValue("certificate", request.mechanism, "of a mechanism of this library", remedy)
    mechanism, _ = find_white_box(request.mechanism, request.options)
    return sealed(verdict_certificate(mechanism, as_guarantee(request.claim) or mechanism.claim))


def _status_in_words(status: Status) -> str:
    from dpverdict.cards import DECISIONS

    return f"{status.name}: {DECISIONS[status.name]}"


def _audit_event(request: Request, outputs: Outputs, *, quiet: bool) -> CommandResult:
    """Hold the exact loss of an event of dp_accounting to a claim: nothing is sampled."""
    import json

    from dpverdict.audit.reports.report import EXIT_CODES
    from dpverdict.audit.runs.accounts import account_fields, account_page, event_account, risk_lines
    from dpverdict.errors import InvalidValue

    given = {name: getattr(request, name) for name in parts(Request)} | dict(request.options)
    for name in ("mechanism", "claim", "exact_only", "adjacency", "base_rate"):
        given.pop(name, None)
    for name, value in given.items():
        if value is not None:
            raise InvalidValue(name, value, "left out for an event", "an event says all of its parameters itself")
    path, adjacency = request.mechanism, request.options.get("adjacency")
    account = event_account(path, request.claim, adjacency)
    with outputs:
        outputs.refuse_overwriting({"the event": path})
        risk = None if request.base_rate is None else account.loss.risk(request.base_rate)
        values = account_fields(account, path, adjacency, request.command, risk)
        outputs.write(
            json=lambda: json.dumps(values, indent=2, allow_nan=False) + "\n",
            report=lambda: account_page(values, risk),
            witness=lambda: None,
        )
    if not quiet:
        print_lines([account.summary(), *risk_lines(risk)])
        with printing():
            if outputs.files:
                outputs.conclude(_status_in_words(account.status))
    return CommandResult(code=EXIT_CODES[account.status])


@exit_with
def replay(
    witness: Annotated[
        Path, typer.Argument(metavar="WITNESS", help="What dpverdict audit --witness wrote.", show_default=False)
    ],
    seed: Annotated[str | None, option("--seed", "N", "Of the releases; drawn fresh if not given.", "Tests")] = None,
    samples: Annotated[
        str | None, option("--samples", "N", "Fresh releases per dataset; as many as decided if not given.", "Tests")
    ] = None,
    error_probability: Annotated[
        str | None, option("--error-probability", "P", "Of the test; that of the witness if left out.", "Tests")
    ] = None,
    neighbours: Annotated[
        str | None, option("--neighbours", "FILE", "The .npz file, for large datasets kept as hashes.", "Tests")
    ] = None,
    records_per_user: Annotated[
        str | None,
        option("--records-per-user", "N", "Consecutive records that one user holds; 1 if not given.", "Tests"),
    ] = None,
    mechanism: Annotated[
        str | None,
        option("--mechanism", "module:function", "Run this in place of what the witness names.", "Code"),
    ] = None,
    score: Annotated[
        str | None, option("--score", "module:function", "The same of the function of a score.", "Code")
    ] = None,
    trust_code: Annotated[
        bool,
        typer.Option("--trust-code", help="Load the code that the witness names.", rich_help_panel="Code"),
    ] = False,
    jobs: Jobs = None,
    dask: Dask = None,
    timeout: Timeout = None,
    memory: Memory = None,
    quiet: Quiet = False,
) -> CommandResult:
    """Check a witness again on fresh random numbers: its score and its event are fixed, nothing is explored.

    Code that a witness names is run with --trust-code only; read it first.

    For example: dpverdict replay witness.json --mechanism release.py:noisy_counts

    Exit codes: 1 refuted again, 3 not refuted this time, 2 usage error, also a damaged or foreign file.
    """
    from dpverdict.audit.distinguishing.witness_document import read_witness
    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.audit.runs.subprocesses.replay import replay_in_subprocess

    document = read_witness(witness)
    with engine_of_options(jobs, dask):
        found = replay_in_subprocess(
            document,
            parse_limits(timeout, memory),
            neighbours=neighbours,
            samples=samples,
            error_probability=error_probability,
            seed=seed,
            records_per_user=records_per_user,
            mechanism=mechanism,
            score=score,
            trust_code=trust_code,
        )
    if not quiet:
        print_lines(found.summary())
    return CommandResult(code=found.exit_code)
