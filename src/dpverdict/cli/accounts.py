"""``dpverdict compose``, ``calibrate``, ``compare``, ``curve``: what is spent, the least noise, and curves."""

from __future__ import annotations

import json as json_module
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dpverdict.cli.options import (
    BaseRate,
    Details,
    MechanismName,
    OwnClaim,
    Quiet,
    command_line,
    option,
    parameters,
)
from dpverdict.cli.session import CommandResult, Outputs, exit_with, print_lines, printing, say

if TYPE_CHECKING:
    from dpverdict.audit.exact.calibrate import Calibration

JsonFile = Annotated[Path | None, option("--json", "FILE", "Write the numbers in full, as JSON.", "Output")]
ReportFile = Annotated[Path | None, option("--report", "FILE", "Write the same as one HTML page.", "Output")]
Claim = Annotated[
    str, typer.Option("--claim", metavar="TEXT", help='Such as "mu=1", "eps=1, delta=1e-6" or "rho=0.5".')
]

BASE_RATES: Final = ("0.01", "0.001")
"""Of which the risk of a promise is said where none is given."""

MOST_POINTS: Final = 10_000
"""Of a curve: each is certified, and written in a table."""


@exit_with
def compose(
    context: typer.Context,
    releases: Annotated[
        list[str],
        typer.Argument(
            metavar="RELEASES...",
            help='Each as "30 x gaussian sigma=20 sensitivity=1", or a .json file with an event of dp_accounting.',
            show_default=False,
        ),
    ],
    claim: OwnClaim = None,
    delta: Annotated[
        str | None, option("--delta", "D", "Say the epsilon that is spent at this delta, without a claim.", "Audit")
    ] = None,
    adjacency: Annotated[
        str | None, option("--adjacency", "RELATION", "Of events; add-or-remove-one or replace-one.", "Audit")
    ] = None,
    base_rate: BaseRate = None,
    json: JsonFile = None,
    report: ReportFile = None,
    quiet: Quiet = False,
) -> CommandResult:
    """What many releases spend together: the epsilon at a delta; or of a claim, with how many more of each remain.

    Which mechanisms run, and how often, is taken for fixed in advance.

    What is spent: dpverdict compose "30 x gaussian sigma=20 sensitivity=1" --delta 1e-6

    For example: dpverdict compose "30 x gaussian sigma=20 sensitivity=1" --claim "eps=2, delta=1e-6"

    Exit codes: 0 kept, 1 not kept, 3 inconclusive, 2 usage error.
    """
    from dpverdict.audit.reports.report import EXIT_CODES
    from dpverdict.audit.runs.account_documents import composition_document, composition_page
    from dpverdict.audit.runs.accounts import SpentEpsilon, check_question, names_an_event, risk_lines, spent_or_held

    check_question(claim, delta)
    with Outputs(json=json, report=report) as outputs:
        outputs.refuse_overwriting({f"the event {name}": name for name in releases if names_an_event(name)})
        found = spent_or_held(releases, claim, delta, adjacency)
        risk = None if base_rate is None else found.loss.risk(base_rate)
        if outputs.files:
            document = composition_document(found, risk, command_line(context))
            outputs.write(
                json=lambda: json_text(document),
                report=lambda: composition_page(found, risk, document),
            )
    lines = [*found.text().splitlines(), *risk_lines(risk)]
    _conclude(lines, outputs, "composed", quiet=quiet)
    return CommandResult(code=0 if isinstance(found, SpentEpsilon) else EXIT_CODES[found.account.status])


@exit_with
def calibrate(
    context: typer.Context,
    mechanism: MechanismName,
    claim: Claim,
    releases: Annotated[str, option("--releases", "N", "How many releases share the claim.", "Audit")] = "1",
    schema: Annotated[
        str | None, option("--schema", "FILE", "Of the table that a function of your own takes.", "Audit")
    ] = None,
    base_rate: BaseRate = None,
    json: JsonFile = None,
    report: ReportFile = None,
    quiet: Quiet = False,
) -> CommandResult:
    """The least noise at which a mechanism keeps a claim of any kind: certified, with one step less that does not.

    Of gaussian it finds --sigma, of laplace --scale, of dp-sgd and dp-ftrl --noise-multiplier; the other parameters are
    given as for an audit, such as --sensitivity and --dim.

    Of a function of your own it finds, with the schema of its table, the scale that each line needs with the others as
    they are, and a common factor for all of them. It runs in a process of its own.

    For example: dpverdict calibrate gaussian --claim "eps=1, delta=1e-6" --sensitivity 1

    Of your own: dpverdict calibrate release.py:noisy_counts --schema patients.toml --claim eps=1

    Exit codes: 0 found, 2 usage error, 3 a function that is not covered, or that keeps the claim with no noise.
    """
    from dpverdict.audit.runs.account_documents import calibration_document, calibration_page
    from dpverdict.audit.runs.accounts import calibrated, risk_lines
    from dpverdict.errors import InvalidValue
    from dpverdict.mechanisms.core.guarantees import as_guarantee

    if schema is not None:
        from dpverdict.audit.runs.account_documents import needed_noise_document, needed_noise_page
        from dpverdict.audit.runs.traced import calibrated_function

        for name, value in {**parameters(context), "releases": None if releases == "1" else releases}.items():
            if value is not None:
                remedy = "say them in the function"
                raise InvalidValue(name, value, "left out beside --schema, which needs --claim alone", remedy)
        promised = None if base_rate is None else as_guarantee(claim).risk(base_rate)
        with Outputs(json=json, report=report) as outputs:
            outputs.refuse_overwriting({"the schema": schema})
            needed = calibrated_function(mechanism, schema, claim)
            if outputs.files:
                written = needed_noise_document(needed, schema, promised, command_line(context))
                outputs.write(
                    json=lambda: json_text(written), report=lambda: needed_noise_page(needed, promised, written)
                )
        _conclude([*needed.text().splitlines(), *risk_lines(promised)], outputs, "calibrated", quiet=quiet)
        return CommandResult(code=needed.exit_code)
    with Outputs(json=json, report=report) as outputs:
        given = {name: word for name, word in parameters(context).items() if word is not None}
        found = calibrated(mechanism, given, claim, releases)
        risk = None if base_rate is None else found.loss.risk(base_rate)
        if outputs.files:
            document = calibration_document(found, mechanism, given, risk, command_line(context))
            outputs.write(
                json=lambda: json_text(document),
                report=lambda: calibration_page(found, risk, document),
            )
    certificate = _certificate(found, mechanism, given, claim)
    _conclude([*found.summary().splitlines(), *risk_lines(risk), *certificate], outputs, "calibrated", quiet=quiet)
    return CommandResult(code=0)


def _certificate(found: Calibration, mechanism: str, given: Mapping[str, str], claim: str) -> list[str]:
    """The command that writes the certificate of one release with the noise that was found."""
    from dpverdict.audit.trials.catalogue import option as option_for

    if found.releases > 1:
        return []
    words = [mechanism, option_for(str(found.mechanism.scaled_by)), repr(found.scale)]
    for name, word in given.items():
        words += [option_for(name), word]
    return [f"  certificate: dpverdict audit {shlex.join([*words, '--claim', claim])} --certificate FILE"]


def _conclude(lines: Sequence[str], outputs: Outputs, done: str, *, quiet: bool) -> None:
    if quiet:
        return
    print_lines(lines)
    with printing():
        if outputs.files:
            outputs.conclude(done)


def json_text(document: Mapping[str, object]) -> str:
    """A document as it is written."""
    return json_module.dumps(document, indent=2, allow_nan=False) + "\n"


@exit_with
def risk(
    claim: Annotated[
        str, typer.Argument(metavar="CLAIM", help='Such as "eps=2", "eps=1, delta=1e-6" or "mu=1".', show_default=False)
    ],
    base_rate: Annotated[
        str | None,
        option(
            "--base-rate",
            "P",
            "The share of people that the attacker suspects, such as 0.001; 1 in 100 and 1 in 1000 if left out.",
            "Audit",
        ),
    ] = None,
) -> CommandResult:
    """What a promise means for people: how often an attacker is right about whom it accuses, and whom it finds.

    It holds of everything that keeps the promise. With --base-rate, audit and compose say it of a mechanism.

    For example: dpverdict risk eps=2 --base-rate 0.001

    Exit codes: 0 answered, 2 usage error.
    """
    from dpverdict.audit.runs.accounts import risk_lines
    from dpverdict.mechanisms.core.guarantees import as_guarantee

    promised = as_guarantee(claim)
    *others, last = [promised.risk(rate) for rate in (BASE_RATES if base_rate is None else (base_rate,))]
    first = [f"  {line}" for one in others for line in textwrap.wrap(one.headline, 78, break_on_hyphens=False)]
    print_lines([f"What {promised.describe()} promises:", *first, *risk_lines(last)])
    return CommandResult(code=0)


@exit_with
def compare(
    context: typer.Context,
    mechanism: Annotated[
        list[str],
        typer.Argument(metavar="MECHANISMS...", help="Names that `dpverdict list` shows.", show_default=False),
    ],
    claim: Claim,
    base_rate: BaseRate = None,
    json: Annotated[Path | None, option("--json", "FILE", "Write the table as JSON.", "Output")] = None,
    report: Annotated[
        Path | None, option("--report", "FILE", "Write the table and the curves as one HTML page.", "Output")
    ] = None,
) -> CommandResult:
    """Several mechanisms at one claim: the least noise of each, its errors, and the curves in one picture.

    What they have in common, such as --dim, is given once, to each that takes it. The noise is certified to keep the
    claim; errors are means over releases. A mechanism that cannot keep the claim says why.

    For example: dpverdict compare laplace standard-gaussian correlated-gaussian --claim "eps=1, delta=1e-6" --dim 10

    Exit codes: 0 all keep the claim, 2 usage error, 3 some cannot.
    """
    from dpverdict.audit.comparisons.at_one_claim import compare_mechanisms

    with Outputs(json=json, report=report) as outputs:
        found = compare_mechanisms(mechanism, parameters(context), claim, base_rate)
        outputs.write(json=found.json, report=found.page)
    print_lines(found.text())
    with printing():
        if outputs.files:
            outputs.conclude("compared")
    return CommandResult(code=3 if found.failed else 0)


@exit_with
def curve(
    context: typer.Context,
    mechanism: MechanismName,
    points: Annotated[str, option("--points", "N", "How many points of each curve.", "Output")] = "11",
    base_rate: BaseRate = None,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write the numbers in full.", "Output")] = None,
    json: Annotated[Path | None, option("--json", "FILE", "Write the numbers in full, as JSON.", "Output")] = None,
    png: Annotated[Path | None, option("--png", "FILE", "Draw the curves.", "Output")] = None,
    svg: Annotated[Path | None, option("--svg", "FILE", "Draw the curves, as SVG.", "Output")] = None,
    details: Details = False,
) -> CommandResult:
    """Certified curves of the worst neighbours: the privacy profile delta(epsilon) and the trade-off beta(alpha).

    Of a counter, its errors as well. In place of a mechanism: counters (Laplace trees against Gaussian factorisations,
    and the delta below which the tree is better), ellipses (counting queries on records with at most k non-zero
    entries, and the optimum), constants (the embedding constant C of correlated noise).

    For example: dpverdict curve correlated-gaussian --dim 100 --mu 1 --points 5
    """
    from dpverdict.audit.comparisons.named_curves import renderings_of_curves
    from dpverdict.audit.runs.costs import announced_curve
    from dpverdict.numerics.text import whole_number

    with Outputs(csv=csv, json=json, png=png, svg=svg) as outputs:
        count = whole_number(points, "points", at_least=2, at_most=MOST_POINTS)
        options = parameters(context)
        cost = announced_curve(mechanism, options, count)
        if cost is not None:
            say(f"note: {cost}")
        faces = renderings_of_curves(mechanism, options, points=count, base_rate=base_rate)
        outputs.write(**faces.files)
    with printing():
        faces.show(details)
    return CommandResult(code=0)
