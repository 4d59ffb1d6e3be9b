"""The loss of two finite laws: its curves against sums written out, exactly and in mpmath, and its errors."""

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.composition import compose, explain_composition
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Enclosure, exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.exponential_sums import ExponentialSum

F = Fraction
DIGITS = 60
EPSILONS = ("-3", "-0.7", "0", "0.1", "0.5", "1.3", "4")


def laws(rng: np.random.Generator, size: int) -> tuple[list[Fraction], list[Fraction]]:
    """Two random laws, with zeros and ties."""
    made = []
    for _ in range(2):
        weights = rng.integers(0, 6, size)
        weights[int(rng.integers(0, size))] += 1
        made.append([F(int(w), int(weights.sum())) for w in weights])
    return made[0], made[1]


def mp(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def holds(found: Enclosure, truth: Any, width: float = 1e-15) -> bool:
    """The truth to 50 digits, in an enclosure that is no wider than that, relatively."""
    if mpmath.isinf(truth):
        return found.lower == found.upper == np.inf
    exact = F(mpmath.nstr(truth, 50))
    inside = found.lower <= exact + abs(exact) * F(1, 10**45) and exact - abs(exact) * F(1, 10**45) <= found.upper
    return bool(inside and found.upper - found.lower <= width * abs(float(truth)))


def delta(p: list[Fraction], q: list[Fraction], epsilon: str) -> mpmath.mpf:
    e = mpmath.exp(mp(exactly(epsilon)))
    return mpmath.fsum(max(mp(a) - e * mp(b), 0) for a, b in zip(p, q, strict=True))


def beta(p: list[Fraction], q: list[Fraction], alpha: Fraction) -> Fraction:
    """By linear programming over all randomised tests: at most one outcome is randomised, after any set of others."""
    best = F(1)
    size = range(len(p))
    for chosen in itertools.product((0, 1), repeat=len(p)):
        level, error = sum(q[i] for i in size if chosen[i]), 1 - sum(p[i] for i in size if chosen[i])
        if level > alpha:
            continue
        best = min(best, error)
        for i in size:
            if not chosen[i] and q[i]:
                part = min(F(1), (alpha - level) / q[i])
                best = min(best, error - part * p[i])
    return best


def test_every_curve_is_the_sum_written_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with mpmath.workdps(DIGITS):
        for _ in range(40):
            p, q = laws(rng, int(rng.integers(1, 7)))
            loss = FiniteLoss(p, q)
            for epsilon in EPSILONS:
                truth = delta(p, q, epsilon)
                assert holds(loss.certified_delta(epsilon), truth), (p, q, epsilon)
            for alpha in (F(0), F(1, 100), F(1, 7), F(1, 2), F(9, 10), F(1)):
                assert loss.certified_beta(alpha).contains(beta(p, q, alpha)), (p, q, alpha)
            for order in (F(1, 2), F(1), F(2), F(7, 2)):
                assert holds(loss.certified_renyi(order), renyi(p, q, order)), (p, q, order)


def renyi(p: list[Fraction], q: list[Fraction], order: Fraction) -> Any:
    if order >= 1 and any(a and not b for a, b in zip(p, q, strict=True)):
        return mpmath.inf
    pairs = [(mp(a), mp(b)) for a, b in zip(p, q, strict=True) if a and b]
    if p == q:
        return mpmath.mpf(0)
    if order == 1:
        return mpmath.fsum(a * mpmath.log(a / b) for a, b in pairs)
    total = mpmath.fsum(a ** mp(order) * b ** mp(1 - order) for a, b in pairs)
    return mpmath.log(total) / mp(order - 1) if total else mpmath.inf


def test_epsilon_is_where_the_profile_falls_to_delta(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        p, q = laws(rng, int(rng.integers(2, 7)))
        loss = FiniteLoss(p, q)
        for level in ("0", "0.01", "0.2", "0.6", "1"):
            found = loss.certified_epsilon(level)
            infinite = sum((a for a, b in zip(p, q, strict=True) if not b), F(0))
            if infinite > F(level):
                assert found.lower == np.inf
                continue
            assert found.upper - found.lower <= 1e-15 * found.upper
            assert loss.certified_delta(found.upper).lower <= F(level)
            if found.lower > 0:
                assert loss.certified_delta(found.lower).upper >= F(level)


def test_ties_are_decided_and_not_rounded() -> None:
    third = F(1, 3)
    loss = FiniteLoss([third, third, third], [third, F(1, 6), F(1, 2)])
    zero = loss.certified_delta(0)
    assert zero.contains(F(1, 6))
    assert FiniteLoss([third] * 3, [third] * 3).certified_delta(0).upper == 0
    e = ExponentialSum.exp(F(1))
    response = FiniteLoss.of_weights([e, ExponentialSum.of(1)], [ExponentialSum.of(1), e])
    assert (response.largest_loss, response.certified_delta(1).upper) == (1, 0)
    assert response.certified_delta("0.999999999999999999999").lower > 0


def test_a_law_given_by_weights_is_that_of_its_quotients() -> None:
    e = ExponentialSum.exp(F(1, 2))
    weighed = FiniteLoss.of_weights([e, ExponentialSum.of(2)], [ExponentialSum.of(3), e])
    with mpmath.workdps(DIGITS):
        x = mpmath.exp(mpmath.mpf(1) / 2)
        for epsilon in EPSILONS:
            at = mpmath.exp(mp(exactly(epsilon)))
            truth = max(x / (x + 2) - at * 3 / (3 + x), 0) + max(2 / (x + 2) - at * x / (3 + x), 0)
            assert holds(weighed.certified_delta(epsilon), truth)


def test_the_tails_count_an_atom_below_itself() -> None:
    loss = FiniteLoss([F(1, 2), F(1, 4), F(1, 4)], [F(1, 4), F(1, 4), F(1, 2)])
    tails = loss.tails(np.array([-5.0, 0.0, float(np.log(2)), 5.0]))
    with mpmath.workdps(DIGITS):
        below_log_2 = float(np.log(2)) < mpmath.log(2)
    assert tails.p_above.tolist() == [1.0, 0.5, 0.5 if below_log_2 else 0.0, 0.0]
    assert tails.q_below.tolist() == [0.0, 0.75, 0.75 if below_log_2 else 1.0, 1.0]


def test_the_composition_of_finite_laws_is_their_product() -> None:
    p, q = [F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]
    r, s = [F(1, 2), F(1, 3), F(1, 6)], [F(1, 3), F(1, 3), F(1, 3)]
    one, other = FiniteLoss(p, q), FiniteLoss(r, s)
    composed = compose(one, one, other)
    assert isinstance(composed, FiniteLoss)
    assert "sums over the outcomes" in explain_composition(composed)
    product = [[a * b * c for a, b, c in itertools.product(*three)] for three in ((p, p, r), (q, q, s))]
    with mpmath.workdps(DIGITS):
        for epsilon in EPSILONS:
            assert holds(composed.certified_delta(epsilon), delta(product[0], product[1], epsilon))


def test_the_example_in_which_adding_is_worse_than_removing() -> None:
    """Two sampled steps of binary randomised response with odds 3 and probability 1/2, at exp(epsilon) = 4/3."""
    p, q = [F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]
    mixed = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    level = F(4, 3)

    def at(one: list[Fraction], other: list[Fraction]) -> Fraction:
        return sum(
            (
                max(a * b - level * c * d, F(0))
                for (a, c), (b, d) in itertools.product(zip(one, other, strict=True), repeat=2)
            ),
            F(0),
        )

    remove, add = compose(*[FiniteLoss(mixed, q)] * 2), compose(*[FiniteLoss(q, mixed)] * 2)
    assert (at(mixed, q), at(q, mixed)) == (F(1, 6), F(11, 48))
    for loss, truth in ((remove, F(1, 6)), (add, F(11, 48))):
        below, above = (
            loss.certified_delta(f"{epsilon}") for epsilon in ("0.28768207245178096", "0.28768207245178086")
        )
        assert below.lower <= truth <= above.upper
    many = compose(*[FiniteLoss(p, q)] * 1100)  # too many outcomes to multiply out
    assert isinstance(many, BoundedLoss)
    assert many.is_certified


def test_rho_is_the_largest_slope_of_the_divergence() -> None:
    loss = FiniteLoss(["0.001", "0.999"], ["0.0001", "0.9999"])
    rho = loss.least_rho()
    orders = [F(k, 8) for k in range(9, 400)]
    assert all(loss.certified_renyi(order).lower / float(order) <= rho.upper for order in orders)
    assert rho.upper <= rho.lower * (1 + 2e-6)
    assert rho.lower > loss.renyi(1) * 1.01  # here the largest slope is not at order 1
    assert FiniteLoss([1, 0], ["1/2", "1/2"]).least_rho().upper > 0
    assert FiniteLoss(["1/2", "1/2"], [1, 0]).least_rho().lower == np.inf
    assert FiniteLoss([1], [1]).least_rho().upper == 0


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.1] * 10, [0.1] * 10, "the sum of p="),
        (["0.5", "0.4"], ["0.5", "0.5"], "the sum of p='0.9' must be exactly 1"),
        (["1.5", "-0.5"], ["0.5", "0.5"], r"p\[1\]='-0.5' must be >= 0"),
        (["0.5", "0.5"], [1], "p and q='2 and 1 numbers' must be of one length"),
        ([], [], "p=.* must be a sequence of probabilities"),
        ([float("nan"), 1], [1, 0], r"p\[0\]=nan must be"),
    ],
)
def test_what_is_no_law_is_refused(p: Any, q: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        FiniteLoss(p, q)


def test_weights_that_are_no_law_are_refused() -> None:
    one, none = ExponentialSum.of(1), ExponentialSum.of(0)
    for p, q in (([one], [one, one]), ([none], [one]), ([one.times(-1)], [one])):
        with pytest.raises(InvalidValue):
            FiniteLoss.of_weights(p, q)


def test_a_planted_error_in_the_profile_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    original = FiniteLoss._above
    monkeypatch.setattr(FiniteLoss, "_above", lambda self, level: max(original(self, level) - 1, 0))
    with pytest.raises(AssertionError):
        test_every_curve_is_the_sum_written_out(seed)


def test_a_planted_error_in_the_order_of_outcomes_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    original = FiniteLoss._set

    def reversed_atoms(self: Any, *weights: Any) -> None:
        original(self, *weights)
        self._atoms = self._atoms[::-1]

    monkeypatch.setattr(FiniteLoss, "_set", reversed_atoms)
    with pytest.raises(AssertionError):
        test_every_curve_is_the_sum_written_out(seed)
