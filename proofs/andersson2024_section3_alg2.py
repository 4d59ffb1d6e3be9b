"""Andersson et al. 2024, section 3.3: Algorithm 2, and two slips of the pen before it."""

from __future__ import annotations

from collections import Counter

from dpverdict.proofs.andersson2024_mechanism import stack_columns, system_of
from dpverdict.proofs.andersson2024_trees import (
    OFFSET,
    ORDINARY,
    PAPER,
    Instance,
    Span,
    capacity,
    columns,
    indices_of,
    instances,
)
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Plant, Reading, statement
from dpverdict.proofs.vertices import every


@statement(
    paper=PAPER,
    number="sec3.3.words",
    kind=Kind.TEXT,
    expected=Standing.FAILS_AS_PRINTED,
    text="'As in the case for k-ary trees using only subtraction': if a digit is positive, we add left-most children "
    "'as in the case without addition except we add fewer vertices'.",
    formula="",
    printed=(0, -1),
    corrected=Reading("using only addition, and as in the case without subtraction: two slips of the pen", (1, 0)),
    planted=(
        Plant("vertices that ordinary trees add", "none", (0, 0)),
        Plant("vertices that ordinary trees subtract", "one", (1, -1)),
    ),
)
def only_subtraction(claim: tuple[int, int]) -> Findings:
    """The least and the greatest number of signs: an ordinary tree (Algorithm 1) adds vertices and subtracts none."""
    signs = {column.sign for case in CASES for column in columns(case, ORDINARY).values()}
    scope = f"k = 2..9: {len(CASES)} instances"
    added, subtracted = claim
    yield every("vertices that ordinary trees add", [1], lambda sign: (sign in signs) == bool(added), scope=scope)
    yield every(
        "vertices that ordinary trees subtract", [-1], lambda sign: (sign in signs) == bool(subtracted), scope=scope
    )


CASES = [*instances(OFFSET, range(2, 10), 130), Instance(19, 180), Instance(13, 84), Instance(12, 78)]


def literal_columns(case: Instance, span: Span) -> Counter[int]:
    """The times at which every noise z_q of Algorithm 2 is used, as bits."""
    times: dict[tuple[int, ...], int] = {}
    for time, digits in enumerate(case.digits(span), 1):
        for q in indices_of(digits):
            times[q] = times.get(q, 0) | 1 << time
    return Counter(times.values())


@statement(
    paper=PAPER,
    number="alg2",
    kind=Kind.ALGORITHM,
    expected=Standing.HOLDS,
    text="Algorithm 2: out = c + the noises z_q, where q runs through 0, ..., 0, that_h, ..., that_1, one unit after "
    "the other; in its stack form, the same noises are kept from step to step.",
    formula=r"\mathrm{out} = \sum_{s \leq t} x_s + \sum_q z_q",
    printed=OFFSET,
    planted=(
        Plant("the stack uses the same noises", "digits of Definition 3.2", ORDINARY),
        Plant("as many noises as vertices", "digits of Definition 3.2", ORDINARY),
    ),
)
def algorithm_2(span: Span) -> Findings:
    """The columns of L, each as the set of times at which it is used: equal families mean equal laws of all outputs."""
    scope = f"k = 2..9, 12, 13, 19, T <= 180: {len(CASES)} instances"
    yield every(
        "the stack uses the same noises",
        CASES,
        lambda case: literal_columns(case, span) == stack_columns(case, OFFSET),
        scope=scope,
    )
    yield every(
        "as many noises as vertices",
        CASES,
        lambda case: (
            all(
                len(list(indices_of(digits))) == system_of(OFFSET, case.arity).size(time)
                for time, digits in enumerate(case.digits(span), 1)
            )
            and capacity(span, case.arity, case.height(span)) >= case.horizon
        ),
        scope=scope,
    )
