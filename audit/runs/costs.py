"""What an audit of a mechanism of this library will take, said before it begins where that is more than a moment."""

from __future__ import annotations

from typing import Final

from dpverdict.audit.runs.audits import default_samples
from dpverdict.audit.runs.request import MOST_SAMPLES, Request
from dpverdict.audit.trials.catalogue import MOST_NUMBERS, mechanism_classes
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import whole_number

SECONDS_PER_NUMBER: Final = 2e-8
"""Of processor time, for each number that is drawn and scored: 1.8e-8 with independent Gaussian noise at d = 10^6."""

WORTH_SAYING: Final = 10.0
"""Seconds of processor time from which on a cost is announced."""


def announced(request: Request) -> str | None:
    """About how long an audit takes and what makes it shorter, in one line; None if it is short, or is refused.

    Exact reports grow with the number of coordinates as their mechanisms declare, tests with that of the numbers drawn.
    """
    kind = mechanism_classes().get(request.mechanism)
    text = request.options.get("dim") or request.options.get("horizon")
    if kind is None or text is None:
        return None
    try:
        size = whole_number(text, "dim", at_least=1, at_most=MOST_NUMBERS)
        asked = None
        if request.samples is not None:
            asked = whole_number(request.samples, "samples", at_least=1, at_most=MOST_SAMPLES)
    except InvalidValue:  # the audit says so
        return None
    exact = kind.seconds_per_thousand * size / 1000
    drawn = 0 if request.exact_only else 2 * size * (default_samples(size) if asked is None else asked)
    tested = SECONDS_PER_NUMBER * drawn
    if exact + tested < WORTH_SAYING:
        return None
    parts = [f"the certified curves of {size} coordinates"] if exact >= 1 else []
    parts += [f"{drawn:.2g} random numbers for the test"] if tested >= 1 else []
    shorter = "fewer --samples, or --no-test" if tested > exact else "a smaller --dim"
    return (
        f"this takes about {exact + tested:.2g} seconds of processor time ({' and '.join(parts)}); shorter: {shorter}"
    )
