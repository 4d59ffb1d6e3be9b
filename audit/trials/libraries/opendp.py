"""An OpenDP measurement as it is: its map gives the claim, its metric the relation, its domain a pair of neighbours.

The two inputs are at the distance that the claim is read at. Under a metric of datasets one record is added or
replaced: from one end of the bounds of the domain to the other, or one text by another; a record of a frame of polars
has a value in each column. Under a metric of numbers or vectors one entry moves by 1, which is the distance under
every norm. Two vectors of bits hold as many ones as their domain allows, and none in common. OpenDP draws from the
operating system, which no seed governs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.trials.libraries.adapter import Library, LibraryRelease, Make
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverdict.mechanisms.core.neighbours import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    AnyPair,
    NeighbourPair,
    ObjectPair,
)

RECORDS: Final = 10
"""Of a dataset that is made for a domain of vectors of any size."""

_ADDED: Final = ("SymmetricDistance", "InsertDeleteDistance")
_REPLACED: Final = ("ChangeOneDistance", "HammingDistance")
_KINDS: Final[dict[str, Callable[[Any], Any]]] = {
    "bool": bool,
    "f64": float,
    "f32": float,
    "i": int,
    "u": int,
    "String": str,
}
_COLUMNS: Final = {
    "bool": "Boolean",
    "String": "String",
    **{f"{kind}{size}": f"{name}{size}" for kind, name in (("i", "Int"), ("u", "UInt")) for size in (8, 16, 32, 64)},
    "f32": "Float32",
    "f64": "Float64",
}
"""Types of the columns of a frame, by their names in OpenDP and in polars."""
CATEGORIES: Final = ("a", "b")
"""Records of a domain of texts: of most records, and of the one that differs."""


def is_measurement(thing: object) -> bool:
    """Whether something is an OpenDP measurement; OpenDP itself is not imported."""
    return type(thing).__name__ == "Measurement" and type(thing).__module__.startswith("opendp")


@final
class MeasuredRelease(LibraryRelease):
    """A function of (dataset, rng) that runs a measurement, with the claim and the neighbours that it states itself.

    Args:
        measurement: of ``opendp``.

    Attributes:
        claim: what its map says at ``distance``.
        distance: of the two inputs, in its metric.
        pair: two inputs of its domain at this distance, as arrays of records.

    Raises:
        InvalidValue: a domain or a measure for which no pair or claim is made here.
    """

    distance: int
    pair: AnyPair

    def __init__(self, measurement: Any) -> None:
        if not is_measurement(measurement):
            raise InvalidValue("measurement", measurement, "an OpenDP measurement", "give others as a function")
        self.name = "OpenDP measurement"
        self._measurement = measurement
        self._domain = str(measurement.input_domain)
        self._cast = _cast(self._domain)
        self._is_frame = self._domain.startswith("FrameDomain")
        of_atoms = self._cast is not None and self._domain.startswith(("AtomDomain", "VectorDomain", "BitVectorDomain"))
        if not (of_atoms or self._is_frame):
            remedy = "give the claim and a pair of inputs with a function of your own"
            requirement = "numbers, truth values, texts, vectors of them, frames or vectors of bits"
            raise InvalidValue("input domain", self._domain, requirement, remedy)
        self._metric = str(measurement.input_metric)
        self.distance, self.pair = self._neighbours()
        self.claim: Guarantee = _claim(measurement.map(self.distance), str(measurement.output_measure))

    def __call__(self, dataset: Any, rng: np.random.Generator) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One release; the generator is not used."""
        if self._is_frame:
            return self._measurement(dataset.lazy()).collect()
        assert self._cast is not None  # see __init__
        held = dataset[:, 0].tolist() if isinstance(dataset, np.ndarray) else dataset
        values = [self._cast(value) for value in held]
        return self._measurement(values if self._is_vector else values[0])

    def read_claim(self, other: str | None) -> Guarantee:
        """The claim, for its own pair.

        Args:
            other: the name of what gives another pair, of which the distance is not known; None for its own.

        Raises:
            InvalidValue: there is another pair.
        """
        if other is not None:
            remedy = f"state the claim for their distance, or leave {other} out"
            raise InvalidValue("claim", None, f"given with {other}: the map is read for its own pair", remedy)
        return self.claim

    def describe(self) -> dict[str, str]:
        """Where the claim and the pair come from, for a report."""
        return {
            "claim read": f"{self.claim.describe()}, from the map of the measurement at distance {self.distance}",
            "input domain": self._domain,
            "input metric": self._metric,
        }

    @property
    def _is_vector(self) -> bool:
        return self._domain.startswith("VectorDomain")

    def _neighbours(self) -> tuple[int, AnyPair]:
        added = self._metric.startswith(_ADDED)
        if self._is_frame:
            return self._frames(added=added)
        if self._cast is bytes:
            return self._bits()
        if self._cast is str:
            return self._texts(added=added)
        low, high = self._values(of_records=added or self._metric.startswith(_REPLACED))
        if not self._is_vector:
            pair = NeighbourPair(dataset=np.array([[high]]), neighbour=np.array([[low]]), adjacency=REPLACE_ONE)
            return 1, pair
        size = self._measurement.input_domain.size if "size=" in self._domain else None
        dataset = np.full((RECORDS if size is None else size, 1), low)
        dataset[-1] = high
        if added and size is None:
            pair = NeighbourPair(dataset=dataset, neighbour=dataset[:-1], adjacency=ADD_OR_REMOVE_ONE)
            return 1, pair
        changed = np.vstack([dataset[:-1], [[low]]])
        # in a metric that counts records added and removed, a replacement is two steps
        return 2 if added else 1, NeighbourPair(dataset=dataset, neighbour=changed, adjacency=REPLACE_ONE)

    def _texts(self, *, added: bool) -> tuple[int, ObjectPair]:
        most, other = CATEGORIES
        if not self._is_vector:
            return 1, ObjectPair(dataset=[most], neighbour=[other], adjacency=REPLACE_ONE)
        size = self._measurement.input_domain.size if "size=" in self._domain else None
        dataset = [most] * ((RECORDS if size is None else size) - 1) + [other]
        if added and size is None:
            return 1, ObjectPair(dataset=dataset, neighbour=dataset[:-1], adjacency=ADD_OR_REMOVE_ONE)
        changed = [most] * len(dataset)
        return 2 if added else 1, ObjectPair(dataset=dataset, neighbour=changed, adjacency=REPLACE_ONE)

    def _bits(self) -> tuple[int, ObjectPair]:
        """As many ones as the domain allows, in the first places and in those after them."""
        weight = int(self._domain.partition("weight=")[2].strip(")") or 1)
        places = np.arange(8 * (-(-2 * weight // 8)))
        one, other = (np.packbits((low <= places) & (places < low + weight)).tobytes() for low in (0, weight))
        return 1, ObjectPair(dataset=[one], neighbour=[other], adjacency=REPLACE_ONE)

    def _frames(self, *, added: bool) -> tuple[int, ObjectPair]:
        """Records of low values and texts of one kind, and one of high values and another text."""
        polars = importlib.import_module("polars")
        if not added and not self._metric.startswith(_REPLACED):
            remedy = "give the claim and a pair of frames with a function of your own"
            raise InvalidValue("input metric", self._metric, "one that counts records", remedy)
        domain = self._measurement.input_domain
        columns, last = {}, {}
        for name in domain.columns:
            of_column = domain.get_series_domain(name).element_domain
            kind = str(of_column).partition("T=")[2].partition(",")[0].partition(")")[0]
            if kind not in _COLUMNS:
                remedy = "give the claim and a pair of frames with a function of your own"
                raise InvalidValue(f"column {name}", str(of_column), f"of {', '.join(_COLUMNS)}", remedy)
            low, high = _ends_of_column(of_column, kind)
            columns[name] = polars.Series(name, [low] * (RECORDS - 1) + [high], dtype=getattr(polars, _COLUMNS[kind]))
            last[name] = polars.Series(name, [low] * RECORDS, dtype=getattr(polars, _COLUMNS[kind]))
        dataset, same = polars.DataFrame(columns), polars.DataFrame(last)
        if added:
            return 1, ObjectPair(dataset=dataset, neighbour=dataset[:-1], adjacency=ADD_OR_REMOVE_ONE)
        return 1, ObjectPair(dataset=dataset, neighbour=same, adjacency=REPLACE_ONE)

    def _values(self, *, of_records: bool) -> tuple[float, float]:
        """Two values of an entry: the ends of the bounds for records, otherwise two that are 1 apart."""
        domain = self._measurement.input_domain
        bounds = None
        if "bounds=" in self._domain:
            bounds = (domain.element_domain if self._is_vector else domain).bounds
        if bounds is None:
            return 0.0, 1.0
        low, high = float(bounds[0]), float(bounds[1])
        return low, high if of_records else min(low + 1, high)


def _cast(domain: str) -> Callable[[Any], Any] | None:
    """What makes a value of a domain of atoms, of vectors of them or of vectors of bits."""
    if domain.startswith("BitVectorDomain"):
        return bytes
    return next((cast for kind, cast in _KINDS.items() if f"T={kind}" in domain), None)


def _ends_of_column(domain: Any, kind: str) -> tuple[object, object]:
    """Two values of a column: the ends of its bounds, where it has some."""
    if kind == "String":
        return CATEGORIES
    if kind == "bool":
        return False, True
    low, high = domain.bounds if "bounds=" in str(domain) else (0, 1)
    return (float(low), float(high)) if kind.startswith("f") else (int(low), int(high))


def _claim(spent: Any, measure: str) -> Guarantee:
    """An epsilon, a rho, or an epsilon with a delta, each at its exact value."""
    if measure.startswith("MaxDivergence"):
        return PureDP(spent)
    if measure.startswith("ZeroConcentratedDivergence"):
        return ZeroConcentratedDP(spent)
    if measure.startswith("Approximate(MaxDivergence"):
        epsilon, delta = spent
        return ApproximateDP(epsilon, delta) if delta else PureDP(Fraction(epsilon))
    remedy = "fix the delta of the measurement, or state the claim with a function of your own"
    raise InvalidValue("output measure", measure, "pure, zero-concentrated or approximate privacy", remedy)


def _make_release(thing: object) -> Make | None:
    """What makes the release of a measurement; None for any other object."""
    return (lambda: MeasuredRelease(thing)) if is_measurement(thing) else None


LIBRARY: Final = Library(name="opendp", adapt=_make_release)
