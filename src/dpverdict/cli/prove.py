"""``dpverdict prove`` and ``dpverdict check``: statements of papers as executable checks, and what they rest on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dpverdict.cli.options import (
    Dask,
    Jobs,
    Memory,
    Quiet,
    Timeout,
    option,
)
from dpverdict.cli.session import (
    CommandResult,
    Outputs,
    engine_of_options,
    exit_with,
    print_lines,
    printing,
    progress_bar,
)
from dpverdict.errors import InvalidValue


@exit_with
def prove(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help="andersson2024 (counters), bun2016 (zCDP), ji2024 (R1SMG), lebeda2024 (correlated noise), "
            "lebeda2024sampling (batches), poulsen2022 (elliptical noise), new_results (our own), or a module or "
            "file.py of your own with @statement; all of the ledger if not given.",
            show_default=False,
        ),
    ] = None,
    statement: Annotated[
        str | None, option("--statement", "NUMBER", "Such as 3.4, lem3.4 or 'Lemma 3.4'.", "Statements")
    ] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    timeout: Timeout = None,
    memory: Memory = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Conditions, assumptions, planted faults.", rich_help_panel="Output")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="A table of all statements.", rich_help_panel="Output")
    ] = False,
    json: Annotated[Path | None, option("--json", "FILE", "Write the ledger as JSON.", "Output")] = None,
    report: Annotated[Path | None, option("--report", "FILE", "Write the ledger as one HTML page.", "Output")] = None,
    certificates: Annotated[
        Path | None,
        option("--certificates", "FOLDER", "Write what each statement rests on, for other tools to check.", "Output"),
    ] = None,
    rocq: Annotated[
        bool,
        typer.Option(
            "--rocq",
            help="Write the certificates as lemmas of Rocq (Coq) too, for dpverdict check --rocq, or make.",
            rich_help_panel="Output",
        ),
    ] = False,
) -> CommandResult:
    """Check the numbered statements of the source papers, and print the ledger of outcomes.

    A false statement that is refuted is a success of the ledger, and is shown as refuted. Statements of your own run in
    a process of their own.

    For example: dpverdict prove lebeda2024 --statement 3.4 --explain

    Exit codes: 0 every outcome as recorded, 1 an outcome changed or a check missed a planted fault, 2 usage error.
    """
    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.audit.runs.finished_audit import console_facts
    from dpverdict.proofs.ledger.certificate_files import certificate_folder, write_certificates
    from dpverdict.proofs.ledger.proof_process import WantedProofFaces, proved
    from dpverdict.proofs.ledger.prove import Proof
    from dpverdict.proofs.rocq.certificates import with_rocq

    if rocq and certificates is None:
        raise InvalidValue("rocq", "given", "with --certificates FOLDER", "name the folder")
    limits = parse_limits(timeout, memory)
    folder = None if certificates is None else certificate_folder(certificates)
    with Outputs(json=json, report=report) as outputs:
        outputs.refuse_overwriting({} if paper is None else {"the statements": paper})
        wanted = WantedProofFaces(
            page="report" in outputs,
            explained=explain,
            console=console_facts(details=details),
            certified=folder is not None,
        )
        with engine_of_options(jobs, dask), progress_bar() as bar:
            made = proved(Proof(paper=paper, number=statement), wanted, limits, bar)
        outputs.refuse_overwriting({f"the file {path} that was used": path for path in made.files})
        outputs.write(json=lambda: made.json, report=lambda: made.page)
        if folder is not None:
            write_certificates(folder, with_rocq(made.certificates) if rocq else made.certificates)
    with printing():
        sys.stdout.write(made.text)
        if not (details or explain):
            print("  --details prints every statement; --statement NUMBER --explain all of one.")
    return CommandResult(code=made.exit_code)


@exit_with
def check(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A certificate, or the folder that dpverdict prove --certificates wrote.",
            show_default=False,
        ),
    ],
    against_source: Annotated[
        bool,
        typer.Option(
            "--against-source",
            help="Make the certificates of statements again from the installed source, and compare.",
        ),
    ] = False,
    rocq: Annotated[
        bool,
        typer.Option(
            "--rocq",
            help="Have the kernel of Rocq (coqc, with libcoq-interval) decide the conditions of statements as well.",
        ),
    ] = False,
    timeout: Annotated[
        str | None,
        option("--timeout", "SECONDS", "Stop a check that has not finished by then; 600 if not given.", "Machines"),
    ] = None,
    memory: Memory = None,
    quiet: Quiet = False,
) -> CommandResult:
    """Read certificates again: every identity, inequality, box, matrix and comparison in them is decided anew.

    What must stand in the certificate of a verdict follows from its head, and one line says what it proves. A statement
    is tied to its text and to its conditions by its source alone: --against-source makes its certificate again.

    Of the certificate of a function (dpverdict audit --schema --certificate) every operation is derived again; the
    function is not run.

    With --rocq every condition of a statement is a lemma that coqc decides. kernel-checked: the kernel accepts all of
    it. compared by the kernel: it accepts that the numbers compare so, not where they are from. not accepted: no proof
    was found, which refutes nothing.

    For example: dpverdict check certificates/lebeda2024/thm3.1.json

    Exit codes: 0 nothing in them is wrong, 1 something is, or was changed after it was made, 2 usage error, or a check
    that did not finish.
    """
    from dataclasses import replace

    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.proofs.ledger.certificate_files import checked
    from dpverdict.proofs.ledger.proof_process import unlike_source
    from dpverdict.proofs.rocq.certificates import kernel_read

    found = checked(path, parse_limits(timeout, memory), with_documents=against_source or rocq)
    stated = [one for one in found.documents if "statement" in one[1]] if against_source else []
    unlike = [(name, problem) for name, document in stated if (problem := unlike_source(document)) is not None]
    found = replace(found, refused=(*found.refused, *unlike))
    text = ""
    if rocq:
        with progress_bar() as bar:
            read = kernel_read(path, found.documents, progress=bar)
        found, text = replace(found, refused=(*found.refused, *read.refused)), f"\n{read.text}"
    if not quiet:
        print_lines(found.text + text, whole="REFUSED")
    return CommandResult(code=found.exit_code)
