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
from dpverdict.cli.session import Ended, Outputs, ends, printing


@ends
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
) -> Ended:
    """Test a claim against recorded scores: of canaries in training runs, or of any other system.

    Scores of independent runs with and without the canary, or of many canaries of one run, each included by a fair
    coin. They can refute a claim, never certify it.

    For example: dpverdict scores --in in.npy --out out.npy --claim mu=1 --report scores.html

    Exit codes: 1 refuted, 3 inconclusive, 2 usage error.
    """
    from dpverdict.audit.reports.html import render_html
    from dpverdict.audit.reports.terminal import print_report
    from dpverdict.audit.reports.to_json import render_json
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
    with Outputs(json=json, report=report) as outputs:
        outputs.keep_apart_from(request.inputs)
        made = audit_scores(request)
        outputs.write(json=lambda: render_json(made), report=lambda: render_html(made))
    if not quiet:
        with printing():
            print_report(made)
    return Ended(code=made.exit_code)
