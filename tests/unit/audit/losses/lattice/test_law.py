"""Laws on a lattice: masses at their exact values, tails rounded to their side, and what is no law is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.lattice.law import Cells, LatticeLaw, Side, lower_tails, masses_between, upper_tails
from dpverdict.errors import InvalidValue

TWO = {"interval": Fraction(1, 2), "lowest": -1, "masses": np.array([0.25, 0.25, 0.5]), "infinity_mass": 0.0}


def test_losses_are_multiples_of_the_interval() -> None:
    law = LatticeLaw(**TWO, side=Side.PESSIMISTIC)
    assert law.indices.tolist() == [-1, 0, 1]
    assert law.losses.tolist() == [-0.5, 0, 0.5]
    assert law.p_mass_defect() == 0.0
    assert law.q_mass_defect() == pytest.approx(0.25 * math.exp(0.5) + 0.25 + 0.5 * math.exp(-0.5) - 1)


@pytest.mark.parametrize(
    "change",
    [
        {"interval": Fraction(0)},
        {"masses": np.array([])},
        {"masses": np.array([[1.0]])},
        {"masses": np.array([1.5, -0.5])},
        {"masses": np.array([np.nan])},
        {"masses": np.array([np.inf])},
        {"infinity_mass": 1.1},
        {"infinity_mass": -0.1},
    ],
)
def test_what_is_no_law_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        LatticeLaw(**{**TWO, **change}, side=Side.OPTIMISTIC)  # type: ignore[arg-type]


def test_tails_are_rounded_to_their_side() -> None:
    values = np.array([0.0, 1e-300, 0.3, 1.0])
    above, below = upper_tails(values, 1e-10), lower_tails(values, 1e-10)
    assert (below <= values).all()
    assert (values <= above).all()
    assert (above[1:3] > values[1:3] * (1 + 1e-10)).all()
    assert (above.max(), below.min()) == (1.0, 0.0)


def test_masses_between_losses_hold_the_truth_within_their_errors() -> None:
    """A Gaussian loss of mu = 1 is N(1/2, 1) under P and N(-1/2, 1) under Q."""
    losses = np.array([-3.0, -0.5, 0.0, 0.5, 4.0])
    cells = masses_between(GaussianLoss(1).tails(losses))

    def phi(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))

    for i, (low, high) in enumerate(itertools.pairwise(losses)):
        assert abs(cells.p[i] - (phi(high - 0.5) - phi(low - 0.5))) <= cells.p_error[i] + 1e-15
        assert abs(cells.q[i] - (phi(high + 0.5) - phi(low + 0.5))) <= cells.q_error[i] + 1e-15
    assert (cells.p_error < 1e-9).all()


def test_moved_cells_are_those_made_at_the_new_boundaries() -> None:
    loss = GaussianLoss(1)
    moved = Cells(loss.tails, np.array([-1.0, 0.0, 1.0]))
    moved.move(np.array([-1.0, 0.25, 1.0]))
    made = Cells(loss.tails, np.array([-1.0, 0.25, 1.0]))
    np.testing.assert_array_equal(moved.p, made.p)
    np.testing.assert_array_equal(moved.q, made.q)
