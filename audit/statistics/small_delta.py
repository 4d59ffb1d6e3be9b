"""A lower bound on epsilon at one delta, from the counts of two events, one for each order of the pair.

Symbols: N_P trials of P and N_Q of Q, all independent; disjoint events A and B that were fixed beforehand;

    H(epsilon): P(A) <= e^epsilon Q(A) + delta  and  Q(B) <= e^epsilon P(B) + delta,

which (epsilon, delta)-DP in both orders implies. Either event may be empty: then one order is tested. With

    K_1 = #A on P + #B on Q    (should be few),        K_2 = #A on Q + #B on P    (what they are held against),

tables are ordered by T(K_1, K_2), the epsilon at which the likelihood root z of `joint_test` equals a fixed number; T
rises in K_1 and falls in K_2. (`ORDER` above the quantile of the level, so that tables with K_2 near 0, where the root
promises too much, do not come first.) So {T >= T observed} = {K_1 >= m(K_2)} with m not decreasing. Write x = Q(A),
y = P(B), p_1 = min(1, (e^epsilon x + delta)/(1 - y)), p_2 = min(1, (e^epsilon y + delta)/(1 - x)).

Theorem. Under H(epsilon), P(T >= t) <= E g(K_2) with K_2 ~ Bin(N_Q, x) + Bin(N_P, y), independent, N = N_P + N_Q and

    g(j) = P(Bin(N, (N_P p_1 + N_Q p_2)/N) >= m(j))   if m(j) >= N_P p_1 + N_Q p_2 + 1,     otherwise 1.

Proof. The counts on P are multinomial, as are those on Q, and the two are independent. So given b = #B on P and
a = #A on Q, the counts #A on P ~ Bin(N_P - b, P(A)/(1 - P(B))) and #B on Q ~ Bin(N_Q - a, Q(B)/(1 - Q(A))) are
independent. Both probabilities are at most 1, because A and B are disjoint, so by H at most p_1 and p_2; and fewer
trials make a binomial smaller in distribution. So given (a, b) the probability of K_1 >= m(a + b) is at most that of
S >= m(a + b), S ~ Bin(N_P, p_1) + Bin(N_Q, p_2). S is a sum of N independent bits with mean M = N_P p_1 + N_Q p_2, and
P(S <= c) >= P(Bin(N, M/N) <= c) for every whole c >= M (Hoeffding 1956, theorem 4). With c = m(j) - 1 this is the
claim, because the law of K_2 = a + b is the stated one. QED. With B empty, y = 0 and
K_1 = #A on P ~ Bin(N_P, P(A)), where P(A) <= p_1: no theorem of Hoeffding is needed, and g(j) is the first expression
whatever m(j) is.

Monotone. m does not decrease, so g does not increase in j; it rises with p_1 and p_2, which rise in x, y and epsilon;
and K_2 rises in x and y. So on a cell [x_0, x_1] x [y_0, y_1] the bound is at most E g(K_2) with K_2 at the low ends
and p_1, p_2 at the high ends. Where e^epsilon x + delta > 1, P(A) is not limited any more, and P(T >= t) falls in x.

P-value. Its supremum over the (x, y) of two Clopper-Pearson intervals, from #A on Q and #B on P, plus the error gamma
of the two (Berger and Boos 1994). T does not depend on epsilon, and the set of laws in H(epsilon) grows with it, so
this p-value does not fall in epsilon: one level pays for all epsilons, and the largest epsilon that is rejected is a
lower bound.

Beyond `MOST_COUNTS` in K_2 the bound is T itself, which is asymptotic.

References: W. Hoeffding, On the distribution of the number of successes in independent trials, Annals of Mathematical
Statistics 27 (1956), 713-721; R. L. Berger and D. D. Boos, JASA 89 (1994).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import scipy

from dpverdict.audit.statistics.columns import Numbers, read_in_parts
from dpverdict.audit.statistics.joint_test import signed_likelihood_root, smallest_extreme
from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper, wilson_end
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.roots import bisected

MOST_COUNTS: Final = 400
ORDER: Final = (0.6, 1.1)
"""Of one order, and of both: added to the quantile of the level."""
_NUISANCE: Final = 1 / 200
"""Of the level, for the intervals of x and y."""
_CELLS: Final = 4
_SPLITS: Final = 5
_MOST_CELLS: Final = 4096
_PAD: Final = 1e-9
"""Relative; the incomplete beta function of SciPy is far better than that wherever it was compared."""
_CLOSE: Final = 0.004
"""In epsilon: when the search for the bound ends."""
_NORMAL: Final = 0.9
"""Times 1/sqrt(n): the Kolmogorov distance up to which explored scores are taken for normal ones."""
_FEWEST_FOR_BOTH: Final = 400
"""Trials per side below which one order is sharper than both."""
_LOST_BY_BOTH: Final = 0.05
"""What the exact test of both orders was seen to lose to its prediction, beside that of one order, in epsilon."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TwoEvents:
    """A = {score >= above} for P against Q, and B = {score <= below} for Q against P; None for an empty one.

    Raises:
        ValueError: they meet.
    """

    above: float | None
    below: float | None

    def __post_init__(self) -> None:
        if self.above is not None and self.below is not None and not self.below < self.above:
            raise ValueError("the two events meet")

    def count(self, dataset_scores: Numbers, neighbour_scores: Numbers) -> TwoCounts:
        """How often each happened on each side."""
        a, b = (
            [
                0 if t is None else sum(int(np.count_nonzero(happened(part, t))) for (part,) in read_in_parts(side))
                for side in (dataset_scores, neighbour_scores)
            ]
            for t, happened in ((self.above, np.greater_equal), (self.below, np.less_equal))
        )
        return TwoCounts(
            a_on_p=a[0],
            a_on_q=a[1],
            b_on_p=b[0],
            b_on_q=b[1],
            of_p=len(dataset_scores),
            of_q=len(neighbour_scores),
            has_a=self.above is not None,
            has_b=self.below is not None,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCounts:
    """Counts of two disjoint events on both sides; of an empty one 0."""

    a_on_p: int
    a_on_q: int
    b_on_p: int
    b_on_q: int
    of_p: int
    of_q: int
    has_a: bool = True
    has_b: bool = True

    @property
    def pooled(self) -> tuple[int, int, int, int]:
        """K_1, its trials, K_2, its trials."""
        of_1 = self.of_p * self.has_a + self.of_q * self.has_b
        of_2 = self.of_q * self.has_a + self.of_p * self.has_b
        return self.a_on_p + self.b_on_q, of_1, self.a_on_q + self.b_on_p, of_2

    @property
    def is_exact(self) -> bool:
        """Whether the bound of these counts is exact."""
        return self.pooled[2] <= MOST_COUNTS

    def epsilon_lower(self, delta: float, level: float) -> float:
        """Exceeds the smallest epsilon >= 0 with H(epsilon) with probability at most ``level``; 0 says nothing.

        Args:
            delta: in [0, 1).
            level: in (0, 1).
        """
        wanted = -float(scipy.special.ndtri(level))
        if self._root(0.0, delta) <= wanted * 0.8:  # no bound is worth the search
            return 0.0
        asymptotic = self._where(max(wanted, 0.0), delta)
        if not self.is_exact:
            return max(asymptotic, 0.0)
        root = wanted + ORDER[self.has_a and self.has_b]
        region = _ExtremeRegion.of(self, self._where(root, delta), delta, root, level)
        if not region.rejects(0.0):
            return 0.0
        low, high = 0.0, min(asymptotic + 0.5, 600.0)
        # The first steps are short ones about what is expected.
        for at in (asymptotic - 0.02, asymptotic - 0.1, asymptotic - 0.25, asymptotic - 0.6):
            if low < at < high:
                if region.rejects(at):
                    low = at
                    break
                high = at
        return bisected(region.rejects, low, high, close=lambda low, high: high - low < _CLOSE)[0]

    def _root(self, epsilon: float, delta: float) -> float:
        return float(signed_likelihood_root(*self.pooled, epsilon, delta))

    def _where(self, root: float, delta: float) -> float:
        """The epsilon at which the likelihood root, which falls in it, is that number."""
        return bisected(
            lambda epsilon: self._root(epsilon, delta) > root, -30.0, 600.0, close=lambda low, high: high - low < 1e-9
        )[0]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _ExtremeRegion:
    """The tables {K_1 >= m(j)} that promise at least as much as the observed one, and where x and y may lie."""

    counts: TwoCounts
    delta: float
    m: Integers
    x: tuple[float, float]
    y: tuple[float, float]
    allowed: float

    @staticmethod
    def of(counts: TwoCounts, observed: float, delta: float, wanted: float, level: float) -> _ExtremeRegion:
        _, of_1, k_2, of_2 = counts.pooled
        gamma = _NUISANCE * level
        ends = gamma / (2 * (counts.has_a + counts.has_b))

        def interval(has: bool, count: int, trials: int) -> tuple[float, float]:
            if not has:
                return 0.0, 0.0
            return float(proportion_lower(count, trials, ends)), float(proportion_upper(count, trials, ends))

        x = interval(counts.has_a, counts.a_on_q, counts.of_q)
        y = interval(counts.has_b, counts.b_on_p, counts.of_p)
        # Beyond the last j, g is taken as its value there, where it is larger.
        mean = counts.of_q * x[1] + counts.of_p * y[1]
        last = min(of_2, max(k_2, math.ceil(mean + 6 * math.sqrt(mean) + 10)))
        m = smallest_extreme(np.arange(last + 1), of_1, of_2, observed, delta, wanted)
        m = np.minimum.accumulate(m[::-1])[::-1]  # rounding may not make the region smaller, nor less monotone
        return _ExtremeRegion(counts=counts, delta=delta, m=m, x=x, y=y, allowed=(level - gamma) * (1 - _PAD))

    def rejects(self, epsilon: float) -> bool:
        """Whether H(epsilon) is rejected: every cell is below the level, split where it is not."""
        most = max(math.nextafter(min((1 - self.delta) * math.exp(-epsilon), 1.0), 2), 1e-300)
        edges: list[Array] = []
        for ends in (self.x, self.y):
            first, last = (math.sqrt(min(end, most)) for end in ends)
            edges.append(np.linspace(first * (1 - 1e-15), last * (1 + 1e-15), _CELLS + 1))
        pairs = [
            (a, b, c, d)
            for a, b in zip(edges[0][:-1], edges[0][1:], strict=True)
            for c, d in zip(edges[1][:-1], edges[1][1:], strict=True)
        ]
        cells = np.unique(np.array(pairs), axis=0)
        for split in range(_SPLITS + 1):
            over = cells[self._bound(cells[:, [0, 2]], cells[:, [1, 3]], epsilon) > self.allowed]
            if not len(over):
                return True
            if split == _SPLITS or 4 * len(over) > _MOST_CELLS:
                return False
            middle = np.column_stack([(over[:, 0] + over[:, 1]) / 2, (over[:, 2] + over[:, 3]) / 2])
            if np.any(self._bound(middle, middle, epsilon) > self.allowed):
                return False
            x_0, x_1, y_0, y_1 = over.T
            x_m, y_m = middle.T
            parts_x = ((x_0, x_m), (x_m, x_1)) if self.counts.has_a else ((x_0, x_1),)
            parts_y = ((y_0, y_m), (y_m, y_1)) if self.counts.has_b else ((y_0, y_1),)
            cells = np.concatenate([np.column_stack([*one, *other]) for one in parts_x for other in parts_y])
        return False

    def _bound(self, low: Array, high: Array, epsilon: float) -> Array:
        """At least P(T >= observed) on every cell: from the square roots of (x, y) at its corners, shape (cells, 2)."""
        e = math.exp(epsilon) * (1 + 1e-15)
        law = self._law_of_k2(low**2)
        x, y = (high**2).T
        p_1 = np.minimum((e * x + self.delta) / (1 - np.minimum(y, 1 - 1e-16)) * (1 + 1e-14), 1.0)
        p_2 = np.minimum((e * y + self.delta) / (1 - np.minimum(x, 1 - 1e-16)) * (1 + 1e-14), 1.0)
        n_1, n_2 = self.counts.of_p * self.counts.has_a, self.counts.of_q * self.counts.has_b
        n, mean = n_1 + n_2, n_1 * p_1 + n_2 * p_2
        m, p = self.m[np.newaxis, :], np.minimum(mean / n * (1 + 1e-15), 1.0)[:, np.newaxis]
        g = np.where(m > n, 0.0, scipy.special.betainc(np.maximum(m, 1), np.maximum(n - m + 1, 0.5), p))
        g = np.where(m <= 0, 1.0, g)
        if self.counts.has_a and self.counts.has_b:
            g = np.where((m < mean[:, np.newaxis] + 1) & (m <= n), 1.0, g)
        found: Array = (law * g).sum(axis=1)
        return found

    def _law_of_k2(self, at: Array) -> Array:
        """P(K_2 = j) at every (x, y), shape (cells, last + 1); the last one is P(K_2 >= last)."""
        size = len(self.m)
        j = np.arange(size)
        laws = np.zeros((len(at), size))
        of_x = {x: _binomial(j, self.counts.of_q, x) for x in set(at[:, 0].tolist())}
        of_y = {y: _binomial(j, self.counts.of_p, y) for y in set(at[:, 1].tolist())}
        for row, (x, y) in enumerate(at.tolist()):
            laws[row] = (
                np.convolve(of_x[x], of_y[y])[:size]
                if self.counts.has_a and self.counts.has_b
                else (of_x[x] if self.counts.has_a else of_y[y])
            )
        laws[:, -1] = np.maximum(1 - laws[:, :-1].sum(axis=1), 0.0) + 1e-15
        return laws


def _binomial(j: Integers, n: int, p: float) -> Array:
    """The mass of Bin(n, p) at j."""
    inside = j <= n
    k = np.where(inside, j, 0)
    logs = scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    mass: Array = np.where(inside, np.exp(logs + scipy.special.xlogy(k, p) + scipy.special.xlog1py(n - k, -p)), 0.0)
    return mass


def choose_two_events(
    dataset_scores: Array, neighbour_scores: Array, *, trials: int, delta: float, level: float
) -> tuple[TwoEvents, float]:
    """The events that promise the largest bound from ``trials`` fresh trials per side, and what they promise.

    It decides the power alone. Where both sides look normal, from the fitted normal laws, which reach beyond what was
    explored; elsewhere from the explored frequencies, moved one standard error to the bad side.
    """
    p, q = (np.sort(np.clip(side, -1e150, 1e150)) for side in (dataset_scores, neighbour_scores))
    of_p, of_q = _fitted_normal(p), _fitted_normal(q)
    pooled = np.unique(np.concatenate([p, q]))
    if len(pooled) == 1:
        return TwoEvents(above=float(pooled[0]), below=None), 0.0
    if of_p is not None and of_q is not None:
        (m_p, s_p), (m_q, s_q) = of_p, of_q
        cuts = np.linspace(min(m_p - 5 * s_p, m_q - 5 * s_q), max(m_p + 5 * s_p, m_q + 5 * s_q), 400)
        above = scipy.special.ndtr((m_p - cuts) / s_p), scipy.special.ndtr((m_q - cuts) / s_q)
        below = scipy.special.ndtr((cuts - m_q) / s_q), scipy.special.ndtr((cuts - m_p) / s_p)
    else:
        step = max(1, (len(pooled) - 1) // 400)
        at = np.unique(np.concatenate([np.arange(0, len(pooled) - 1, step), _outer_cuts(p, q, pooled)]))
        cuts = pooled[at] / 2 + pooled[at + 1] / 2
        counts = [len(side) - np.searchsorted(side, cuts, "left") for side in (p, q)]
        above = wilson_end(counts[0] / len(p), len(p), -1), wilson_end(counts[1] / len(q), len(q), 1)
        below = (
            wilson_end((len(q) - counts[1]) / len(q), len(q), -1),
            wilson_end((len(p) - counts[0]) / len(p), len(p), 1),
        )
    promised = [_predicted_log_ratio(*sides, trials, delta, level) for sides in (above, below)]
    tops = [int(one.argmax()) for one in promised]
    singles = [
        (TwoEvents(above=float(cuts[tops[0]]), below=None), float(promised[0][tops[0]])),
        (TwoEvents(above=None, below=float(np.nextafter(cuts[tops[1]], -np.inf))), float(promised[1][tops[1]])),
    ]
    best = max(singles, key=lambda one: one[1])
    if trials < _FEWEST_FOR_BOTH or cuts[tops[1]] >= cuts[tops[0]]:
        return best
    # Of both together: the mean of the two probabilities, in twice the trials.
    pairs = [promised[0] > promised[0].max() - 0.7, promised[1] > promised[1].max() - 0.7]
    i, j = (np.flatnonzero(one)[:: max(1, int(one.sum()) // 40)] for one in pairs)
    high, low = ((above[k][i][:, np.newaxis] + below[k][j][np.newaxis, :]) / 2 for k in (0, 1))
    both = np.where(
        cuts[j] < cuts[i][:, np.newaxis], _predicted_log_ratio(high, low, 2 * trials, delta, level), -np.inf
    )
    at_i, at_j = np.unravel_index(int(both.argmax()), both.shape)
    if both[at_i, at_j] - _LOST_BY_BOTH <= best[1]:
        return best
    events = TwoEvents(above=float(cuts[i[at_i]]), below=float(np.nextafter(cuts[j[at_j]], -np.inf)))
    return events, float(both[at_i, at_j]) - _LOST_BY_BOTH


def _predicted_log_ratio(p: Array, q: Array, trials: int, delta: float, level: float) -> Array:
    """log of a low p less delta, over a high q: what counts of that many trials will show."""
    high = p - delta - 0.6 * np.sqrt(p * (1 - p) / trials)
    rare = scipy.special.gammaincinv(trials * q + 1, 1 - level) / trials
    promised: Array = np.where(high > 0, np.log(np.maximum(high, 1e-300)) - np.log(rare), -np.inf)
    return promised


def _fitted_normal(ordered: Array) -> tuple[float, float] | None:
    """Mean and standard deviation of scores that look normal; None of others."""
    mean, spread, n = float(ordered.mean()), float(ordered.std(ddof=1)), len(ordered)
    if not spread > 0:
        return None
    law, rank = scipy.special.ndtr((ordered - mean) / spread), np.arange(n)
    far = max(float(((rank + 1) / n - law).max()), float((law - rank / n).max()))
    return (mean, spread) if math.sqrt(n) * far < _NORMAL else None


def _outer_cuts(p: Array, q: Array, pooled: Array) -> Integers:
    """Cuts below the lowest and above the highest score of each sample, where a count of 0 begins."""
    found: Integers = np.searchsorted(pooled, [p[0], q[0], p[-1], q[-1]]) - np.array([1, 1, 0, 0])
    return np.clip(found, 0, len(pooled) - 2)
