"""``dpverdict compose``, ``calibrate`` and ``dp-sgd``: what is spent, the least noise of a claim, training runs."""

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

    Which mechanisms run, and how often, is taken for fixed in advance. Exit codes: 0 kept, 1 not kept, 3 inconclusive,
    2 usage error.
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
    """
    from dpverdict.audit.runs.accounts import calibrated
    from dpverdict.errors import printable

    found = calibrated(mechanism, parameters(context), claim, releases)
    with printing():
        print(printable(found.summary(), sys.stdout.encoding))
    return Ended(code=0)


@ends
def dp_sgd(
    noise_multiplier: Annotated[
        str, typer.Option("--noise-multiplier", metavar="X", help="Standard deviation of the noise over the norm.")
    ],
    rate: Annotated[
        str, typer.Option("--rate", metavar="Q", help="Expected part of the records in a batch, such as 0.01 or 1/512.")
    ],
    steps: Annotated[str, typer.Option("--steps", metavar="T", help="How often the model is updated.")],
    sampling: Annotated[
        str,
        typer.Option("--sampling", metavar="poisson|shuffle|shuffle-once", help="How batches are made, in fact."),
    ],
    claim: Annotated[str, typer.Option("--claim", metavar="TEXT", help='Such as "eps=3.1, delta=1e-5".')],
    adjacency: Annotated[
        str,
        option("--adjacency", "RELATION", "add-or-remove-one if not given, or replace-one.", "Audit"),
    ] = "add-or-remove-one",
) -> Ended:
    """Is what an accountant says of a DP-SGD training run true? Exact curves; nothing is sampled.

    Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 usage error.
    """
    from dpverdict.audit.exact.training import certify_training
    from dpverdict.audit.reports.report import EXIT_CODES
    from dpverdict.errors import printable
    from dpverdict.mechanisms.core.neighbours import parse_adjacency
    from dpverdict.mechanisms.training.dp_sgd import DPSGD, read_sampling
    from dpverdict.numerics.text import whole_number

    training = DPSGD(
        noise_multiplier=noise_multiplier,
        rate=rate,
        steps=whole_number(steps, "steps", at_least=1, at_most=1 << 40),
        sampling=read_sampling(sampling),
        adjacency=parse_adjacency(adjacency),
    )
    verdict = certify_training(training, claim)
    facts = verdict.key_facts()
    with printing():
        print(printable(verdict.summary(), sys.stdout.encoding))
        for name in ("neighbours", "event", "its probability", "on the neighbour"):
            if name in facts:
                print(printable(f"  {name}: {facts[name]}", sys.stdout.encoding))
    return Ended(code=EXIT_CODES[verdict.status])
