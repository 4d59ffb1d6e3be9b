"""``dpverdict scores``: a claim against recorded scores."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from dpverdict.cli.options import (
    ERROR_PROBABILITY,
    HtmlReport,
    JsonReport,
    Quiet,
    option,
)
from dpverdict.cli.session import output_files, reader_may_leave


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
    outputs = output_files({"json": json, "report": report})

    from dpverdict.audit.runs.scores import ScoresRequest, audit_scores

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
        from dpverdict.audit.reports.to_json import write_json

        write_json(made, outputs["json"])
    if "report" in outputs:
        from dpverdict.audit.reports.html import write_html

        write_html(made, outputs["report"])
    if not quiet:
        from dpverdict.audit.reports.terminal import print_report

        with reader_may_leave():
            print_report(made)
    raise typer.Exit(made.exit_code)
