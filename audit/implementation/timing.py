"""Does the time that a call takes tell the datasets apart? A finding about this machine under this load.

Calls on both sides are made in one random order, so that a load that drifts is shared by both. Their times are then
scores like any recorded ones, and held to the claim.
"""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from dpverdict.audit.distinguishing.recorded_scores import distinguish_scores
from dpverdict.audit.implementation.grey_box import GreyBoxFinding
from dpverdict.audit.trials.outcomes.inputs import held_safe
from dpverdict.audit.trials.run import AnyMechanism, Sampler, generator, mechanism_name, with_generator
from dpverdict.errors import MechanismFailure
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.numerics.text import rounded_text

CALLS: Final = 200
"""On each side: enough for what happens on one side only."""
LEVEL: Final = 1e-6
NAME: Final = "the time of a call does not tell the datasets apart"


def timing_check(
    mechanism: AnyMechanism, dataset: object, neighbour: object, claim: Guarantee, *, seed: int
) -> GreyBoxFinding:
    """Time `CALLS` calls on each side, in one random order.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`.
        dataset: what it is given.
        neighbour: what it is given on the other side.
        claim: that the times are held to.
        seed: of the order and of the generators.
    """
    runnable, name = with_generator(mechanism), mechanism_name(mechanism)
    data = held_safe(dataset), held_safe(neighbour)

    def seconds(side: int, index: int) -> float:
        given: Any = data[side]
        sampler = Sampler(mechanism=runnable, name=name, dataset=given, where="the dataset", seed=seed, size=0)
        rng = generator(seed, f"timing {side}", index)
        start = time.perf_counter()
        sampler.few(1, rng)
        return time.perf_counter() - start

    order = np.random.default_rng(seed).permutation(2 * CALLS)
    found: tuple[list[float], list[float]] = ([], [])
    try:
        for side in (0, 1):  # the first call loads what later ones have
            seconds(side, 2 * CALLS)
        for index in order.tolist():
            found[index % 2].append(seconds(index % 2, index))
    except MechanismFailure as failure:
        return GreyBoxFinding(name=NAME, holds=None, seen=f"not checked: it {failure.problem}", breaks_privacy=False)
    test = distinguish_scores(*found, claim, error_probability=LEVEL, seed=seed)
    medians = " and ".join(f"{1e3 * float(np.median(side)):.3g} ms" for side in found)
    seen = f"medians of {CALLS} calls each, on this machine under this load: {medians}"
    if test.refuted:
        seen += f"; as numbers these times contradict {claim.describe()} (p <= {rounded_text(test.p_value, 1)})"
    return GreyBoxFinding(name=NAME, holds=not test.refuted, seen=seen, breaks_privacy=False)
