"""Drawings: every formula becomes a picture."""

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.drawings import formula_svg
from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.lebeda2024.notation import C, mu


def test_what_matplotlib_cannot_draw_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"formula=.*nosuchcommand.* must be in the LaTeX subset"):
        formula_svg(r"\nosuchcommand{x}")


def test_every_formula_can_be_drawn() -> None:
    for found in statements():
        if found.formula:
            assert formula_svg(found.formula).startswith("<svg")
    assert str(C) == "C"
    assert mu.is_positive
