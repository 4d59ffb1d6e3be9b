"""`fingerprint`: every kind of change to what a mechanism is made of shows, and nothing else does."""

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.distinguishing.mechanism_identity import fingerprint
from dpverdict.audit.trials.run import batched
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, StandardGaussian

SCALE = 1.0


def noisy(data: Any, rng: np.random.Generator, scale: float = 1.0) -> Any:
    return data.sum() + rng.normal(scale=scale)


def of_global(data: Any, rng: np.random.Generator) -> Any:
    return data.sum() + rng.normal(scale=SCALE)


def closing(scale: float) -> Callable[..., Any]:
    return lambda data, rng: data.sum() + rng.normal(scale=scale)


def deeper(scale: float) -> Callable[..., Any]:
    inner = closing(scale)
    return lambda data, rng: inner(data, rng)


def listed(scale: float) -> Callable[..., Any]:
    held = {"scales": [np.array([scale, 1.0])]}
    return lambda data, rng: data.sum() + rng.normal(scale=held["scales"][0][0])


def by_default(scale: float) -> Callable[..., Any]:
    def release(data: Any, rng: np.random.Generator, *, own: float = scale) -> Any:
        return data.sum() + rng.normal(scale=own)

    return release


def by_function_attribute(scale: float) -> Callable[..., Any]:
    def release(data: Any, rng: np.random.Generator) -> Any:
        return data.sum() + rng.normal(scale=release.scale)  # type: ignore[attr-defined]

    release.scale = scale  # type: ignore[attr-defined]
    return release


def in_code(scale: float) -> Callable[..., Any]:
    made: dict[str, Any] = {}
    exec(f"def release(data, rng):\n    return data.sum() + rng.normal(scale={scale})", made)
    return made["release"]  # type: ignore[no-any-return]


def in_module(scale: float) -> Callable[..., Any]:
    settings = types.ModuleType("settings")
    settings.scale = scale  # type: ignore[attr-defined]
    made: dict[str, Any] = {"settings": settings}
    exec("def release(data, rng):\n    return data.sum() + rng.normal(scale=settings.scale)", made)
    return made["release"]  # type: ignore[no-any-return]


def decorated(scale: float) -> Callable[..., Any]:
    return functools.wraps(noisy)(lambda data, rng: noisy(data, rng, scale))


class Held:
    def __init__(self, scale: float) -> None:
        self.inner = {"noise": [scale]}

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        return data.sum() + rng.normal(scale=self.inner["noise"][0])

    def release(self, data: Any, rng: np.random.Generator) -> Any:
        return self(data, rng)


class Slotted:
    __slots__ = ("__scale",)

    def __init__(self, scale: float) -> None:
        self.__scale = scale

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        return data.sum() + rng.normal(scale=self.__scale)


@dataclass(frozen=True)
class Frozen:
    scale: float

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        return data.sum() + rng.normal(scale=self.scale)


def of_class(scale: float) -> Callable[..., Any]:
    class Base:
        def scale(self) -> float:
            return in_base

    in_base = scale

    class Own(Base):
        def __call__(self, data: Any, rng: np.random.Generator) -> Any:
            return data.sum() + rng.normal(scale=self.scale())

    return Own()


def class_attribute(scale: float) -> Callable[..., Any]:
    class Own:
        noise = scale

        @property
        def level(self) -> float:
            return self.noise

        def __call__(self, data: Any, rng: np.random.Generator) -> Any:
            return data.sum() + rng.normal(scale=self.level)

    return Own()


MAKERS: dict[str, Callable[[float], Any]] = {
    "closure": closing,
    "closure of a closure": deeper,
    "array in a list in a dictionary": listed,
    "default": by_default,
    "attribute of a function": by_function_attribute,
    "constant": in_code,
    "module": in_module,
    "decorated": decorated,
    "partial": lambda scale: functools.partial(noisy, scale=scale),
    "partial of a partial": lambda scale: functools.partial(functools.partial(noisy), scale=scale),
    "batched partial": lambda scale: batched(functools.partial(noisy, scale=scale)),
    "attribute": Held,
    "bound method": lambda scale: Held(scale).release,
    "slot": Slotted,
    "dataclass": Frozen,
    "base class": of_class,
    "class attribute": class_attribute,
    "of this package": lambda scale: StandardGaussian(dim=2, mu=scale, adjacency=ADD_OR_REMOVE_ONE),
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_change_shows_and_nothing_else_does(name: str) -> None:
    make = MAKERS[name]
    assert fingerprint(make(1.0)) == fingerprint(make(1.0))
    assert fingerprint(make(1.0)) != fingerprint(make(2.0))


def test_a_changed_global_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(of_global)
    assert fingerprint(of_global) == before
    monkeypatch.setitem(globals(), "SCALE", 0.5)
    after = fingerprint(of_global)
    assert [name for name in after if after[name] != before[name]] == ["global SCALE of of_global"]


def test_a_global_function_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    def calls(data: Any, rng: np.random.Generator) -> Any:
        return of_global(data, rng)

    before = fingerprint(calls)
    monkeypatch.setitem(globals(), "SCALE", 0.5)
    assert fingerprint(calls) != before


def test_generators_caches_and_circles_are_no_change() -> None:
    rng = np.random.default_rng(1)

    def own(data: Any) -> Any:
        return data.sum() + rng.normal()

    before = fingerprint(own)
    own(np.ones(2))
    assert fingerprint(own) == before
    one = Held(1.0)
    one.inner["self"] = [one]  # type: ignore[list-item]
    assert fingerprint(one) == fingerprint(one)
    mechanism = StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE)
    before = fingerprint(mechanism)
    mechanism.release(np.ones((3, 2)), rng)
    assert fingerprint(mechanism) == before
