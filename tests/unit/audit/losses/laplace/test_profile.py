"""The curves of a Laplace vector: symmetric, complementary, atoms counted on the right side, and a route for each."""

from fractions import Fraction

import pytest
from flint import arb

from dpverdict.audit.losses.laplace.profile import LaplaceBounds, LaplaceProfile, refined
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

TWO = LaplaceProfile(((Fraction(1), 1), (Fraction(1, 2), 1)))
EPSILONS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(7, 5)]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_complement_and_the_mirror_image_agree_with_the_profile(epsilon: Fraction) -> None:
    with precision(200):
        delta = TWO.delta(epsilon, 80)
        assert (delta + TWO.complement(epsilon, 80)).contains(1)
        decay = (-ball(epsilon)).exp()
        assert TWO.delta(-epsilon, 80).overlaps(1 - decay + decay * delta)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_profile_is_the_difference_of_the_tails(epsilon: Fraction) -> None:
    with precision(200):
        from_tails = TWO.p_above(epsilon, 80) - ball(epsilon).exp() * TWO.q_above(epsilon, 80)
        assert TWO.delta(epsilon, 80).overlaps(from_tails)
        assert (TWO.p_above(epsilon, 80) + TWO.p_to(epsilon, 80)).contains(1)
        assert (TWO.p_from(epsilon, 80) + TWO.p_before(epsilon, 80)).contains(1)


def test_the_tails_jump_at_the_atoms_and_nowhere_else() -> None:
    """Both coordinates at their largest loss have probability 1/4 under P; one largest, one least: 1/4 e^-s."""
    assert TWO.is_atom(Fraction(3, 2))
    assert TWO.is_atom(Fraction(1, 2))
    assert not TWO.is_atom(Fraction(1))
    with precision(200):
        assert (TWO.p_from(Fraction(3, 2), 80) - TWO.p_above(Fraction(3, 2), 80)).contains(arb(1) / 4)
        jump = TWO.q_from(Fraction(1, 2), 80) - TWO.q_above(Fraction(1, 2), 80)
        assert jump > 0
        assert (TWO.q_from(Fraction(1), 80) - TWO.q_above(Fraction(1), 80)).contains(0)
    assert 1.5 in TWO.atoms()
    assert TWO.is_smooth


def test_beyond_the_largest_loss_nothing_is_left() -> None:
    assert TWO.total == Fraction(3, 2)
    assert TWO.delta(Fraction(2), 60) == 0
    found, _ = TWO.enclosed_delta(Fraction(1, 3), 60)
    assert found.overlaps(TWO.delta(Fraction(1, 3), 60))


def test_the_lattice_holds_the_profile() -> None:
    bounds = LaplaceBounds(((Fraction(1), 1), (Fraction(1, 2), 1)))
    for epsilon in EPSILONS:
        with precision(200):
            assert bounds.delta(epsilon).overlaps(TWO.delta(epsilon, 80))
        assert bounds.delta(epsilon).rad() < 1e-3


def test_refinement_stops_at_the_bits_or_gives_up() -> None:
    assert refined(lambda working: arb(1) / 3, 20).rel_accuracy_bits() >= 20
    with pytest.raises(PrecisionExhausted):
        refined(lambda working: arb(1, 0.5), 20)
