"""Generators that were made before the tap: those of the function's own module are tapped, others are watched.

A module that imports a sampler by name, or keeps a generator, holds what the tap cannot replace where it was made. Its
names are given the tapped ones. Generators that are kept elsewhere (in an object, a closure, another module) are looked
at before and after a run: one whose state has changed has drawn.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.implementation.tap.sources.samplers import (
    Replaced,
    TappedGenerator,
    TappedRandomState,
    plain_generator,
    system_generator,
)

_GENERATOR: Final = np.random.Generator
_STATE: Final = np.random.RandomState


def names_of_module(mechanism: Any, replaced: Sequence[Replaced], seed: int) -> list[Replaced]:
    """The names of a function's module that hold a sampler which is replaced elsewhere, or a generator.

    Args:
        mechanism: whose module; one without a module has none.
        replaced: what is replaced, before it is.
        seed: of the generators of `random` among them; those of NumPy go on from where they are.
    """
    inner = _innermost_function(mechanism)
    module: Any = sys.modules.get(getattr(inner, "__module__", None) or "")
    names = {} if module is None else vars(module)
    if getattr(inner, "__globals__", names) is not names or module is random:
        return []
    former = {id(vars(owner).get(name)): new for owner, name, new in replaced if name in vars(owner)}
    found: list[Replaced] = []
    for name, value in names.items():
        new = former.get(id(value)) if callable(value) else _tapped_generator(value, seed)
        if new is not None:
            found.append((module, name, new))
    return found


def _innermost_function(mechanism: Any) -> Any:
    """The function, or the object, that a mechanism was made of."""
    while hasattr(mechanism, "function") or isinstance(mechanism, partial):
        mechanism = mechanism.func if isinstance(mechanism, partial) else mechanism.function
    return mechanism


def compiled_calls(mechanism: Any) -> str | None:
    """The name by which a function's code reaches a compiled library; None if it reaches none."""
    inner = _innermost_function(mechanism)
    names, code = getattr(inner, "__globals__", {}), getattr(inner, "__code__", None)
    used = () if code is None else code.co_names
    return next((name for name in used if isinstance(names.get(name), _COMPILED)), None)


_COMPILED: Final = (ctypes.CDLL, type(ctypes.pythonapi.Py_IncRef).__mro__[1])
"""A library, and a function of one, whose class has no public name."""


def _tapped_generator(value: Any, seed: int) -> Any:
    """A tapped generator in place of one; None for something else."""
    if isinstance(value, TappedGenerator | TappedRandomState):
        return None
    if isinstance(value, _GENERATOR):
        return TappedGenerator(value.bit_generator)
    if isinstance(value, _STATE):
        return TappedRandomState(value._bit_generator)
    if isinstance(value, random.SystemRandom):
        return system_generator()
    return plain_generator(seed) if type(value) is random.Random else None


@final
class WatchedGenerators:
    """The generators of this process, apart from those that are tapped. What a draw that is followed uses is its own.

    Args:
        tapped: generators whose draws are seen.
    """

    def __init__(self, tapped: Sequence[Any]) -> None:
        owners = [getattr(one, "__self__", one) for one in tapped]
        seen = {id(getattr(one, "bit_generator", getattr(one, "_bit_generator", one))) for one in owners}
        kinds = {kind for base in (np.random.BitGenerator, random.Random) for kind in (base, *_all_subclasses(base))}
        kinds.discard(random.SystemRandom)
        gc.unfreeze()  # what was frozen is not among the objects below
        found = [one for one in gc.get_objects() if type(one) in kinds and id(one) not in seen]
        self._held = [(one, _state_of_generator(one)) for one in found]
        self.drew: str | None = None
        """The kind of a generator that has drawn by itself; None if none has."""

    def look(self) -> None:
        """Note whether a generator has drawn since the last look."""
        for one, state in self._held:
            if _state_of_generator(one) != state:
                self.drew = type(one).__name__

    def forgive(self) -> None:
        """Take the generators as they are now."""
        self._held = [(one, _state_of_generator(one)) for one, _ in self._held]


def _all_subclasses(kind: type[Any]) -> list[type[Any]]:
    """The classes that derive from one."""
    return [one for found in type.__subclasses__(kind) for one in (found, *_all_subclasses(found))]


def _state_of_generator(one: Any) -> object:
    return one.getstate() if isinstance(one, random.Random) else _comparable_state(one.state)


def _comparable_state(state: Any) -> object:
    if isinstance(state, dict):
        return {name: _comparable_state(value) for name, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
