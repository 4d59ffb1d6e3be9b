"""An audit of how batches are made: what ``dpverdict audit-sampler --json`` writes."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.values import Count, NonNegative, Positive, SchemaVersion, Share, Timestamp


class SamplerFindingFields(TypedDict):
    """A test that rejects the claim."""

    name: Annotated[str, described("Of the test.")]
    words: Annotated[str, described("What was counted.")]
    observed: Annotated[Count, described("The count.")]
    trials: Annotated[Count, described("Of how many.")]
    expected: Annotated[NonNegative | None, described("The mean under the claim; null where only a bound is known.")]
    p_value: Annotated[Share, described("A bound from above, adjusted for all tests.")]


class SamplerEpsilonFields(TypedDict):
    """An epsilon of the training that was asked about."""

    batches: Annotated[str, described("The way to make batches that it is of.")]
    lower: Annotated[NonNegative, described("A pair of neighbours has at least this epsilon.")]
    upper: Annotated[NonNegative | None, described("Every pair has at most this one; null where none is known.")]


class SamplerDocument(TypedDict):
    """How a loader makes its batches, against how it is said to make them."""

    schema_version: SchemaVersion
    created: Annotated[Timestamp, described("When, in UTC.")]
    loader: Annotated[str, described("The function that gives it.")]
    status: Annotated[Literal["REFUTED", "INCONCLUSIVE"], described("No test certifies how batches are made.")]
    exit_code: Literal[1, 3]
    claim: Annotated[str, described("How the batches are said to be made.")]
    records: Annotated[Positive, described("Of the data.")]
    batches: Annotated[Positive, described("That were drawn.")]
    passes: Annotated[Positive, described("Over the loader.")]
    error_probability: Annotated[float, described("That a claim that holds is refuted, by all tests together.")]
    tests: Annotated[Count, described("That were made.")]
    findings: Annotated[list[SamplerFindingFields], described("Tests that reject the claim, the most telling first.")]
    instead: Annotated[list[str], described("What the batches look like: a description, not a test.")]
    would_have_shown: Annotated[
        list[str], described("Deviations that would have been found with probability 0.95; empty where one was found.")
    ]
    epsilons: Annotated[list[SamplerEpsilonFields], described("Of the training; empty where none was asked about.")]
    delta: Annotated[str | None, described("Of the epsilons.")]
    seed: Annotated[Count | None, described("Of what the loader was made with.")]
    versions: Annotated[dict[str, str], described("Of the software, by name.")]
    command: Annotated[str | None, described("The command line that draws the same batches again.")]
