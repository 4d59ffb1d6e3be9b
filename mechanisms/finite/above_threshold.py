"""Above threshold, the sparse vector technique: which queries are above a noisy threshold, until enough of them were.

Notation: T queries, c answers "above", D the largest move of a query by one record, scales b1 of the threshold's noise
and b2 of every query's. Relative to the threshold, a query moves by at most m = 2 D, and by m = D where all queries
move the same way (one record added). Then it is (D/b1 + c m/b2)-DP (Lyu, Su and Li 2017, Theorem 2 and section 4.3),
and for every smaller move in proportion; so a Laplace variable moved by that many scales dominates every pair of
neighbours, as in `dpverdict.mechanisms.finite.selection`. That epsilon is approached with many queries, never attained.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.losses.base import REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, identical_laws
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_array, check_dim, check_moderate
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import AttainedLoss, Dominating, NearbyPairs
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.finite.law import NoNoise, PiecewiseLaw, ScaledNoise, event_law, threshold_law
from dpverdict.mechanisms.finite.selection import exact_scores
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import exact_text

MOST_QUERIES: Final = 1 << 12
_NODES: Final = 12
_FAR: Final = 40.0
_MOST_NUMBERS: Final = 1 << 22  # of the datasets that are shown
_LEADS: Final = (-8.0, -3.0, -1.0, 0.0, 1.0, 4.0)  # of queries, in scales, that are tried


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdNoise:
    """Independent Laplace noise on every query, and on the threshold, which is the last coordinate.

    Attributes:
        queries: T.
        query_scale: b2, a float64 at its exact value; 0 for the known-wrong variant without that noise.
        threshold_scale: b1 > 0, the same.
    """

    queries: int
    query_scale: float
    threshold_scale: float

    @property
    def size(self) -> int:
        """T + 1."""
        return self.queries + 1

    def laws(self) -> tuple[PiecewiseLaw, PiecewiseLaw]:
        """Of the threshold's noise, and of that of a query."""
        query = ScaledNoise(Laplace(), 1 / Fraction(self.query_scale)) if self.query_scale else NoNoise()
        return ScaledNoise(Laplace(), 1 / Fraction(self.threshold_scale)), query

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Noisy queries and the noisy threshold: shape (T + 1,) -> (trials, T + 1)."""
        scales = np.append(np.full(self.queries, self.query_scale), self.threshold_scale)
        noisy: Array = rng.laplace(size=(trials, self.size)) * scales + statistic
        return noisy

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the noise is not released."""
        return {}


def _event(first: int, last: int) -> Array:
    return np.concatenate([np.zeros(first), np.ones(last)])[None]


@final
class AboveThreshold(StatisticMechanism):
    """Of T queries in turn: 1 if query + noise >= threshold + noise, else 0; -1 after ``positives`` answers 1.

    The noise is Laplace: drawn once for the threshold, of scale b1 = 2 D/epsilon, and for every query, of scale
    b2 = 4 c D/epsilon under REPLACE_ONE and 2 c D/epsilon under ADD_OR_REMOVE_ONE, where one more record raises all
    queries. It is epsilon-DP, however many queries are asked.

    Args:
        queries: T >= 1.
        epsilon: > 0, exact.
        adjacency: the neighbouring relation of the claim.
        threshold: exact; rounded up to a float64.
        positives: c >= 1, how many answers 1 are given.
        sensitivity: D > 0, exact; rounded up to a float64.
        threshold_scale, query_scale: b1 and b2, in place of those of the claim, exact; rounded up to float64.

    Attributes:
        reach: D.
        replaces_record: whether one is replaced; otherwise one is added or removed.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Lyu, Su and Li 2017, Algorithm 1 and Theorem 2 (arXiv:1603.01699); Dwork and Roth 2014, Theorem 3.23.

    >>> from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
    >>> mechanism = AboveThreshold(queries=3, epsilon=1, adjacency=REPLACE_ONE, threshold=2)
    >>> mechanism.noise.threshold_scale, mechanism.noise.query_scale
    (2.0, 4.0)
    """

    name = "above-threshold"
    title = "sparse vector: which queries exceed a threshold"
    source = "Lyu, Su and Li 2017, Theorem 2"
    noise: ThresholdNoise
    threshold: float
    positives: int
    reach: float
    replaces_record: bool
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("queries", "T", "Number of queries that are asked in turn.", whole),
        Parameter("threshold", "X", "What the queries are compared with."),
        Parameter("positives", "C", "How many answers above are given; 1 if not given.", whole),
        Parameter("threshold_scale", "X", "Scale of the threshold's noise, in place of the published one."),
        Parameter("query_scale", "X", "Scale of the queries' noise, in place of the published one."),
    )
    example = "--queries 3 --epsilon 1 --adjacency replace-one --threshold 1"
    dim: int
    adjacency: NeighboringRelation
    claim: PureDP
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        queries: int,
        epsilon: Exact,
        adjacency: NeighboringRelation,
        threshold: Exact,
        positives: int = 1,
        sensitivity: Exact = 1,
        threshold_scale: Exact | None = None,
        query_scale: Exact | None = None,
    ) -> None:
        self.dim = check_dim(queries, "queries")
        if self.dim > MOST_QUERIES:
            raise InvalidValue("queries", queries, f"at most {MOST_QUERIES}", "ask fewer")
        if check_dim(positives, "positives") > self.dim:
            raise InvalidValue("positives", positives, f"at most queries={self.dim}", "not more are asked")
        budget = check_moderate(epsilon, "epsilon")
        reach = float_above(check_moderate(sensitivity, "sensitivity"))
        self.adjacency = check_adjacency(adjacency)
        replaced = self.adjacency is not ADD_OR_REMOVE_ONE
        self.claim = PureDP(budget)
        first = (
            2 * Fraction(reach) / budget
            if threshold_scale is None
            else check_moderate(threshold_scale, "threshold_scale")
        )
        compared = exactly(threshold, name="threshold")
        if abs(compared) > 1 << 400:
            raise InvalidValue("threshold", threshold, "between -2^400 and 2^400", "choose units of moderate size")
        each = (4 if replaced else 2) * positives * Fraction(reach) / budget
        if query_scale is not None:
            each = exactly(query_scale, name="query_scale")
            if each < 0:
                raise InvalidValue("query_scale", query_scale, ">= 0", "give the scale of the noise")
            if each:
                check_moderate(each, "query_scale")
        self.noise = ThresholdNoise(
            queries=self.dim, query_scale=float_above(each) if each else 0.0, threshold_scale=float_above(first)
        )
        self.threshold, self.positives, self.reach, self.replaces_record = (
            float_above(compared),
            positives,
            reach,
            replaced,
        )
        self.assumptions = (f"every record moves a query by a number in [0, {exact_text(Fraction(reach))}]",)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(T,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """What the records add to the queries, as float64 of shape (n, T), each in [0, D]."""
        return check_array(dataset, self.record_shape, 0.0, self.reach)

    # what is known ----------------------------------------------------------------------------------------------------

    @property
    def bound(self) -> Fraction | None:
        """D/b1 + c m/b2, exactly, with m = 2 D if a record is replaced, else D; None where queries have no noise."""
        if not self.noise.query_scale:
            return None
        move = Fraction(self.reach)
        of_queries = self.positives * move * (2 if self.replaces_record else 1) / Fraction(self.noise.query_scale)
        return move / Fraction(self.noise.threshold_scale) + of_queries

    def above(self) -> tuple[Dominating]:
        """What a move of queries and threshold costs."""
        bound = self.bound
        return (
            Dominating(
                loss=DisjointLoss() if bound is None else LaplaceLoss([bound]),
                description="a record that lowers the first queries and raises the last ones"
                if self.replaces_record
                else "a record that raises the last queries",
                justification="queries without noise of their own are told apart with certainty in places"
                if bound is None
                else f"the move of queries and threshold by one record costs at most D/b1 + c m/b2 = "
                f"{exact_text(bound)}, and every part of it in proportion, so that a Laplace variable moved by that "
                "many scales dominates every pair; a bound, approached with many queries",
            ),
        )

    def below(self) -> tuple[NearbyPairs]:
        """For every epsilon a pair that comes as near to the bound as a few tries show."""
        bound, level = self.bound, self.claim.epsilon
        shown = level if bound is None else min(level, bound * Fraction(3, 4))
        return (NearbyPairs(shown=self._nearby(shown), at_level=self._nearby),)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """The privacy loss of one record alone against none or its replacement; that of equal laws if they are."""
        other = np.zeros((0, self.dim)) if replacement is None else replacement[None]
        here, there = (self._law(exact_scores(side, self.dim)) for side in (record[None], other))
        if here == there:
            return identical_laws()
        return FiniteLoss.of_weights(
            list(here.values()),
            [there[answers] for answers in here],
            outcomes=["answers " + "".join(map(str, answers)) for answers in here],
            assumed=(REAL_ARITHMETIC,),
        )

    def _law(self, answers: Sequence[Fraction]) -> Mapping[tuple[int, ...], ExponentialSum]:
        """The probabilities of all sequences of answers, exactly, for queries of given values."""
        threshold, query = self.noise.laws()
        gaps = [answer - Fraction(self.threshold) for answer in answers]
        return threshold_law(threshold, query, gaps, self.positives)

    @property
    def _last(self) -> int:
        """How many queries are above in the event that is shown: c, and at most half of them."""
        return max(1, min(self.positives, self.dim // 2))

    def _record(self, last: bool) -> Array:
        """D on the last queries, or on the others."""
        tail = np.arange(self.dim) >= self.dim - self._last
        return np.where(tail == last, self.reach, 0.0)

    def _nearby(self, level: Fraction) -> AttainedLoss:
        """Below at all but the last c queries, above at those: one event, at the best of some values of queries."""
        first, last = self.dim - self._last, self._last
        unit = max(self.noise.query_scale, self.noise.threshold_scale)
        record, other = self._record(True), self._record(False) if self.replaces_record else np.zeros(self.dim)
        best: tuple[float, Array] | None = None
        for leads in itertools.product(_LEADS, repeat=2):
            rest = np.maximum(np.where(record > 0, leads[1], leads[0]) * unit + self.threshold - record, 0.0)
            logs = [self._log_probabilities(rest + side)(_event(first, last))[0] for side in (record, other)]
            shown = math.exp(logs[0]) - math.exp(min(float(level), 700.0) + logs[1])
            if best is None or shown > best[0]:
                best = shown, rest
        assert best is not None
        rows = max(1, math.ceil(float(best[1].max()) / self.reach))
        if rows * self.dim > _MOST_NUMBERS:
            remedy = "give threshold and scales in units of the sensitivity, or a threshold near 0"
            found = f"{rows} records to come near the threshold"
            raise InvalidValue("worst datasets", found, f"of at most {_MOST_NUMBERS} numbers", remedy)
        others = np.clip(best[1] - self.reach * np.arange(rows)[:, None], 0.0, self.reach)
        dataset = np.concatenate([record[None], others])
        neighbour = np.concatenate([other[None], others]) if self.replaces_record else others
        threshold, query = self.noise.laws()
        p, q = (
            event_law(
                threshold,
                query,
                [value - Fraction(self.threshold) for value in exact_scores(side, self.dim)],
                first,
            )
            for side in (dataset, neighbour)
        )
        one = ExponentialSum.of(1)
        answers = "0" * first + "1" * last if self.dim <= 24 else f"{first} times 0, then {last} times 1"
        return AttainedLoss(
            pair=self.neighbours(dataset, neighbour),
            loss=FiniteLoss.of_weights(
                [p, one - p],
                [q, one - q],
                outcomes=(f"answers {answers}", "other answers"),
                assumed=(REAL_ARITHMETIC,),
            ),
            description=f"a record that raises the last {last} of {self.dim} queries"
            + (", replaced by one that raises the others" if self.replaces_record else ""),
        )

    def _log_probabilities(self, queries: Array) -> Callable[[Array], Array]:
        """Of releases, in float64: the integral over the threshold's noise, by Gauss-Legendre quadrature."""
        gaps = queries - self.threshold
        far = _FAR * max(self.noise.threshold_scale, self.noise.query_scale)
        ends = np.unique(np.clip([-far, 0.0, *gaps.tolist(), far], -far, far))
        step = 2 * min(self.noise.threshold_scale, self.noise.query_scale or self.noise.threshold_scale)
        pieces = [np.linspace(a, b, min(math.ceil((b - a) / step), 200) + 1) for a, b in itertools.pairwise(ends)]
        low, high = (np.concatenate([piece[part] for piece in pieces]) for part in (slice(None, -1), slice(1, None)))
        nodes, weights = leggauss(_NODES)
        x = ((high - low)[:, None] * (nodes + 1) / 2 + low[:, None]).ravel()
        steps = ((high - low)[:, None] * weights / 2).ravel()
        density = np.log(steps) - np.abs(x) / self.noise.threshold_scale - math.log(2 * self.noise.threshold_scale)
        z = x[:, None] - gaps[None]
        if self.noise.query_scale:
            z = z / self.noise.query_scale
            small = -np.abs(z) - math.log(2)
            large = np.log1p(-np.exp(small))
            below, above = np.where(z < 0, small, large), np.where(z < 0, large, small)
        else:
            below, above = np.where(z > 0, 0.0, -700.0), np.where(z > 0, -700.0, 0.0)

        def of(released: Array) -> Array:
            distinct, place = np.unique(released, axis=0, return_inverse=True)
            rows = [
                density + np.where(row == 0, below, 0.0).sum(axis=1) + np.where(row == 1, above, 0.0).sum(axis=1)
                for row in distinct
            ]
            found: Array = np.array([float(np.logaddexp.reduce(row)) for row in rows])[place.ravel()]
            return found

        return of

    # what is released -------------------------------------------------------------------------------------------------

    def statistic(self, records: Array) -> Array:
        """The queries, sums over the records, and the threshold: shape (T + 1,)."""
        return np.append(records.sum(axis=0), self.threshold)

    def decode(self, noisy: Array) -> Array:
        """The answers: shape (trials, T + 1) -> (trials, T), each 0, 1, or -1 where there is no answer."""
        above = (noisy[:, :-1] >= noisy[:, -1:]).astype(np.int64)
        before = np.cumsum(above, axis=1) - above
        answers: Array = np.where(before >= self.positives, -1, above).astype(np.float64)
        return answers

    def law(self, queries: Sequence[Exact]) -> Mapping[tuple[int, ...], ExponentialSum]:
        """The probabilities of all sequences of answers, exactly, for queries of given values.

        Two of them make a privacy loss: ``FiniteLoss.of_weights(list(p.values()), list(q.values()))``.
        """
        exact = [exactly(query, name="queries") for query in queries]
        if len(exact) != self.dim:
            raise InvalidValue("queries", f"{len(exact)} numbers", f"{self.dim} numbers", "give the value of each")
        return self._law(exact)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, T): the most powerful score."""
        here, there = (
            self._log_probabilities(self.check_records(side).sum(axis=0)) for side in (pair.dataset, pair.neighbour)
        )

        def score(released: Array) -> Array:
            return here(released) - there(released)

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        own = {"queries": str(self.dim), "threshold": repr(self.threshold), "positives": str(self.positives)}
        own |= {"sensitivity": repr(self.reach), "threshold scale": repr(self.noise.threshold_scale)}
        given = super().describe() | own | {"query scale": repr(self.noise.query_scale)}
        del given["dim"]
        return given
