"""Two-sided discretisation of a privacy loss on a lattice, second order in its interval on both sides.

Notation: P, Q the two output laws, L = log dP/dQ, k_i = i h the points of the lattice. Both sides are operations on the
pair (P, Q) that hold exactly, followed by roundings in a stated direction:

* *pessimistic = split*: every cell (k_i, k_i+1] of outcomes is replaced by two outcomes with losses k_i and k_i+1 that
  keep its P-mass and its Q-mass. An outcome of either loss is a randomised function of them, so the new pair is at
  least as easy to tell apart. Its profile connects the points (exp(k_i), delta(k_i)) by straight lines.
* *optimistic = merge*: every cell (b_j, b_j+1] of outcomes is merged into one. This is a function of the output, so the
  new pair is at least as hard to tell apart. The loss log(p/q) of the cell is then lowered to k_j. To lose only O(h^2)
  by that, the boundaries b_j = k_j - h/2 + tau are shifted by tau = O(h^2) until every cell has p >= exp(k_j) q.

What is rounded are the upper tails P[L' >= k]: up in a pessimistic law, down in an optimistic one, by more than the
errors that `LossTails` states and those of the arithmetic here. Larger upper tails mean a larger profile, alone and
after any composition (see `LatticeLaw`), so every law returned bounds the loss on its side if the tails are as accurate
as they say.

An atom off the lattice costs the optimistic law first order, and no law on the lattice can do better. With x =
exp(epsilon), a profile is a convex function f of x, and an atom with Q-mass q at l is a jump by q of its slope. The
profile g of a law on the lattice is a straight line between the neighbours x0 < exp(l) < x1 of the atom. With exp(l) =
(1 - w) x0 + w x1, g <= f at exp(l) and the convexity of f,

    (1 - w) (f - g)(x0) + w (f - g)(x1)  >=  (1 - w) f(x0) + w f(x1) - f(exp(l))  >=  w (1 - w) q (x1 - x0).

So one of the gaps is at least w (1 - w) q (x1 - x0), about w (1 - w) h times the P-mass of the atom. Compositions have
a way out that is no law on the lattice: a test on rounded losses (`dpverdict.audit.losses.lattice.bounds`), second
order for any atoms.

Where no step h is given, `default_interval` takes one from the spread of the losses.

Reference: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, section 3 (connect the dots, arXiv:2207.04380).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.losses.domains import TINY, LossTails, Tails
from dpverdict.audit.losses.lattice.law import (
    UNIT,
    Cells,
    LatticeLaw,
    LatticeLedger,
    LatticePair,
    RoundedLoss,
    Side,
    lower_tails,
    masses_between,
    upper_tails,
)
from dpverdict.balls import Exact, exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

TAIL_MASS = 1e-30
"""Mass left outside the lattice on either side, where the lattice may be as long as that takes."""

MAX_KNOTS = 1 << 22
"""The longest lattice: 200 MB of working memory. Beyond it more mass is left outside, and charged."""

_EXPONENTS = 600.0  # exp is finite and not zero between them
_SAMPLES = 4000  # boundary shifts are computed at so many cells at most, and interpolated
_BUMPS = 3
_LITTLE = 1e-12  # of mass lowered in first order, by which no bracket gets wider


def lattice_pair(tails: Tails, interval: float, *, tail_mass: float = TAIL_MASS) -> LatticePair:
    """The pessimistic and the optimistic law of a loss, on the lattice of all multiples of ``interval``.

    Both are second order in the interval where the loss has a density, and where its atoms are multiples of the
    interval, or just above one (`aligned_interval`). Every other atom costs the optimistic one first order, as it costs
    every dominated law on the lattice (proof above); ``rounded`` serves compositions there.

    Args:
        tails: the tails of the loss at float64 losses.
        interval: the distance h of neighbouring losses, a float64 at its exact value.
        tail_mass: how much mass may lie outside the lattice. It is charged: it widens the bracket, it never breaks it.

    Raises:
        InvalidValue: an interval that is not positive and finite, or with which no lattice of `MAX_KNOTS` knots spans
            more than half of the mass; a tail_mass that is not in (0, 1e-3].
    """
    if not 1e-9 <= interval <= 10:
        raise InvalidValue("interval", interval, "in [1e-9, 10]", "give the distance of neighbouring losses in nats")
    if not 0 < tail_mass <= 1e-3:
        raise InvalidValue("tail_mass", tail_mass, "in (0, 1e-3]", "give the mass that may be truncated and charged")
    first, last = lattice_range(tails, interval, tail_mass)
    numbers = np.arange(first, last + 1, dtype=np.float64)
    pessimistic, raised = _split(tails, numbers, interval)
    optimistic, dropped, first_order, rounded = _merge(tails, numbers, interval)
    ledger = LatticeLedger(
        tail_error=tails(numbers[:1] * interval).relative_error,
        infinity_mass=pessimistic.infinity_mass,
        raised_mass=raised,
        dropped_mass=dropped,
        first_order_mass=first_order,
        p_defects=(pessimistic.p_mass_defect(), optimistic.p_mass_defect()),
        q_defects=(pessimistic.q_mass_defect(), optimistic.q_mass_defect()),
    )
    return LatticePair(pessimistic=pessimistic, optimistic=optimistic, ledger=ledger, rounded=rounded)


def lattice_range(tails: Tails, interval: float, tail_mass: float) -> tuple[int, int]:
    """Indices of the ends: Q[L <= first] and P[L > last] are at most ``tail_mass``, if the lattice can be so long."""
    reach, furthest = 64 * interval, MAX_KNOTS / 2 * interval
    while reach < furthest:
        ends = tails(np.array([-reach, reach]))
        if ends.q_below[0] <= tail_mass and ends.p_above[1] <= tail_mass:
            break
        reach = min(2 * reach, furthest)
    low, high, step = -reach, reach, reach / 128
    below = above = np.zeros(0)
    for _ in range(2):
        below, above = (
            (low + step * np.arange(257)).clip(-reach, reach),
            (high - step * np.arange(257)).clip(-reach, reach),
        )
        inside_low = below[tails(below).q_below <= tail_mass]
        inside_high = above[tails(above).p_above <= tail_mass]
        low = float(inside_low.max()) if inside_low.size else -reach
        high = float(inside_high.min()) if inside_high.size else reach
        step /= 256
    if high < low:
        low, high = min(low, 0.0), max(high, 0.0)
    ends = tails(np.array([low, high]))
    if ends.p_below[0] > 0.5 or ends.p_above[1] > 0.5:
        remedy = "take a larger interval: the lattice has at most 2^22 points"
        raise InvalidValue("interval", interval, "large enough to span the loss", remedy)
    return int(np.floor(low / interval)) - 1, int(np.ceil(high / interval)) + 1


def _split(tails: Tails, numbers: Array, interval: float) -> tuple[LatticeLaw, float]:
    """The pessimistic law, and the mass raised to its lowest loss.

    The cells are cut at the floats just below the knots, and split between these; then every loss is raised to its
    knot. With T(k) = P[L' >= k] for the law after the split, T(k_i) = P[L > k_i] + b_i, where b_i is the part of cell i
    that goes to its upper end, and below the median 1 - T(k_i) = P[L <= k_i-1] + (p_i - b_i).
    """
    knots = np.nextafter(numbers * interval, -np.inf)
    t = tails(knots)
    cells = masses_between(t)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        growth = np.exp(knots[:-1])
        width = -np.expm1(-np.diff(knots))
        upper = (cells.p - growth * cells.q) / width
        error = (cells.p_error + growth * cells.q_error + 8 * UNIT * (cells.p + growth * cells.q)) / width
    most = cells.p + cells.p_error
    sure = np.isfinite(upper) & np.isfinite(error) & (np.abs(knots[:-1]) < _EXPONENTS)
    upper = np.where(sure, np.clip(upper + error, 0.0, most), most)
    above = upper_tails(t.p_above, t.relative_error)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = np.exp(knots[-1]) * t.q_above[-1]
        infinite = t.p_above[-1] - beyond + 2 * t.relative_error * (t.p_above[-1] + beyond) + TINY
    infinite = min(float(above[-1]), max(float(infinite), 0.0)) if np.isfinite(infinite) else float(above[-1])
    tail = np.append((above[1:] + upper) * (1 + 4 * UNIT), infinite)
    tail = np.maximum.accumulate(tail[::-1])[::-1]
    body = lower_tails(t.p_below, t.relative_error)[:-1] + np.maximum(cells.p - cells.p_error - upper, 0.0)
    body = np.minimum.accumulate((body * (1 - 4 * UNIT))[::-1])[::-1]
    turn = int(np.searchsorted(-tail[:-1], -0.5, side="right"))  # the first knot whose upper tail is below 1/2
    masses = _differences(body[:turn], tail[turn:], np.zeros(1), 4 * UNIT)
    law = _law(interval, int(numbers[0]), masses, infinite, Side.PESSIMISTIC)
    return law, float(t.p_below[0])


def _merge(tails: Tails, numbers: Array, interval: float) -> tuple[LatticeLaw, float, float, RoundedLoss | None]:
    """The optimistic law, the mass dropped below it, the mass lowered by an interval or more, and the rounded loss."""
    knots = np.nextafter(numbers * interval, np.inf)
    boundaries = middles = knots - interval / 2 + _shifts(tails, knots, interval)
    cells = Cells(tails, boundaries)
    nearest = cells.tails  # every loss is rounded to the knot of its cell
    excess = _excess(cells, knots)
    for attempt in range(_BUMPS + 1):
        failing = (excess < 0) & (excess > -np.inf)
        if not failing.any():
            break
        if attempt < _BUMPS:  # up by more than the deficit, at both ends of the cell: no cell is lowered by that
            bump = np.where(failing, np.minimum(-1.25 * excess + 4 * UNIT * np.abs(knots), interval / 4), 0.0)
            moved = boundaries + bump
            moved[1:] += bump[:-1]
        else:  # only outcomes whose loss is at least the knot: enough for an atom there
            moved = np.where(failing, np.maximum(boundaries, np.nextafter(numbers * interval, -np.inf)), boundaries)
        boundaries = np.maximum.accumulate(moved)
        cells.move(boundaries)
        excess = _excess(cells, knots)
    levels = _levels(excess, knots, interval)
    t = cells.tails
    tail = np.append(lower_tails(t.p_above, t.relative_error) * (1 - 4 * UNIT), 0.0)
    tail = np.minimum.accumulate(tail)
    body = np.maximum.accumulate(upper_tails(t.p_below, t.relative_error) * (1 + 4 * UNIT))
    masses = _by_tails(body, tail, t.p_above, -4 * UNIT)
    kept = levels >= 0
    placed = np.bincount(levels[kept], weights=masses[kept], minlength=numbers.size).astype(np.float64)
    lowered = float(masses[kept & (levels < np.arange(levels.size))].sum())
    law = _law(interval, int(numbers[0]), placed, 0.0, Side.OPTIMISTIC)
    moved_far = float((boundaries - middles).max()) > interval / 16
    rounded = _rounded(nearest, int(numbers[0]), interval) if lowered > _LITTLE or moved_far else None
    return law, float(body[0] + masses[~kept].sum()), lowered, rounded


def _rounded(t: LossTails, lowest: int, interval: float) -> RoundedLoss:
    """The laws of the number of the cell, from the tails at the lower ends of the cells."""
    down, up = 1 - 4 * UNIT, 1 + 4 * UNIT
    tail = np.minimum.accumulate(np.append(lower_tails(t.p_above, t.relative_error) * down, 0.0))
    body = np.maximum.accumulate(upper_tails(t.p_below, t.relative_error) * up)
    p = _by_tails(body, tail, t.p_above, -4 * UNIT)
    tail = np.append(upper_tails(t.q_above, t.relative_error) * up, 0.0)
    tail = np.maximum.accumulate(tail[::-1])[::-1]
    body = lower_tails(t.q_below, t.relative_error) * down
    body = np.minimum.accumulate(body[::-1])[::-1]
    q = _by_tails(body, tail, t.q_above, 4 * UNIT)
    return RoundedLoss(
        p=_law(interval, lowest, p, 0.0, Side.OPTIMISTIC), q=_law(interval, lowest, q, 0.0, Side.PESSIMISTIC)
    )


def _by_tails(body: Array, tail: Array, above: Array, room: float) -> Array:
    """The masses of the cells, by `_differences` that meet where the upper tail ``above`` falls below 1/2."""
    turn = max(int(np.searchsorted(-above, -0.5, side="right")), 1)
    return _differences(body[1:turn], tail[turn:], body[:1], room)


def _differences(body: Array, tail: Array, start: Array, room: float) -> Array:
    """Masses from cumulative masses: ``body`` from below up to the median, ``tail`` from above beyond it.

    Every upper tail of the masses is at least (``room`` > 0) or at most (``room`` < 0) what it was, up to ``room``
    itself, which is put where the two meet: subtractions of floats are exact or have a relative error of UNIT.
    """
    lower = np.diff(np.concatenate([start, body]))
    last = body[-1] if body.size else start[0]
    middle = 1.0 - float(last) - float(tail[0]) + room
    masses: Array = np.concatenate([lower, [max(middle, 0.0)], tail[:-1] - tail[1:]])
    return masses * (1 - 16 * UNIT) if middle < 0 and room < 0 else masses  # what is not there cannot be taken away


def _law(interval: float, lowest: int, masses: Array, infinite: float, side: Side) -> LatticeLaw:
    used = np.flatnonzero(masses)
    first, last = (int(used[0]), int(used[-1])) if used.size else (0, 0)
    return LatticeLaw(
        interval=Fraction(interval),
        lowest=lowest + first,
        masses=np.ascontiguousarray(masses[first : last + 1]),
        infinity_mass=infinite,
        side=side,
    )


def _shifts(tails: Tails, knots: Array, interval: float) -> Array:
    """The shifts tau of the boundaries: those with which a cell alone would have exactly the loss of its knot."""
    stride = max(1, knots.size // _SAMPLES)
    samples = np.unique(np.append(np.arange(0, knots.size, stride), knots.size - 1))
    centres, shift = knots[samples], np.zeros(samples.size)
    for _ in range(4):
        ends = np.stack([centres - interval / 2 + shift, centres + interval / 2 + shift])
        t = masses_between(tails(ends.ravel()), ends.shape)
        with np.errstate(all="ignore"):
            error = np.log(t.p / t.q) - centres
        sure = (t.p > 4 * t.p_error) & (t.q > 4 * t.q_error) & np.isfinite(error)
        shift = np.clip(shift - np.where(sure, error, 0.0), -0.45 * interval, 0.45 * interval)
    return np.interp(knots - interval / 2, centres, shift)


def _excess(cells: Cells, knots: Array) -> Array:
    """By how much the loss of every cell certainly exceeds its knot; -inf where its masses are lost in rounding."""
    with np.errstate(all="ignore"):
        least, most = cells.p - cells.p_error, cells.q + cells.q_error
        excess = np.log(least / (most * np.exp(knots))) - 8 * UNIT * (1 + np.abs(knots))
    return np.where((least > 0) & np.isfinite(excess) & (np.abs(knots) < _EXPONENTS), excess, -np.inf)


def _levels(excess: Array, knots: Array, interval: float) -> NDArray[np.int64]:
    """The index of the knot every cell is lowered to, -1 below the lattice.

    Losses of merged cells increase, so a lower bound on the loss of one cell is one for all cells above it.
    """
    numbers = np.arange(excess.size, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        drop = np.floor((excess - 8 * UNIT * np.abs(knots)) / interval)
        levels = np.where(excess >= 0, numbers, np.maximum(numbers + drop, -1.0))
    result: NDArray[np.int64] = np.maximum.accumulate(np.maximum(levels, -1.0)).astype(np.int64)
    return result


def aligned_interval(atom: Exact, cells: int) -> float:
    """An interval whose ``cells``-th multiple is the atom, or below it by about a part in 10^12.

    With a multiple above an atom, however little, the optimistic law has to lower the atom by a whole interval; so the
    float next to atom/cells will not do. A Laplace coordinate has its atoms at plus and minus its shift.

    Args:
        atom: the loss > 0 of the largest atom.
        cells: how many intervals it is made of, >= 1.

    Raises:
        InvalidValue: an atom that is not positive, or fewer than one cell.
    """
    exact = exactly(atom, name="atom")
    if exact <= 0 or cells < 1:
        raise InvalidValue("atom", f"{atom} in {cells} cells", "> 0 in at least 1 cell", "give the size of the atom")
    return float(exact / cells) * (1 - 1e-12)


CELLS = 512
"""How many cells make the spread of a typical factor: the bracket is about CELLS^-2 wide."""

_LEVEL = 0.3  # the spread: so much of P is further out; about one standard deviation of a normal law
_SMALLEST, _LARGEST = -28, 3  # exponents of 2 of the steps on which a lattice can be laid


def default_interval(spreads: Sequence[tuple[float, int]]) -> float:
    """A power of 2 near the root mean square of the spreads of the factors, divided by `CELLS`.

    Splitting the cells of one factor adds about h^2/6 to the variance of its loss, so the bracket of the composition is
    about h^2/6 over the mean variance wide, however many factors there are.

    Args:
        spreads: the `spread` of every distinct loss, with the number of times it is composed.
    """
    total = math.fsum(count * size**2 for size, count in spreads)
    mean = math.sqrt(total / sum(count for _, count in spreads)) / CELLS
    exponent = math.floor(math.log2(mean)) if mean > 0 else _SMALLEST
    return 2.0 ** min(max(exponent, _SMALLEST), _LARGEST)


def spread(tails: Tails) -> float:
    """The power of 2, in [2^-40, 2^12], beyond which on either side the loss has at most 0.3 of its mass under P."""

    def holds_most(exponent: int) -> bool:
        size = 2.0**exponent
        ends = tails(np.array([-size, size]))
        return bool(ends.p_below[0] + ends.p_above[1] <= _LEVEL)

    return 2.0 ** (bisect_left(range(-40, 12), True, key=holds_most) - 40)
