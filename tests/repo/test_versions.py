"""The oldest versions of the dependencies that are tested are the lower bounds of pyproject.toml."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = runpy.run_path(str(ROOT / "tools/versions.py"))


def test_every_dependency_has_a_lower_bound() -> None:
    bounds = VERSIONS["lower_bounds"]("dev")
    assert {"numpy", "scipy", "python-flint", "distributed", "scikit-learn", "pytest"} <= set(bounds)
    assert None not in bounds.values()


def test_a_bound_that_cannot_be_reached_is_found() -> None:
    bounds = {"reached": "2.0", "patched": "1.2", "forbidden": "3.8", "longer": "1.1"}
    installed = {"reached": "2.0.0", "patched": "1.2.1", "forbidden": "3.9.0", "longer": "1.10.0"}
    found = list(VERSIONS["not_reached"](bounds, installed))
    assert [line.partition(":")[0] for line in found] == ["forbidden", "longer"]


def test_every_supported_python_is_named() -> None:
    """The oldest is the one that the wheel asks for."""
    named = [line.rpartition(" ")[2] for line in VERSIONS["_project"]()["classifiers"] if " :: 3." in line]
    assert f">={named[0]}" == VERSIONS["_project"]()["requires-python"]


def test_the_extra_for_the_suites_of_users_brings_only_what_the_plugin_and_the_strategies_import() -> None:
    extras = VERSIONS["_project"]()["optional-dependencies"]
    assert {line.partition(">=")[0] for line in extras["test"]} == {"pytest", "hypothesis"}


def test_every_test_of_the_reduced_form_is_there() -> None:
    assert [name for name in VERSIONS["REDUCED"] if not (ROOT / name).exists()] == []
