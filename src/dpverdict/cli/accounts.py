"""``dpverdict compose`` and ``calibrate``: what is spent, and the least noise of a claim."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dpverdict.cli.options import MechanismName, option, parameters
from dpverdict.cli.session import Ended, ends, printing

Claim = Annotated[
    str, typer.Option("--claim", metavar="TEXT", help='Such as "mu=1", "eps=1, delta=1e-6" or "rho=0.5".')
]


@ends
def compose(
    releases: Annotated[
        list[str],
        typer.Argument(
            metavar="RELEASES...",
            help='Each as "30 x gaussian sigma=20 sensitivity=1", or a .json file with an event of dp_accounting.',
            show_default=False,
        ),
    ],
    claim: Claim,
    adjacency: Annotated[
        str | None, option("--adjacency", "RELATION", "Of events; add-or-remove-one or replace-one.", "Audit")
    ] = None,
) -> Ended:
    """What many releases spend together of a claim, and how many more of each remain: an odometer.

    Which mechanisms run, and how often, is taken for fixed in advance.

    For example: dpverdict compose "30 x gaussian sigma=20 sensitivity=1" --claim "eps=2, delta=1e-6"

    Exit codes: 0 kept, 1 not kept, 3 inconclusive, 2 usage error.
    """
    from dpverdict.audit.reports.report import EXIT_CODES
    from dpverdict.audit.runs.accounts import composed
    from dpverdict.errors import printable

    found = composed(releases, claim, adjacency)
    with printing():
        print(printable(found.text(), sys.stdout.encoding))
    return Ended(code=EXIT_CODES[found.account.status])


@ends
def calibrate(
    context: typer.Context,
    mechanism: MechanismName,
    claim: Claim,
    releases: Annotated[str, option("--releases", "N", "How many releases share the claim.", "Audit")] = "1",
) -> Ended:
    """The least noise at which a mechanism keeps a claim of any kind: certified, with one step less that does not.

    Of gaussian it finds --sigma, of laplace --scale; the other parameters are given as for an audit, such as
    --sensitivity and --dim.

    For example: dpverdict calibrate gaussian --claim "eps=1, delta=1e-6" --sensitivity 1
    """
    from dpverdict.audit.runs.accounts import calibrated
    from dpverdict.errors import printable

    found = calibrated(mechanism, parameters(context), claim, releases)
    with printing():
        print(printable(found.summary(), sys.stdout.encoding))
    return Ended(code=0)
