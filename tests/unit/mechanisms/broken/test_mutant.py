"""What a variant is made of: formulas in rationals where they suffice, and a mechanism that claims too much."""

from fractions import Fraction

import numpy as np
import pytest

from dpverdict.balls import Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken import GAUSSIAN, by_name
from dpverdict.mechanisms.broken.mutant import Infinite, Mutant, evaluate, exact_root, scale, times


def test_a_formula_is_exact_where_its_roots_are() -> None:
    def formula(d, mu, root):
        return (d + root(d)) / (4 * mu * mu)

    assert evaluate(formula, 9, Fraction(1, 2)).rational == 12
    irrational = evaluate(formula, 2, Fraction(1, 2))
    assert irrational.rational is None
    assert irrational.nearest() == pytest.approx(2 + 2**0.5)
    assert exact_root(49) == 7


def test_a_scale_is_rounded_up() -> None:
    found = scale(lambda d, mu, root: Fraction(1, 3), 1, Fraction(1))
    assert Fraction(found) ** 2 >= Fraction(1, 3) > Fraction(np.nextafter(found, 0)) ** 2
    assert scale(lambda d, mu, root: Fraction(0), 1, Fraction(1)) == 0.0


def test_products_exist_in_every_field() -> None:
    assert times(Fraction(2, 3), Fraction(3, 4)) == Fraction(1, 2)
    assert times(Fraction(2, 3), ball(3)).contains(2)


def test_an_infinite_parameter_is_no_number() -> None:
    def infinite(d, mu, root):
        raise Infinite

    planted = Mutant(
        name="X", title="", source="", formula="", build=by_name("M2").build, squared=infinite, least_dim=2
    )
    assert planted.true_mu_squared(2, 1) is None
    assert planted.true_mu(2, 1) == float("inf")
    assert planted.refutable(2)
    with pytest.raises(InvalidValue, match="dim"):
        planted.make(1, 1)


def test_every_variant_has_a_name_of_its_own_and_says_what_is_wrong() -> None:
    assert len({mutant.name for mutant in GAUSSIAN}) == len(GAUSSIAN)
    for mutant in GAUSSIAN:
        assert mutant.title
        assert mutant.source
        assert mutant.formula


def test_a_variant_releases_what_it_states_and_refuses_what_it_cannot() -> None:
    made = by_name("M2").make(3, 1)
    assert made.record_shape == (3,)
    records = made.check_records([[0, 1, 0.5]])
    assert made.statistic(records).tolist() == [0, 1, 0.5, 1]  # the sums and the count
    with pytest.raises(InvalidValue, match="dataset entry"):
        made.check_records([[0, 2, 0]])
    assert isinstance(by_name("M2").true_mu_squared(3, 1), Real)
