"""What a class says of itself is held against what it does: every planted fault costs it its certificate."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.declaration.origin import SEED, declared_here
from dpverdict.audit.exact.declaration.statistic import tried
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.closed_form import gaussian_loss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.runs.audits import Sampling, audit_mechanism
from dpverdict.audit.trials.catalogue import example_of, mechanism_classes
from dpverdict.checks import check_array
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    CorrelatedGaussian,
    Cube,
    DiscreteCorrelatedGaussian,
    EllipticalGaussian,
    FactorizationCounter,
    GaussianDP,
    GaussianMechanism,
    GroupedGaussian,
    LaplaceMechanism,
    PureDP,
    Rank1Gaussian,
    SharedNoise,
    StandardGaussian,
    TreeCounter,
    VoteEllipse,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, FalseClaimWarning
from dpverdict.mechanisms.core.noise import DiagonalNoise
from dpverdict.mechanisms.core.sensitivity import Box, Maximum, alone
from dpverdict.mechanisms.queries.grouped import OptimalGroupedGaussian
from dpverdict.mechanisms.queries.laplace import RealRecords
from dpverdict.numerics.arrays import Array


class Sums(GaussianMechanism):
    """f(X) = sum x_i of records of [0, top]^d with independent noise, and whatever space it declares."""

    name, source = "sums", "a test"
    adjacency = ADD_OR_REMOVE_ONE
    assumptions = ("every record lies in [0, 1]^d",)
    top = 1.0

    def __init__(self, *, dim: int, scale: float, mu: Any, nonzero: int | None = None) -> None:
        self.dim, self.claim = dim, GaussianDP(mu)
        self.noise: Any = SharedNoise(dim=dim, independent_scale=scale)
        self.sensitivity: Any = Cube(dim=dim, nonzero=nonzero)

    @property
    def record_shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        return check_array(dataset, self.record_shape, 0.0, self.top)

    def statistic(self, records: Array) -> Array:
        total: Array = records.sum(axis=0)
        return total


def with_methods(**methods: object) -> Sums:
    """dim 4, scale 2, mu = 1: right as it is, and wrong with the methods given."""
    return type("Planted", (Sums,), methods)(dim=4, scale=2.0, mu=1)  # type: ignore[no-any-return]


def calls(give: Callable[[int], Array]) -> Callable[[Any, Array], Array]:
    count = itertools.count()
    return lambda self, records: records.sum(axis=0) + give(next(count))


# the declared space ---------------------------------------------------------------------------------------------------


def test_a_space_that_is_too_small_is_refuted_by_the_pair_that_moves_further() -> None:
    verdict = certify(Sums(dim=9, scale=1.0, mu=1, nonzero=1))
    assert verdict.status is Status.REFUTED
    assert verdict.witness is not None
    assert verdict.witness.value.contains(9)  # mu^2 of a record of nine ones
    np.testing.assert_array_equal(verdict.witness.pair.dataset, np.ones((1, 9)))


def test_the_audit_says_the_same_as_certify_and_its_exit_code_is_1() -> None:
    sampling = Sampling(samples=1_000, error_probability=1e-6, seed=1)
    for chosen in (None, sampling):
        report = audit_mechanism(Sums(dim=9, scale=1.0, mu=1, nonzero=1), sampling=chosen)
        assert report.status is Status.REFUTED
        assert report.exit_code == 1


def test_a_space_too_small_within_the_claim_bounds_nothing() -> None:
    verdict = certify(Sums(dim=9, scale=1.0, mu=5, nonzero=1))
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason is not None
    assert "further than Sums declares" in verdict.reason


def test_a_space_that_is_too_large_refutes_nothing_that_holds() -> None:
    halved = type("Halved", (Sums,), {"statistic": lambda self, records: records.sum(axis=0) / 2})
    verdict = certify(halved(dim=4, scale=1.0, mu=1))  # declared mu 2, true mu 1
    assert verdict.status is Status.INCONCLUSIVE
    assert certify(halved(dim=4, scale=0.9, mu=1)).status is Status.REFUTED  # true mu 1.1
    assert certify(halved(dim=4, scale=2.0, mu=1)).status is Status.CERTIFIED


@pytest.mark.parametrize(
    "methods",
    [
        {"top": 7.25},  # records reach further than the space says
        {"statistic": lambda self, records: records.sum(axis=0) * (1 + 1e-6)},
        {"statistic": lambda self, records: records.sum(axis=0) * (2.0 if len(records) > 3 else 1.0)},
        {"statistic": lambda self, records: records.sum(axis=0) + (records[1] if len(records) > 1 else 0.0)},
        {"statistic": lambda self, records: records.sum(axis=0) + (records[-1] if len(records) > 1 else 0.0)},
        {"statistic": lambda self, records: np.cumsum(records.sum(axis=0))},
        {"embed": lambda self, dataset: 3.0 * np.asarray(dataset).sum(axis=0)},
    ],
    ids=["range", "little", "count", "second", "last", "mixed", "embed"],
)
def test_a_statistic_that_moves_further_is_refuted(methods: dict[str, object]) -> None:
    assert certify(with_methods(**methods)).status is Status.REFUTED


@pytest.mark.parametrize(
    ("methods", "why"),
    [
        ({"statistic": lambda self, records: 1 / 0}, "ZeroDivisionError"),
        ({"statistic": lambda self, records: exit(0)}, "SystemExit"),
        ({"statistic": lambda self, records: records.sum(axis=0) * np.nan}, "nan"),
        ({"statistic": lambda self, records: records.sum(axis=0)[:-1]}, "no array of 4 numbers"),
        ({"statistic": calls(lambda n: np.full(4, float(n)))}, "differs between two runs"),
        ({"statistic": lambda self, records: records.mean(axis=0) if len(records) else np.ones(3)}, "no array"),
        ({"check_records": lambda self, dataset: check_array(dataset, (4,), 0.0, 0.5)}, "refuses its own"),
    ],
    ids=["raises", "exits", "nan", "shape", "memory", "empty", "refuses"],
)
def test_a_statistic_that_cannot_be_tried_is_inconclusive(methods: dict[str, object], why: str) -> None:
    verdict = certify(with_methods(**methods))
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason is not None
    assert why in verdict.reason


def test_an_instance_with_a_method_of_its_own_is_tried() -> None:
    mechanism: Any = StandardGaussian(dim=3, mu=1, adjacency=REPLACE_ONE)
    assert declared_here(mechanism)
    mechanism.statistic = lambda records: 2 * records.sum(axis=0)
    assert not declared_here(mechanism)
    assert certify(mechanism).status is Status.REFUTED


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("sensitivity", Cube(dim=9, nonzero=1), Status.INCONCLUSIVE),  # the claim stands, but not by this declaration
        ("noise", SharedNoise(dim=9, independent_scale=0.25), Status.REFUTED),
        ("noise", SharedNoise(dim=9, independent_scale=4.0), Status.CERTIFIED),
        ("dim", 9, Status.CERTIFIED),
        ("name", "another name", Status.CERTIFIED),
        ("claim", GaussianDP("0.5"), Status.REFUTED),
    ],
)
def test_an_instance_with_a_value_of_its_own_is_tried(name: str, value: Any, status: Status) -> None:
    """What is certified of a class is so of the values that its constructor chose, and of no others."""
    mechanism: Any = StandardGaussian(dim=9, mu=1, adjacency=ADD_OR_REMOVE_ONE)
    setattr(mechanism, name, value)
    verdict = certify(mechanism)
    assert verdict.status is status
    assert declared_here(mechanism) is (name not in ("sensitivity", "noise"))
    if status is Status.CERTIFIED:
        assert bool(verdict.on_trust) is not declared_here(mechanism)


class Bare(AdditiveMechanism):
    """Sums with independent noise of a class that knows no likelihood ratio."""

    name, source = "bare", "a test"
    adjacency = ADD_OR_REMOVE_ONE
    assumptions = ("every record lies in [0, 1]^d",)

    def __init__(self, *, dim: int, scale: float) -> None:
        self.dim, self.claim = dim, GaussianDP(1)
        self.noise = SharedNoise(dim=dim, independent_scale=scale)
        self.sensitivity = Cube(dim=dim)

    @property
    def record_shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        return check_array(dataset, self.record_shape, 0.0, 1.0)

    def statistic(self, records: Array) -> Array:
        total: Array = records.sum(axis=0)
        return total


class Boasting(Bare):
    """The same, whose likelihood ratio raises."""

    def likelihood_direction(self, pair: object) -> object:
        raise RuntimeError("planted")


@pytest.mark.parametrize("made", [Bare, Boasting])
@pytest.mark.parametrize("claim", [GaussianDP(1), PureDP(1), ApproximateDP(1, "1e-6"), ZeroConcentratedDP("0.5")])
@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_a_witness_needs_no_likelihood_ratio(made: type[Bare], claim: Any, scale: float) -> None:
    verdict = certify(made(dim=4, scale=scale), claim)
    assert verdict.status is Status.REFUTED
    assert verdict.witness is not None
    assert "= (" not in verdict.witness.event
    assert certify(made(dim=4, scale=3.0), GaussianDP(1)).status is Status.CERTIFIED


def test_a_step_of_a_stream_that_moves_further_is_found() -> None:
    class Stream(AdditiveMechanism):
        name, source = "stream", "a test"
        adjacency = REPLACE_ONE
        assumptions = ("every item lies in [0, 1]",)
        doubled: int | None = None
        claim = PureDP(1)

        def __init__(self) -> None:
            counter = TreeCounter(horizon=12, epsilon=1, arity=3, noise="continuous")
            self.dim, self.horizon = 12, 12
            self.counter, self.noise, self.sensitivity = counter, counter.noise, counter.sensitivity

        @property
        def record_shape(self) -> tuple[int, ...]:
            return ()

        def check_records(self, dataset: ArrayLike) -> Array:
            return self.counter.check_records(dataset)

        def statistic(self, records: Array) -> Array:
            items = records.copy()
            if self.doubled is not None and len(items) > self.doubled:
                items[self.doubled] *= 9
            return self.counter.nodes.embed(self.counter.padded(items))[0]

    assert certify(Stream()).status is Status.CERTIFIED
    Stream.doubled = 7
    assert certify(Stream()).status is Status.REFUTED


# the sampler ----------------------------------------------------------------------------------------------------------


def _halved(self: Any, dataset: Array, trials: int, rng: np.random.Generator) -> Array:
    released: Array = self.embed(dataset) + rng.standard_normal((trials, self.dim))
    return released


@pytest.mark.parametrize(
    "methods",
    [
        {"release_many": _halved},
        {"release": lambda self, dataset, rng: _halved(self, dataset, 1, rng)[0]},
        {"__call__": lambda self, dataset, rng: _halved(self, dataset, 1, rng)[0]},
        {"release_many": lambda self, dataset, trials, rng: Sums.release_many(self, dataset, trials, rng) + 1.0},
    ],
    ids=["release_many", "release", "call", "another centre"],
)
def test_a_release_that_is_not_the_declared_one_is_inconclusive(methods: dict[str, object]) -> None:
    verdict = certify(with_methods(**methods))
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason is not None
    assert "random numbers" in verdict.reason


class Scaled(SharedNoise):  # type: ignore[misc]  # final: what a user does all the same
    """Shared noise that is sampled too small."""

    factor = 0.5

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        return self.factor * SharedNoise.add(self, np.zeros_like(statistic), trials, rng) + statistic


class Exact(Scaled):
    factor = 1.0


class Depends(Scaled):
    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        scale = 1.0 + float(statistic.sum())
        return scale * SharedNoise.add(self, np.zeros_like(statistic), trials, rng) + statistic


class Repeated(Scaled):
    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        return np.repeat(SharedNoise.add(self, statistic, 1, rng), trials, axis=0)


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        (Scaled, Status.INCONCLUSIVE, "error probability of 1e-9"),
        (Exact, Status.CERTIFIED, "error probability 1e-9"),
        (Depends, Status.INCONCLUSIVE, "depends on the statistic"),
        (Repeated, Status.INCONCLUSIVE, "the same in two releases"),
    ],
)
def test_noise_of_another_class_is_tested_against_its_declared_law(
    kind: type[Scaled], status: Status, words: str
) -> None:
    mechanism = with_methods()
    mechanism.noise = kind(dim=4, independent_scale=2.0)
    verdict = certify(mechanism)
    assert verdict.status is status
    assert words in verdict.summary()


class Plain:
    """Normal noise of scale 2 that says nothing but how to solve with its covariance."""

    size, scale = 4, 2.0

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        return statistic + self.scale * rng.standard_normal((trials, self.size))

    def solve(self, difference: Array) -> Array:
        return difference / 4.0

    def covariance(self) -> dict[str, Fraction]:
        return {"variance": Fraction(4)}


class Own:
    """The declared worst pair of `Plain`: a record of ones."""

    def __init__(self, mu_squared: int) -> None:
        from dpverdict.balls import Real

        self.value = Real.of(mu_squared)

    def mu_squared(self, noise: object, record: Array, replacement: Array | None = None) -> Any:
        return self.value

    def maximise(self, noise: object) -> Maximum:
        loss = gaussian_loss(self.value)
        return Maximum(loss=loss, datasets=alone(np.ones(4)), description="ones", justification="stated")


def test_noise_and_space_of_the_user_are_tried_by_what_they_say() -> None:
    def made(noise: Plain, mu_squared: int) -> Sums:
        mechanism = with_methods()
        mechanism.noise, mechanism.sensitivity, mechanism.claim = noise, Own(mu_squared), GaussianDP(2)
        return mechanism

    assert certify(made(Plain(), 1)).status is Status.CERTIFIED
    smaller = Plain()
    smaller.scale = 1.5
    assert certify(made(smaller, 1)).status is Status.INCONCLUSIVE
    further = made(Plain(), 1)
    further.top = 3.0
    assert certify(further).status is Status.INCONCLUSIVE  # moves known in float64 only: they refute nothing


# what is left standing ------------------------------------------------------------------------------------------------


def test_a_correct_class_keeps_its_certificate_and_says_first_what_is_taken_on_trust() -> None:
    verdict = certify(Sums(dim=9, scale=3.0, mu=1))
    assert verdict.status is Status.CERTIFIED
    assert verdict.on_trust is not None
    assert "tried on" in verdict.on_trust
    assert verdict.summary().startswith(f"CERTIFIED: Taken on trust: {verdict.on_trust}")
    assert verdict.answer.startswith("Taken on trust: Sums is not, as it stands, of this library")
    report = audit_mechanism(Sums(dim=9, scale=3.0, mu=1), sampling=None)
    assert report.answer.startswith("Taken on trust")
    assert certify(StandardGaussian(dim=9, mu=1, adjacency=REPLACE_ONE)).on_trust is None


def test_a_check_that_bounds_nothing_is_said() -> None:
    loose = with_methods(check_records=lambda self, dataset: np.asarray(dataset, dtype=np.float64).reshape(-1, 4))
    verdict = certify(loose)
    assert verdict.status is Status.CERTIFIED
    assert verdict.on_trust is not None
    assert "accepts numbers of any size" in verdict.on_trust


def test_a_decoding_that_may_forget_what_shows_the_claim_false_refutes_nothing() -> None:
    def scaled(self: object, noisy: Array) -> Array:
        return noisy / 7

    wrong = {"dim": 4, "scale": 1.0, "mu": 1}
    assert certify(type("Rescaled", (Sums,), {"decode": scaled})(**wrong)).status is Status.REFUTED
    for decode in (lambda self, noisy: noisy[:, :1], lambda self, noisy: np.clip(noisy, -50, 50)):
        assert certify(type("Forgets", (Sums,), {"decode": decode})(**wrong)).status is Status.INCONCLUSIVE


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "made",
    [
        lambda: CorrelatedGaussian(dim=3, mu=1),
        lambda: CorrelatedGaussian(dim=4, mu=1, count="withheld"),
        lambda: StandardGaussian(dim=3, mu=1, adjacency=REPLACE_ONE),
        lambda: GroupedGaussian(dim=3, groups=2, mu=1, adjacency=REPLACE_ONE),
        lambda: GroupedGaussian(dim=3, groups=2, mu=1, adjacency=ADD_OR_REMOVE_ONE),
        lambda: OptimalGroupedGaussian(dim=3, groups=2, mu=1),
        lambda: EllipticalGaussian(bounds=[2, 4, 6], mu=1),
        lambda: VoteEllipse(dim=3, mu=1),
        lambda: LaplaceMechanism(dim=3, epsilon=1, norm="l2", adjacency=REPLACE_ONE),
        lambda: LaplaceMechanism(dim=3, epsilon=1, norm="linf", adjacency=REPLACE_ONE),
        lambda: Rank1Gaussian(dim=3, epsilon=1, delta="1e-5", radius=1.0),
        lambda: DiscreteCorrelatedGaussian(dim=3, rho="0.5"),
        lambda: TreeCounter(horizon=12, epsilon=1, arity=3),
        lambda: TreeCounter(horizon=12, epsilon=1, arity=3, noise="continuous"),
        lambda: FactorizationCounter(horizon=8, kind="binary", noise="gaussian", claim="mu=1"),
        lambda: FactorizationCounter(horizon=8, kind="sqrt-toeplitz", noise="laplace", claim="eps=1"),
    ],
)
def test_what_is_declared_here_is_true(made: Callable[[], AdditiveMechanism]) -> None:
    """No mechanism of this library moves further than it declares, and the declared pair moves as far."""
    mechanism = made()
    worst = worst_case(mechanism)
    found = tried(mechanism, worst.bounds, SEED)
    assert found.undecided is None
    assert found.further == ()
    assert found.pairs > 5
    assert not found.unbounded


@pytest.mark.parametrize("name", sorted(mechanism_classes()))
def test_what_is_offered_by_name_is_of_this_library_before_and_after_use(name: str) -> None:
    """A constructor that sets an attribute twice would lose it that, and so would a counter that counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FalseClaimWarning)
        mechanism = example_of(mechanism_classes()[name])
    assert declared_here(mechanism)
    mechanism.release(worst_case(mechanism).pair.dataset, np.random.default_rng(SEED))
    if isinstance(mechanism, TreeCounter | FactorizationCounter):
        mechanism.add(1)
    assert declared_here(mechanism)


def test_every_noise_knows_what_a_move_costs() -> None:
    rng = np.random.default_rng(5)
    here, there = rng.integers(0, 5, (2, 6)).astype(float)
    moved = here - there
    for noise in (
        SharedNoise(dim=5, independent_scale=2.0, shared_scale=1.5, count_loading=2),
        SharedNoise(dim=6, independent_scale=2.0, shared_scale=1.5),
        DiagonalNoise(scales=np.array([1.0, 2.0, 3.0, 1.0, 0.5, 2.0])),
    ):
        squared = noise.mu_squared(here, there)
        assert squared is not None
        assert squared.nearest() == pytest.approx(float(moved @ noise.solve(moved)), rel=1e-12)
    assert SharedNoise(dim=5, independent_scale=2.0, count_loading=0).mu_squared(here, there) is None
    loss = LaplaceNoise(size=2, scale=2.0).loss(np.array([0.0, 3.0]), np.array([1.0, 3.0]))
    assert loss.law_key == LaplaceLoss(["0.5"]).law_key


def test_laplace_noise_that_is_declared_for_another_norm_is_refuted() -> None:
    class Lap(AdditiveMechanism):
        name, source = "lap", "a test"
        adjacency = ADD_OR_REMOVE_ONE
        assumptions = ()
        claim = PureDP(1)
        record_shape = (3,)  # type: ignore[assignment]

        def __init__(self, scale: float) -> None:
            self.dim, self.noise = 3, LaplaceNoise(size=3, scale=scale)
            self.sensitivity = RealRecords(dim=3, norm="l1", radius=1.0, replaced=False)

        def check_records(self, dataset: ArrayLike) -> Array:
            return check_array(dataset, (3,), 0.0, 1.0)

        def statistic(self, records: Array) -> Array:
            total: Array = records.sum(axis=0)
            return total

    assert certify(Lap(1.0)).status is Status.REFUTED
    assert certify(Lap(3.0)).status is Status.INCONCLUSIVE


def test_a_box_is_tried_to_its_own_corners() -> None:
    class Boxed(Sums):
        adjacency = REPLACE_ONE
        side = 1.0

        def __init__(self) -> None:
            self.dim, self.claim = 3, GaussianDP(1)
            self.noise = DiagonalNoise(scales=np.array([4.0, 4.0, 8.0]))
            self.sensitivity = Box(bounds=np.array([2.0, 2.0, 4.0]))

        def check_records(self, dataset: ArrayLike) -> Array:
            ends = np.array([1.0, 1.0, 2.0]) * self.side
            return check_array(dataset, (3,), -ends, ends)

    assert certify(Boxed()).status is Status.CERTIFIED
    Boxed.side = 2.0
    assert certify(Boxed()).status is Status.REFUTED


def test_an_error_of_ours_is_not_hidden() -> None:
    with pytest.raises(InvalidValue):
        certify(object())  # type: ignore[arg-type]


@pytest.mark.usefixtures("warm_copies")
def test_the_command_line_refutes_what_a_file_declares_too_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "narrow_sums.py").write_text(
        """
from dpverdict.checks import check_array
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, Cube, GaussianDP, GaussianMechanism, SharedNoise

class Sums(GaussianMechanism):
    name, source, adjacency = "narrow", "a test", ADD_OR_REMOVE_ONE
    assumptions = ("every record lies in [0, 1]^9",)
    def __init__(self, nonzero, scale):
        self.dim, self.claim = 9, GaussianDP(1)
        self.noise = SharedNoise(dim=9, independent_scale=scale)
        self.sensitivity = Cube(dim=9, nonzero=nonzero)
    @property
    def record_shape(self):
        return (9,)
    def check_records(self, dataset):
        return check_array(dataset, (9,), 0.0, 1.0)
    def statistic(self, records):
        return records.sum(axis=0)

wrong, right = Sums(1, 1.0), Sums(9, 3.0)
""",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["audit", "narrow_sums:wrong", "--no-test"]) == 1
    assert "REFUTED" in capsys.readouterr().out
    assert main(["audit", "narrow_sums:right", "--no-test"]) == 0
    assert "Taken on trust" in capsys.readouterr().out
