"""``dpverdict scores``: a claim against recorded scores."""

from __future__ import annotations

import typer

from dpverdict.audit.documents.request import ScoresRequest
from dpverdict.cli.options import (
    Details,
    HtmlReport,
    JsonReport,
    Quiet,
    takes,
)
from dpverdict.cli.session import CommandResult, Outputs, exit_with, printing, say_more


@exit_with
@takes(ScoresRequest)
def scores(
    context: typer.Context,
    request: ScoresRequest,
    json: JsonReport = None,
    report: HtmlReport = None,
    details: Details = False,
    quiet: Quiet = False,
) -> CommandResult:
    """Test a claim against recorded scores: of canaries in training runs, or of any other system.

    Scores of independent runs with and without the canary, or of many canaries of one run, each included by a fair
    coin. They can refute a claim, never certify it.

    For example: dpverdict scores --in in.npy --out out.npy --claim mu=1 --report scores.html

    Exit codes: 1 refuted, 3 inconclusive, 2 usage error.
    """
    from dpverdict.audit.reports.html import render_html
    from dpverdict.audit.reports.terminal import print_report
    from dpverdict.audit.reports.to_json import render_json
    from dpverdict.audit.runs.scores import audit_scores

    with Outputs(json=json, report=report) as outputs:
        outputs.refuse_overwriting(request.inputs)
        made = audit_scores(request)
        outputs.write(json=lambda: render_json(made), report=lambda: render_html(made))
    if not quiet:
        with printing():
            print_report(made, details=details)
            if not details:
                say_more()
    return CommandResult(code=made.exit_code)
