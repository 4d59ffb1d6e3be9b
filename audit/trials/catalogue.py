"""Mechanisms by name: from the words of a command line to a mechanism, with a note on every choice made for it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final, cast, final

import numpy as np
from numpy.typing import NDArray

import dpverdict.mechanisms
from dpverdict.audit.trials.words import bounds, load_callable, names_a_callable, whole_number
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair, parse_adjacency
from dpverdict.mechanisms.queries.rank1 import FalseClaimWarning

ZOO: Final = "broken:"
"""What the name of a known-wrong mechanism begins with."""

CALIBRATIONS: Final = {
    "classic": "classic",
    "analytic": "analytic",
    "theorem": "from_theorem",
    "concentrated": "from_concentrated",
}
"""How a scale is found from epsilon and delta: the class methods behind the names."""

_BUDGETS: Final = ("mu", "epsilon", "delta", "rho")
"""Of a mechanism that takes a whole claim: the options that are its parts."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a name on the command line stands for.

    Attributes:
        mechanism: a mechanism with known structure, or any callable (dataset, rng) -> array.
        notes: the choices made because an option was not given, one sentence each.
    """

    mechanism: AdditiveMechanism | Callable[..., object]
    notes: tuple[str, ...] = ()


def mechanism_classes() -> dict[str, type[AdditiveMechanism]]:
    """Every mechanism of `dpverdict.mechanisms` with a name of its own, by name; the broken ones are `zoo`."""
    found = {}
    for module in pkgutil.walk_packages(dpverdict.mechanisms.__path__, "dpverdict.mechanisms."):
        if ".broken" in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            own = isinstance(value, type) and issubclass(value, AdditiveMechanism) and not inspect.isabstract(value)
            if own and isinstance(getattr(value, "name", None), str):
                found[value.name] = value
    return dict(sorted(found.items()))


def find_mechanism(name: str, options: Mapping[str, object]) -> Named:
    """The mechanism that ``name`` and ``options`` describe.

    Args:
        name: a name of `mechanism_classes`, ``broken:<id>``, ``module:function`` or ``path/file.py:function``.
        options: the parameters that the user gave, by the names of the constructor's arguments, and ``calibration``.

    Raises:
        InvalidValue: no such mechanism, a parameter it does not take, or a missing or wrong one.
    """
    if name.lower().startswith(ZOO):
        return _from_zoo(name, options)
    if names_a_callable(name):
        found = load_callable(name, name="mechanism")
        _take_only(name, options, ())
        return Named(mechanism=found)
    classes = mechanism_classes()
    if name not in classes:
        raise _unknown("mechanism", name, list(classes), "dpverdict list shows them all")
    given = dict(options)
    calibration = given.pop("calibration", None)
    offered = calibrations_of(classes[name])
    if calibration is None and offered and given.keys() & {"epsilon", "delta"} - set(parameters_of(classes[name])):
        remedy = "add " + " or ".join(f"--calibration {known}" for known in offered)
        raise InvalidValue("calibration", None, "given with --epsilon and --delta", remedy)
    notes = _choose(name, given)
    build: Callable[..., AdditiveMechanism] = classes[name]
    if calibration is not None:
        if calibration not in offered:
            requirement = f"one of {', '.join(offered)}" if offered else f"left out: {name} takes none"
            raise InvalidValue("calibration", calibration, requirement, "give --mu, or another calibration")
        build = getattr(classes[name], CALIBRATIONS[str(calibration)])
    _take_only(name, given, parameters_of(build))
    if "claim" in inspect.signature(build).parameters:
        given["claim"] = _claim(name, {part: given.pop(part) for part in _BUDGETS if part in given})
    for parameter in inspect.signature(build).parameters.values():
        if parameter.default is parameter.empty and parameter.name not in given:
            raise _missing(parameter.name, name)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FalseClaimWarning)
        mechanism = build(**given)
    return Named(mechanism=mechanism, notes=(*notes, *(str(warning.message) for warning in told)))


def parameters_of(build: Callable[..., object]) -> tuple[str, ...]:
    """The parameters that the command line can give to a constructor."""
    names = [name for name in inspect.signature(build).parameters if name != "rng"]
    if "claim" in names:
        names[names.index("claim") : names.index("claim") + 1] = _BUDGETS
    return tuple(names)


def calibrations_of(mechanism: type[AdditiveMechanism]) -> tuple[str, ...]:
    """The calibrations that a mechanism offers."""
    return tuple(name for name, method in CALIBRATIONS.items() if hasattr(mechanism, method))


def option(parameter: str) -> str:
    """The option of the command line that sets a parameter: ``size_estimate`` is ``--size-estimate``."""
    return "--" + parameter.lower().replace("_", "-")


def takes(name: str, parameter: str) -> bool:
    """Whether the mechanism of this name has a parameter of that name; False for a name that is not known."""
    if name.lower().startswith(ZOO):
        return any(
            parameter in wrong.parameters for wrong in broken.ALL if f"{ZOO}{wrong.name}".lower() == name.lower()
        )
    found = mechanism_classes().get(name)
    return found is not None and parameter in parameters_of(found)


def _choose(name: str, given: dict[str, object]) -> tuple[str, ...]:
    """Fill in what the command line may leave out, and say so."""
    notes = []
    if name == "grouped-gaussian":
        if "adjacency" not in given:
            given["adjacency"] = REPLACE_ONE
            notes.append(
                "no --adjacency was given: replace-one was taken, the stricter relation (its noise also covers "
                "add-or-remove-one)"
            )
        if "groups" not in given:
            given["groups"] = 2
            notes.append("no --groups was given: 2 groups were taken")
    if name == "elliptical-gaussian" and "bounds" not in given and "dim" in given:
        given["bounds"] = "1"
        notes.append("no --bounds was given: every coordinate has the bound 1, so records lie in [-1/2, 1/2]^d")
    if name == "tree-counter" and "arity" not in given:
        given["arity"] = "best"
        notes.append("no --arity was given: the one with the least mean squared error at this horizon was taken")
    if name == "laplace" and "adjacency" not in given and given.get("norm", "linf") == "linf":
        given["adjacency"] = ADD_OR_REMOVE_ONE
        notes.append("no --adjacency was given: add-or-remove-one was taken (the noise is the same under replace-one)")
    if name == "standard-gaussian" and "adjacency" not in given:
        notes.append("no --adjacency was given: add-or-remove-one was taken (the noise is the same under replace-one)")
    return tuple(notes)


def _from_zoo(name: str, options: Mapping[str, object]) -> Named:
    mutants = {f"{ZOO}{mutant.name}".lower(): mutant for mutant in broken.ALL}
    if name.lower() not in mutants:
        known = [f"{ZOO}{mutant.name}" for mutant in broken.ALL]
        raise _unknown("mechanism", name, known, "dpverdict list shows them all")
    mutant = mutants[name.lower()]
    _take_only(name, options, mutant.parameters)
    for parameter in mutant.parameters:
        if parameter not in options:
            raise _missing(parameter, name)
    make = cast("Callable[..., AdditiveMechanism]", mutant.make)  # each kind of variant takes parameters of its own
    mechanism = make(*(options[parameter] for parameter in mutant.parameters))
    return Named(mechanism=mechanism, notes=(f"{name} is wrong on purpose: {mutant.title}",))


def _claim(name: str, parts: Mapping[str, object]) -> str:
    """The claim that the options are parts of: mu, rho, epsilon, or epsilon and delta."""
    if set(parts) not in ({"mu"}, {"rho"}, {"epsilon"}, {"epsilon", "delta"}):
        found = " and ".join(map(option, parts)) or None
        remedy = f"add --mu, --rho, --epsilon, or --epsilon and --delta: what {name} is to keep"
        raise InvalidValue("budget", found, "one guarantee", remedy)
    return ", ".join(f"{'eps' if part == 'epsilon' else part}={value}" for part, value in parts.items())


def _take_only(name: str, given: Mapping[str, object], accepted: tuple[str, ...]) -> None:
    for parameter, value in given.items():
        if parameter not in accepted:
            taken = ", ".join(option(known) for known in accepted) or "no parameters on the command line"
            shown = value.name.lower().replace("_", "-") if isinstance(value, Enum) else value
            raise InvalidValue(parameter, shown, f"left out for {name}", f"{name} takes {taken}")


def _missing(parameter: str, name: str) -> InvalidValue:
    return InvalidValue(parameter, None, f"given for {name}", f"add {option(parameter)}")


def _unknown(parameter: str, value: str, known: list[str], otherwise: str) -> InvalidValue:
    close = get_close_matches(value, known, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(close)}? ({otherwise})" if close else otherwise
    return InvalidValue(parameter, value, f"a known {parameter}, or module:function", remedy)


def find(
    name: str,
    options: Mapping[str, str | None],
    *,
    table: NDArray[np.float64] | None = None,
    pair: NeighbourPair | None = None,
) -> Named:
    """The mechanism that a name and options in words describe; the shape of the data fills in what was not given."""
    given: dict[str, object] = {key: text for key, text in options.items() if text is not None}
    for key in ("dim", "groups", "k", "horizon", "arity"):
        if key in given and given[key] != "best":
            given[key] = whole_number(str(given[key]), key, at_least=1)
    if "adjacency" in given:
        given["adjacency"] = parse_adjacency(str(given["adjacency"]))
    elif pair is not None and takes(name, "adjacency"):
        given["adjacency"] = pair.adjacency
    if "bounds" in given:
        numbers = bounds(str(given["bounds"]))
        given["bounds"] = numbers[0] if len(numbers) == 1 and "dim" in given else numbers
    data = pair.dataset if pair is not None else table
    if data is not None and takes(name, "horizon"):
        given.setdefault("horizon", len(data))
    if data is not None and takes(name, "dim"):
        grouped = takes(name, "groups")
        if data.ndim != 2 + grouped:
            shape = "(records, groups, queries)" if grouped else "(records, queries)"
            remedy = "store the records in that shape in a .npy or .npz file" if grouped else "give one record per row"
            raise InvalidValue("data", f"array of shape {data.shape}", f"of shape {shape} for {name}", remedy)
        for key, size in (("dim", data.shape[-1]), *((("groups", data.shape[1]),) if grouped else ())):
            if given.setdefault(key, size) != size:
                raise InvalidValue(key, given[key], f"{size}, as the data have it", f"leave out {option(key)}")
    return find_mechanism(name, given)


def find_white_box(name: str, options: Mapping[str, str | None]) -> tuple[AdditiveMechanism, tuple[str, ...]]:
    """A mechanism of known structure, and the notes on how it was made; curves are known of no other.

    Raises:
        InvalidValue: a function of which only the releases are seen.
    """
    named = find(name, options)
    if not isinstance(named.mechanism, AdditiveMechanism):
        remedy = "choose one of: dpverdict list"
        raise InvalidValue("mechanism", name, "a mechanism of known structure, to have curves", remedy)
    return named.mechanism, named.notes
