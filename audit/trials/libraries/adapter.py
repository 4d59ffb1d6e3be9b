"""What the adapter of a library says of one of its objects: its release, its claim and its neighbours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import AnyPair


class LibraryRelease(ABC):
    """A function of a dataset, or of (dataset, rng), that runs an object of a library which states its own claim.

    Attributes:
        name: of the object, for a report.
        claim: what the object states of itself.
        pair: two neighbours of its domain; None if it says nothing about its data.
    """

    name: str
    claim: Guarantee
    pair: AnyPair | None

    @abstractmethod
    def __call__(self, *arguments: Any) -> object:
        """One release."""

    @abstractmethod
    def read_claim(self, other: str | None) -> Guarantee:
        """The claim, for the pair that is audited.

        Args:
            other: the name of what gives another pair than its own; None for its own.

        Raises:
            InvalidValue: the object states no claim for that pair, or no pair is given and it has none.
        """

    @abstractmethod
    def describe(self) -> Mapping[str, str]:
        """Where the claim and the pair come from, for a report."""


Make: TypeAlias = Callable[[], LibraryRelease]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library whose objects are audited as they are; it is not imported for that.

    Attributes:
        name: of its top module.
        adapt: what makes the release of an object, which may refuse it with an error; None if there is none.
    """

    name: str
    adapt: Callable[[object], Make | None]
