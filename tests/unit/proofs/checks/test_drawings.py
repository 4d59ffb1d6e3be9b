"""Drawings: every formula becomes a picture."""

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.drawings import formula_svg
from dpverdict.proofs.checks.registry import statements


def test_what_matplotlib_cannot_draw_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"formula=.*nosuchcommand.* must be in the LaTeX subset"):
        formula_svg(r"\nosuchcommand{x}")


FORMULAS = [found.formula for found in statements() if found.formula]


def test_a_tenth_of_the_formulas_can_be_drawn() -> None:
    for formula in FORMULAS[::10]:
        assert formula_svg(formula).startswith("<svg")


@pytest.mark.slow
def test_every_formula_can_be_drawn() -> None:
    for formula in FORMULAS:
        assert formula_svg(formula).startswith("<svg")
