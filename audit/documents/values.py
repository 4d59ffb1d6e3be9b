"""Values that several documents hold: numbers, exact and enclosed ones, hashes, times, and pairs of datasets."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from msgspec import Meta

from dpverdict.audit.documents.schema import described

Number: TypeAlias = float | Literal["inf", "-inf"]
"""A number; an infinite one is a text. There is no NaN."""
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Positive: TypeAlias = Annotated[int, Meta(ge=1)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
NonNegative: TypeAlias = Annotated[float, Meta(ge=0)]
Sha256: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Fractional: TypeAlias = Annotated[str, Meta(pattern=r"^-?\d+(/[1-9]\d*)?$")]
"""An exact rational number, as p or p/q in lowest terms."""
Timestamp: TypeAlias = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
StatusName: TypeAlias = Literal["CERTIFIED", "REFUTED", "INCONCLUSIVE"]
Relation: TypeAlias = Literal["add-or-remove-one", "replace-one"]
DecisionName: TypeAlias = Literal["release", "do not release", "not shown"]


SchemaVersion: TypeAlias = Annotated[
    Literal[1], described("Raised when a field changes its meaning or goes away; new fields do not raise it.")
]


class RationalFields(TypedDict):
    """An exact rational number."""

    exact: Annotated[Fractional, described("The number as p or p/q, in lowest terms.")]
    decimal: Annotated[str, described("The number in decimal, rounded to 17 digits: for reading.")]


class EnclosureFields(TypedDict):
    """Two ends between which a real number certainly lies."""

    lower: Annotated[Number, described("The largest float64 that is certainly at most the number.")]
    upper: Annotated[Number, described("The smallest float64 that is certainly at least the number.")]
    decimal: Annotated[str, described("The ends in decimal, rounded outward; sharp also where float64 underflows.")]


class PairFields(TypedDict):
    """Two neighbouring datasets; P is the law of the release on the dataset, Q the one on the neighbour."""

    relation: Annotated[Relation, described("The neighbouring relation.")]
    records_per_user: Annotated[Positive, described("How many consecutive records one user holds.")]
    description: Annotated[str, described("The pair in one line.")]
    dataset: Annotated[
        list[Any] | None, described("The records; null if both datasets together have more than 10000 numbers.")
    ]
    neighbour: Annotated[list[Any] | None, described("The records of the neighbour; null as above.")]


class TracedLineFields(TypedDict):
    """One release of a function that was followed."""

    line: Annotated[str, described("Of the user's code.")]
    statistic: Annotated[str, described("What is released, as an expression of columns.")]
    moved: Annotated[str, described("How far one record moves it.")]
    noise: Annotated[str, described("Its law and its scale.")]
    spent: Annotated[str, described("The privacy loss of this release alone.")]
