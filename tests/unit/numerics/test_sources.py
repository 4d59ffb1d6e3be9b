"""What a hash of the source covers: everything that is reached by name in this package, and nothing of libraries."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpverdict.numerics.sources import modules_sha256, reached

FACTOR = 3


def leaf() -> int:
    return FACTOR


def branch() -> float:
    return leaf() + math.sqrt(2) + float(np.ones(1)[0])


class Base:
    def method(self) -> int:
        return leaf()


class Child(Base):
    pass


@dataclass(frozen=True)
class Held:
    value: int


def test_functions_classes_and_what_they_mention_are_reached() -> None:
    assert {branch, leaf} <= set(filter(callable, reached(branch)))
    assert {Child, Base, leaf} <= set(filter(callable, reached(Child)))
    assert leaf not in reached(branch, but_not_through=[branch])


@dataclass(frozen=True)
class Remembers:
    value: int

    @functools.cached_property
    def found(self) -> object:
        return (leaf, self.value + 1)


def test_what_a_cached_property_remembers_is_not_followed() -> None:
    held = Remembers(18)
    before = reached(held)
    assert leaf in before
    assert held.found == (leaf, 19)
    assert reached(held) == before


class Memory:
    def __init__(self, *remembered: object) -> None:
        self.remembered = remembered


def test_a_value_that_an_object_remembers_does_not_hide_the_same_value_where_code_holds_it() -> None:
    assert 17 not in reached(Memory(17))
    assert 17 in reached((17,), Memory(17))
    assert 17 in reached(Memory(17), (17,))


def test_libraries_are_not_followed() -> None:
    found = [item for item in reached(branch) if callable(item)]
    assert all(getattr(item, "__module__", "").partition(".")[0] not in ("numpy", "math") for item in found)


def test_values_that_code_holds_count_and_values_that_objects_remember_do_not() -> None:
    assert 17 in reached((17, leaf))
    assert 18 in reached(Held(18))


def test_the_hash_is_of_whole_modules_and_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import inspect

    before = modules_sha256(branch)
    assert before == modules_sha256(branch) == modules_sha256(leaf)  # one module
    read = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda module: read(module) + "# edited")
    assert modules_sha256(branch) != before
