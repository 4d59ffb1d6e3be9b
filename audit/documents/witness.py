"""The witness of a refutation: what ``dpverdict audit --witness`` writes, and ``dpverdict replay`` reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.values import (
    Count,
    NonNegative,
    Number,
    Sha256,
)


class WitnessMechanismFields(TypedDict):
    """What was run."""

    name: Annotated[str, described("A name, or module:function.")]
    options: Annotated[dict[str, str | None], described("Its parameters, as they were written.")]
    options_from_data: Annotated[bool, described("Whether the shape of the datasets fills in the others.")]
    source_sha256: Annotated[str | None, described("Of the files of a user's function.")]
    observe: NotRequired[
        Annotated[
            str, described("What else of each call is part of its outcome, as --observe takes it; absent for nothing.")
        ]
    ]


class DatasetFields(TypedDict):
    """One of the two datasets."""

    shape: Annotated[list[Count], described("Of the array.")]
    dtype: Annotated[str, described("NumPy's name of the type, or object: and the class of another dataset.")]
    sha256: Annotated[Sha256, described("Of shape, type and numbers.")]
    values: Annotated[
        list[Any] | dict[str, Any] | None,
        described(
            "The records; of what is no array of finite numbers, its form as JSON values; null "
            "where they are many, or have no such form."
        ),
    ]


class DatasetsFields(TypedDict):
    """P is the law on the dataset, Q on the neighbour."""

    dataset: Annotated[DatasetFields | None, described("null if it is not known")]
    neighbour: Annotated[DatasetFields | None, described("null if it is not known")]


class BoundsFields(TypedDict):
    """Lower bounds, with the error probability of the test."""

    mu_lower: NotRequired[Number | None]
    epsilon_lower: NotRequired[Number | None]
    delta: NotRequired[float | None]


class WitnessDocument(TypedDict):
    """What dpverdict audit --witness writes and dpverdict replay checks again."""

    format: Annotated[Literal["dpverdict witness"], described("Which kind of file this is.")]
    version: Annotated[Literal[1], described("Raised when a field changes its meaning.")]
    created: Annotated[str, described("When the audit ran, in UTC.")]
    claim: Annotated[str, described("What is refuted, as parse_guarantee reads it.")]
    relation: Annotated[str, described("The neighbouring relation of the two datasets.")]
    mechanism: Annotated[WitnessMechanismFields, described("What was run.")]
    datasets: Annotated[DatasetsFields, described("P is the law on the dataset, Q on the neighbour.")]
    mode: Annotated[str, described("What an output is: float64 or real numbers.")]
    grid: Annotated[NonNegative, described("To whose multiples outputs were rounded; 0 for none.")]
    kind: Annotated[
        Literal["event", "payoff", "low bits", "sequential", "exact", "tap"], described("Which evidence it is.")
    ]
    evidence: Annotated[
        dict[str, Any],
        described(
            "The row of the ledger that refutes, with event or payoff as data, counts or means, "
            "method, p-value and inequality; the low-bit set with its counts; the bettor of a "
            "sequential test with its stake, its pairs and its e-value; the exact witness; or, of a function that was "
            "followed, how the pair was measured."
        ),
    ]
    score: Annotated[dict[str, Any] | None, described("The score as data.")]
    score_function: Annotated[str | None, described("module:function of a user's score.")]
    level: Annotated[float | None, described("The error probability of the whole test.")]
    bounds: Annotated[BoundsFields | None, described("Lower bounds, with that error probability.")]
    p_value: Annotated[float | None, described("Of the whole test.")]
    samples: Annotated[int | None, described("Per dataset, everything included.")]
    seed: Annotated[int | None, described("Of every random number.")]
    ledger: Annotated[list[dict[str, Any]] | None, described("Every row of the test, with its share and its trials.")]
    versions: Annotated[dict[str, str], described("Of the software.")]
    command: Annotated[str | None, described("The command line that found it.")]
    sha256: Annotated[Sha256, described("Of the other fields, as JSON with sorted keys and without spaces.")]
