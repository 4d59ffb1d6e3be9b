"""Mechanisms and models of diffprivlib as they are: the claim is in their attributes, and is not typed again.

A mechanism says its epsilon, its delta and the sensitivity of the value that it randomises, so that two values at this
distance are its neighbours. A model says its epsilon alone: which datasets it takes for neighbours is not documented,
so the relation is that of the two tables that it is given, and a report says so.

diffprivlib is not imported here, and not needed; its objects are known by the name of their module.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.trials.libraries.adapter import Library, LibraryRelease, Make
from dpverdict.audit.trials.outcomes.canonical import outcome_of
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, AnyPair, ObjectPair

_CHOICES: Final = ("Exponential", "PermuteAndFlip")
"""Mechanisms whose data, the utilities of the candidates, are in their constructor: each trial makes one anew."""
_WHOLE: Final = ("Geometric", "GeometricTruncated", "GeometricFolded", "GaussianDiscrete")


def _make_release(thing: object) -> Make | None:
    """What makes the release of a mechanism or a model; None for any other object."""
    module = type(thing).__module__
    if module.startswith("diffprivlib.mechanisms") and callable(getattr(thing, "randomise", None)):
        return lambda: RandomisedValue(thing)
    if module.startswith("diffprivlib.models") and callable(getattr(thing, "fit", None)):
        return lambda: FittedModel(thing)
    return None


def _claim(thing: Any) -> Guarantee:
    delta = getattr(thing, "delta", 0.0)
    return ApproximateDP(thing.epsilon, delta) if delta else PureDP(thing.epsilon)


@final
class RandomisedValue(LibraryRelease):
    """A function of (value, rng) that runs a mechanism of diffprivlib, whose randomness no seed governs.

    Args:
        mechanism: of ``diffprivlib.mechanisms``.

    Attributes:
        claim: its epsilon and delta.
        pair: two values that are its sensitivity apart: the ends of a smaller range, where it has one; two categories
            of a categorical mechanism; utilities of which the best falls and, unless they are monotonic, all others
            rise; for Bingham's, a direction of a plane and the one across it.

    Raises:
        InvalidValue: a mechanism that releases a function, or has no value to randomise.
    """

    def __init__(self, mechanism: Any) -> None:
        self._mechanism = mechanism
        self.name: str = f"diffprivlib {type(mechanism).__name__}"
        if type(mechanism).__name__ == "Vector":
            remedy = "give the claim and a pair of inputs with a function of your own that uses what it releases"
            raise InvalidValue("mechanism", self.name, "one that releases a value, and no function", remedy)
        self.claim: Guarantee = _claim(mechanism)
        one, other = self._values()
        self.pair: AnyPair | None = ObjectPair(dataset=[one], neighbour=[other], adjacency=REPLACE_ONE)

    def __call__(self, dataset: Any) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One release."""
        if type(self._mechanism).__name__ in _CHOICES:
            return self._choosing(dataset[0]).randomise()
        return self._mechanism.randomise(dataset[0])

    def _choosing(self, utility: list[float]) -> Any:
        """The mechanism with other utilities."""
        weighted = ("measure",) if type(self._mechanism).__name__ == "Exponential" else ()
        names = ("epsilon", "sensitivity", "monotonic", "candidates", *weighted)
        said = {
            name: getattr(self._mechanism, name) for name in names if getattr(self._mechanism, name, None) is not None
        }
        return type(self._mechanism)(utility=utility, **said)

    def read_claim(self, other: str | None) -> Guarantee:
        """The claim, for its own pair.

        Args:
            other: the name of what gives another pair; None for its own.

        Raises:
            InvalidValue: there is another pair.
        """
        if other is not None:
            remedy = f"state the claim for their distance, or leave {other} out"
            raise InvalidValue("claim", None, f"given with {other}: the mechanism states it for its own pair", remedy)
        return self.claim

    def describe(self) -> Mapping[str, str]:
        """Where the claim and the pair come from, for a report."""
        said = {"claim read": f"{self.claim.describe()}, from the attributes of the mechanism"}
        if hasattr(self._mechanism, "sensitivity"):
            said["sensitivity"] = f"{self._mechanism.sensitivity!r}, which the two values are apart"
        return said

    def _values(self) -> tuple[object, object]:
        mechanism, kind = self._mechanism, type(self._mechanism).__name__
        if kind == "Binary":
            return mechanism.value0, mechanism.value1
        if kind in _CHOICES:
            utility = np.asarray(mechanism.utility, dtype=float) + mechanism.sensitivity  # none below 0 in the other
            others = 0.0 if mechanism.monotonic else mechanism.sensitivity
            best = np.arange(len(utility)) == np.argmax(utility)
            return utility.tolist(), (utility + np.where(best, -mechanism.sensitivity, others)).tolist()
        if kind == "Bingham":
            return tuple(mechanism.sensitivity * np.diag(direction) for direction in ([1.0, 0.0], [0.0, 1.0]))
        if kind in ("ExponentialCategorical", "ExponentialHierarchical"):
            first, second, _ = max(mechanism.utility_list, key=lambda one: abs(one[2]))
            return first, second
        low = getattr(mechanism, "lower", 0.0)
        high = low + mechanism.sensitivity
        upper = getattr(mechanism, "upper", high)
        return (round(low), round(min(high, upper))) if kind in _WHOLE else (float(low), float(min(high, upper)))


@final
class FittedModel(LibraryRelease):
    """A function of a table that fits a model of diffprivlib and gives what it has learned: its public attributes.

    Args:
        model: of ``diffprivlib.models``, not fitted; every trial fits a copy.

    Attributes:
        claim: its epsilon.
        pair: None: a model says nothing about its data, so two tables are given.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.name: str = f"diffprivlib {type(model).__name__}"
        self.claim: Guarantee = _claim(model)
        self.pair: AnyPair | None = None

    def __call__(self, dataset: Any) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The public attributes after training, in which the last column of the table holds the labels, if it takes
        labels."""
        model = copy.deepcopy(self._model)
        table = np.asarray(dataset)
        model.fit(table[:, :-1], table[:, -1]) if self._takes_labels else model.fit(table)
        found: dict[str, object] = {}
        for name, value in sorted(vars(model).items()):
            if name.endswith("_") and not name.startswith("_") and not hasattr(self._model, name):
                try:
                    outcome_of(value)
                except InvalidValue:  # such as a tree, which is read by calls
                    value = f"a {type(value).__name__}"
                found[name] = value
        return found

    @property
    def _takes_labels(self) -> bool:
        kind = getattr(self._model, "_estimator_type", None)
        return kind in ("classifier", "regressor") or any(
            base.__name__ in ("ClassifierMixin", "RegressorMixin") for base in type(self._model).__mro__
        )

    def read_claim(self, other: str | None) -> Guarantee:
        """The claim, for any neighbouring tables.

        Args:
            other: the name of what gives the tables.

        Raises:
            InvalidValue: there are none.
        """
        if other is None:
            remedy = "add --neighbours: two tables that differ in one record, the labels in the last column"
            raise InvalidValue("neighbours", None, f"given for {self.name}, which says nothing about its data", remedy)
        return self.claim

    def describe(self) -> Mapping[str, str]:
        """Where the claim comes from, for a report."""
        return {
            "claim read": f"{self.claim.describe()}, from the attributes of the model",
            "relation claimed": "none that diffprivlib documents: the claim is held against that of the two tables",
            "released": "the attributes that training sets and whose names end with an underscore",
        }


LIBRARY: Final = Library(name="diffprivlib", adapt=_make_release)
