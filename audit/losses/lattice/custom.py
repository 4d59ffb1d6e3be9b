"""A privacy loss from a user's own noise: from its distribution functions, or from an additive noise law.

What comes out is as accurate as what went in: the relative error of the functions is the caller's statement, and so
these losses have bounds in float64 but no certified curves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, final

import numpy as np

from dpverdict.audit.losses.domains import EPSILON, TINY, LossTails, Tails, finite_losses
from dpverdict.audit.losses.lattice.law import UNIT, lower_tails, masses_between, upper_tails
from dpverdict.balls import Exact
from dpverdict.cards import answer_card
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import at_least, at_most

if TYPE_CHECKING:
    from dpverdict.audit.losses.lattice.exchange import PldPair

Distribution: TypeAlias = Callable[[Array], Array]
"""A vectorised function of losses, shape (n,) to (n,)."""

PROBES = 4097
"""Points at which the functions given are checked against each other."""

_BISECTIONS = 60
_ROUNDING_OF_LOSS = 1e-12  # of a difference of two log-densities of moderate size


class NoiseLaw(Protocol):
    """A law of one-dimensional noise with a log-concave density; every frozen law of scipy.stats has these methods."""

    def cdf(self, x: Array, /) -> Array:
        """The probability of at most x, accurate where it is small."""
        ...

    def sf(self, x: Array, /) -> Array:
        """The probability of more than x, accurate where it is small."""
        ...

    def logpdf(self, x: Array, /) -> Array:
        """The logarithm of the density."""
        ...


@final
class CustomLoss:
    """The privacy loss of two laws of which only float64 tails are known.

    It has no certified curves. ``delta_lower`` and ``delta_upper`` bound the profile as far as the tails are as
    accurate as their maker says; `to_pld` and
    `dpverdict.audit.losses.lattice.bounds.compose_on_lattice` carry that through compositions.
    """

    __slots__ = ("_description", "_tails")

    def __init__(self, tails: Tails, description: str) -> None:
        self._tails = tails
        self._description = description

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = {
            f"delta at epsilon {one}": f"from {at_least(self.delta_lower(one))} to {at_most(self.delta_upper(one))}"
            for one in ("0.5", "1", "2")
        }
        answer = f"{self._description}: as accurate as its tails, and not certified"
        return answer_card(answer, rows, follows="to_pld(loss), to compose it.")

    def tails(self, l: Array) -> LossTails:
        """P[L > l], P[L <= l], Q[L > l] and Q[L <= l] at losses of shape (n,)."""
        return self._tails(finite_losses(l))

    def delta_upper(self, epsilon: Exact) -> float:
        """An upper bound on the privacy profile P[L > epsilon] - exp(epsilon) Q[L > epsilon]."""
        value, error = self._profile(epsilon)
        return min(value + error, 1.0)

    def delta_lower(self, epsilon: Exact) -> float:
        """A lower bound on the privacy profile."""
        value, error = self._profile(epsilon)
        return max(value - error, 0.0)

    def _profile(self, epsilon: Exact) -> tuple[float, float]:
        point = float(EPSILON.exact(epsilon))
        t = self.tails(np.array([point]))
        q = 0.0 if t.q_above[0] == 0 else math.exp(min(point + math.log(t.q_above[0]), 1.0))
        size = float(t.p_above[0]) + q
        return float(t.p_above[0]) - q, size * (1.01 * t.relative_error + UNIT * (8 + 2 * abs(point))) + 4 * TINY

    def to_pld(self, interval: float) -> PldPair:
        """The pessimistic and the optimistic privacy loss distribution of dp_accounting (see `PldPair`)."""
        from dpverdict.audit.losses.lattice.exchange import to_pld  # loaded with dp_accounting, when it is needed

        return to_pld(self.tails, interval)

    def __repr__(self) -> str:
        return f"CustomLoss({self._description})"


def loss_from_cdfs(
    *,
    p: tuple[Distribution, Distribution],
    q: tuple[Distribution, Distribution],
    relative_error: float,
    lowest: float,
    highest: float,
) -> CustomLoss:
    """The privacy loss L = log dP/dQ with given distribution functions under P and under Q.

    Args:
        p: the functions l -> P[L > l] and l -> P[L <= l], vectorised; both, so that small values are accurate.
        q: the same under Q.
        relative_error: of every value of the four functions, as the caller vouches for it.
        lowest, highest: between them the functions are checked against each other.

    Raises:
        InvalidValue: values outside [0, 1], not monotone, not complementary, or with masses of P and Q in some cell
            whose ratio is not between the exponentials of the ends of the cell.

    >>> from scipy.special import ndtr
    >>> loss = loss_from_cdfs(p=(lambda l: ndtr(0.5 - l), lambda l: ndtr(l - 0.5)),
    ...                       q=(lambda l: ndtr(-0.5 - l), lambda l: ndtr(l + 0.5)),
    ...                       relative_error=1e-12, lowest=-8, highest=8)
    >>> loss.delta_lower(1) <= 0.12693673750664394 <= loss.delta_upper(1)
    True
    """
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise InvalidValue("lowest", lowest, f"finite and below highest={highest}", "say where the loss lives")

    def tails(losses: Array) -> LossTails:
        values = [_values(function, losses) for function in (*p, *q)]
        return LossTails(
            p_above=values[0], p_below=values[1], q_above=values[2], q_below=values[3], relative_error=relative_error
        )

    _check(tails, np.linspace(lowest, highest, PROBES))
    return CustomLoss(tails, "from distribution functions")


def additive_noise_loss(noise: NoiseLaw, shift: float, *, relative_error: float) -> CustomLoss:
    """The privacy loss of noise X (P) against X + shift (Q), for a density that is log-concave.

    L(x) = log f(x) - log f(x - shift) falls in x, so {L > l} is the half-line below some x(l), which is found by
    bisection. An error of x(l) enters P[L > l] and Q[L > l] as the same event, so the profile feels its square only.
    For the other order, X + shift against X, reflect the noise; for symmetric noise both have the same curves.

    Args:
        noise: the law of X, for example ``scipy.stats.logistic()`` or ``scipy.stats.gennorm(1.5)``.
        shift: by how much neighbouring statistics differ, > 0, in the units of the noise.
        relative_error: of ``cdf`` and ``sf``, as the caller vouches for it.

    Raises:
        InvalidValue: a shift that is not positive and finite; a loss that is not monotone (a density that is not
            log-concave, such as Student's t); distribution functions that do not fit the density.

    >>> from scipy.stats import logistic
    >>> loss = additive_noise_loss(logistic(), 1.0, relative_error=1e-13)
    >>> round(loss.delta_upper(0), 9)  # tanh(1/4)
    0.244918662
    """
    if not 0 < shift < math.inf:
        raise InvalidValue("shift", shift, "positive and finite", "give the distance of the statistics")
    reach = _reach(noise, shift)
    grid = np.linspace(shift - reach, reach, PROBES)
    table = _loss_at(noise, grid, shift)
    rising = np.flatnonzero(np.diff(table) > _ROUNDING_OF_LOSS * (1 + np.abs(table[1:])))
    if rising.size:
        remedy = "the density is not log-concave: give the distribution functions of the loss to loss_from_cdfs"
        raise InvalidValue("noise", noise, f"such that the loss falls, also at x={grid[rising[0]]:.3g}", remedy)

    def tails(losses: Array) -> LossTails:
        x = _inverse(noise, losses, shift, grid, table)
        low, high = losses < table[-1], losses >= table[0]
        values = noise.cdf(x), noise.sf(x), noise.cdf(x - shift), noise.sf(x - shift)
        above_p, below_p, above_q, below_q = (np.clip(np.asarray(v, dtype=np.float64), 0.0, 1.0) for v in values)
        return LossTails(
            p_above=np.where(low, 1.0, np.where(high, 0.0, above_p)),
            p_below=np.where(low, 0.0, np.where(high, 1.0, below_p)),
            q_above=np.where(low, 1.0, np.where(high, 0.0, above_q)),
            q_below=np.where(low, 0.0, np.where(high, 1.0, below_q)),
            relative_error=relative_error,
        )

    span = float(table[0] - table[-1])
    if not span > 0:
        raise InvalidValue("noise", noise, "such that the shift changes its density", "check the scale of the noise")
    _check(tails, np.linspace(table[-1] + span / 64, table[0] - span / 64, PROBES))
    return CustomLoss(tails, f"additive noise, shift {shift!r}")


def _loss_at(noise: NoiseLaw, x: Array, shift: float) -> Array:
    loss: Array = np.asarray(noise.logpdf(x), dtype=np.float64) - np.asarray(noise.logpdf(x - shift), dtype=np.float64)
    if np.isnan(loss).any():
        remedy = "the density must be positive everywhere, and its logarithm must not overflow"
        raise InvalidValue("noise", noise, "a law with a finite log-density", remedy)
    return loss


def _reach(noise: NoiseLaw, shift: float) -> float:
    """A distance beyond which the noise has next to no mass on either side."""
    reach = max(shift, 1e-3)
    while reach < 1e6 * max(shift, 1.0):
        ends = float(noise.sf(np.array([reach]))[0]), float(noise.cdf(np.array([-reach]))[0])
        if max(ends) < 1e-60:
            return reach + shift
        reach *= 1.5
    remedy = "noise with tails this heavy has no log-concave density: give its distribution functions to loss_from_cdfs"
    raise InvalidValue("noise", noise, "a law with exponential tails", remedy)


def _inverse(noise: NoiseLaw, losses: Array, shift: float, grid: Array, table: Array) -> Array:
    """x(l) = sup {x : L(x) > l}, by bisection between two points of the table."""
    place = np.clip(np.searchsorted(-table, -losses, side="left"), 1, grid.size - 1)
    low, high = grid[place - 1], grid[place]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        above = _loss_at(noise, middle, shift) > losses
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        if (high - low <= 4 * UNIT * np.abs(high)).all():
            break
    return (low + high) / 2


def _values(function: Distribution, losses: Array) -> Array:
    values = np.asarray(function(losses), dtype=np.float64)
    if values.shape != losses.shape or np.isnan(values).any():
        remedy = "return one probability for every loss of an array"
        raise InvalidValue("distribution function", values, f"numbers of shape {losses.shape}", remedy)
    return values


def _check(tails: Tails, losses: Array) -> None:
    """That the four tails are those of one privacy loss, as far as the probes see."""
    t = tails(losses)
    error = t.relative_error + UNIT
    for name, above, below in (("P", t.p_above, t.p_below), ("Q", t.q_above, t.q_below)):
        if (np.abs(above + below - 1) > 4 * error).any():
            worst = float(np.abs(above + below - 1).max())
            remedy = f"{name}[L > l] + {name}[L <= l] must be 1"
            raise InvalidValue(f"mass under {name}", f"1 +- {worst:.2g}", "1 within the relative error", remedy)
        for values, sign in ((above, -1), (below, 1)):
            low, high = lower_tails(values, error), upper_tails(values, error)
            wrong = low[:-1] > high[1:] if sign > 0 else low[1:] > high[:-1]
            if wrong.any():
                where = float(losses[int(np.flatnonzero(wrong)[0])])
                remedy = "check the sign of the loss, and which function is which"
                raise InvalidValue(f"distribution under {name}", f"at l={where:.6g}", "monotone", remedy)
    cells = masses_between(t)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        low = np.exp(losses[:-1] - 1e-9) * (cells.q - cells.q_error)
        high = np.exp(losses[1:] + 1e-9) * (cells.q + cells.q_error)
    wrong = (cells.p + cells.p_error < low) | (cells.p - cells.p_error > high)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        remedy = "P and Q must be those of L = log dP/dQ: check their order, the shift and the scale"
        shown = f"P-mass {cells.p[i]:.6g} and Q-mass {cells.q[i]:.6g} between {losses[i]:.6g} and {losses[i + 1]:.6g}"
        raise InvalidValue("tails", shown, "in the ratio exp(loss)", remedy)
