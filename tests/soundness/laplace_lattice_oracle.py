"""The lattice laws of one Laplace coordinate in closed form, rounded outward from balls.

One coordinate with shift s (in units of the scale) has loss +s with probability 1/2, -s with probability exp(-s)/2, and
density exp(-(s - l)/2)/4 at l in between. With h = s/n both discretisations are on the lattice exactly: the split of
[l, l + h] has ends l and l + h, and the merging of [l, l + 2h] has loss l + h, not only about that.
"""

from __future__ import annotations

import numpy as np
from flint import arb

from dpverdict.audit.losses.lattice.law import LatticeLaw, LatticeLedger, LatticePair, Side
from dpverdict.balls import Exact, ball, exactly, float_down, float_up, precision
from dpverdict.errors import InvalidValue

_BITS = 96


def laplace_lattice(shift: Exact, cells: int) -> LatticePair:
    """The pessimistic and the optimistic law of a Laplace coordinate on the lattice with step shift/cells.

    The masses are certain: those of the pessimistic law are at least, those of the optimistic one at most the masses of
    the exact split and merge.

    Args:
        shift: the distance of the two Laplace laws in units of their scale, > 0, at its exact value.
        cells: an even number n >= 2; the bracket is of order (shift/n)^2.

    Raises:
        InvalidValue: a shift that is not positive, or an odd or non-positive number of cells.
    """
    exact = exactly(shift, name="shift")
    if exact <= 0:
        raise InvalidValue("shift", shift, "> 0", "leave out coordinates that do not differ")
    if cells < 2 or cells % 2:
        raise InvalidValue("cells", cells, "an even number >= 2", "cells are merged in pairs")
    interval = exact / cells
    split, merged = _masses(ball_of_shift=exact, cells=cells)
    laws = []
    for masses, side, to_float in ((split, Side.PESSIMISTIC, float_up), (merged, Side.OPTIMISTIC, float_down)):
        floats = np.array([max(to_float(mass), 0.0) for mass in masses], dtype=np.float64)
        laws.append(LatticeLaw(interval=interval, lowest=-cells, masses=floats, infinity_mass=0.0, side=side))
    pessimistic, optimistic = laws
    ledger = LatticeLedger(
        tail_error=0.0,
        infinity_mass=0.0,
        raised_mass=0.0,
        dropped_mass=0.0,
        first_order_mass=0.0,
        p_defects=(pessimistic.p_mass_defect(), optimistic.p_mass_defect()),
        q_defects=(pessimistic.q_mass_defect(), optimistic.q_mass_defect()),
    )
    return LatticePair(pessimistic=pessimistic, optimistic=optimistic, ledger=ledger)


def _masses(*, ball_of_shift: Exact, cells: int) -> tuple[list[arb], list[arb]]:
    """The masses at -s, -s + h, ..., s after splitting every cell, and after merging cells in pairs."""
    with precision(_BITS + 2 * cells.bit_length()):
        s = ball(ball_of_shift)
        h = s / cells
        growth = (h / 2).exp()
        upper = 4 * (h / 4).sinh() ** 2 / -(-h).expm1()
        lower = (h / 2).expm1() ** 2 / h.expm1()
        pair = h.expm1()
        base = (-s).exp() / 2  # exp(-(s - l)/2)/2 at l = -s
        split = [arb(0)] * (2 * cells + 1)
        merged = [arb(0)] * (2 * cells + 1)
        split[0] = merged[0] = base
        split[-1] = merged[-1] = arb(1) / 2
        for i in range(2 * cells):
            split[i] += base * lower
            split[i + 1] += base * upper
            if i % 2 == 0:
                merged[i + 1] += base * pair
            base *= growth
    return split, merged
