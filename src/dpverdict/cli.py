"""The command line: ``dpverdict audit``, ``scores``, ``replay``, ``run``, ``curve``, ``prove`` and ``list``.

Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 a usage error, 130 interrupted, 70 a fault of this program. The
commands import what they need when they run, so that ``dpverdict --help`` answers at once.
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dpverdict import __version__
from dpverdict.cli_options import (
    Dask,
    HtmlReport,
    Jobs,
    JsonReport,
    MechanismName,
    Quiet,
    option,
    parameters,
    takes_parameters,
)
from dpverdict.errors import DpverdictError, InvalidValue

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130
INTERNAL_ERROR: Final = 70
ERROR_PROBABILITY: Final = "1e-6"

app: typer.Typer = typer.Typer(
    name="dpverdict",
    help="Does this mechanism keep the privacy promise it makes? Certified, refuted or inconclusive, with evidence.",
    epilog="Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 usage error.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"dpverdict {__version__}")
        raise typer.Exit


@app.command()
@takes_parameters
def audit(
    context: typer.Context,
    mechanism: MechanismName,
    claim: Annotated[
        str | None,
        option("--claim", "TEXT", 'Such as "mu=1", "eps=1, delta=1e-6" or "rho=0.5"; else its own.', "Audit"),
    ] = None,
    data: Annotated[
        str | None,
        option("--data", "TABLE", "Records: .csv, .npy, .npz (array records) or module:function.", "Audit"),
    ] = None,
    record: Annotated[
        str | None, option("--record", "INDEX", "Test this record of the table; else the most exposed.", "Audit")
    ] = None,
    neighbours: Annotated[
        str | None, option("--neighbours", "FILE", "A .npz with the arrays dataset and neighbour.", "Audit")
    ] = None,
    samples: Annotated[
        str | None,
        option("--samples", "N", "Releases per dataset, 1e6 for a million; from the dimension if not given.", "Tests"),
    ] = None,
    error_probability: Annotated[
        str | None,
        option(
            "--error-probability", "P", f"Of refuting a true claim by chance; {ERROR_PROBABILITY} if left out.", "Tests"
        ),
    ] = None,
    seed: Annotated[
        str | None, option("--seed", "N", "Of every random number; drawn fresh and reported if not given.", "Tests")
    ] = None,
    score: Annotated[
        str | None, option("--score", "module:function", "Scores releases; likelihood ratio if not given.", "Tests")
    ] = None,
    test_delta: Annotated[
        str | None,
        option("--test-delta", "D", "Bound epsilon from below at this delta; else that of --claim.", "Tests"),
    ] = None,
    numbers: Annotated[
        str | None,
        option("--numbers", "real|double", "Round outputs before the test, or search their low bits too.", "Tests"),
    ] = None,
    search: Annotated[
        str | None,
        option("--search", "binary:N|unit:N", "Search the neighbours of a function, records of N entries.", "Tests"),
    ] = None,
    no_test: Annotated[
        bool, typer.Option("--no-test", help="Exact evidence only: sample nothing.", rich_help_panel="Tests")
    ] = False,
    jobs: Jobs = None,
    dask: Dask = None,
    json: JsonReport = None,
    witness: Annotated[
        Path | None,
        option("--witness", "FILE", "Write what refutes the claim, if anything does, for replay.", "Output"),
    ] = None,
    report: HtmlReport = None,
    quiet: Quiet = False,
) -> None:
    """Audit a mechanism: does it keep the promise it makes?

    A mechanism of known structure is certified or refuted exactly, and its releases are tested as well. Of a function
    of your own only the releases are seen: give --neighbours and --claim; it can be refuted, but not certified.

    Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 usage error.
    """
    outputs = _output_files({"json": json, "report": report, "witness": witness})

    from dpverdict.audit.request import Request, carry_out

    request = Request(
        mechanism=mechanism,
        options=parameters(context),
        claim=claim,
        data=data,
        record=record,
        neighbours=neighbours,
        samples=samples,
        error_probability=error_probability,
        seed=seed,
        score=score,
        test_delta=test_delta,
        numbers=numbers,
        search=search,
        exact_only=no_test,
        command=None if context.obj is None else shlex.join(["dpverdict", *context.obj]),
    )
    with _chosen_engine(jobs, dask), _progress_bar() as bar:
        made = carry_out(request, bar)
    if "json" in outputs:
        from dpverdict.audit.report_json import write_json

        write_json(made, outputs["json"])
    if "report" in outputs:
        from dpverdict.audit.report_html import write_html

        write_html(made, outputs["report"])
    if "witness" in outputs:
        from dpverdict.audit.witness_file import report_witness, write_witness

        document = report_witness(made, request)
        if document is not None:
            write_witness(document, outputs["witness"])
    if not quiet:
        from dpverdict.audit.report_terminal import print_report

        with _reader_may_leave():
            print_report(made)
    raise typer.Exit(made.exit_code)


@app.command()
@takes_parameters
def curve(
    context: typer.Context,
    mechanism: MechanismName,
    points: Annotated[str, option("--points", "N", "How many points of each curve.", "Output")] = "11",
    csv: Annotated[Path | None, option("--csv", "FILE", "Write the numbers in full.", "Output")] = None,
    json: Annotated[Path | None, option("--json", "FILE", "Write the numbers in full, as JSON.", "Output")] = None,
    png: Annotated[Path | None, option("--png", "FILE", "Draw the curves.", "Output")] = None,
    svg: Annotated[Path | None, option("--svg", "FILE", "Draw the curves, as SVG.", "Output")] = None,
) -> None:
    """Certified curves of the worst neighbours: the privacy profile delta(epsilon) and the trade-off beta(alpha).

    Of a counter, its errors as well. In place of a mechanism: counters (Laplace trees against Gaussian factorisations,
    and the delta below which the tree is better), ellipses (counting queries on records with at most k non-zero
    entries, and the optimum), constants (the embedding constant C of correlated noise).
    """
    outputs = _output_files({"csv": csv, "json": json, "png": png, "svg": svg})

    from dpverdict.audit.atomic_file import write_atomically
    from dpverdict.audit.curves_request import curve_faces
    from dpverdict.audit.option_text import whole_number

    faces = curve_faces(mechanism, parameters(context), points=whole_number(points, "points", at_least=2))
    for face, path in outputs.items():
        write_atomically(path, faces.written[face]())
    with _reader_may_leave():
        faces.show()


@app.command()
def run(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A TOML file of audits.", show_default=False)],
    journal: Annotated[
        Path | None, option("--journal", "FOLDER", "Keeps what is finished; PLAN.journal if not given.", "Run")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget what the journal holds.", rich_help_panel="Run")
    ] = False,
    jobs: Jobs = None,
    dask: Dask = None,
    json: Annotated[Path | None, option("--json", "FILE", "Write the results as JSON.", "Output")] = None,
    junit: Annotated[Path | None, option("--junit", "FILE", "Write the results as JUnit XML.", "Output")] = None,
    report: Annotated[Path | None, option("--report", "FILE", "Write one HTML page of all reports.", "Output")] = None,
    quiet: Quiet = False,
) -> None:
    """Run a plan of audits: one report, one exit code. A run that was stopped continues where it was.

    Exit codes: 0 all as expected, 1 one was refuted, or was not though it had to be, 3 inconclusive, 2 usage error.
    """
    outputs = _output_files({"json": json, "junit": junit, "report": report})

    from dpverdict.audit.atomic_file import write_atomically
    from dpverdict.audit.plan import read_plan
    from dpverdict.audit.plan_report import print_plan, render_junit, render_plan_html, render_plan_json
    from dpverdict.audit.plan_run import open_journal, run_plan

    read = read_plan(plan)
    with open_journal(plan, journal, fresh=fresh) as kept, _chosen_engine(jobs, dask), _progress_bar() as bar:
        result = run_plan(read, kept, bar)
    faces = {"json": render_plan_json, "junit": render_junit, "report": render_plan_html}
    for name, path in outputs.items():
        write_atomically(path, faces[name](result))
    if not quiet:
        with _reader_may_leave():
            print_plan(result)
    raise typer.Exit(result.exit_code)


@app.command()
def scores(
    context: typer.Context,
    scores_in: Annotated[
        str | None, option("--in", "FILE", "Scores with the canary: .npy, .csv, .parquet (file.csv#column).", "Scores")
    ] = None,
    scores_out: Annotated[str | None, option("--out", "FILE", "Scores without it.", "Scores")] = None,
    of_one_run: Annotated[
        str | None, option("--scores", "FILE", "In their place, of all canaries of one run.", "Scores")
    ] = None,
    included: Annotated[
        str | None, option("--included", "FILE", "The fair coin of each canary of that run: 0 or 1.", "Scores")
    ] = None,
    claim: Annotated[str | None, option("--claim", "TEXT", 'Such as "mu=1" or "eps=1, delta=1e-6".', "Audit")] = None,
    delta: Annotated[
        str | None, option("--delta", "D", "Bound epsilon from below at this delta; else that of --claim.", "Audit")
    ] = None,
    error_probability: Annotated[
        str | None,
        option("--error-probability", "P", f"Of refuting a true claim; {ERROR_PROBABILITY} if left out.", "Audit"),
    ] = None,
    seed: Annotated[
        str | None,
        option("--seed", "N", "Of the split of the scores; drawn fresh and reported if not given.", "Audit"),
    ] = None,
    json: JsonReport = None,
    report: HtmlReport = None,
    quiet: Quiet = False,
) -> None:
    """Test a claim against recorded scores: of canaries in training runs, or of any other system.

    Scores of independent runs with and without the canary, or of many canaries of one run, each included by a fair
    coin. They can refute a claim, never certify it.

    Exit codes: 1 refuted, 3 inconclusive, 2 usage error.
    """
    outputs = _output_files({"json": json, "report": report})

    from dpverdict.audit.scores_request import ScoresRequest, audit_scores

    request = ScoresRequest(
        claim=claim,
        scores_in=scores_in,
        scores_out=scores_out,
        scores=of_one_run,
        included=included,
        error_probability=error_probability,
        seed=seed,
        delta=delta,
        command=None if context.obj is None else shlex.join(["dpverdict", *context.obj]),
    )
    made = audit_scores(request)
    if "json" in outputs:
        from dpverdict.audit.report_json import write_json

        write_json(made, outputs["json"])
    if "report" in outputs:
        from dpverdict.audit.report_html import write_html

        write_html(made, outputs["report"])
    if not quiet:
        from dpverdict.audit.report_terminal import print_report

        with _reader_may_leave():
            print_report(made)
    raise typer.Exit(made.exit_code)


@app.command()
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
    jobs: Jobs = None,
    dask: Dask = None,
    quiet: Quiet = False,
) -> None:
    """Check a witness again on fresh random numbers: its score and its event are fixed, nothing is explored.

    Exit codes: 1 refuted again, 3 not refuted this time, 2 usage error, also a damaged or foreign file.
    """
    from dpverdict.audit.option_text import probability, whole_number
    from dpverdict.audit.replay import replay as run_again
    from dpverdict.audit.witness_file import read_witness

    document = read_witness(witness)
    with _chosen_engine(jobs, dask):
        found = run_again(
            document,
            neighbours=neighbours,
            samples=None if samples is None else whole_number(samples, "samples", at_least=2),
            error_probability=None
            if error_probability is None
            else probability(error_probability, "error_probability"),
            seed=None if seed is None else whole_number(seed, "seed", at_least=0),
        )
    if not quiet:
        with _reader_may_leave():
            print(found.summary())
    raise typer.Exit(found.exit_code)


@app.command()
def prove(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help="lebeda2024, andersson2024, ji2024, poulsen2022 or new_results, or a module or file.py of your own "
            "with @statement; all papers if not given.",
            show_default=False,
        ),
    ] = None,
    statement: Annotated[
        str | None, option("--statement", "NUMBER", "Such as 3.4, lem3.4 or 'Lemma 3.4'.", "Statements")
    ] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Conditions, assumptions, planted faults.", rich_help_panel="Output")
    ] = False,
    json: Annotated[Path | None, option("--json", "FILE", "Write the ledger as JSON.", "Output")] = None,
    report: Annotated[Path | None, option("--report", "FILE", "Write the ledger as one HTML page.", "Output")] = None,
) -> None:
    """Check the numbered statements of the source papers, and print the ledger of outcomes.

    A false statement that is refuted is a success of the ledger, and is shown as refuted.

    Exit codes: 0 every outcome as recorded, 1 an outcome changed, 2 usage error.
    """
    outputs = _output_files({"json": json, "report": report})

    from dpverdict.proofs.prove import Proof, carry_out, show_explanations, show_table

    request = Proof(paper=paper, number=statement, json=outputs.get("json"), report=outputs.get("report"))
    with _chosen_engine(jobs, dask), _progress_bar() as bar:
        ledger = carry_out(request, bar)
    with _reader_may_leave():
        (show_explanations if explain else show_table)(ledger)
    raise typer.Exit(ledger.exit_code)


@app.command(name="list")
def list_mechanisms() -> None:
    """The mechanisms with their parameters, and the known-wrong ones with the privacy they really have."""
    from dpverdict.audit.catalogue_terminal import print_catalogue

    with _reader_may_leave():
        print_catalogue()


@app.command()
def selftest() -> None:
    """Check in seconds that this installation finds what it must find, and nothing where nothing is.

    Exit codes: 0 every check passed, 1 one did not.
    """
    from rich.console import Console
    from rich.text import Text

    from dpverdict.selftest import carry_out

    console, failed = Console(highlight=False), 0
    with _reader_may_leave():
        for check, passed, found in carry_out():
            failed += not passed
            mark = Text("ok    ", style="green") if passed else Text("FAILED", style="bold red")
            console.print(Text.assemble(mark, f" {check.name}: {found}"))
    raise typer.Exit(1 if failed else 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is returned, and an error is one line on standard error."""
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="dpverdict", standalone_mode=False, obj=arguments)
        if code == INTERRUPTED:  # some versions of typer answer an interrupt themselves
            raise KeyboardInterrupt
    except typer.Exit as stop:  # raised or returned, as the version of typer has it
        return stop.exit_code
    except DpverdictError as error:
        return _fail(str(error))
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _fail(f"{where}{error.strerror or error}")
    except MemoryError:
        return _fail("the audit does not fit in the memory: choose a smaller --dim or --samples")
    except (KeyboardInterrupt, typer.Abort, EOFError):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except _UsageError as error:
        return _fail(error.format_message())
    except Exception:  # a fault of this program must not leave with Python's own exit code 1, which says "refuted"
        traceback.print_exc()
        return INTERNAL_ERROR
    return code if isinstance(code, int) else 0


# The base of every usage error, whichever library typer parses with: it exports BadParameter alone, so the type is Any.
_UsageError: Final[Any] = typer.BadParameter.__mro__[1]


def _fail(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return USAGE_ERROR


def _output_files(paths: dict[str, Path | None]) -> dict[str, Path]:
    """The files to write, each checked before the work begins."""
    from dpverdict.audit.option_text import output_file

    files: dict[str, Path] = {}
    for name, path in paths.items():
        if path is None:
            continue
        files[name] = output_file(path, name)
        if os.path.realpath(path) in [os.path.realpath(files[other]) for other in files if other != name]:
            raise InvalidValue(name, str(path), "a file of its own", "give every output another file name")
    return files


@contextmanager
def _chosen_engine(jobs: str | None, dask: str | None) -> Generator[None]:
    """Run the trials where the options say."""
    from dpverdict.audit.engines import chosen_engine
    from dpverdict.audit.option_text import whole_number

    with chosen_engine(jobs=None if jobs is None else whole_number(jobs, "jobs", at_least=1), dask=dask):
        yield


@contextmanager
def _progress_bar() -> Generator[Callable[[str, int, int], None] | None]:
    """A bar on standard error while it is a terminal; None otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        tasks = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield update


@contextmanager
def _reader_may_leave() -> Generator[None]:
    """Let the reader of a pipe close it early, as ``| head`` does: the exit code still tells the verdict."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
