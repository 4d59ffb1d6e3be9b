"""Mechanisms by name: from the words of a command line to a mechanism, with a note on every choice made for it.

Everything here comes from the mechanisms' own declarations (`dpverdict.mechanisms.core.parameters`); none is named.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import pkgutil
import re
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final, cast, final

import numpy as np
from numpy.typing import NDArray

import dpverdict.mechanisms
from dpverdict.audit.documents.request import Request, names_a_callable, parts
from dpverdict.audit.trials.libraries.registry import adapter_for
from dpverdict.audit.trials.user_functions import load_callable
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.core.mechanism import FalseClaimWarning, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import NeighbourPair, adjacency_name
from dpverdict.mechanisms.core.parameters import SHARED, Parameter, as_written, named
from dpverdict.suggestions import listed, nearest

ZOO: Final = "broken:"
"""What the name of a known-wrong mechanism begins with."""

CALIBRATION: Final = "calibration"
"""The parameter that chooses among the constructors of a mechanism."""

RESERVED: Final = frozenset(
    (
        *parts(Request),
        *("no_test", "jobs", "dask", "json", "witness", "report", "quiet", "help"),
        *("points", "csv", "png", "svg", "name", "expect", CALIBRATION),
    )
)
"""Names that audits, curves and plans take themselves: no parameter of a mechanism can have them."""

MOST_NUMBERS: Final = 1 << 24
"""Of a record, or items of a stream: audits and curves make both datasets, and need up to 2 GB for as many."""

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

    mechanism: StructuredMechanism | Callable[..., object]
    notes: tuple[str, ...] = ()


def mechanism_classes() -> dict[str, type[StructuredMechanism]]:
    """Every mechanism of `dpverdict.mechanisms` with a name of its own, by name; the broken ones are not among them.

    Raises:
        InvalidValue: two mechanisms have one name, or one has a parameter that it does not declare.
    """
    found: dict[str, type[StructuredMechanism]] = {}
    for module in pkgutil.walk_packages(dpverdict.mechanisms.__path__, "dpverdict.mechanisms."):
        if ".broken" in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            own = isinstance(value, type) and issubclass(value, StructuredMechanism) and not inspect.isabstract(value)
            if not own or not isinstance(getattr(value, "name", None), str):
                continue
            if found.setdefault(value.name, value) is not value:
                remedy = f"rename {value.__qualname__} or {found[value.name].__qualname__}"
                raise InvalidValue("name", value.name, "the name of one mechanism only", remedy)
    for mechanism in found.values():
        for build in constructors_of(mechanism):
            declared(mechanism, build)
    return dict(sorted(found.items()))


@functools.cache
def declared(mechanism: type[StructuredMechanism], build: Callable[..., object]) -> Mapping[str, Parameter]:
    """What words can give to a constructor of a mechanism, in the order of its arguments; read once.

    Raises:
        InvalidValue: an argument that nothing is said about, or one named like a parameter of audits.
    """
    said = named(mechanism.parameters)
    where = f"{mechanism.__module__}.{mechanism.__qualname__}"
    found: dict[str, Parameter] = {}
    for parameter in parameters_of(build):
        if parameter.lower() in RESERVED:
            requirement = "unlike the names that audits and curves take themselves"
            raise InvalidValue(f"argument of {where}", parameter, requirement, "rename it")
        if parameter not in said:
            remedy = f'add Parameter("{parameter}", metavar, text) to {mechanism.__qualname__}.parameters'
            raise InvalidValue(f"argument of {where}", parameter, "declared in words for the command line", remedy)
        found[parameter] = said[parameter]
    return MappingProxyType(found)


def offered(only: str | None = None) -> dict[str, tuple[str, str]]:
    """Every parameter of any mechanism, or of one: what stands for its value, and what it is.

    Where mechanisms differ in what they say of a parameter of one name, all of it is told, with their names.

    Args:
        only: the name of one mechanism; for a name that is not known there are no parameters.
    """
    if only is not None and only not in mechanism_classes():
        return {parameter: said for parameter, said in offered().items() if takes(only, parameter)}
    said: dict[str, dict[tuple[str, str], list[str]]] = {parameter.name: {} for parameter in SHARED}
    ways: dict[tuple[str, ...], list[str]] = {}
    for name, mechanism in mechanism_classes().items():
        if only not in (None, name):
            continue
        for build in constructors_of(mechanism):
            for parameter, says in declared(mechanism, build).items():
                names = said.setdefault(parameter, {}).setdefault((says.metavar, says.text), [])
                names.extend([name] if name not in names else [])
        ways.setdefault(mechanism.calibrations, []).append(name)
    for one, other in itertools.combinations(said, 2):
        if option(one) == option(other):
            raise InvalidValue("parameter", other, f"unlike {one} in more than its case", "rename one of them")
    told = "; ".join(f"{', '.join(offers)} of {', '.join(names)}" for offers, names in ways.items() if offers)
    metavar = "|".join(dict.fromkeys(way for offers in ways for way in offers))
    calibration = {CALIBRATION: (metavar, f"How epsilon and delta set the scale: {told}.")} if told else {}
    return {parameter: _merged_words(says) for parameter, says in said.items() if says} | calibration


def _merged_words(says: Mapping[tuple[str, str], list[str]]) -> tuple[str, str]:
    """One metavar and one text out of what several mechanisms say."""
    metavar = "|".join(dict.fromkeys(part for metavar, _ in says for part in metavar.split("|")))
    texts: dict[str, list[str]] = {}
    for (_, text), names in says.items():
        texts.setdefault(text, []).extend(names)
    if len(texts) == 1:
        return metavar, next(iter(texts))
    return metavar, " ".join(f"{text.rstrip('.')} ({', '.join(names)})." for text, names in texts.items())


def title_of(mechanism: type[StructuredMechanism]) -> str:
    """What a mechanism releases, in a line."""
    return mechanism.title or (inspect.getdoc(mechanism) or "").partition("\n")[0]


def with_choices(metavar: str, text: str) -> str:
    """What a parameter is, with the words to choose from, which a list of options can break into lines."""
    return f"{text.rstrip('.')}: {metavar.replace('|', ', ')}."


def find_mechanism(name: str, words: Mapping[str, str], shape: tuple[int, ...] | None = None) -> Named:
    """The mechanism that ``name`` and ``words`` describe.

    Args:
        name: a name of `mechanism_classes`, ``broken:<id>``, ``module:function`` or ``path/file.py:function``.
        words: the parameters that were given, by the names of the constructor's arguments, and ``calibration``.
        shape: that of the data, if there are any: it fills in what was not given.

    Raises:
        InvalidValue: no such mechanism, a parameter it does not take, or a missing or wrong one.
    """
    if name.lower().startswith(ZOO):
        return _from_zoo(name, words, shape)
    if names_a_callable(name):
        found = load_callable(name, name="mechanism")
        if isinstance(found, type) and issubclass(found, StructuredMechanism):
            return _built_mechanism(name, found, words, shape)
        _take_only(name, words, ())
        make = adapter_for(found)
        return Named(mechanism=found if make is None else make())
    return _built_mechanism(name, class_named(name), words, shape)


def class_named(name: str) -> type[StructuredMechanism]:
    """The mechanism of the catalogue called ``name``.

    Raises:
        InvalidValue: there is none.
    """
    classes = mechanism_classes()
    if name not in classes:
        raise _unknown_name("mechanism", name, list(classes), "dpverdict list shows them all")
    return classes[name]


def _built_mechanism(
    name: str, mechanism: type[StructuredMechanism], words: Mapping[str, str], shape: tuple[int, ...] | None
) -> Named:
    """A mechanism of a class, from its parameters in words."""
    given = dict(words)
    calibration = given.pop(CALIBRATION, None)
    ways = calibrations_of(mechanism)
    if calibration is None and ways and given.keys() & {"epsilon", "delta"} - set(parameters_of(mechanism)):
        remedy = "add " + " or ".join(f"--calibration {known}" for known in ways)
        raise InvalidValue(CALIBRATION, None, "given with --epsilon and --delta", remedy)
    if calibration is not None and calibration not in ways:
        requirement = f"one of {', '.join(ways)}" if ways else f"left out: {name} takes none"
        remedy = f"{nearest(calibration, ways)}give --mu, or another calibration" if ways else "drop --calibration"
        raise InvalidValue(CALIBRATION, calibration, requirement, remedy)
    build: Callable[..., StructuredMechanism] = mechanism if calibration is None else ways[calibration]
    _take_only(name, given, parameters_of(build))
    parameters = declared(mechanism, build)
    values = _read(name, parameters, given, shape)
    notes = []
    for parameter in (own.name for own in mechanism.parameters if own.name in parameters):
        left_out = parameters[parameter].left_out
        if left_out is not None and parameter not in values and left_out.when(values):
            values[parameter] = left_out.value
            notes.append(f"no {option(parameter)} was given: {left_out.note}")
    if "claim" in inspect.signature(build).parameters:
        values["claim"] = _claim(name, {part: values.pop(part) for part in _BUDGETS if part in values})
    missing = [
        argument.name
        for argument in inspect.signature(build).parameters.values()
        if argument.default is argument.empty and argument.name not in values
    ]
    if missing:
        raise _missing_parameters(missing, name)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FalseClaimWarning)
        made = build(**values)
    return Named(mechanism=made, notes=(*notes, *(str(warning.message) for warning in told)))


@functools.cache
def parameters_of(build: Callable[..., object]) -> tuple[str, ...]:
    """The parameters that the command line can give to a constructor."""
    names = [name for name in inspect.signature(build).parameters if name != "rng"]
    if "claim" in names:
        names[names.index("claim") : names.index("claim") + 1] = _BUDGETS
    return tuple(names)


def calibrations_of(mechanism: type[StructuredMechanism]) -> dict[str, Callable[..., StructuredMechanism]]:
    """The constructors that a mechanism offers for epsilon and delta, by the names of the calibrations."""
    return {way: getattr(mechanism, way, None) or getattr(mechanism, f"from_{way}") for way in mechanism.calibrations}


def constructors_of(mechanism: type[StructuredMechanism]) -> list[Callable[..., StructuredMechanism]]:
    """Every way to make the mechanism: the class itself, and its calibrations."""
    return [mechanism, *calibrations_of(mechanism).values()]


def example_of(mechanism: type[StructuredMechanism]) -> StructuredMechanism:
    """The mechanism that its own file gives as an example.

    Raises:
        InvalidValue: it gives none, or one that is not made of its options.
    """
    said = shlex.split(mechanism.example)
    if not said or len(said) % 2 or not all(text.startswith("--") for text in said[::2]):
        remedy = f'write {mechanism.__qualname__}.example = "--dim 3 --mu 1", with its own options'
        raise InvalidValue(f"{mechanism.__qualname__}.example", mechanism.example, "options with their values", remedy)
    names = {option(parameter): parameter for build in constructors_of(mechanism) for parameter in parameters_of(build)}
    words = {names.get(text, text): value for text, value in zip(said[::2], said[1::2], strict=True)}
    made = find_mechanism(mechanism.name, words).mechanism
    assert isinstance(made, StructuredMechanism)  # a name of the catalogue stands for nothing else
    return made


def names_foreign_code(name: str) -> bool:
    """Whether a name of a mechanism stands for code that is not of this package."""
    return names_a_callable(name) and not name.lower().startswith(ZOO)


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


def _from_zoo(name: str, words: Mapping[str, str], shape: tuple[int, ...] | None) -> Named:
    mutants = {f"{ZOO}{mutant.name}".lower(): mutant for mutant in broken.ALL}
    if name.lower() not in mutants:
        known = [f"{ZOO}{mutant.name}" for mutant in broken.ALL]
        raise _unknown_name("mechanism", name, known, "dpverdict list shows them all")
    mutant = mutants[name.lower()]
    _take_only(name, words, mutant.parameters)
    shared = named(())
    values = _read(name, {parameter: shared[parameter] for parameter in mutant.parameters}, words, shape)
    missing = [parameter for parameter in mutant.parameters if parameter not in values]
    if missing:
        raise _missing_parameters(missing, name)
    make = cast("Callable[..., StructuredMechanism]", mutant.make)  # each kind of variant takes parameters of its own
    mechanism = make(*(values[parameter] for parameter in mutant.parameters))
    return Named(mechanism=mechanism, notes=(f"{name} is wrong on purpose: {mutant.title}",))


def _read(
    name: str, parameters: Mapping[str, Parameter], words: Mapping[str, str], shape: tuple[int, ...] | None
) -> dict[str, object]:
    """The values of the parameters given, and of those that the shape of the data gives."""
    for parameter, text in words.items():
        choices = parameters[parameter].choices
        if choices and text not in choices and parameters[parameter].read is as_written:
            remedy = f"{nearest(text, choices)}{parameters[parameter].text}"
            raise InvalidValue(parameter, text, f"one of {', '.join(choices)}", remedy)
    values = {parameter: parameters[parameter].read(parameter, words) for parameter in words}
    if shape is None:
        return values
    axes = {parameter: axis for parameter in parameters if (axis := parameters[parameter].axis) is not None}
    for parameter in [parameter for parameter, axis in axes.items() if axis == "records"]:
        values.setdefault(parameter, shape[0])  # a stream may be shorter than the horizon
        del axes[parameter]
    if axes and len(shape) != 1 + len(axes):
        wanted = f"({', '.join(('records', *axes.values()))})"
        stored = "store the records in that shape in a .npy or .npz file"
        remedy = stored if len(axes) > 1 else "give one record per row"
        raise InvalidValue("data", f"array of shape {shape}", f"of shape {wanted} for {name}", remedy)
    for parameter, size in zip(axes, shape[1:], strict=True) if axes else ():
        if values.setdefault(parameter, size) != size:
            remedy = f"leave out {option(parameter)}"
            raise InvalidValue(parameter, values[parameter], f"{size}, as the data have it", remedy)
    return values


def _claim(name: str, parts: Mapping[str, object]) -> str:
    """The claim that the options are parts of: mu, rho, epsilon, or epsilon and delta."""
    if set(parts) not in ({"mu"}, {"rho"}, {"epsilon"}, {"epsilon", "delta"}):
        found = " and ".join(map(option, parts)) or None
        remedy = f"add --mu, --rho, --epsilon, or --epsilon and --delta: what {name} is to keep"
        raise InvalidValue("budget", found, "one guarantee" if found else "given", remedy)
    for part, value in parts.items():
        exactly(cast("str", value), name=part)
    return ", ".join(f"{'eps' if part == 'epsilon' else part}={value}" for part, value in parts.items())


def _take_only(name: str, given: Mapping[str, str], accepted: tuple[str, ...]) -> None:
    for parameter, value in given.items():
        if parameter not in accepted:
            taken = ", ".join(option(known) for known in accepted) or "no parameters on the command line"
            remedy = f"{nearest(option(parameter), map(option, accepted))}{name} takes {taken}"
            raise InvalidValue(parameter, value, f"left out for {name}", remedy)


def _missing_parameters(parameters: Sequence[str], name: str) -> InvalidValue:
    remedy = f"add {listed([option(parameter) for parameter in parameters])}"
    return InvalidValue(listed(parameters), None, f"given for {name}", remedy)


def _unknown_name(parameter: str, value: str, known: list[str], otherwise: str) -> InvalidValue:
    plain, words = value.lower().replace("_", "-"), {one.lower(): one for one in known}
    close = [words[one] for one in get_close_matches(plain, words, n=1 if plain in words else 3, cutoff=0.5)]
    remedy = f"did you mean {' or '.join(close)}? ({otherwise})" if close else otherwise
    dotted = re.fullmatch(r"(\w+(?:\.\w+)*)\.(\w+)", value)
    if re.fullmatch(r".+\.(csv|tsv|parquet|feather|jsonl|xlsx|npy|npz)", value):
        remedy = f"a table follows its option, --data {value}; {otherwise}"
    elif value.endswith((".jsn", ".jso", ".toml")):
        remedy = f"an event of dp_accounting is a .json file; {otherwise}"
    elif dotted is not None:
        remedy = f"of a function write {dotted[1]}:{dotted[2]}; {otherwise}"
    return InvalidValue(parameter, value, f"a known {parameter}, or module:function", remedy)


def find(
    name: str,
    options: Mapping[str, str | None],
    *,
    table: NDArray[np.float64] | None = None,
    pair: NeighbourPair | None = None,
) -> Named:
    """The mechanism that a name and options in words describe; the data fill in what was not given."""
    words = {key: str(text) for key, text in options.items() if text is not None}
    if "adjacency" not in words and pair is not None and takes(name, "adjacency"):
        words["adjacency"] = adjacency_name(pair.adjacency)
    data = pair.dataset if pair is not None else table
    named = find_mechanism(name, words, None if data is None else data.shape)
    if isinstance(named.mechanism, StructuredMechanism):
        size = max(named.mechanism.dim, math.prod(named.mechanism.record_shape))
        if size > MOST_NUMBERS:
            requirement = f"at most {MOST_NUMBERS}: both worst datasets are made, which takes up to 2 GB for as many"
            remedy = "give a smaller --dim or --horizon; in Python, certify(mechanism) takes what fits the memory"
            raise InvalidValue("numbers of a dataset", size, requirement, remedy)
    return named


def find_white_box(name: str, options: Mapping[str, str | None]) -> tuple[StructuredMechanism, tuple[str, ...]]:
    """A mechanism of known structure, and the notes on how it was made; curves are known of no other.

    Raises:
        InvalidValue: a function of which only the releases are seen.
    """
    named = find(name, options)
    if not isinstance(named.mechanism, StructuredMechanism):
        remedy = "choose one of: dpverdict list"
        raise InvalidValue("mechanism", name, "a mechanism of known structure, to have curves", remedy)
    return named.mechanism, named.notes
