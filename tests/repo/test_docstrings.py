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


@pytest.mark.parametrize("name", modules())
def test_the_examples_of_a_module_are_real(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0


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
