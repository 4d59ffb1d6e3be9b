"""The statistical evidence of a report: the tests of its releases, each with its error probability."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.values import (
    Count,
    NonNegative,
    Number,
    Positive,
    Share,
)


class FindingFields(TypedDict):
    """One thing that was checked about the embedding."""

    name: Annotated[str, described("What was checked.")]
    holds: Annotated[bool, described("Whether it holds.")]
    method: Annotated[str, described("symbolic, exact rational arithmetic, or two-sample test.")]
    detail: Annotated[str, described("The numbers, in one line.")]


class LedgerRowFields(TypedDict):
    """One statement about one event, and what it costs."""

    what: Annotated[
        str,
        described(
            "The quantity bounded: mu_lower, epsilon_lower at a delta, the claimed curve (only "
            "tested), or the trade-off region."
        ),
    ]
    role: Annotated[
        Literal["test", "bound", "descriptive"],
        described(
            "Whether the row counts against the error probability of the test, is a bound that has "
            "one of its own, or is descriptive with one of its own."
        ),
    ]
    order: Annotated[
        Literal["dataset against neighbour", "neighbour against dataset"] | None,
        described("Under which law the event is the likely one; null without an event."),
    ]
    event: Annotated[
        str | None,
        described(
            "The event, fixed before the trials that count: a threshold on the score; null for a "
            "payoff and for the region."
        ),
    ]
    threshold: Annotated[Number | None, described("The threshold of the event.")]
    method: Annotated[str, described("How the probabilities are bounded.")]
    error_share: Annotated[Share, described("The probability with which the row may be wrong.")]
    dataset_count: Annotated[Count | None, described("How often the event happened on the dataset.")]
    dataset_trials: Annotated[Count | None, described("In how many releases of the dataset.")]
    neighbour_count: Annotated[Count | None, described("How often the event happened on the neighbour.")]
    neighbour_trials: Annotated[Count | None, described("In how many releases of the neighbour.")]
    probability_lower: Annotated[
        Share | None,
        described("Lower confidence bound on the probability of the event under the first law of its order."),
    ]
    probability_upper: Annotated[
        Share | None,
        described("Upper confidence bound on the probability of the event under the second law of its order."),
    ]
    bound: Annotated[Number | None, described("The bound on the quantity.")]
    outcome: Annotated[str, described("What the row says, in words.")]
    score: NotRequired[Annotated[str, described("The name of the score that the row looks at; empty for the region.")]]
    p_value: NotRequired[Annotated[Share | None, described("Of the claim in this row alone; null for the region.")]]
    payoff: NotRequired[
        Annotated[
            dict[str, Any] | None,
            described("The payoff with its means, for a row about a payoff instead of an event; null otherwise."),
        ]
    ]
    explored: NotRequired[
        Annotated[
            str, described("The trials that designed the row, as ranges of streams; none for a score known beforehand.")
        ]
    ]
    confirmed: NotRequired[Annotated[str, described("The fresh trials that decide the row, as ranges of streams.")]]
    implied: NotRequired[Annotated[str, described("The inequality that the claim implies and the row tests.")]]


class TestWitnessFields(TypedDict):
    """What refutes the claim, on the datasets that were tested."""

    dataset_shape: Annotated[list[int], described("Of the dataset.")]
    neighbour_shape: Annotated[list[int], described("Of the neighbour.")]
    score: Annotated[dict[str, Any], described("The score as data.")]
    row: Annotated[LedgerRowFields, described("Event, counts and bounds.")]
    inequality: Annotated[str, described("The bound that the claim sets and the counts break.")]


class RegionFields(TypedDict):
    """Where the trade-off function lies: one rectangle per threshold, all at once."""

    thresholds: Annotated[list[Number], described("Thresholds of the score.")]
    alpha_lower: Annotated[list[float], described("Lower ends of alpha.")]
    alpha_upper: Annotated[list[float], described("Upper ends of alpha.")]
    beta_lower: Annotated[list[float], described("Lower ends of beta.")]
    beta_upper: Annotated[list[float], described("Upper ends of beta.")]
    error_probability: Annotated[Share, described("Of the region, apart from that of the test.")]


class TestFields(TypedDict):
    """The distinguishing test: lower bounds found by running the mechanism on two neighbouring datasets."""

    kind: Annotated[Literal["statistical"], described("The kind of evidence.")]
    refuted: Annotated[bool, described("Whether the trials contradict the claim.")]
    claim: Annotated[str, described("What was tested.")]
    mechanism: Annotated[str, described("What was run, by name.")]
    error_probability: Annotated[
        Share, described("With which a claim that holds is refuted, or a bound below exceeds the truth, at most.")
    ]
    samples: Annotated[Positive, described("Releases per dataset, everything included.")]
    explored: Annotated[Count, described("Of those, the ones that chose score and events and were discarded.")]
    seed: Annotated[Count, described("Of all random numbers.")]
    score: Annotated[str, described("The name of the score.")]
    mu_lower: Annotated[Number, described("Every mu for which both laws are mu-GDP is at least this.")]
    epsilon_lower: Annotated[
        Number | None,
        described("Every epsilon for which both laws are (epsilon, delta)-DP is at least this; null without a delta."),
    ]
    epsilon_if_gdp: Annotated[
        Number | None,
        described(
            "The epsilon at delta of every mechanism that is mu-GDP for some mu of at least "
            "mu_lower: it assumes the Gaussian form of the curve, which nothing tests; null without "
            "a claim of mu-GDP or without a positive delta."
        ),
    ]
    delta: Annotated[Share | None, described("That delta, rounded up.")]
    p_value: Annotated[
        Share, described("The smallest error probability at which the claim would have been refuted, rounded up.")
    ]
    mode: Annotated[str, described("What an output is.")]
    ledger: Annotated[
        list[LedgerRowFields],
        described("One row per statement; the shares of the rows of the test sum to at most the error probability."),
    ]
    witness: Annotated[
        TestWitnessFields | None,
        described("Why the claim is false, unless the test erred; present if and only if it is refuted."),
    ]
    region: Annotated[
        RegionFields, described("Where the trade-off function lies: one rectangle per threshold, all at once.")
    ]


class SampledEmbeddingFields(TypedDict):
    """What samples show of the embedding."""

    findings: Annotated[list[FindingFields], described("What was checked.")]
    samples: Annotated[Positive, described("Releases from each sampler.")]
    error_probability: Annotated[Share, described("With which equal laws are called different, at most.")]
    seed: Annotated[Count, described("Of the releases.")]


class SequentialFields(TypedDict):
    """The test of pairs drawn one after another."""

    kind: Annotated[Literal["statistical"], described("The kind of evidence.")]
    refuted: Annotated[bool, described("Whether the pairs contradict the claim.")]
    stopped_at: Annotated[Positive | None, described("Pairs drawn until the claim fell; null if it has not.")]
    error_probability: Annotated[Share, described("With which a claim that holds is ever refuted, at most.")]
    samples: Annotated[Positive, described("Pairs drawn in all.")]
    bet_on: Annotated[Count, described("Of those, the pairs that were bet on.")]
    e_value: Annotated[Number, described("The wealth; its mean is at most 1 if the claim holds.")]
    p_value: Annotated[Share, described("1 over the largest wealth.")]
    mu_lower: Annotated[NonNegative | None, described("Lower bound of mu; null unless the claim is one of mu-GDP.")]
    epsilon_lower: Annotated[
        NonNegative | None, described("Lower bound of epsilon at the delta of the claim; null for other claims.")
    ]
    witness: Annotated[
        dict[str, Any] | None, described("A document of the form of witness.schema.json; null if not refuted.")
    ]
    claim: Annotated[str, described("What was tested.")]
    mechanism: Annotated[str, described("What was run, by name.")]
    seed: Annotated[Count, described("Of all random numbers.")]
    scores: Annotated[dict[str, float], described("The weights of the bettors, by the names of their scores.")]
    mode: Annotated[str, described("What an output is.")]


class StatisticalFields(TypedDict):
    """All statistical evidence."""

    test: Annotated[TestFields | None, described("The distinguishing test; null if none was run.")]
    embedding: Annotated[
        SampledEmbeddingFields | None, described("The findings about the embedding that rest on samples.")
    ]
    sequential: NotRequired[
        Annotated[
            SequentialFields | None, described("The test of pairs drawn one after another; null if there is none.")
        ]
    ]
    low_bits: NotRequired[
        Annotated[
            dict[str, Any] | None,
            described(
                "The search through the low bits of the float64 outputs; null if the claim was not "
                "audited as one about float64."
            ),
        ]
    ]
