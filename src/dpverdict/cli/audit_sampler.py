"""``dpverdict audit-sampler``: how a loader makes its batches, against how it is said to."""

from __future__ import annotations

import json as json_text

import typer

from dpverdict.audit.documents.request import SamplerRequest
from dpverdict.cli.options import HtmlReport, JsonReport, Memory, Quiet, Timeout, takes
from dpverdict.cli.session import CommandResult, Outputs, exit_with, print_lines, printing


@exit_with
@takes(SamplerRequest)
def audit_sampler(
    context: typer.Context,
    request: SamplerRequest,
    timeout: Timeout = None,
    memory: Memory = None,
    json: JsonReport = None,
    report: HtmlReport = None,
    quiet: Quiet = False,
) -> CommandResult:
    """Test how a loader makes its batches, and say what they look like where it is not as claimed.

    The function gives a torch DataLoader, a batch selection of jax_privacy, or any iterable of arrays of numbers of
    records; every iteration over it is an epoch. Tests can refute a claim, never certify it.

    For example: dpverdict audit-sampler loader.py:make --sampling poisson --rate 0.05 --records 1000

    Exit codes: 1 refuted, 3 no deviation found, 2 usage error.
    """
    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.audit.runs.samplers import audit_sampler, sampler_fields, sampler_page

    with Outputs(json=json, report=report) as outputs:
        found = audit_sampler(request, parse_limits(timeout, memory))
        fields = sampler_fields(found, request)
        outputs.write(
            json=lambda: json_text.dumps(fields, indent=2, allow_nan=False) + "\n",
            report=lambda: sampler_page(found, fields),
        )
    if not quiet:
        print_lines(found.text())
        with printing():
            if outputs.files:
                outputs.conclude(found.status)
    return CommandResult(code=found.exit_code)
