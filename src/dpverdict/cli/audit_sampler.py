"""``dpverdict audit-sampler``: how a loader makes its batches, against how it is said to."""

from __future__ import annotations

import json as json_text
import sys
from typing import Annotated

import typer

from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY
from dpverdict.cli.options import JsonReport, Memory, Quiet, Timeout, option
from dpverdict.cli.session import CommandResult, Outputs, exit_with, printing


@exit_with
def audit_sampler(
    loader: Annotated[
        str,
        typer.Argument(
            metavar="LOADER",
            help="loader.py:make or module:make, a function that gives the loader.",
            show_default=False,
        ),
    ],
    sampling: Annotated[str, option("--sampling", "WORD", "poisson, fixed-size, shuffle or balls-in-bins.", "Claim")],
    rate: Annotated[
        str | None, option("--rate", "Q", "Of poisson; of balls-in-bins, one over the batches of a pass.", "Claim")
    ] = None,
    size: Annotated[str | None, option("--size", "B", "Of a batch, of fixed-size and shuffle.", "Claim")] = None,
    records: Annotated[
        str | None, option("--records", "N", "Of the data; what the loader says if not given.", "Claim")
    ] = None,
    batches: Annotated[
        str | None, option("--batches", "N", "To be drawn, in whole passes; 1000 if not given.", "Tests")
    ] = None,
    seed: Annotated[
        str | None,
        option("--seed", "N", "Of a function that takes a seed; drawn fresh and shown if not given.", "Tests"),
    ] = None,
    error_probability: Annotated[
        str | None,
        option("--error-probability", "P", f"Of all tests together; {DEFAULT_ERROR_PROBABILITY} if left out.", "Tests"),
    ] = None,
    noise_multiplier: Annotated[
        str | None, option("--noise-multiplier", "S", "Of the training whose epsilon is wanted.", "Epsilon")
    ] = None,
    steps: Annotated[str | None, option("--steps", "T", "Of that training.", "Epsilon")] = None,
    delta: Annotated[str | None, option("--delta", "D", "At which epsilon is wanted.", "Epsilon")] = None,
    timeout: Timeout = None,
    memory: Memory = None,
    json: JsonReport = None,
    quiet: Quiet = False,
) -> CommandResult:
    """Test how a loader makes its batches, and say what they look like where it is not as claimed.

    The function gives a torch DataLoader, a batch selection of jax_privacy, or any iterable of arrays of numbers of
    records; every iteration over it is an epoch. Tests can refute a claim, never certify it.

    For example: dpverdict audit-sampler loader.py:make --sampling poisson --rate 0.05 --records 1000

    Exit codes: 1 refuted, 3 no deviation found, 2 usage error.
    """
    from dpverdict.audit.batches.sampler_request import SamplerRequest, audit_sampler
    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.errors import printable

    request = SamplerRequest(
        loader=loader,
        sampling=sampling,
        rate=rate,
        size=size,
        records=records,
        batches=batches,
        seed=seed,
        error_probability=error_probability,
        noise_multiplier=noise_multiplier,
        steps=steps,
        delta=delta,
    )
    with Outputs(json=json) as outputs:
        found = audit_sampler(request, parse_limits(timeout, memory))
        outputs.write(json=lambda: json_text.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n")
    if not quiet:
        with printing():
            for line in found.text().splitlines():
                print(printable(line, sys.stdout.encoding))
    return CommandResult(code=found.exit_code)
