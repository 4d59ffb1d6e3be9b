"""What a statistical audit says: refuted or not refuted, with its error probability, its ledger and its witness.

Statistical evidence has a type of its own, which nothing turns into an exact `Verdict`: it can refute, never certify.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.losses.base import curves_of
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.statistics.joint_test import Counts, Order
from dpverdict.cards import Curves, card
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import at_least, rounded_text

DOUBLE_MODE: Final = (
    "double: events are sets of the float64 numbers that the mechanism returned, so a leak through their rounding "
    "counts; nothing was searched for in their low bits"
)
RECORDED_MODE: Final = "recorded: the scores are those that were given; no mechanism was run"

_LARGEST_EXPONENT: Final = 700.0
"""Whose exponential is a float64."""

CONTRADICTS: Final = "contradicts the claim"
COMPATIBLE: Final = "does not contradict the claim"


def describe_mode(grid: float | None) -> str:
    """What an output is, in words.

    Args:
        grid: to whose multiples outputs were rounded before anything looked at them; 0 for the float64 numbers as they
            are; None for scores that were recorded elsewhere.
    """
    if grid is None:
        return RECORDED_MODE
    if grid == 0:
        return DOUBLE_MODE
    return f"real: every output was rounded to a multiple of {grid!r} before anything looked at it"


def status_of_test(*, refuted: bool) -> str:
    """The name of the status that a test leads to: it can refute, never certify."""
    return "REFUTED" if refuted else "INCONCLUSIVE"


def answer_of_test(claim: Guarantee, error_probability: float, *, refuted: bool) -> str:
    """What a test says of the claim, in a sentence."""
    if refuted:
        return (
            f"The claim {claim.describe()} is false, unless a test with error probability "
            f"{rounded_text(error_probability)} erred."
        )
    return (
        f"Nothing against {claim.describe()} was found in the samples; a test can refute a claim, but never certify it."
    )


class Role(enum.Enum):
    """What a row of the ledger is for."""

    TEST = "counts against the error probability of the test"
    BOUND = "a separate bound, which exceeds the truth with at most its own error probability"
    DESCRIPTIVE = "descriptive, never used to refute; its error probability is its own"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A set of outputs, fixed before the trials that count: {score >= t}, or {score <= t} in the swapped order."""

    order: Order
    threshold: float

    def describe(self) -> str:
        """The event in one line."""
        return f"score {'>=' if self.order is Order.DATASET_FIRST else '<='} {self.threshold!r}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One statement about one event, and what it costs.

    Attributes:
        what: the quantity bounded: "mu_lower", "epsilon_lower at delta=...", "the claimed curve" (which is only tested)
            or "trade-off region".
        role: whether the row is part of the test.
        event: fixed on trials that were then discarded; None for the region, whose thresholds are in `CurveRegion`.
        method: how the probabilities are bounded.
        error_share: the probability with which the row may be wrong.
        counts: of the event in fresh trials; None for the region.
        probability_lower: bound on the probability of the event under the first law of its order.
        probability_upper: bound on the probability of the event under the second law of its order.
        bound: of the quantity.
        delta: at which a bound on epsilon holds; None for other quantities.
        outcome: in words.
        score: the name of the score that the row looks at.
        p_value: of the claim in this row, valid without regard to the other rows.
        payoff: the payoff with its means, for a row that is about a payoff instead of an event.
        explored: the trials that designed the row; none for a score that was known beforehand.
        confirmed: the fresh trials that decide it.
        implied: the inequality that the claim implies and the row tests.
        epsilon: of that inequality, for a row about an event.
    """

    what: str
    role: Role
    method: str
    error_share: float
    outcome: str
    event: Event | None = None
    counts: Counts | None = None
    probability_lower: float | None = None
    probability_upper: float | None = None
    bound: float | None = None
    delta: float | None = None
    score: str = ""
    p_value: float | None = None
    payoff: dict[str, object] | None = None
    explored: str = "none"
    confirmed: str = "none"
    implied: str = ""
    epsilon: float | None = None

    @property
    def is_contradiction(self) -> bool:
        """Whether the row refutes the claim."""
        return self.outcome == CONTRADICTS


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticalWitness:
    """Why the claim is false, unless the test erred: datasets, an event as data, its counts, the broken inequality.

    Attributes:
        dataset_shape: of the dataset, whose output law is P.
        neighbour_shape: of the neighbour, whose output law is Q.
        score: the score as data.
        row: the row of the ledger with event, counts and bounds.
        inequality: the bound that the claim sets and the counts break, with its numbers.
        dataset: what the mechanism was run on, for a witness that is written down; None for recorded scores.
        neighbour: the same of the other side.
    """

    dataset_shape: tuple[int, ...]
    neighbour_shape: tuple[int, ...]
    score: dict[str, object]
    row: LedgerRow
    inequality: str
    dataset: NDArray[np.generic] | None = field(default=None, compare=False, repr=False)
    neighbour: NDArray[np.generic] | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveRegion:
    """Where the trade-off function lies: with alpha = Q(score >= t) and beta = P(score < t), for K thresholds at once.

    Every (alpha, beta) lies in its rectangle, all K together, except with ``error_probability``. The trade-off function
    of the pair is convex and no test does better, so it lies below the lower convex hull of (0, 1), (1, 0) and the
    outer corners (alpha_upper, beta_upper).

    Attributes:
        thresholds, alpha_lower, alpha_upper, beta_lower, beta_upper: shape (K,).
        error_probability: of the region, apart from that of the test.
    """

    thresholds: Array
    alpha_lower: Array
    alpha_upper: Array
    beta_lower: Array
    beta_upper: Array
    error_probability: float


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DistinguishingTest:
    """The result of `distinguish`. Two results are compared through `to_dict`.

    Attributes:
        refuted: whether the trials contradict the claim.
        claim: what was tested.
        mechanism: what was run, by name.
        error_probability: with which a claim that holds is refuted, at most; and with which each of the bounds below,
            taken by itself, exceeds the truth.
        samples: trials per dataset, everything included.
        explored: of those, per dataset, the ones that learned scores and chose events; the rows that were designed on
            them do not use them again.
        seed: of all random numbers.
        score: its name.
        mu_lower: every mu for which both laws are mu-GDP is at least this, whatever the claim.
        epsilon_lower: every epsilon for which both laws are (epsilon, delta)-DP is at least this; None without a delta.
            Beside a claim that is not refuted no bound is above what is claimed.
        delta: that delta, rounded up.
        p_value: the smallest error probability at which the claim would have been refuted, rounded up; 1 if none.
        witness: present if and only if the claim is refuted.
        ledger: one row per statement; the shares of the rows of the test sum to ``error_probability``, rounded down.
        region: where the trade-off function lies.
        grid: to whose multiples outputs were rounded before anything looked at them; 0 for the float64 numbers as they
            are; None for scores that were recorded elsewhere: no mechanism was run.
        one_stream: whether all trials ran one after the other in one process, whatever the engine, because the
            mechanism has randomness or a state of its own that copies in workers would repeat.
        outcomes: what the explored outcomes were on each side, in words; empty where all were numbers of one length.
        kind_of_outputs: what the explored outputs were taken for (labels, atoms, integers, continuous), and what was
            not looked for in them, in words; empty for recorded scores.
    """

    refuted: bool
    claim: Guarantee
    mechanism: str
    error_probability: float
    samples: int
    explored: int
    seed: int
    score: str
    mu_lower: float
    epsilon_lower: float | None
    delta: float | None
    p_value: float
    witness: StatisticalWitness | None
    ledger: tuple[LedgerRow, ...]
    region: CurveRegion
    grid: float | None = 0.0
    one_stream: bool = False
    outcomes: str = ""
    kind_of_outputs: str = ""

    def __post_init__(self) -> None:
        if self.refuted != (self.witness is not None):
            raise ValueError("a refuted test has a witness, and no other has")

    @property
    def kind(self) -> Literal["statistical"]:
        """The kind of this evidence."""
        return "statistical"

    @property
    def recorded(self) -> bool:
        """Whether it is about scores that were recorded elsewhere: no mechanism was run."""
        return self.grid is None

    @property
    def mode(self) -> str:
        """What an output is, in words."""
        return describe_mode(self.grid)

    @property
    def epsilon_if_gdp(self) -> float | None:
        """The epsilon at `delta` of every mechanism that is mu-GDP for some mu of at least `mu_lower`.

        It assumes that the trade-off curve has the form of a Gaussian one, which a claim of mu-GDP says and nothing
        tests; `epsilon_lower` assumes nothing. None without a claim of mu-GDP, or without a positive delta.
        """
        if not isinstance(self.claim, GaussianDP) or not self.delta:
            return None
        if self.mu_lower <= 0:
            return 0.0
        return max(0.0, float(GaussianLoss(Fraction(self.mu_lower)).certified_epsilon(Fraction(self.delta)).lower))

    def __bool__(self) -> NoReturn:
        raise TypeError("a DistinguishingTest can refute, never certify; read test.refuted")

    def summary(self) -> str:
        """One line: outcome, claim, error probability, bounds, samples."""
        outcome = "refuted" if self.refuted else "not refuted"
        found = f"mu >= {self.mu_lower:.4g}"
        if self.epsilon_lower is not None and self.delta is not None:
            found += f", epsilon >= {self.epsilon_lower:.4g} at delta={rounded_text(self.delta, 4)}"
        if self.epsilon_if_gdp is not None:
            found += f" ({self.epsilon_if_gdp:.4g} if the mechanism is mu-GDP for some mu)"
        return (
            f"statistical evidence: {self.claim.describe()} {outcome} for {self.mechanism} at error probability "
            f"{rounded_text(self.error_probability)} (p <= {rounded_text(self.p_value, 3)}); {found}; "
            f"{self.samples} samples per dataset, "
            f"score: {self.score}"
        )

    @property
    def answer(self) -> str:
        """One sentence: what the test says of the claim."""
        return answer_of_test(self.claim, self.error_probability, refuted=self.refuted)

    def key_facts(self) -> dict[str, str]:
        """The bounds, by name."""
        said = f"from {self.samples} samples, error probability {rounded_text(self.error_probability)}"
        found = {f"Lower bound of mu {said}": f"at least {at_least(self.mu_lower, 5)}"}
        if self.epsilon_lower is not None and self.delta is not None:
            epsilon = f"at least {at_least(self.epsilon_lower, 5)} at delta = {rounded_text(self.delta)}"
            found = {f"Lower bound of epsilon {said}": epsilon} | found
            if self.epsilon_if_gdp is not None:
                assumed = "Lower bound of epsilon if the mechanism is mu-GDP for some mu"
                found[assumed] = f"at least {at_least(self.epsilon_if_gdp, 5)} at delta = {rounded_text(self.delta)}"
        return found

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(
            status=status_of_test(refuted=self.refuted),
            name=self.mechanism,
            claim=self.claim.describe(),
            answer=self.answer,
            evidence={"statistical": self.key_facts()},
            curves=self.drawn,
        )

    @property
    def drawn(self) -> tuple[Curves, Curves]:
        """What the rectangles say of both curves, and the claim: beta is at most, and delta at least what is drawn.

        The trade-off function is convex: between two points that lie above it, so does their chord.
        """
        alphas, betas = self.region.alpha_upper, self.region.beta_upper
        order = np.argsort(alphas, kind="stable")
        x, y = np.concatenate([[0.0], alphas[order], [1.0]]), np.concatenate([[1.0], betas[order], [0.0]])

        def delta(epsilons: Array) -> Array:
            growth = np.exp(np.minimum(epsilons, _LARGEST_EXPONENT))
            least: Array = np.max(1 - y[:, None] - growth * x[:, None], axis=0)
            return np.maximum(least, 0.0)

        measured = Curves(label="measured: no better than this", beta=lambda at: np.interp(at, x, y), delta=delta)
        return measured, curves_of(self.claim, None)

    def to_dict(self) -> dict[str, object]:
        """The result as JSON-ready data: no NaN; an infinite threshold is the string "inf" or "-inf"."""
        witness = self.witness
        return {
            "kind": self.kind,
            "refuted": self.refuted,
            "claim": self.claim.describe(),
            "mechanism": self.mechanism,
            "error_probability": self.error_probability,
            "samples": self.samples,
            "explored": self.explored,
            "seed": self.seed,
            "score": self.score,
            "mu_lower": self.mu_lower,
            "epsilon_lower": self.epsilon_lower,
            "epsilon_if_gdp": self.epsilon_if_gdp,
            "delta": self.delta,
            "p_value": self.p_value,
            "mode": self.mode,
            "ledger": [_row_to_dict(row) for row in self.ledger],
            "witness": witness
            and {
                "dataset_shape": list(witness.dataset_shape),
                "neighbour_shape": list(witness.neighbour_shape),
                "score": witness.score,
                "row": _row_to_dict(witness.row),
                "inequality": witness.inequality,
            },
            "region": {
                "thresholds": [_json_number(t) for t in self.region.thresholds.tolist()],
                "alpha_lower": self.region.alpha_lower.tolist(),
                "alpha_upper": self.region.alpha_upper.tolist(),
                "beta_lower": self.region.beta_lower.tolist(),
                "beta_upper": self.region.beta_upper.tolist(),
                "error_probability": self.region.error_probability,
            },
        }


def _row_to_dict(row: LedgerRow) -> dict[str, object]:
    event, counts = row.event, row.counts
    return {
        "what": row.what,
        "role": row.role.name.lower(),
        "order": event and event.order.value,
        "event": event and event.describe(),
        "threshold": event and _json_number(event.threshold),
        "method": row.method,
        "error_share": row.error_share,
        "dataset_count": counts and counts.of_dataset[0],
        "dataset_trials": counts and counts.of_dataset[1],
        "neighbour_count": counts and counts.of_neighbour[0],
        "neighbour_trials": counts and counts.of_neighbour[1],
        "probability_lower": row.probability_lower,
        "probability_upper": row.probability_upper,
        "bound": row.bound,
        "outcome": row.outcome,
        "score": row.score,
        "p_value": row.p_value,
        "payoff": row.payoff,
        "explored": row.explored,
        "confirmed": row.confirmed,
        "implied": row.implied,
    }


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
