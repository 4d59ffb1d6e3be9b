"""Sheets are found by name, and what does not fit them is refused."""

import pytest

from dpverdict.audit.comparisons.named_curves import COMPARISONS, find_comparison
from dpverdict.errors import InvalidValue


def test_sheets_are_found_by_name() -> None:
    options = {"horizon": "1e3", "epsilon": "1", "delta": "1e-6", "arity": "best", "dim": None}
    found = find_comparison("counters", options, points=2)
    assert found is not None
    assert found.parameters["horizon"] == "1000"
    assert find_comparison("ellipses", {"dim": "10"}, points=2) is not None
    assert find_comparison("constants", {"dim": "10"}, points=2) is not None
    assert find_comparison("correlated-gaussian", {"dim": "10"}, points=2) is None


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("counters", {"horizon": "100", "epsilon": "1"}, "^delta must be given for counters: add --delta"),
        ("counters", {"horizon": "100", "epsilon": "1", "delta": "1e-6", "mu": "1"}, "^mu=.*left out for counters"),
        ("counters", {"horizon": "many", "epsilon": "1", "delta": "1e-6"}, "^horizon="),
        ("counters", {"horizon": "100", "epsilon": "1", "delta": "1e-6", "arity": "1"}, "^arity="),
        ("ellipses", {}, "^dim must be given for ellipses: add --dim"),
        ("constants", {"dim": "0"}, "^dim="),
    ],
)
def test_a_request_that_is_none_is_refused(name: str, options: dict[str, str], match: str) -> None:
    assert name in COMPARISONS
    with pytest.raises(InvalidValue, match=match):
        find_comparison(name, options, points=3)
