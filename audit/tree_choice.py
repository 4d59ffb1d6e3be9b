"""When boosted trees join the scores of an audit: where the exploring trials show that they are better than the others.

Trees that are no better only cost: they would take the place of a score that needs fewer trials to be learned well. So
they are grown on the exploring trials that fit, compared on those that are held out, and left out unless they win
clearly. Nothing of this costs error probability: the trials that decide are drawn afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.portfolio import Stacked, best_losses
from dpverdict.audit.tree_score import TreeScore, fit_tree_score, trees_apply

Array = NDArray[np.float64]

CLEARLY: Final = 2.0
"""Standard errors of the difference in held-out loss by which trees must be better."""
MOST_SCREENED: Final = 10_000
"""Outputs per side on which trees are tried; those that win are grown again on all of them."""


def better_trees(
    fit: tuple[Array, Array], held_out: tuple[Array, Array], others: Stacked, best: str
) -> TreeScore | None:
    """Trees grown on ``fit``, if they predict the side of ``held_out`` clearly better than the best of the others.

    By the logarithmic loss of `best_losses`. None without scikit-learn, with a single coordinate, and with too few
    trials; linear and spline scores are tried by every audit.

    Args:
        fit: outputs on both sides, shape (n, m) each.
        held_out: other ones.
        others: the scores that were learned on ``fit``, or known.
        best: the name of the best of them.
    """
    if not trees_apply(fit[0]):
        return None
    few = fit[0][:MOST_SCREENED], fit[1][:MOST_SCREENED]
    trees = fit_tree_score(*few)
    against: Callable[[Array], Array] = next(one for one in others.scores if one.name == best)
    gain = best_losses(*(against(side) for side in held_out)) - best_losses(*(trees(side) for side in held_out))
    error = float(gain.std()) / math.sqrt(len(gain))
    if float(gain.mean()) <= CLEARLY * error:
        return None
    return trees if len(few[0]) == len(fit[0]) else fit_tree_score(*fit)
