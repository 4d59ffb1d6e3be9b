"""Private tuning: a training or a query is run a random number of times, and the best run alone is released."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.domains import EventBound
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.checks import check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, Below, DeltaBound, Dominating, KnownEvent
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import (
    GaussianMechanism,
    HasLikelihoodRatio,
    HasLikelihoodScore,
    StructuredMechanism,
    sampled_above,
)
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import ADJACENCY, Parameter, whole
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism
from dpverdict.mechanisms.training.dp_sgd import DPSGD
from dpverdict.mechanisms.tuning.numbers_of_runs import NUMBERS, NumberName, NumberOfRuns
from dpverdict.mechanisms.tuning.profile import BITS, EventOfSearch, RunProfile, RunTails, SearchBound
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import exact_text, rounded_text

RunName: TypeAlias = Literal["gaussian", "laplace", "dp-sgd"]
RUNS: Final[tuple[RunName, ...]] = ("gaussian", "laplace", "dp-sgd")
_OF_A_NUMBER: Final = ("one record moves the number by at most 1",)
_OF_TRAINING: Final = (
    "batches are made as stated, independently of the records",
    "every gradient is clipped, and the noise is added to the sum before anything else sees it",
)
_HELD: Final = 1 << 21  # numbers of runs that are held in memory at once
_LOOKS: Final = 40
_SHOWN: Final = 1e-12  # of delta, above the rounding of float64
_PLACES: Final = 64  # thresholds on either side of a Laplace variable, a sixth of its scale apart
_ANY_SCORE: Final = (
    "the best run has the density G'(u) dP, where u is the chance that a run is no better and G the generating "
    "function of the number of runs; u is bounded by the profile of one run, whatever the score is"
)


@final
class BestOfRuns(StructuredMechanism):
    """K runs on the same data, K drawn from a law of its own, of which the best one is released.

    Runs are compared by a score, a function of what they release (a private count of errors, say). The bound holds for
    every score. What is released here has the score that tells most at the epsilon of the claim: the larger the
    likelihood ratio of the worst pair the better, except that runs at or below a cut are better than all above it.

    The release is 1 and the numbers of the best run, or zeros if no run was made (K = 0, of "poisson" alone).

    Args:
        number: the law of K, one of `NUMBERS`; see `dpverdict.mechanisms.tuning.numbers_of_runs`.
        mean: of "fixed", "poisson" and "geometric" numbers, exact.
        stop: the chance g to stop, of "logarithmic" and "negative-binomial" numbers, exact.
        shape: h > -1, of "negative-binomial" numbers, exact.
        run: "gaussian" or "laplace", one number of sensitivity 1; "dp-sgd", with Poisson batches.
        noise_multiplier: standard deviation, or scale, of the noise in units of the sensitivity, > 0, exact.
        rate, steps: of DP-SGD.
        adjacency: the neighbouring relation.
        epsilon, delta: of the claim, exact.

    Attributes:
        one: the mechanism of one run.
        runs: the law of K.

    Raises:
        InvalidValue: an argument is out of range, missing, or of another run.

    Reference: Liu and Talwar 2019 (arXiv:1811.07971); Papernot and Steinke 2022 (arXiv:2110.03620), whose bounds are of
    Renyi divergences; the bound of the profile itself is that of `dpverdict.mechanisms.tuning.profile`.

    >>> from dpverdict.audit import certify
    >>> search = BestOfRuns(number="geometric", mean=10, run="gaussian", noise_multiplier=2,
    ...                     epsilon="3.3", delta="1e-6")
    >>> certify(search).status.name, certify(search, "eps=3.2, delta=1e-6").status.name
    ('CERTIFIED', 'REFUTED')
    """

    name = "best-of-runs"
    title = "the best of a random number of runs"
    source = "Papernot and Steinke 2022"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("number", "|".join(NUMBERS), "The law of the number of runs."),
        Parameter("mean", "M", "Of fixed, poisson and geometric numbers of runs."),
        Parameter("stop", "G", "The chance to stop, of logarithmic and negative-binomial numbers."),
        Parameter("shape", "H", "Of negative-binomial numbers; 1 is geometric."),
        Parameter("run", "|".join(RUNS), "What is run."),
        Parameter("noise_multiplier", "X", "Standard deviation or scale of the noise, over the sensitivity."),
        Parameter("rate", "Q", "Of a DP-SGD run: the chance of a record to be in a batch."),
        Parameter("steps", "T", "Of a DP-SGD run.", whole),
        ADJACENCY.otherwise(ADD_OR_REMOVE_ONE, "add-or-remove-one was taken"),
        Parameter("epsilon", "X", "Epsilon that is claimed."),
        Parameter("delta", "X", "Delta that is claimed."),
    )
    example = "--number geometric --mean 4 --run gaussian --noise-multiplier 2 --epsilon 2.4 --delta 1e-4"
    scaled_by: ClassVar[str | None] = "noise_multiplier"
    calibration_width: ClassVar[float] = 2.0**-12  # each end takes the profile of a run
    dim: int
    claim: ApproximateDP
    adjacency: NeighboringRelation
    assumptions: tuple[str, ...]
    one: GaussianMechanism | LaplaceMechanism | DPSGD
    runs: NumberOfRuns
    run: RunName
    noise_multiplier: Fraction
    rate: Fraction
    steps: int

    def __init__(
        self,
        *,
        number: NumberName,
        run: RunName,
        noise_multiplier: Exact,
        epsilon: Exact,
        delta: Exact,
        mean: Exact | None = None,
        stop: Exact | None = None,
        shape: Exact | None = None,
        rate: Exact | None = None,
        steps: int | None = None,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
    ) -> None:
        self.runs = NumberOfRuns.of(number, mean, stop, shape)
        if run not in RUNS:
            raise InvalidValue("run", run, f"one of {', '.join(RUNS)}", "gaussian is a noisy count")
        for name, given in (("rate", rate), ("steps", steps)):
            if (given is not None) != (run == "dp-sgd"):
                requirement = f"{'given' if given is None else 'left out'} with run {run}"
                raise InvalidValue(name, given, requirement, "batches are those of DP-SGD")
        self.noise_multiplier = check_positive(noise_multiplier, "noise_multiplier")
        self.claim, self.adjacency, self.run = ApproximateDP(epsilon=epsilon, delta=delta), adjacency, run
        if run == "gaussian":
            self.one = GaussianMechanism(sigma=noise_multiplier, sensitivity=1, adjacency=adjacency)
        elif run == "laplace":
            self.one = LaplaceMechanism(scale=noise_multiplier, sensitivity=1, adjacency=adjacency)
        else:
            assert steps is not None  # checked above
            self.one = DPSGD(
                noise_multiplier=noise_multiplier, rate=rate, steps=steps, sampling="poisson", adjacency=adjacency
            )
        self.dim = 1
        worst = self.one.privacy_bounds().worst
        if worst is None:
            remedy = "take more noise: no certified curve of steps with so little is known"
            raise InvalidValue("run", self.one.describe()["claim"], "one with a certified worst pair", remedy)
        self._worst = worst
        self.rate, self.steps = exactly(1 if rate is None else rate, name="rate"), 1 if steps is None else steps
        self.assumptions = (
            *(_OF_TRAINING if run == "dp-sgd" else _OF_A_NUMBER),
            "runs are independent, and their number is drawn from its law and not released",
            "the score of a run is a function of what the run releases",
            *sampled_above(self.noise_multiplier, float_above(self.noise_multiplier)),
        )

    # what is known ----------------------------------------------------------------------------------------------------

    @cached_property
    def _profiles(self) -> tuple[RunProfile, ...]:
        return RunProfile.of(self._worst.loss)

    @cached_property
    def _search(self) -> SearchBound:
        return SearchBound(self._profiles, self.runs)

    @cached_property
    def _law(self) -> FiniteLoss:
        return self._search.dominating()

    def above(self) -> tuple[Above, ...]:
        """At every epsilon the bound for every score; a law that dominates it; of k runs also all of them together."""
        assumed = self._worst.assumptions
        law = Dominating(loss=self._law, description="", justification=f"{_ANY_SCORE}; of that bound a law is made")
        search = DeltaBound(at=self._search.at, source="", because=_ANY_SCORE, assumptions=assumed)
        if self.runs.name != "fixed":
            return (search, law)
        every = Dominating(
            loss=self._worst.loss * int(self.runs.size),
            description=self._worst.description,
            justification="the best run is a function of all runs",
        )
        return (search, every, law)

    @cached_property
    def _order(self) -> tuple[RunTails, Fraction | None]:
        """The tails of a run of the worst pair, and the cut of the score that is taken.

        It is that of the epsilon of the claim, or of a smaller one, where no event shows anything of that.
        """
        if isinstance(self.one, LaplaceMechanism):  # the loss has atoms; its numbers are finer
            tails = _laplace_tails(Fraction(self.one.noise.rate), self._reach)
        else:
            tails = RunTails.of_loss(self._worst.loss, self._profiles[0])
        level = float(self.claim.epsilon)
        event = tails.best(self.runs, level)
        for _ in range(_LOOKS):
            if event.shown > _SHOWN:
                break
            level *= 0.75
            event = tails.best(self.runs, level)
        return tails, event.cut

    @property
    def _reach(self) -> Fraction:
        """How far the worst pair of a count moves it."""
        here, there = (self.one.embed(side)[0] for side in (self._worst.pair.dataset, self._worst.pair.neighbour))
        return Fraction(float(here)) - Fraction(float(there))

    def below(self) -> tuple[Below, ...]:
        """The worst pair of one run, with the score that is taken."""
        words = f"{self._worst.description}, with the score that tells most at epsilon {exact_text(self.claim.epsilon)}"
        return (KnownEvent(pair=self._worst.pair, description=words, event=self._event),)

    def _event(self, epsilon: Fraction) -> EventBound:
        return self.event_at(epsilon)[1]

    def event_at(self, epsilon: Fraction) -> tuple[EventOfSearch, EventBound]:
        """The event that shows most of delta(epsilon) with the score that is taken, and its probabilities."""
        tails, cut = self._order
        event = tails.best(self.runs, float(epsilon), [cut])
        p, q = tails.chances(self.runs, event)
        return event, EventBound(event=self._words(event), p_ball=p, q_ball=q)

    def _words(self, event: EventOfSearch) -> str:
        what = "number" if isinstance(self.one, LaplaceMechanism) else "log-likelihood ratio"
        cut = "" if event.cut is None else f"where runs of at most {float(event.cut)!r} are better than all others"
        return f"the {what} of the best run is above {float(event.threshold)!r}, {cut or 'where the largest is best'}"

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """A bound from above: the law that dominates every pair; that of equal laws, where a record moves nothing."""
        same = not record.any() if replacement is None else bool((record == replacement).all())
        return identical_laws() if same else self._law

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """That of the records of a run."""
        return self.one.record_shape

    def check_records(self, dataset: ArrayLike) -> Array:
        """The records of a run."""
        return self.one.check_records(dataset)

    def _score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of one run, of a pair."""
        if isinstance(self.one, HasLikelihoodScore):
            return self.one.likelihood_score(pair)
        assert isinstance(self.one, HasLikelihoodRatio)
        weights, offset = self.one.likelihood_direction(pair)
        return lambda released: released @ weights - offset

    def place(self) -> Callable[[Array], Array]:
        """From releases of runs to what thresholds are about: a number, or the loss of the worst pair."""
        if isinstance(self.one, LaplaceMechanism):
            start = float(self.one.embed(self._worst.pair.neighbour)[0])
            return lambda released: released[:, 0] - start
        return self._score(self._worst.pair)

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """1 and the best run, or zeros: shape (trials, 1 + m)."""
        records, count = self.check_records(dataset), check_dim(trials, "trials")
        _, cut = self._order
        place = self.place()
        numbers = self.runs.draw(count, rng).astype(np.int64)
        width = self.one.release_many(records, 1, np.random.default_rng(0)).shape[1]
        most = max(1, _HELD // width)
        released = np.zeros((count, 1 + width))
        start = 0
        while start < count:
            stop = start + max(1, int(np.searchsorted(np.cumsum(numbers[start:]), most, side="right")))
            made = numbers[start:stop]
            if made.sum():
                runs = self.one.release_many(records, int(made.sum()), rng)
                places = place(runs)
                ranks = places if cut is None else np.where(places <= float(cut), np.inf, places)
                rows = np.repeat(np.arange(start, stop), made)
                order = np.lexsort((places, ranks, rows))
                last = order[np.cumsum(made)[made > 0] - 1]
                released[rows[last], 0] = 1.0
                released[rows[last], 1:] = runs[last]
            start = stop
        return released

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of the best run, with the chances of the worst pair to be no better.

        It is 0 without a run. Where the pair is another one it is a score, not the ratio.
        """
        score, place = self._score(pair), self.place()
        tails, cut = self._order
        places = np.array([float(threshold) for threshold in tails.thresholds])
        removed = len(pair.dataset) < len(pair.neighbour)

        def found(released: Array) -> Array:
            runs = released[:, 1:]
            where = place(runs)
            chances = []
            for law in (tails.p, tails.q):
                above = np.interp(where, places, law, left=1.0, right=0.0)
                whole = 1.0 if cut is None else float(np.interp(float(cut), places, law))
                last = where <= (-np.inf if cut is None else float(cut))
                no_better = np.clip(np.where(last, 1 + whole - above, whole - above), 0.0, 1.0)
                chances.append(np.log(np.maximum(self.runs.slope(no_better), 1e-300)))
            of_order = chances[1] - chances[0] if removed else chances[0] - chances[1]
            return np.where(released[:, 0] > 0, score(runs) + of_order, 0.0)

        return found

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        given = super().describe() | {"number of runs": self.runs.describe(), "run": self.run}
        own = {
            key: text for key, text in self.one.describe().items() if key not in ("source", "dim", "claim", "mechanism")
        }
        with precision(BITS):
            mean = rounded_text(float(self.runs.mean()), 4)
        del given["dim"]
        return given | {"runs in the mean": mean} | own


def _laplace_tails(rate: Fraction, reach: Fraction) -> RunTails:
    """Of a number with Laplace noise, moved by ``reach`` under P: above thresholds about both."""
    step = Fraction(float(np.float32(1 / (6 * rate))))  # few bits: thresholds are float64
    inside = [reach * i / _PLACES for i in range(1, _PLACES)]
    outside = [step * i for i in range(_PLACES + 1)]
    places = (*(-place for place in outside[::-1]), *inside, *(reach + place for place in outside))

    def above(place: Fraction) -> arb:
        half = ball(-abs(place) * rate).exp() / 2
        return half if place >= 0 else 1 - half

    def exact(place: Fraction) -> tuple[arb, arb]:
        with precision(BITS):
            return above(place - reach), above(place)

    p, q = np.array([[float(value) for value in exact(place)] for place in places]).T
    return RunTails(thresholds=places, p=p, q=q, exact=exact)
