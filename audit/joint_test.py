"""The joint one-sided test on two binomials: H0: p - e^epsilon q <= delta, from the counts of one event.

Symbols: K_P ~ Bin(N_P, p) and K_Q ~ Bin(N_Q, q) are independent counts of one event that was fixed beforehand, P is the
law that should not be much likelier. Three p-values are offered:

* ``EXACT``: unconditional; the tables are ordered by the signed likelihood root z, and the nuisance parameter q runs
  over a Clopper-Pearson interval whose error is added. It never exceeds its level.
* ``ASYMPTOTIC``: the normal tail beyond z. Where expected counts are near 2 its true size at level 5 % is up to 9 %
  (epsilon = 1) or 16 % (epsilon = 3), however many trials there are: so it is refused for small counts.
* ``CLOPPER_PEARSON``: two bounds at half the level each; exact and widely known, but it needs twice the trials.

References: G. A. Barnard, Significance tests for 2 x 2 tables, Biometrika 34 (1947); R. L. Berger and D. D. Boos,
P values maximized over a confidence set for the nuisance parameter, JASA 89 (1994).
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpverdict.audit.clopper_pearson import proportion_lower, proportion_upper
from dpverdict.errors import InvalidValue

Array = NDArray[np.float64]

FEWEST_COUNTS: Final = 50
"""The asymptotic p-value is used only if an event and its complement happened this often on both sides."""
EXACT_UP_TO: Final = 10_000
"""Trials on a side up to which the exact p-value is the default whatever the counts are."""
NUISANCE_SHARE: Final = 1 / 500
"""Of the level, for the interval of the nuisance parameter."""
_SLACK: Final = 1e-9
"""Tables whose z is this little below the observed one count as at least as extreme: rounding cannot shrink p."""
_FIRST_CELLS: Final = 24
_SPLITS: Final = 2
_MOST_STEPS: Final = 500
_PAD: Final = 1e-9
"""Relative; the incomplete beta function of SciPy is far better than that wherever it was compared."""


class Method(enum.Enum):
    """How a p-value is found."""

    EXACT = "exact, unconditional"
    ASYMPTOTIC = "asymptotic, likelihood root"
    CLOPPER_PEARSON = "two Clopper-Pearson bounds, half the level each"


@final
@dataclass(frozen=True, slots=True)
class TwoCounts:
    """Counts of one event: ``first`` of ``first_trials`` under P, ``second`` of ``second_trials`` under Q.

    Raises:
        InvalidValue: a count that is not a whole number between 0 and its trials, or no trials.
    """

    first: int
    first_trials: int
    second: int
    second_trials: int

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
    def complement_swapped(self) -> TwoCounts:
        """The complement of the event with the two laws exchanged: the other half of a symmetric claim."""
        return TwoCounts(
            self.second_trials - self.second, self.second_trials, self.first_trials - self.first, self.first_trials
        )

    @property
    def swapped(self) -> TwoCounts:
        """The same event with the two laws exchanged."""
        return TwoCounts(self.second, self.second_trials, self.first, self.first_trials)


def signed_root(
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
        for _ in range(40):
            middle = (low + high) / 2
            on_line = delta + e * middle
            slope = e * (kp / on_line - (np_ - kp) / (1 - on_line)) + kq / middle - (nq - kq) / (1 - middle)
            rising = slope > 0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        q_c = (low + high) / 2
        p_c = np.minimum(delta + e * q_c, 1.0)
        gain = (
            _times_log(kp, p / p_c)
            + _times_log(np_ - kp, (1 - p) / (1 - p_c))
            + _times_log(kq, q / q_c)
            + _times_log(nq - kq, (1 - q) / (1 - q_c))
        )
    root: Array = np.sign(excess) * np.sqrt(2 * np.maximum(gain, 0.0))
    return root


def _times_log(count: Array, ratio: Array) -> Array:
    return np.where(count > 0, count * np.log(np.where(count > 0, ratio, 1.0)), 0.0)


def default_method(counts: TwoCounts) -> Method:
    """Exact if a count of the event or of its complement is below 50, or a side has at most 10000 trials."""
    fewest = min(counts.first, counts.first_trials - counts.first, counts.second, counts.second_trials - counts.second)
    small = fewest < FEWEST_COUNTS or min(counts.first_trials, counts.second_trials) <= EXACT_UP_TO
    return Method.EXACT if small else Method.ASYMPTOTIC


def joint_p(counts: TwoCounts, *, epsilon: float, delta: float, level: float, method: Method | None = None) -> float:
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
        case Method.EXACT:
            return exact_p(counts, epsilon, delta, NUISANCE_SHARE * level, level)
        case Method.ASYMPTOTIC:
            return float(special.ndtr(-signed_root(*counts.four, epsilon, delta)))
        case _:
            return _clopper_pearson_p(counts, epsilon, delta)


def exact_p(counts: TwoCounts, epsilon: float, delta: float, gamma: float, level: float) -> float:
    """sup of P(z >= observed z) over q in a Clopper-Pearson interval of confidence 1 - gamma and p <= delta + e^eps q.

    Plus gamma. Because z increases in K_P and decreases in K_Q, the extreme tables are {K_P >= m(K_Q)} with m not
    decreasing; so for q in [a, b] their probability is at most

        sum over j of Bin(j; N_Q, a) P(Bin(N_P, delta + e^epsilon b) >= m(j)).

    Cells are split where that may be the maximum, until p is known within a few per cent, or is far from ``level``,
    which is where it will be compared. Every approximation is on the side of a larger p.
    """
    kp, n_p, kq, n_q = counts.four
    observed = float(signed_root(kp, n_p, kq, n_q, epsilon, delta))
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
    m = _smallest_extreme(j, n_p, n_q, epsilon, delta, observed)
    m = np.minimum.accumulate(m[::-1])[::-1]  # rounding may not make the region smaller, nor less monotone

    def above(p: Array) -> Array:  # P(K_P >= m(j)), which does not increase in j
        with_p = np.minimum(np.nextafter(p, 2), 1.0)[:, np.newaxis]
        inside = special.betainc(np.maximum(m, 1), np.maximum(n_p - m + 1, 0.5), with_p)
        tail: Array = np.where(m <= 0, 1.0, np.where(m > n_p, 0.0, inside))
        return tail

    def below(q: Array) -> Array:  # P(K_Q < j)
        inside = special.bdtr(np.maximum(j - 1.0, 0.0), n_q, q[:, np.newaxis])
        head: Array = np.where(j == 0, 0.0, inside)
        return head

    def probability(f: Array, head: Array) -> Array:
        # E f(K_Q), summed by parts, so that all terms are positive. Below the first j f is taken as 1, beyond the last
        # one as its last value.
        steps = np.concatenate([1 - f[:, :1], f[:, :-1] - f[:, 1:]], axis=1)
        total: Array = f[:, -1] + (np.maximum(steps, 0.0) * head).sum(axis=1)
        return total

    edges = np.linspace(math.sqrt(low), math.sqrt(high), _FIRST_CELLS + 1) ** 2
    edges[0], edges[-1] = low, high
    left, right = edges[:-1], edges[1:]
    best, attained = 0.0, 0.0
    for split in range(_SPLITS + 1):
        head = below(left)
        bounds = probability(above(delta + e * right), head)
        best = float(bounds.max())
        if split == _SPLITS or best <= max(attained * 1.05, level / 2):
            break
        i = int(bounds.argmax())
        at = left[i : i + 1]
        attained = max(attained, float(probability(above(delta + e * at), head[i : i + 1])[0]))
        if attained > 2 * level:
            break
        keep = bounds > attained  # the maximum is not in a cell that is below what some q attains
        if not keep.any():
            break
        left, right = left[keep], right[keep]
        middle = (left + right) / 2
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return float(min(1.0, max(best, attained) * (1 + _PAD) + gamma))


def _smallest_extreme(
    j: NDArray[np.int64], n_p: int, n_q: int, epsilon: float, delta: float, observed: float
) -> NDArray[np.int64]:
    """The smallest k with z(k, j) >= the observed z, N_P + 1 if there is none; it does not decrease in j."""
    enough = observed - _SLACK * (1 + observed)

    def search(at: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        # Invariant: z(low, j) < enough, z(high, j) >= enough or high = N_P + 1.
        while np.any(high - low > 1):
            middle = (low + high) // 2
            inside = high - low > 1
            extreme = signed_root(np.clip(middle, 0, n_p), n_p, at, n_q, epsilon, delta) >= enough
            high, low = np.where(inside & extreme, middle, high), np.where(inside & ~extreme, middle, low)
        return high

    coarse = np.unique(np.concatenate([np.arange(0, len(j), 16), [len(j) - 1]]))
    whole = np.full(coarse.shape, -1), np.full(coarse.shape, n_p + 1)
    found = search(j[coarse], *whole)
    # Between two of them lies what is between their values.
    after = np.searchsorted(coarse, np.arange(len(j)))
    before = np.where(coarse[after] == np.arange(len(j)), after, np.maximum(after - 1, 0))
    return search(j, found[before] - 1, found[after])


def _clopper_pearson_p(counts: TwoCounts, epsilon: float, delta: float) -> float:
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
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return high
