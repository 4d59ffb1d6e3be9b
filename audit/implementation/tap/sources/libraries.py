"""Adapters: the noise primitives of libraries, which draw in ways of their own, and those of this project.

Each notes what a primitive was told (epsilon, sensitivity, scale), what it was given, and its law where that is known.
A library that is not loaded is left alone.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np

from dpverdict.audit.implementation.tap.sources.samplers import Replaced
from dpverdict.audit.implementation.tap.sources.torch_noise import torch_replaced
from dpverdict.audit.implementation.tap.tagged_numbers import tagged, without_tags
from dpverdict.audit.implementation.tap.tape import Call, Choice, calling_line, current_tape
from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.discrete_gaussian import DiscreteGaussian
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric
from dpverdict.audit.laws.uniform import Uniform
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise, LaplaceNoise
from dpverdict.mechanisms.finite.permute_and_flip import PermuteAndFlip
from dpverdict.mechanisms.finite.randomized_response import ResponseNoise
from dpverdict.mechanisms.queries.discrete import LatticeNoise
from dpverdict.mechanisms.queries.rank1 import RandomDirectionNoise
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import total


def as_numbers(value: Any) -> Array | None:
    """A value as numbers of shape (n,); None if it is none."""
    try:
        array = np.asarray(without_tags(value), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array.reshape(-1)


# diffprivlib ----------------------------------------------------------------------------------------------------------

_DECLARED_PARAMETERS: Final = (
    "epsilon",
    "delta",
    "sensitivity",
    "lower",
    "upper",
    "gamma",
    "dimension",
    "function_sensitivity",
    "data_sensitivity",
    "alpha",
    "monotonic",
)


def _diffprivlib_primitives() -> list[Replaced]:
    module = sys.modules["diffprivlib.mechanisms"]
    found: list[Replaced] = []
    seen: set[type] = set()
    for value in vars(module).values():
        for owner in value.__mro__ if isinstance(value, type) else ():
            if owner not in seen and "randomise" in vars(owner) and owner.__module__.startswith("diffprivlib"):
                seen.add(owner)
                if not getattr(vars(owner)["randomise"], "__isabstractmethod__", False):
                    found.append((owner, "randomise", _tapped_randomise(vars(owner)["randomise"])))
    return found


def _tapped_randomise(original: Callable[..., Any]) -> Callable[..., Any]:
    def randomise(self: Any, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        tape = current_tape()
        given = () if value is None else (without_tags(value),)
        if tape is None:
            return original(self, *given, *args, **kwargs)
        name = type(self).__name__
        make = partial(original, self, *given, *args, **kwargs)
        fixed_arguments = {key: getattr(self, key) for key in _DECLARED_PARAMETERS if hasattr(self, key)}
        where = calling_line()
        if name == "Exponential":
            p = np.diff(np.concatenate([[0.0], np.asarray(self._probabilities, dtype=np.float64)]))
            candidates = self.candidates
            with tape.silence():
                first = make() if not tape.replaying else None
            return tape.choice(
                Choice(
                    f"diffprivlib {name}",
                    p[None],
                    first,
                    where,
                    fixed_arguments=(repr(candidates), repr(self.measure), repr(sorted(fixed_arguments.items()))),
                )
            )
        if name == "Binary":
            odds = np.exp(self.epsilon)
            truth = odds / (1 + odds)
            p = np.array([[truth, 1 - truth]] if value == self.value0 else [[1 - truth, truth]])
            with tape.silence():
                first = make() if not tape.replaying else None
            return tape.choice(
                Choice(f"diffprivlib {name}", p, first, where, fixed_arguments=(repr(sorted(fixed_arguments.items())),))
            )
        law, scale = _law_of_diffprivlib(self, name)
        sensitivity = fixed_arguments.get("sensitivity", fixed_arguments.get("function_sensitivity"))
        query = value if name != "PermuteAndFlip" else getattr(self, "utility", None)
        made = Call(
            what=f"diffprivlib {name}",
            value=as_numbers(query) if query is not None and not callable(query) else None,
            fixed_arguments=fixed_arguments,
            law=law,
            scale=scale,
            sensitivity=None if sensitivity is None else float(sensitivity),
            norm=0 if name == "PermuteAndFlip" else 1,
            epsilon=float(self.epsilon),
            loss_upper=_loss_on_domain(self) if name == "LaplaceBoundedDomain" else None,
            result=None,
            where=where,
        )
        return tape.call(made, make)

    return randomise


def _loss_on_domain(mechanism: Any) -> Callable[[Array, Array], float] | None:
    """The largest loss of Laplace noise that is renormalised on an interval, from the two values."""
    if mechanism._scale is None:
        mechanism._scale = mechanism._find_scale()
    scale, low, high = float(mechanism._scale), float(mechanism.lower), float(mechanism.upper)
    if not scale > 0:
        return None

    def mass(value: float) -> float:
        return 1 - (math.exp(-(value - low) / scale) + math.exp(-(high - value) / scale)) / 2

    def loss(here: Array, there: Array) -> float:
        x, y = (float(np.clip(side[0], low, high)) for side in (here, there))
        return abs(x - y) / scale + abs(math.log(mass(x) / mass(y)))

    return loss


def _law_of_diffprivlib(mechanism: Any, name: str) -> tuple[Law | None, float | None]:
    match name:
        case "Laplace" | "LaplaceTruncated" | "LaplaceFolded":
            return Laplace(), mechanism.sensitivity / (mechanism.epsilon - np.log(1 - mechanism.delta))
        case "Gaussian" | "GaussianAnalytic":
            return Gaussian(), float(mechanism._scale)
        case "GaussianDiscrete":
            return DiscreteGaussian(Fraction(float(mechanism._scale)) ** 2), 1.0
        case "Geometric" | "GeometricTruncated" | "GeometricFolded" if mechanism.sensitivity > 0:
            return TwoSidedGeometric(float(mechanism.epsilon / mechanism.sensitivity)), 1.0
        case "Uniform":
            return Uniform(), mechanism.sensitivity / mechanism.delta
        case _:
            return None, None


# OpenDP ---------------------------------------------------------------------------------------------------------------


def _opendp_primitives() -> list[Replaced]:
    module: Any = sys.modules["opendp.mod"]
    owner = module.Measurement

    def tapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def invoke(self: Any, arg: Any) -> Any:
            tape = current_tape()
            given = _without_tags(arg)
            if tape is None:
                return original(self, given)
            metric, measure = str(self.input_metric), str(self.output_measure)
            made = Call(
                what=f"OpenDP {measure}",
                value=as_numbers(given) if not isinstance(given, str | bytes) else None,
                fixed_arguments={"metric": metric, "measure": measure},
                law=None,
                scale=None,
                sensitivity=None,
                norm=1,
                epsilon=None,
                loss_upper=partial(_loss_by_its_map, self, metric),
                result=None,
                where=calling_line(),
            )
            return tape.call(made, lambda: original(self, given))

        return invoke

    return [(owner, name, tapped(vars(owner)[name])) for name in ("__call__", "invoke") if name in vars(owner)]


def _without_tags(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_without_tags(one) for one in value)
    found = without_tags(value)
    return found.item() if isinstance(found, np.generic) else found


def _loss_by_its_map(measurement: Any, metric: str, here: Array, there: Array) -> float:
    """What a measurement's own map says of two inputs, in its measure."""
    if metric.startswith(("SymmetricDistance", "InsertDeleteDistance")):
        values, counts = np.unique(np.concatenate([here, there]), return_inverse=True)
        signs = np.concatenate([np.ones(len(here)), -np.ones(len(there))])
        moved: Any = int(np.abs(np.bincount(counts, weights=signs, minlength=len(values))).sum())
    elif len(here) != len(there):
        return float("inf")
    elif metric.startswith(("ChangeOne", "Hamming", "Discrete")):
        moved = int((here != there).sum())
    else:
        gap = here - there
        moved = float(np.sqrt((gap**2).sum())) if metric.startswith("L2") else float(np.abs(gap).sum())
        if any(
            kind in metric for kind in ("i32", "i64", "u32", "u64", "i8", "u8", "i16", "u16")
        ) and not metric.startswith("L2"):
            moved = int(moved)
    if moved == 0:
        return 0.0
    found = measurement.map(moved)
    return float(found) if not isinstance(found, tuple) else float(found[0])


# SmartNoise -----------------------------------------------------------------------------------------------------------


def _smartnoise_primitives() -> list[Replaced]:
    module = sys.modules["snsql.sql._mechanisms"]
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and "release" in vars(kind)]
    return [
        (kind, "release", _tapped_release(vars(kind)["release"]))
        for kind in kinds
        if kind.__name__ in _LAWS_OF_SMARTNOISE
    ]


_LAWS_OF_SMARTNOISE: Final[dict[str, Law]] = {"Laplace": Laplace(), "Gaussian": Gaussian()}
"""Its mechanisms, with the law of their noise: OpenDP draws it, on a grid that is finer than anything here."""


def _tapped_release(original: Callable[..., Any]) -> Callable[..., Any]:
    def release(self: Any, vals: Any) -> Any:
        tape, given = current_tape(), _without_tags(list(vals))
        if tape is None:
            return original(self, given)
        name = type(self).__name__
        reach = max(abs(float(self.lower)), abs(float(self.upper))) * float(self.max_contrib)
        made = Call(
            what=f"SmartNoise {name}",
            value=as_numbers(given),
            fixed_arguments={
                key: getattr(self, key) for key in ("epsilon", "delta", "lower", "upper", "max_contrib", "scale")
            },
            law=_LAWS_OF_SMARTNOISE[name],
            scale=float(self.scale),
            sensitivity=reach,
            norm=1,
            epsilon=float(self.epsilon),
            loss_upper=None,
            result=None,
            where=calling_line(),
        )
        return list(tape.call(made, lambda: original(self, given)))

    return release


# this project ---------------------------------------------------------------------------------------------------------


def _dpverdict_primitives() -> list[Replaced]:
    laplace, discrete = LaplaceNoise.sample, DiscreteLaplaceNoise.sample
    lattice, response, direction = LatticeNoise._sample, ResponseNoise.add, RandomDirectionNoise.add  # pyright: ignore[reportPrivateUsage]
    flip = PermuteAndFlip.release_many

    def sample_laplace(self: Any, words: Any, size: int) -> Any:
        tape = current_tape()
        if tape is None:
            return laplace(self, words, size)
        scale = float(self.scale)
        make = lambda: laplace(self, words, size) / scale  # noqa: E731
        return tagged(tape.draw("LaplaceNoise", Laplace(), (size,), make), scale=scale)

    def sample_discrete(self: Any, words: Any, size: int) -> Any:
        tape = current_tape()
        if tape is None:
            return discrete(self, words, size)
        return tagged(tape.draw("DiscreteLaplaceNoise", self.law(), (size,), lambda: discrete(self, words, size)))

    def sample_lattice(self: Any, variance: Fraction, shape: tuple[int, ...], rng: Any) -> Any:
        tape = current_tape()
        if tape is None:
            return lattice(self, variance, shape, rng)
        law = DiscreteGaussian(variance)
        return tagged(tape.draw("LatticeNoise", law, shape, lambda: lattice(self, variance, shape, rng)))

    def add_response(self: Any, statistic: Any, trials: int, rng: Any) -> Any:
        tape = current_tape()
        if tape is None:
            return response(self, statistic, trials, rng)
        truth = float(np.exp(self.log_odds))
        p = np.full(self.options, 1 / (truth + self.options - 1))
        p[int(without_tags(statistic)[0])] = truth / (truth + self.options - 1)
        with tape.silence():
            first = response(self, without_tags(statistic), trials, rng) if not tape.replaying else None
        return tape.choice(Choice("ResponseNoise", np.broadcast_to(p, (trials, self.options)), first, calling_line()))

    def add_direction(self: Any, statistic: Any, trials: int, rng: Any) -> Any:
        tape = current_tape()
        if tape is None:
            return direction(self, statistic, trials, rng)

        def joint_loss(here: Array, there: Array) -> PrivacyLoss | None:
            moved: PrivacyLoss = self.loss(here, there)
            return None if moved.law_key == identical_laws().law_key else moved

        made = Call(
            what="RandomDirectionNoise",
            value=as_numbers(statistic),
            fixed_arguments={"scale": self.scale},
            law=None,
            scale=None,
            sensitivity=None,
            norm=2,
            epsilon=None,
            loss_upper=None,
            result=None,
            where=calling_line(),
            joint_loss=joint_loss,
        )
        return tape.call(made, lambda: direction(self, statistic, trials, rng)).copy()

    def release_flip(self: Any, dataset: Any, trials: int, rng: Any) -> Any:
        tape = current_tape()
        if tape is None:
            return flip(self, dataset, trials, rng)
        weights = self.noise.law([Fraction(float(score)) for score in self.embed(dataset)])
        whole = float(total(weights).ball().mid())
        p = np.array([float(weight.ball().mid()) / whole for weight in weights])
        with tape.silence():
            first = flip(self, dataset, trials, rng) if not tape.replaying else None
        return tape.choice(Choice("PermuteAndFlip", np.broadcast_to(p, (trials, len(p))), first, calling_line()))

    return [
        (LaplaceNoise, "sample", sample_laplace),
        (DiscreteLaplaceNoise, "sample", sample_discrete),
        (LatticeNoise, "_sample", sample_lattice),
        (ResponseNoise, "add", add_response),
        (RandomDirectionNoise, "add", add_direction),
        (PermuteAndFlip, "release_many", release_flip),
    ]


def loaded_libraries() -> frozenset[str]:
    """Those with adapters that are loaded."""
    return frozenset(_ADAPTERS).intersection(sys.modules)


def library_primitives() -> list[Replaced]:
    """The primitives of the libraries that are loaded, and of this project, with what replaces them."""
    return [
        *_dpverdict_primitives(),
        *(one for name, adapter in _ADAPTERS.items() if name in sys.modules for one in adapter()),
    ]


_ADAPTERS: Final[dict[str, Callable[[], list[Replaced]]]] = {
    "diffprivlib.mechanisms": _diffprivlib_primitives,
    "opendp.mod": _opendp_primitives,
    "snsql.sql._mechanisms": _smartnoise_primitives,
    "torch": torch_replaced,
}
"""By the module that has the primitives."""
