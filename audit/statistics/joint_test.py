"""The joint one-sided test on two binomials: H0: p - e^epsilon q <= delta, from the counts of one event.

Symbols: K_P ~ Bin(N_P, p) and K_Q ~ Bin(N_Q, q) are independent counts of one event that was fixed beforehand, P is the
law that should not be much likelier. Three p-values are offered:

* ``EXACT``: unconditional; the tables are ordered by the signed likelihood root z, and the nuisance parameter q runs
  over a Clopper-Pearson interval whose error is added. It never exceeds its level.
* ``ASYMPTOTIC``: the normal tail beyond z. Where expected counts are near 2 its true size at level 5 % is up to 9 %
  (epsilon = 1) or 16 % (epsilon = 3), however many trials there are: so it is refused for small counts.
* ``CLOPPER_PEARSON``: two bounds at half the level each; exact and widely known, but it needs twice the trials.

Lower bounds on epsilon, delta and mu are the largest parameter that the test still rejects. The hypotheses are nested,
so one level pays for all parameters: if the true parameter is not rejected, which happens with probability at least
1 - level, no larger one counts as a bound, because the tests reject less and less as the parameter grows. (z decreases
in epsilon and in delta. That the exact p-value follows is checked by enumeration in the tests, where the error of the
bound itself is computed too.) No count is ever replaced by a pseudo-count.

References: G. A. Barnard, Significance tests for 2 x 2 tables, Biometrika 34 (1947); R. L. Berger and D. D. Boos,
P values maximized over a confidence set for the nuisance parameter, JASA 89 (1994).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.roots import bisected, doubled

FEWEST_COUNTS: Final = 50
"""The asymptotic p-value is used only if an event and its complement happened this often on both sides."""
EXACT_UP_TO: Final = 10_000
"""Trials on a side up to which the exact p-value is the default whatever the counts are."""
NUISANCE_SHARE: Final = 1 / 500
"""Of the level, for the interval of the nuisance parameter."""
_CLOSE: Final = 1e-13
"""Of the bracket: when the search for the maximiser on the boundary ends."""
_SLACK: Final = 1e-9
"""Tables whose z is this little below the observed one count as at least as extreme: rounding cannot shrink p."""
_FIRST_CELLS: Final = 24
_SPLITS: Final = 2
_MOST_STEPS: Final = 500
_NEGLIGIBLE: Final = 1e-3
"""Of gamma: tails below it are not evaluated but replaced by larger ones."""
_PAD: Final = 1e-9
"""Relative; the incomplete beta function of SciPy is far better than that wherever it was compared."""
_FEWEST_COLUMNS: Final = 1 / 1000
"""The search ends when this share of the whole range is left."""
_MOST_TRIES: Final = 5
_ON_THE_WAY: Final = 1e-7
"""Of the bracket: how exactly it is found where the next p-value is asked."""
_NEAR: Final = 0.02
"""In units of z: a rejection with so little to spare is not followed by another one."""
_MARGIN: Final = 5e-3
"""In units of z: how far beyond the expected solution the next p-value is asked, to enclose it."""


class PValueMethod(enum.Enum):
    """How a p-value is found."""

    EXACT = "exact, unconditional"
    ASYMPTOTIC = "asymptotic, likelihood root"
    CLOPPER_PEARSON = "two Clopper-Pearson bounds, half the level each"


class Order(enum.Enum):
    """Which law the event is likely under; a claim about a neighbouring relation covers both orders."""

    DATASET_FIRST = "dataset against neighbour"
    NEIGHBOUR_FIRST = "neighbour against dataset"


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one event: ``first`` of ``first_trials`` under P, ``second`` of ``second_trials`` under Q.

    ``order`` says which of the two laws is that of the dataset: P, if it comes first.

    Raises:
        InvalidValue: a count that is not a whole number between 0 and its trials, or no trials.
    """

    first: int
    first_trials: int
    second: int
    second_trials: int
    order: Order = Order.DATASET_FIRST

    def __post_init__(self) -> None:
        for name, k, n in (("first", self.first, self.first_trials), ("second", self.second, self.second_trials)):
            if isinstance(k, float) or isinstance(n, float) or not 0 <= k <= n or n < 1:
                requirement = f"a whole number in 0..{n}, of at least one trial"
                raise InvalidValue(name, k, requirement, "check which counts belong together")

    @property
    def four(self) -> tuple[int, int, int, int]:
        """K_P, N_P, K_Q, N_Q."""
        return self.first, self.first_trials, self.second, self.second_trials

    @property
    def of_dataset(self) -> tuple[int, int]:
        """How often the event happened on the dataset, and in how many trials."""
        return self.four[:2] if self.order is Order.DATASET_FIRST else self.four[2:]

    @property
    def of_neighbour(self) -> tuple[int, int]:
        """The same of the neighbour."""
        return self.four[2:] if self.order is Order.DATASET_FIRST else self.four[:2]


def signed_likelihood_root(
    first: ArrayLike, first_trials: ArrayLike, second: ArrayLike, second_trials: ArrayLike, epsilon: float, delta: float
) -> Array:
    """z = sign sqrt(2 [l(K_P/N_P, K_Q/N_Q) - max over p = delta + e^epsilon q of l(p, q)]), l the log-likelihood.

    The sign is that of K_P/N_P - e^epsilon K_Q/N_Q - delta. z increases in K_P and decreases in K_Q and epsilon. The
    arguments broadcast; counts of 0 need no special case.
    """
    kp, np_, kq, nq = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (first, first_trials, second, second_trials))
    )
    e, p, q = math.exp(epsilon), kp / np_, kq / nq
    excess = (p - delta) - e * q
    most = min((1 - delta) / e, 1.0)
    # The derivative of l along the line falls strictly, from >= 0 at the lower to <= 0 at the upper of these two.
    ends = np.stack([np.clip(q, 0, most), np.clip((p - delta) / e, 0, most)])
    low, high = ends.min(axis=0), ends.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        enough = np.maximum(_CLOSE * (high - low), 2.0**-51 * high)
        q_c = (low + high) / 2
        for _ in range(60):  # Newton's steps, halving where they leave the bracket
            on_line = delta + e * q_c
            of_kp, of_kq = kp / on_line, kq / q_c
            not_kp, not_kq = (np_ - kp) / (1 - on_line), (nq - kq) / (1 - q_c)
            slope = e * (of_kp - not_kp) + of_kq - not_kq
            fall = e * e * (of_kp / on_line + not_kp / (1 - on_line)) + of_kq / q_c + not_kq / (1 - q_c)
            rising = slope > 0
            low, high = np.where(rising, q_c, low), np.where(rising, high, q_c)
            moved = q_c + slope / fall
            moved = np.where((low <= moved) & (moved <= high), moved, (low + high) / 2)
            close = np.abs(moved - q_c) <= enough
            q_c = moved
            if close.all():
                break
        p_c = np.minimum(delta + e * q_c, 1.0)
        gain = (
            _count_times_log(kp, p / p_c)
            + _count_times_log(np_ - kp, (1 - p) / (1 - p_c))
            + _count_times_log(kq, q / q_c)
            + _count_times_log(nq - kq, (1 - q) / (1 - q_c))
        )
    root: Array = np.sign(excess) * np.sqrt(2 * np.maximum(gain, 0.0))
    return root


def _count_times_log(count: Array, ratio: Array) -> Array:
    return np.where(count > 0, count * np.log(np.where(count > 0, ratio, 1.0)), 0.0)


def default_method(counts: Counts) -> PValueMethod:
    """Exact if a count of the event or of its complement is below 50, or a side has at most 10000 trials."""
    fewest = min(counts.first, counts.first_trials - counts.first, counts.second, counts.second_trials - counts.second)
    small = fewest < FEWEST_COUNTS or min(counts.first_trials, counts.second_trials) <= EXACT_UP_TO
    return PValueMethod.EXACT if small else PValueMethod.ASYMPTOTIC


def joint_p_value(
    counts: Counts, *, epsilon: float, delta: float, level: float, method: PValueMethod | None = None
) -> float:
    """A p-value for H0: p - e^epsilon q <= delta.

    Args:
        counts: of one event, fixed before the trials were drawn.
        epsilon: any finite real number.
        delta: in [0, 1).
        level: at which H0 will be rejected, in (0, 1). The exact p-value is valid at every level, and sharpest here.
        method: None for `default_method`.

    Raises:
        InvalidValue: a parameter out of its range.
    """
    if not math.isfinite(epsilon) or abs(epsilon) > 600:
        raise InvalidValue("epsilon", epsilon, "in [-600, 600]", "give epsilon in nats")
    if not 0 <= delta < 1:
        raise InvalidValue("delta", delta, "in [0, 1)", "give a probability; delta = 1 promises nothing")
    if not 0 < level < 1:
        raise InvalidValue("level", level, "in (0, 1)", "state how often a true hypothesis may be rejected")
    match default_method(counts) if method is None else method:
        case PValueMethod.EXACT:
            return exact_p_value(counts, epsilon, delta, NUISANCE_SHARE * level, level)
        case PValueMethod.ASYMPTOTIC:
            return float(scipy.special.ndtr(-signed_likelihood_root(*counts.four, epsilon, delta)))
        case _:
            return _clopper_pearson_p_value(counts, epsilon, delta)


def exact_p_value(counts: Counts, epsilon: float, delta: float, gamma: float, level: float) -> float:
    """sup of P(z >= observed z) over q in a Clopper-Pearson interval of confidence 1 - gamma and p <= delta + e^eps q.

    Plus gamma. Because z increases in K_P and decreases in K_Q, the extreme tables are {K_P >= m(K_Q)} with m not
    decreasing; so for q in [a, b] their probability is at most

        sum over j of Bin(j; N_Q, a) P(Bin(N_P, delta + e^epsilon b) >= m(j)).

    Cells are split where that may be the maximum, until p is known within a few per cent, or is far from ``level``,
    which is where it will be compared. Every approximation is on the side of a larger p.
    """
    kp, n_p, kq, n_q = counts.four
    observed = float(signed_likelihood_root(kp, n_p, kq, n_q, epsilon, delta))
    if observed <= 0:
        return 1.0
    e = math.exp(epsilon)
    # Beyond (1 - delta)/e every p is allowed, and the probability falls in q. The lower end is below that: z > 0.
    most = min((1 - delta) / e, 1.0)
    low = min(float(proportion_lower(kq, n_q, gamma / 2)), most)
    high = min(float(proportion_upper(kq, n_q, gamma / 2)), most)
    reach = math.sqrt(-2 * math.log(gamma)) + 1.5
    first = max(0, math.floor(n_q * low - reach * math.sqrt(n_q * low) - 3))
    last = min(n_q, math.ceil(n_q * high + reach * math.sqrt(n_q * high) + 3 * reach))
    # Between two of these counts f, below, is taken as its value at the smaller one, where it is larger.
    j = np.arange(first, last + 1, 1 + (last - first) // _MOST_STEPS)
    m = smallest_extreme(j, n_p, n_q, epsilon, delta, observed)
    m = np.minimum.accumulate(m[::-1])[::-1]  # rounding may not make the region smaller, nor less monotone

    far = math.sqrt(-2 * math.log(_NEGLIGIBLE * gamma))
    edges = np.linspace(math.sqrt(low), math.sqrt(high), _FIRST_CELLS + 1) ** 2
    edges[0], edges[-1] = low, high
    tails = _ExtremeTables(j=j, m=m, n_p=n_p, n_q=n_q, epsilon=epsilon, delta=delta, far=far)
    width = float(np.diff(edges).max())
    ends = tails.rows(edges, width)
    left, right = ends.kept(np.arange(_FIRST_CELLS)), ends.kept(np.arange(1, _FIRST_CELLS + 1))
    best, attained = 0.0, 0.0
    for split in range(_SPLITS + 1):
        bounds = tails.probability(left, right)
        best = float(bounds.max())
        if split == _SPLITS or best <= max(attained * 1.05, level / 2):
            break
        i = int(bounds.argmax())
        at = left.kept(np.array([i]))
        attained = max(attained, float(tails.probability(at, at)[0]))
        if attained > 2 * level:
            break
        keep = np.flatnonzero(bounds > attained)  # the maximum is not in a cell that is below what some q attains
        if not len(keep):
            break
        left, right = left.kept(keep), right.kept(keep)
        middle = tails.rows((left.q + right.q) / 2, width)
        left, right = left.with_more(middle), middle.with_more(right)
    return float(min(1.0, max(best, attained) * (1 + _PAD) + gamma))


@dataclass(frozen=True, slots=True)
class _TailRows:
    """P(K_P >= m(j)) and P(K_Q < j), one row per value of q."""

    q: Array
    above: Array
    below: Array

    def kept(self, rows: Integers) -> _TailRows:
        return _TailRows(self.q[rows], self.above[rows], self.below[rows])

    def with_more(self, other: _TailRows) -> _TailRows:
        pairs = ((self.q, other.q), (self.above, other.above), (self.below, other.below))
        return _TailRows(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExtremeTables:
    """The extreme tables {K_P >= m(j)}, m not decreasing, and their probability along the line of the hypothesis.

    Tails are evaluated only where they matter: where P(K_Q < j) is negligible it is replaced by its larger value at the
    next j, with P(K_P >= m) <= 1 in front of it; where P(K_P >= m(j)) is negligible, by its value at the first such j.
    Both replacements are upwards.
    """

    j: Integers
    m: Integers
    n_p: int
    n_q: int
    epsilon: float
    delta: float
    far: float

    def on_line(self, q: Array) -> Array:
        """The largest p that the hypothesis allows."""
        p = np.minimum(self.delta + math.exp(self.epsilon) * q, 1.0)
        return np.minimum(np.nextafter(p, 2), 1.0)

    def rows(self, q: Array, width: float) -> _TailRows:
        """The tails at every q, to be combined with those at most ``width`` away."""
        p = self.on_line(q)
        # By the inequalities of Chernoff and Bernstein; they decide only how tight the result is.
        low, high = np.maximum(q - width, 0.0), self.on_line(q + width)
        first = self.n_q * low - self.far * np.sqrt(self.n_q * low)
        last = self.n_p * high + self.far * np.sqrt(self.n_p * high * (1 - high)) + self.far**2 / 3
        column = np.arange(len(self.j))
        lows = np.minimum(np.searchsorted(self.j, first), len(self.j) - 1)
        of_next = np.searchsorted(self.j, self.n_q * q - self.far * np.sqrt(self.n_q * q))
        highs = np.maximum(np.searchsorted(self.m, last, side="right"), of_next)
        near = (column >= lows[:, np.newaxis]) & (column <= highs[:, np.newaxis])
        row, at = np.nonzero(near)
        j, m = self.j[at], self.m[at]
        # Left of the near ones 1, right of them the last one of them: P(K_P >= m(j)) does not increase in j.
        above = np.ones(near.shape)
        tail = scipy.special.betainc(np.maximum(m, 1), np.maximum(self.n_p - m + 1, 0.5), p[row])
        above[near] = np.where(m <= 0, 1.0, np.where(m > self.n_p, 0.0, tail))
        above = np.minimum.accumulate(above, axis=1)
        # Right of the near ones 1, left of them the first one of them: P(K_Q < j) does not decrease in j.
        below = np.ones(near.shape)
        below[near] = np.where(j == 0, 0.0, scipy.special.bdtr(np.maximum(j - 1.0, 0.0), self.n_q, q[row]))
        below = np.minimum.accumulate(below[:, ::-1], axis=1)[:, ::-1]
        return _TailRows(q, above, below)

    def probability(self, left: _TailRows, right: _TailRows) -> Array:
        """At least the probability of the extreme tables at every q in [left.q, right.q]: shape (rows,).

        The mean of f(K_Q), f = P(K_P >= m), summed by parts, so that all terms are positive. Below the first j f is
        taken as 1, beyond the last one as its last value.
        """
        f = right.above
        steps = np.concatenate([1 - f[:, :1], f[:, :-1] - f[:, 1:]], axis=1)
        total: Array = f[:, -1] + (steps * left.below).sum(axis=1)
        return total


def smallest_extreme(j: Integers, n_p: int, n_q: int, epsilon: float, delta: float, observed: float) -> Integers:
    """The smallest k with z(k, j) >= the observed z, N_P + 1 if there is none; it does not decrease in j."""
    enough = observed - _SLACK * (1 + observed)

    def search(at: Integers, low: Integers, high: Integers, guess: Integers) -> Integers:
        # Invariant: z(low, j) < enough, z(high, j) >= enough or high = N_P + 1.
        probes = iter((guess - 2, guess + 2))
        while np.any(high - low > 1):
            middle = (low + high) // 2
            probe = np.clip(next(probes, middle), low + 1, high - 1)
            inside = high - low > 1
            extreme = signed_likelihood_root(np.clip(probe, 0, n_p), n_p, at, n_q, epsilon, delta) >= enough
            high, low = np.where(inside & extreme, probe, high), np.where(inside & ~extreme, probe, low)
        return high

    coarse = np.unique(np.concatenate([np.arange(0, len(j), 16), [len(j) - 1]]))
    whole = np.full(coarse.shape, -1), np.full(coarse.shape, n_p + 1)
    found = search(j[coarse], *whole, whole[1])
    # Between two of them lies what is between their values, and nearly on a line.
    after = np.searchsorted(coarse, np.arange(len(j)))
    before = np.where(coarse[after] == np.arange(len(j)), after, np.maximum(after - 1, 0))
    guess = np.rint(np.interp(np.arange(len(j)), coarse, found)).astype(np.int64)
    return search(j, found[before] - 1, found[after], guess)


def _clopper_pearson_p_value(counts: Counts, epsilon: float, delta: float) -> float:
    """The smallest level at which p_lower - e^epsilon q_upper > delta, rounded up by at most 1e-6 of itself."""

    def rejected(level: float) -> bool:
        lower = float(proportion_lower(counts.first, counts.first_trials, level / 2))
        upper = float(proportion_upper(counts.second, counts.second_trials, level / 2))
        return lower - delta > math.exp(epsilon) * upper * (1 + 1e-15) + 1e-16

    low, high = 2e-100, 1 - 2.0**-20
    if not rejected(high):
        return 1.0
    if rejected(low):
        return low
    return bisected(
        lambda level: not rejected(level),
        low,
        high,
        close=lambda low, high: high <= low * (1 + 1e-6),
        middle=lambda low, high: math.sqrt(low) * math.sqrt(high),
    )[1]


def epsilon_lower(counts: Counts, *, delta: float, level: float, method: PValueMethod | None = None) -> float:
    """Exceeds the smallest epsilon with p <= e^epsilon q + delta with probability at most ``level``; 0 says nothing.

    Args:
        counts: of one event, fixed before the trials were drawn.
        delta: in [0, 1).
        level: in (0, 1).
        method: of the p-value; None for `joint_test.default_method`.
    """
    p, q = counts.first / counts.first_trials, counts.second / counts.second_trials
    if p <= delta:
        return 0.0
    z = -float(scipy.special.ndtri(level))
    most = math.log((p - delta) / q) if q > 0 else math.log(2 * counts.second_trials * (p - delta) / z**2) + 1
    if most <= 0:
        return 0.0
    return _largest_rejected(counts, lambda epsilon: (epsilon, delta), most, level, method)


def delta_lower(counts: Counts, *, epsilon: float, level: float, method: PValueMethod | None = None) -> float:
    """Exceeds the smallest delta with p <= e^epsilon q + delta with probability at most ``level``; 0 says nothing."""
    p, q = counts.first / counts.first_trials, counts.second / counts.second_trials
    most = min(p - math.exp(epsilon) * q, 1 - 2.0**-53)
    if most <= 0:
        return 0.0
    return _largest_rejected(counts, lambda delta: (epsilon, delta), most, level, method)


def mu_lower(counts: Counts, *, epsilon: float, level: float, method: PValueMethod | None = None) -> float:
    """Exceeds the smallest mu for which both laws are mu-GDP with probability at most ``level``; 0 says nothing.

    mu-GDP implies (epsilon, delta_G(mu, epsilon))-DP at every epsilon; the bound is the largest mu for which that is
    rejected at the given one. ``epsilon`` is fixed before the trials: 0 for the event of the total variation, otherwise
    the slope where the trade-off curve is touched, see `touching_epsilon`.
    """
    rejected = delta_lower(counts, epsilon=epsilon, level=level, method=method)
    if rejected <= 0:
        return 0.0

    def refuted(mu: float) -> bool:
        # The profile is rounded up, so a mu that is kept is one whose exact profile is rejected.
        return bool(GaussianDP(Fraction(mu)).delta_upper(epsilon) <= rejected)

    return bisected(refuted, *doubled(refuted, 0.0, 1.0, most=64), steps=40)[0]


def touching_epsilon(p: float, q: float) -> float:
    """The epsilon whose line touches the curve of mu-GDP at (q, p): -mu t - mu^2/2, t = Phi^-1(q), mu = Phi^-1(p) - t.

    In [-10, 10], and 0 where a probability is 0 or 1 and there is nothing to touch.
    """
    if not (0 < p < 1 and 0 < q < 1):
        return 0.0
    t = float(scipy.special.ndtri(q))
    mu = float(scipy.special.ndtri(p)) - t
    return min(max(-mu * t - mu * mu / 2, -10.0), 10.0)


def _largest_rejected(
    counts: Counts, line: Callable[[float], tuple[float, float]], most: float, level: float, method: PValueMethod | None
) -> float:
    """A parameter in [0, most) whose p-value is at most ``level``, see `largest_rejected`.

    ``line`` gives the epsilon and the delta of the hypothesis.
    """
    used = default_method(counts) if method is None else method

    def p_value(parameter: float) -> float:
        epsilon, delta = line(parameter)
        return joint_p_value(counts, epsilon=epsilon, delta=delta, level=level, method=used)

    def root(parameter: float) -> float:
        return float(signed_likelihood_root(*counts.four, *line(parameter)))

    return largest_rejected(p_value, root, most, level)


def largest_rejected(
    p_value: Callable[[float], float],
    root: Callable[[float], float],
    most: float,
    level: float,
    *,
    near: float = _NEAR,
) -> float:
    """A parameter in [0, most) whose p-value is at most ``level``, next to one where it is not; 0 if there is none.

    Args:
        p_value: of the hypothesis; it costs much, and grows with the parameter.
        root: a statistic that costs little and falls in the parameter: -Phi^-1 of the p-value is nearly that minus a
            constant. It decides only where the p-value is asked.
        most: end of the search.
        level: in (0, 1).
        near: a rejection with so little to spare, in units of z, is not followed by another one.
    """
    wanted = -float(scipy.special.ndtri(level))
    best, beyond, target = 0.0, most, wanted
    for _ in range(_MOST_TRIES):
        at = _where_it_falls_through(root, target, best, beyond)
        if at <= best or at >= beyond:
            at = (best + beyond) / 2
        p = p_value(at)
        if p <= level:
            best = at
        else:
            beyond = at
        found = -float(scipy.special.ndtri(min(max(p, 1e-300), 1 - 1e-16)))
        if beyond - best <= _FEWEST_COLUMNS * most or (p <= level and found <= wanted + near):
            break
        # How much the two roots differ here; then a step beyond the solution on the side that is still open.
        margin = _MARGIN if p > level else -_MARGIN
        target = root(at) - found + wanted + margin
    if best == 0.0 and p_value(0.0) > level:
        return 0.0
    return best


def _where_it_falls_through(falling: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Where a function falls through a value between two ends, or the end that is nearer."""
    if falling(low) <= value:
        return low
    if falling(high) >= value:
        return high
    return float(scipy.optimize.brentq(lambda at: falling(at) - value, low, high, xtol=_ON_THE_WAY * (high - low)))
