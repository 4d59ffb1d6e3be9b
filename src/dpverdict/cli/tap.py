"""``dpverdict tap``: the draws of a function, recorded on one dataset and replayed on its neighbour."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer

from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY
from dpverdict.cli.options import (
    JsonReport,
    MechanismName,
    Memory,
    Neighbours,
    OwnClaim,
    Quiet,
    Timeout,
    option,
    parameters,
)
from dpverdict.cli.session import CommandResult, Outputs, exit_with, print_lines


@exit_with
def tap(
    context: typer.Context,
    mechanism: MechanismName,
    claim: OwnClaim = None,
    neighbours: Neighbours = None,
    seed: Annotated[
        str | None, option("--seed", "N", "Of the recorded draws; drawn fresh and shown if not given.", "Tests")
    ] = None,
    samples: Annotated[
        str | None,
        option("--samples", "N", "Fresh releases per dataset that confirm a finding; 2000 if not given.", "Tests"),
    ] = None,
    error_probability: Annotated[
        str | None,
        option("--error-probability", "P", f"Of the test on them; {DEFAULT_ERROR_PROBABILITY} if left out.", "Tests"),
    ] = None,
    timeout: Timeout = None,
    memory: Memory = None,
    json: JsonReport = None,
    quiet: Quiet = False,
) -> CommandResult:
    """Look inside a function without its source: record its noise on a dataset, replay it on the neighbour.

    Shows what noise was added to, how far that moved, and the loss of this pair; needs no statistics, and no change to
    the code. What the tap finds is tested on fresh releases of the untouched function.

    For example: dpverdict tap release.py:noisy_counts --neighbours pair.npz --claim eps=1

    Exit codes: 1 refuted, 3 a finding, quiet or not covered: nothing is certified from one pair; 2 usage error.
    """
    from dpverdict.audit.implementation.tap.tap_request import TapRequest, tap_in_subprocess
    from dpverdict.audit.isolation.process import parse_limits

    request = TapRequest(
        mechanism=mechanism,
        neighbours=neighbours,
        claim=claim,
        options=parameters(context),
        seed=seed,
        samples=samples,
        error_probability=error_probability,
    )
    with Outputs(json=json) as outputs:
        found = tap_in_subprocess(request, parse_limits(timeout, memory))
        outputs.write(json=lambda: json_text.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n")
    if not quiet:
        print_lines(found.text())
    return CommandResult(code=found.exit_code)
