"""``dpverdict run``: a plan of many audits with one report and one exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpverdict.cli.options import (
    Dask,
    Jobs,
    Junit,
    Memory,
    Quiet,
    Sarif,
    Timeout,
    option,
)
from dpverdict.cli.session import CommandResult, Outputs, engine_of_options, exit_with, printing, progress_bar, say

if TYPE_CHECKING:
    from dpverdict.audit.runs.plans.results import PlanResult
    from dpverdict.audit.runs.request import Bar


@exit_with
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
    timeout: Timeout = None,
    memory: Memory = None,
    json: Annotated[Path | None, option("--json", "FILE", "Write the results as JSON.", "Output")] = None,
    junit: Junit = None,
    sarif: Sarif = None,
    report: Annotated[Path | None, option("--report", "FILE", "Write one HTML page of all reports.", "Output")] = None,
    packet: Annotated[
        Path | None,
        option("--packet", "FOLDER", "Write packet.html and packet.json, for those who decide.", "Output"),
    ] = None,
    quiet: Quiet = False,
) -> CommandResult:
    """Run a plan of audits: one report, one exit code. A run that was stopped continues where it was.

    For example: dpverdict run plan.toml --report out.html --jobs 2, or dpverdict run plan.toml --packet decision

    Exit codes: 0 every audit is decided as expected, 1 one was refuted, or was not though it had to be, 2 one was not
    run, 3 something was only not refuted, which is no proof (0 if the plan says accept = "not refuted"), or the plan
    has controls alone, so that it certifies nothing.
    """
    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.audit.runs.costs import announced_plan
    from dpverdict.audit.runs.plans.plan import read_plan
    from dpverdict.audit.runs.plans.renderings import (
        BADGES,
        print_plan,
        render_junit,
        render_plan_html,
        render_plan_json,
    )
    from dpverdict.audit.runs.plans.run import open_journal, run_plan
    from dpverdict.audit.runs.plans.sarif import render_sarif

    limits = parse_limits(timeout, memory)
    with Outputs(json=json, junit=junit, sarif=sarif, report=report, **_packet_files(packet)) as outputs:
        outputs.refuse_overwriting({"the plan": plan})
        read = read_plan(plan)
        outputs.refuse_overwriting(read.inputs)
        cost = announced_plan([(one.name, one.request) for one in read.audits])
        if cost is not None:
            say(f"note: {cost}")
        with open_journal(plan, journal, fresh=fresh) as kept, engine_of_options(jobs, dask), progress_bar() as bar:
            result = run_plan(read, kept, bar, limits)
            packet_faces = {} if packet is None else _packet_faces(result, plan, bar)
        outputs.refuse_overwriting(result.files)
        outputs.write(
            json=lambda: render_plan_json(result),
            junit=lambda: render_junit(result),
            sarif=lambda: render_sarif(result),
            report=lambda: render_plan_html(result),
            **packet_faces,
        )
    if not quiet:
        with printing():
            print_plan(result)
            if outputs.files:
                outputs.conclude(BADGES[result.status])
    if result.not_run is not None:
        say(f"error: {result.not_run}")
    return CommandResult(code=result.exit_code)


def _packet_files(folder: Path | None) -> dict[str, Path]:
    """The two files of a packet by their names in `Outputs`; none where none is asked for."""
    if folder is None:
        return {}
    from dpverdict.audit.runs.plans.packet import DOCUMENT, PAGE
    from dpverdict.audit.trials.atomic_files import output_folder

    made = output_folder(folder, "packet")
    return {"packet_page": made / PAGE, "packet_document": made / DOCUMENT}


def _packet_faces(result: PlanResult, plan: Path, bar: Bar | None) -> dict[str, Callable[[], str]]:
    from dpverdict.audit.runs.plans.packet import packet_fields, render_packet_html, render_packet_json

    fields = packet_fields(result, plan, bar)
    return {
        "packet_page": lambda: render_packet_html(fields),
        "packet_document": lambda: render_packet_json(fields),
    }
