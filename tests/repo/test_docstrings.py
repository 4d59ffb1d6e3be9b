"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import dpverdict


def modules() -> list[str]:
    """The names of all modules of the package."""
    found = pkgutil.walk_packages(dpverdict.__path__, "dpverdict.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def rooms() -> dict[str, list[str]]:
    """The modules by the room they are in, two names deep."""
    found: dict[str, list[str]] = {}
    for name in modules():
        found.setdefault(".".join(name.split(".")[1:3]), []).append(name)
    return found


@pytest.mark.parametrize("room", rooms())
def test_the_examples_of_a_room_are_real(room: str) -> None:
    failed = [name for name in rooms()[room] if doctest.testmod(importlib.import_module(name)).failed]
    assert failed == []


def test_examples_are_found_at_all() -> None:
    """They are counted here; the test above runs them."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in modules() for test in finder.find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in found) >= 20


def test_a_wrong_example_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("planted")
    module.__doc__ = ">>> 1 + 1\n3\n"
    assert doctest.testmod(module).failed == 1
    assert dpverdict.__version__
    capsys.readouterr()
