"""Which tests are in the default run and whose turn it is: every slow test has a commit at which the gate runs it."""

import runpy
from pathlib import Path

import pytest

CONFTEST = runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))
NAMES = [f"tests/soundness/test_one.py::test_it[{number}]" for number in range(500)]


def test_every_test_has_its_turn_and_only_one_of_ten_at_a_commit() -> None:
    chosen = [CONFTEST["in_rotation"](NAMES, f"{commit:040x}") for commit in range(10)]
    assert sorted(name for names in chosen for name in names) == sorted(NAMES)
    assert all(20 <= len(names) <= 80 for names in chosen)


def test_a_commit_chooses_the_same_tests_in_the_same_order_and_another_one_does_not() -> None:
    one, same, other = (CONFTEST["in_rotation"](NAMES, commit) for commit in ("4f0a", "4f0a", "4f14"))
    assert one == same
    assert one != other
    assert sorted(one) == sorted(other)  # ten later: the same part, in another order


@pytest.mark.parametrize(("total", "kept"), [(1, 1), (5, 1), (5, 2), (7, 3), (40, 12), (3, 3)])
def test_what_stays_in_the_default_run_is_spread_over_all_cases(total: int, kept: int) -> None:
    places = CONFTEST["spread"](total, kept)
    assert len(places) == kept
    assert min(places) == 0
    assert kept == 1 or max(places) == total - 1


@pytest.mark.few(2)
@pytest.mark.parametrize("number", range(5))
def test_of_these_cases_the_first_and_the_last_are_in_the_default_run(
    number: int, request: pytest.FixtureRequest
) -> None:
    assert (request.node.get_closest_marker("slow") is None) == (number in (0, 4))
