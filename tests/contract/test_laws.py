"""What every law of noise obeys: its density, its tails, its draws and its privacy loss are those of one law.

The laws are run over as they are registered: a new one is tested without a change here. The checks are functions, so
that planted faults can be shown to break them. What is integrated is integrated in float64, piece by piece.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
import pytest
import scipy
from _pytest.mark import ParameterSet
from numpy.polynomial.legendre import leggauss

from dpverdict.audit.implementation.tap.tap_verdict import TapStatus
from dpverdict.audit.implementation.tap.tapped_runs import tap_runs
from dpverdict.audit.laws import registry
from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.laws.discrete_gaussian import DiscreteGaussian
from dpverdict.audit.laws.exact_samplers.random_words import words_of
from dpverdict.audit.laws.exponential import Exponential
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.geometric import Geometric
from dpverdict.audit.laws.gumbel import Gumbel
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.laws.registry import LAWS, law_named
from dpverdict.audit.laws.two_sided_geometric import LONGEST_MOVE, TwoSidedGeometric
from dpverdict.audit.laws.uniform import Uniform
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.lattice.custom import additive_noise_loss
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array


@final
class Logistic(Law):
    """A law that is not among the registered ones: the density 1/(4 cosh(z/2)^2). This class is all that it takes."""

    name = "logistic"
    symmetric = True
    scipy_name = "logistic"
    numpy_name = "logistic"

    def log_weight(self, z: Array) -> Array:
        return -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z)))

    def log_total(self) -> float:
        return 0.0

    def distribution(self, z: Array) -> Array:
        return np.asarray(scipy.special.expit(z))

    def survival(self, z: Array) -> Array:
        return np.asarray(scipy.special.expit(-z))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.logistic(size=shape)

    def losses(self, moves: Moves) -> Sequence[PrivacyLoss]:
        noise = scipy.stats.logistic()
        return [
            compose(*[additive_noise_loss(noise, float(move), relative_error=1e-13)] * count)
            for move, count in moves.items()
        ]

    def largest_loss(self, moves: Moves) -> Fraction:
        return sum((move * count for move, count in moves.items()), Fraction(0))


EXAMPLES = [law for kind in (*LAWS, Logistic) for law in kind.examples()]
REACH = 80  # in units of the scale; beyond, every real law here has a mass below 1e-30
NODES, WEIGHTS = leggauss(12)
SAMPLES = 100_000
ERROR_OF_DRAWS = 1e-9  # the probability with which a correct sampler fails its check
EPSILONS = (0.0, 0.1, 0.4, 1.0, 2.5)
ACCURATE = 1e-11

every_law = pytest.mark.parametrize("law", EXAMPLES, ids=lambda law: law.describe())


def cells(law: Law, points: Sequence[float] = ()) -> tuple[Array, Array]:
    """Ends of the pieces that are integrated; of a law on the whole numbers, the pieces lie about these."""
    if law.on_whole_numbers:
        reach = 1
        while max(float(law.survival(np.array(reach))), float(law.distribution(np.array(-reach)))) > 1e-30:
            reach *= 2
        ends = np.arange(-reach, reach + 2) - 0.5
    else:
        ends = np.unique(np.concatenate([np.arange(-16 * REACH, 16 * REACH + 1) / 16, np.asarray(points)]))
    return ends[:-1], ends[1:]


def integrals(law: Law, function: Callable[[Array], Array], points: Sequence[float] = ()) -> Array:
    """The integral over every piece, or the value at the whole number in it."""
    low, high = cells(law, points)
    if law.on_whole_numbers:
        return function((low + high) / 2)
    half = (high - low)[:, None] / 2
    values: Array = (function(low[:, None] + half * (1 + NODES)) * half) @ WEIGHTS
    return values


def density(law: Law, z: Array) -> Array:
    return np.exp(law.log_density(z))


def check_mass(law: Law) -> None:
    """The density integrates to 1."""
    assert abs(math.fsum(integrals(law, lambda z: density(law, z))) - 1) < ACCURATE


def check_tails(law: Law) -> None:
    """Both tails are integrals of the density, and small ones are as accurate as large ones."""
    masses = integrals(law, lambda z: density(law, z))
    low, high = cells(law)
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    for found, expected in ((law.distribution(high), below), (law.survival(low), above)):
        assert np.abs(found - expected).max() < ACCURATE
        assert (np.diff(found) * (1 if expected is below else -1) >= 0).all()
    if not isinstance(law, Uniform):  # whose tails do not become small before they are 0
        small = (above > 1e-25) & (above < 1e-6)
        assert np.abs(law.survival(low)[small] / above[small] - 1).max(initial=0.0) < 1e-8
        small = (below > 1e-25) & (below < 1e-6)
        assert np.abs(law.distribution(high)[small] / below[small] - 1).max(initial=0.0) < 1e-8
    if law.on_whole_numbers:
        assert (law.survival(high) == law.survival(high - 0.5)).all()  # between two whole numbers it is constant


def check_values(law: Law, drawn: Array) -> None:
    """The distance of the distribution functions of draws and of the law is one that chance explains.

    It exceeds t with a probability of at most 2 exp(-2 n t^2), whatever the law is (Massart 1990).
    """
    values, counts = np.unique(drawn, return_counts=True)
    up_to = np.cumsum(counts) / drawn.size
    before = up_to - counts / drawn.size
    left = law.distribution(values - 1) if law.on_whole_numbers else law.distribution(values)
    distance = max(np.abs(up_to - law.distribution(values)).max(), np.abs(before - left).max())
    assert distance <= math.sqrt(math.log(2 / ERROR_OF_DRAWS) / (2 * drawn.size))
    if law.on_whole_numbers:
        assert (values == np.round(values)).all()


def check_draws(law: Law, seed: int) -> None:
    """Draws have the law, and their shape is the one that was asked for."""
    drawn = law.draw((SAMPLES // 100, 100), np.random.default_rng([seed, 11]))
    assert (drawn.shape, drawn.dtype) == ((SAMPLES // 100, 100), np.dtype(np.float64))
    check_values(law, drawn.ravel())


def hockey_stick(law: Law, shift: Fraction, epsilon: float, sign: int) -> float:
    """The integral of the positive part of f(z) - exp(epsilon) f(z - sign shift)."""
    move = sign * float(shift)

    def gap(z: Array) -> Array:
        return density(law, z) - math.exp(epsilon) * density(law, z - move)

    points = np.unique(np.concatenate([np.arange(-16 * REACH, 16 * REACH + 1) / 16 + part for part in (0.0, move)]))
    if not law.on_whole_numbers:  # pieces end where the integrand changes its sign
        low, high = points[:-1] + 1e-12, points[1:] - 1e-12
        changes = gap(low) * gap(high) < 0
        low, high, rising = low[changes], high[changes], gap(low[changes]) < 0
        for _ in range(60):
            middle = (low + high) / 2
            left = (gap(middle) < 0) == rising
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        points = np.concatenate([points, low])
    return math.fsum(integrals(law, lambda z: np.maximum(gap(z), 0.0), points.tolist()))


def shifts(law: Law) -> tuple[Fraction, ...]:
    return (Fraction(1), Fraction(4)) if law.on_whole_numbers else (Fraction(1, 4), Fraction(3, 2))


def check_loss(law: Law) -> None:
    """delta(epsilon) is the larger of the hockey-stick divergences of both orders."""
    for shift in shifts(law):
        loss = law.loss(shift)
        low, high = loss.delta_bounds(np.array(EPSILONS))
        for i, epsilon in enumerate(EPSILONS):
            expected = max(hockey_stick(law, shift, epsilon, sign) for sign in (1, -1))
            assert low[i] - ACCURATE <= expected <= high[i] + ACCURATE, (shift, epsilon)
            assert high[i] - low[i] < 1e-5  # the bounds say something


def check_composition(law: Law) -> None:
    """The loss of two draws together is the composition of the loss of each."""
    first, second = shifts(law)[0], 2 * shifts(law)[0]
    if law.why_disjoint(second) is not None:
        return
    together = compose(*law.losses({first: 2, second: 1}))
    apart = compose(law.loss(first), law.loss(first), law.loss(second))
    bounds = [loss.delta_bounds(np.array(EPSILONS)) for loss in (together, apart)]
    for (low, _), (_, high) in itertools.permutations(bounds):
        assert (low <= high + ACCURATE).all()


def check_exponentials(law: Law) -> None:
    """Where the distribution function is said to be a sum of exponentials, it is, on that side of 0."""
    z = np.linspace(0.01, 20, 400)
    for side, above in ((z, True), (-z, False)):
        terms = law.as_exponentials(above=above)
        if terms is None:
            assert law.as_exponentials(above=not above) is None
            continue
        total = np.sum([float(c) * np.exp(r * side) for r, c in terms.items()] or [0.0 * side], axis=0)
        assert np.abs(total - law.distribution(side)).max() < 1e-15
        assert float(law.distribution(np.array(0.0))) == float(sum((law.as_exponentials(above=True) or {}).values()))


def log_ratios(law: Law, shift: Fraction, reach: float) -> Array:
    grid = np.arange(-round(reach), round(reach) + 1.0)
    z = grid if law.on_whole_numbers else np.unique(np.concatenate([grid / 8, grid / 8 + float(shift)]))
    with np.errstate(invalid="ignore"):
        ratios = np.abs(law.log_density(z) - law.log_density(z - float(shift)))
    return ratios[~np.isnan(ratios)]


def check_largest_loss(law: Law) -> None:
    """The largest loss is that of the densities, and linear; where it is infinite, none is stated."""
    for shift in shifts(law):
        largest = law.largest_loss({shift: 1})
        near, far = (float(log_ratios(law, shift, reach).max()) for reach in (60, 600))
        if largest is None:
            assert far == math.inf or far > 1.5 * near
        else:
            assert far == pytest.approx(float(largest), rel=1e-9)
            assert law.largest_loss({2 * shift: 1}) == law.largest_loss({shift: 2}) == 2 * largest


def check_rho(law: Law) -> None:
    """No Renyi divergence of order a exceeds rho a; that of order 1 attains it."""
    for shift in shifts(law):
        rho, move = law.rho({shift: 1}), float(shift)
        if rho is None:
            continue
        for order in (1.0, 1.5, 3.0):

            def term(z: Array, order: float = order, move: float = move) -> Array:
                with np.errstate(invalid="ignore"):
                    p, q = law.log_density(z), law.log_density(z - move)
                    value = np.exp(p) * (p - q) if order == 1 else np.exp(order * p + (1 - order) * q)
                return np.nan_to_num(value, nan=0.0)

            total = math.fsum(integrals(law, term))
            divergence = total if order == 1 else math.log(total) / (order - 1)
            assert divergence <= float(rho) * order * (1 + 1e-9)
            if order == 1:
                assert divergence == pytest.approx(float(rho), rel=1e-9)


CHECKS: list[Callable[[Law], None]] = [
    check_mass,
    check_tails,
    check_loss,
    check_composition,
    check_exponentials,
    check_largest_loss,
    check_rho,
]


def case(law: Law, check: Callable[[Law], None], *others: Any) -> ParameterSet:
    """The composition of losses that are known between two numbers takes minutes."""
    slow = [pytest.mark.slow] if isinstance(law, Gumbel) and check is check_composition else []
    name = "-".join(getattr(one, "__name__", "") for one in (*others, check))
    return pytest.param(law, check, *others, marks=slow, id=f"{law.describe()}-{name}")


@pytest.mark.parametrize(("law", "check"), [case(law, check) for law in EXAMPLES for check in CHECKS])
def test_a_law_is_one_law(law: Law, check: Callable[[Law], None]) -> None:
    check(law)


@every_law
def test_draws_have_the_law(law: Law, seed: int) -> None:
    check_draws(law, seed)


@pytest.mark.parametrize("law", [Gaussian(), Laplace(), TwoSidedGeometric("0.3")], ids=lambda law: law.describe())
def test_draws_from_words_have_the_law_too(law: Gaussian | Laplace | TwoSidedGeometric, seed: int) -> None:
    drawn = law.draw_from_words(words_of(np.random.default_rng([seed, 14])), SAMPLES)
    assert drawn.shape == (SAMPLES,)
    check_values(law, drawn.astype(np.float64))
    with pytest.raises(AssertionError):
        check_values(law, np.round(1.25 * drawn) if law.on_whole_numbers else 1.25 * drawn)


@every_law
def test_what_a_law_says_of_its_shape_is_so(law: Law, seed: int) -> None:
    z = np.linspace(-7, 7, 57)
    assert law.symmetric == np.allclose(law.log_density(z), law.log_density(-z), rtol=1e-12)
    x, y = np.meshgrid([0.5, 0.9, 2.0], [0.9, 1.5])
    turned = [(x + y) / math.sqrt(2), (x - y) / math.sqrt(2)]
    joint = [law.log_weight(np.abs(one)) + law.log_weight(np.abs(two)) for one, two in ((x, y), turned)]
    if not law.on_whole_numbers:  # a turned point is no point of whole numbers
        assert law.spherical == np.allclose(*joint)
    difference = law.law_of_difference()
    if difference is not None:
        first, second = (law.draw((SAMPLES,), np.random.default_rng([seed, i])) for i in (12, 13))
        check_values(difference, first - second)


@every_law
def test_scipy_has_the_same_law_under_the_stated_name(law: Law) -> None:
    if law.scipy_name is None:
        return
    kind: Any = getattr(scipy.stats, law.scipy_name)
    shapes = [0.3] * kind.numargs
    found = type(law).of_scipy(*shapes)
    assert found is not None
    z = np.arange(-6.0, 7.0) if law.on_whole_numbers else np.linspace(-6, 6, 50)
    frozen = kind(*shapes)
    expected = (frozen.logpmf if law.on_whole_numbers else frozen.logpdf)(z + law.scipy_origin)
    assert np.allclose(found.log_density(z), expected, rtol=1e-12)


@every_law
def test_a_law_is_found_by_its_name_and_survives_a_copy(law: Law) -> None:
    if type(law) is not Logistic:
        assert law_named(law.name) is type(law)
        assert pickle.loads(pickle.dumps(law)) == law
        assert hash(pickle.loads(pickle.dumps(law))) == hash(law)
    assert law.name in law.describe()


def test_names_are_unique_and_others_are_refused() -> None:
    for names in ([law.name for law in LAWS], [law.scipy_name for law in LAWS if law.scipy_name]):
        assert len(set(names)) == len(names)
    with pytest.raises(InvalidValue, match="one of gaussian"):
        law_named("logistic")


def test_a_loss_that_is_not_there_is_said_not_to_be() -> None:
    assert isinstance(Uniform().loss(1), DisjointLoss)
    assert isinstance(DiscreteGaussian(4).loss("0.5"), DisjointLoss)
    with pytest.raises(InvalidValue, match="at most 256"):
        TwoSidedGeometric(1).loss(LONGEST_MOVE + 1)
    for shift in (0, -1):
        with pytest.raises(InvalidValue, match="shift"):
            Laplace().loss(shift)
    for kind in (Geometric, TwoSidedGeometric, DiscreteGaussian):
        with pytest.raises(InvalidValue, match="> 0"):
            kind(0)
    assert Geometric.of_scipy(1.0) is None


# planted faults ------------------------------------------------------------------------------------------------------


class Copy(Law):
    """Another law, as it is; what derives from it changes one thing."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self.on_whole_numbers = law.on_whole_numbers  # type: ignore[misc]  # of this copy

    def log_weight(self, z: Array) -> Array:
        return self.law.log_weight(z)

    def log_total(self) -> float:
        return self.law.log_total()

    def distribution(self, z: Array) -> Array:
        return self.law.distribution(z)

    def survival(self, z: Array) -> Array:
        return self.law.survival(z)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return self.law.draw(shape, rng)

    def losses(self, moves: Moves) -> Sequence[PrivacyLoss]:
        return self.law.losses(moves)

    def why_disjoint(self, shift: Fraction) -> str | None:
        return self.law.why_disjoint(shift)

    def as_exponentials(self, *, above: bool) -> Mapping[int, Fraction] | None:
        return self.law.as_exponentials(above=above)

    def largest_loss(self, moves: Moves) -> Fraction | None:
        return self.law.largest_loss(moves)

    def rho(self, moves: Moves) -> Fraction | None:
        return self.law.rho(moves)


class WithoutItsConstant(Copy):
    def log_total(self) -> float:
        return self.law.log_total() + 1e-6


class WithAnotherScaleInItsDensity(Copy):
    """The density of a law whose scale is by a fifth smaller: it integrates to 1."""

    def log_weight(self, z: Array) -> Array:
        return self.law.log_weight(1.25 * z)

    def log_total(self) -> float:
        return math.log(math.fsum(integrals(self.law, lambda z: np.exp(self.log_weight(z)))))


class WithInaccurateTails(Copy):
    def survival(self, z: Array) -> Array:
        return 1 - self.law.distribution(z)


class WithWiderDraws(Copy):
    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        drawn = self.law.draw(shape, rng)
        return np.round(1.25 * drawn) if self.on_whole_numbers else 1.05 * drawn


class WithTheLossOfAShorterMove(Copy):
    def losses(self, moves: Moves) -> Sequence[PrivacyLoss]:
        if self.on_whole_numbers:
            return self.law.losses({max(Fraction(1), move - 1): count for move, count in moves.items()})
        return self.law.losses({move * Fraction(99, 100): count for move, count in moves.items()})


class ThatForgetsADraw(Copy):
    def losses(self, moves: Moves) -> Sequence[PrivacyLoss]:
        return self.law.losses(dict.fromkeys(moves, 1))


class WithHalfTheLargestLoss(Copy):
    def largest_loss(self, moves: Moves) -> Fraction | None:
        largest = self.law.largest_loss(moves)
        return largest / 2 if largest is not None else Fraction(1)


class WithOtherExponentials(Copy):
    def as_exponentials(self, *, above: bool) -> Mapping[int, Fraction]:
        return {0: Fraction(1), -1: Fraction(-2, 3)} if above else {1: Fraction(1, 3)}


class WithHalfTheRho(Copy):
    def rho(self, moves: Moves) -> Fraction | None:
        rho = self.law.rho(moves)
        return None if rho is None else rho / 2


FAULTS: dict[type[Copy], Callable[[Law], None]] = {
    WithoutItsConstant: check_mass,
    WithAnotherScaleInItsDensity: check_tails,
    WithTheLossOfAShorterMove: check_loss,
    ThatForgetsADraw: check_composition,
    WithHalfTheLargestLoss: check_largest_loss,
}


@pytest.mark.parametrize(
    ("law", "check", "fault"),
    [case(law, check, fault) for law in [kind.examples()[len(kind.examples()) // 2] for kind in LAWS]
     for fault, check in FAULTS.items()],
)  # fmt: skip
def test_a_planted_fault_is_caught(law: Law, check: Callable[[Law], None], fault: type[Copy]) -> None:
    check(Copy(law))
    if fault is WithAnotherScaleInItsDensity:
        check_mass(fault(law))
    with pytest.raises(AssertionError):
        check(fault(law))


def test_a_fault_of_some_laws_is_caught(seed: int) -> None:
    with pytest.raises(AssertionError):
        check_tails(WithInaccurateTails(Gaussian()))
    for law in (Laplace(), Exponential()):
        assert law.as_exponentials(above=True) is not None
        check_exponentials(Copy(law))
        with pytest.raises(AssertionError):
            check_exponentials(WithOtherExponentials(law))
    for law in (Gaussian(), DiscreteGaussian("2.5")):
        with pytest.raises(AssertionError):
            check_rho(WithHalfTheRho(law))
    for law in (Gaussian(), Laplace(), DiscreteGaussian(400), TwoSidedGeometric("0.1"), Uniform()):
        check_draws(Copy(law), seed)
        with pytest.raises(AssertionError):
            check_draws(WithWiderDraws(law), seed)


# one file, one line --------------------------------------------------------------------------------------------------


def test_a_law_that_is_registered_is_followed_by_the_tap(monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(data: Array, rng: np.random.Generator) -> float:
        return float(data.sum()) + scipy.stats.logistic.rvs(scale=2, random_state=rng)

    pair = (np.array([1.0]), np.array([0.0]))
    assert tap_runs(noisy, pair, "eps=0.4", seed=1).status is TapStatus.NOT_COVERED
    monkeypatch.setattr(registry, "LAWS", (*LAWS, Logistic))
    assert law_named("logistic") is Logistic
    found = tap_runs(noisy, pair, "eps=0.4", seed=1)
    assert found.status is TapStatus.REFUTED, found.text()
    assert found.epsilon == 0.5
    assert tap_runs(noisy, pair, "eps=0.5", seed=1).status is TapStatus.QUIET
    assert found.score is not None
    assert found.score.describe()["laws"] == [["logistic", 0.0]]
    y = np.array([[-3.0], [0.25], [2.0]])
    expected = scipy.stats.logistic.logpdf(y - 1, scale=2) - scipy.stats.logistic.logpdf(y, scale=2)
    assert found.score(y) == pytest.approx(expected[:, 0])
