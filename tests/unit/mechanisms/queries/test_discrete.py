"""The correlated mechanism on the integers: exactly rho-zCDP for every s, sampled exactly, and not Gaussian.

Statistical tests: N releases, an error probability of at most ERROR for each test function.
"""

import math
import secrets
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.queries.discrete import DiscreteCorrelatedGaussian, LatticeNoise, SignedUnits, near_root

ERROR = 1e-9
N = 40_000


def test_every_rational_s_spends_exactly_rho() -> None:
    for dim in (1, 2, 3, 7, 100, 10**6):
        for s in (None, 1, "3/7", "1e-3", 10**9):
            mechanism = DiscreteCorrelatedGaussian(dim=dim, rho="0.37", s=s)
            assert dim / mechanism.query_variance + 1 / mechanism.count_variance == 2 * Fraction("0.37")
            loss = worst_case(mechanism).loss
            assert isinstance(loss, DiscreteGaussianLoss)
            assert loss.rho == Fraction("0.37")


def test_the_default_s_is_the_nearest_multiple_of_an_eighth_to_the_root() -> None:
    for d in range(1, 2000):
        s = near_root(d)
        assert (8 * s).denominator == 1
        step = Fraction(1, 16)
        assert (s - step) ** 2 <= d <= (s + step) ** 2
        if math.isqrt(d) ** 2 == d:
            assert s == math.isqrt(d)
        mechanism = DiscreteCorrelatedGaussian(dim=d, rho="0.5")
        cost = float(mechanism.per_query_variance_upper) - (math.sqrt(d) + 1) ** 2 / 4
        assert -1e-9 < cost <= 1 / (16 * 8**2 * float(s)) + 1e-9


@pytest.mark.parametrize(("dim", "rho"), [(1, "0.5"), (2, "0.5"), (5, "1"), (10, "0.125"), (100, "0.5")])
def test_the_claim_is_certified_by_rational_arithmetic_and_is_tight(dim: int, rho: str) -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=dim, rho=rho)
    certificate = certify(mechanism).require().certificate
    assert certificate is not None
    assert certificate.method == "exact rational arithmetic"
    assert certificate.assumptions[-1] == "the bits of the random source are independent and uniform"
    less = Fraction(rho) * (1 - Fraction(1, 10**6))
    refuted = certify(mechanism, ZeroConcentratedDP(less))
    assert refuted.status is Status.REFUTED
    assert refuted.witness is not None
    assert refuted.witness.value.lower > refuted.witness.bound.upper
    assert certify(mechanism, RenyiDP(3, 3 * Fraction(rho))).status is Status.CERTIFIED
    assert certify(mechanism, RenyiDP(3, 3 * less)).status is Status.REFUTED
    assert certify(mechanism, PureDP(5)).status is Status.REFUTED


def test_it_is_not_mu_gdp_although_its_gaussian_counterpart_is() -> None:
    """d = 1, mu = 1, s = 1: delta(2.8) is 0.00307166 against 0.00277437 of N(0, 1) and N(1, 1)."""
    mechanism = DiscreteCorrelatedGaussian(dim=1, rho="0.5", s=1)
    verdict = certify(mechanism, GaussianDP(1))
    assert verdict.status is Status.REFUTED
    assert certify(mechanism, ApproximateDP("2.8", "0.0027743708")).status is Status.REFUTED
    assert certify(mechanism, ApproximateDP("2.8", "0.0030716630")).status is Status.CERTIFIED
    assert certify(mechanism, GaussianDP(2)).status is Status.INCONCLUSIVE


def test_every_record_makes_the_same_pair() -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=3, rho="0.5")
    deltas = {neighbour_loss(mechanism, record).delta(1.0) for record in ([0, 0, 0], [1, 0, 1], [1, 1, 1])}
    assert deltas == {worst_case(mechanism).loss.delta(1.0)}


# releases -------------------------------------------------------------------------------------------------------------


def test_releases_are_unbiased_with_the_stated_variances(seed: int) -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=3, rho="0.125")
    rng = np.random.default_rng(seed)
    records = rng.integers(0, 2, (20, 3))
    released = mechanism.release_many(records, N, rng) - np.append(records.sum(axis=0), 20)
    variances = np.append(np.full(3, float(mechanism.per_query_variance_upper)), float(mechanism.count_variance))
    share = ERROR / 16
    assert np.all(np.abs(released.mean(axis=0)) < stats.norm.isf(share) * np.sqrt(variances / N))
    # the fourth moment of a discrete Gaussian of variance above 2 is that of the Gaussian to many digits
    ratio = (released**2).sum(axis=0) / variances
    assert np.all((ratio > stats.chi2.ppf(share, N)) & (ratio < stats.chi2.isf(share, N)))
    assert np.array_equal(np.rint(2 * released), 2 * released)


def test_the_integers_and_the_floats_have_the_same_law(seed: int) -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=2, rho="0.5")
    rng = np.random.default_rng(seed)
    records = np.array([[1, 0], [1, 1], [0, 0]])
    one_by_one = np.array([mechanism.release_integers(records, lambda n: int(rng.integers(0, n))) for _ in range(3000)])
    decoded = np.array([[float(q) for q in mechanism.read_integers(row.tolist())[0]] for row in one_by_one])
    many = mechanism.release_many(records, N, rng)
    for column in range(2):
        values, counts = np.unique(np.concatenate([decoded[:, column], many[:, column]]), return_counts=True)
        common = values[counts >= 200]
        table = [[np.sum(sample[:, column] == v) for v in common] for sample in (decoded, many)]
        assert stats.chi2_contingency(table).pvalue > ERROR / 3
    assert stats.ks_2samp(one_by_one[:, 2], many[:, 2]).pvalue > ERROR / 3


def test_a_release_that_counts_is_made_of_integers_and_the_systems_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=4, rho=1)
    asked = []

    def counted(n: int) -> int:
        asked.append(n)
        return secrets.randbelow(n)

    released = mechanism.release_integers(np.eye(4), counted)
    assert asked
    assert all(type(value) is int for value in released)
    assert len(released) == 5
    queries, count = mechanism.read_integers(released)
    assert queries == [Fraction(g + count, 2) for g in released[:-1]]
    assert len(mechanism.release_integers(np.eye(4))) == 5


def test_scales_beyond_every_table_are_sampled_too(seed: int) -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=2, rho="1e-12")
    many = mechanism.release_many(np.zeros((0, 2)), 200, np.random.default_rng(seed))
    variance = float(mechanism.count_variance)
    assert stats.chi2.ppf(ERROR / 2, 200) < (many[:, 2] ** 2).sum() / variance < stats.chi2.isf(ERROR / 2, 200)


def test_the_same_seed_gives_the_same_release() -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=3, rho=1)
    first = mechanism.release_many(np.eye(3), 5, np.random.default_rng(8))
    assert np.array_equal(first, mechanism.release_many(np.eye(3), 5, np.random.default_rng(8)))
    one = mechanism.release(np.eye(3), np.random.default_rng(8))
    assert np.array_equal(one, mechanism.release_many(np.eye(3), 1, np.random.default_rng(8))[0])


def test_the_likelihood_ratio_is_that_of_the_probabilities() -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=2, rho="0.5")
    pair = worst_case(mechanism).pair
    weights, offset = mechanism.likelihood_direction(pair)
    g, n = np.array([3.0, -2.0]), 4.0
    release = np.append((g + n) / 2, n)
    y, v = np.append(g, n), mechanism.noise.parameters()
    p, q = mechanism.embed(pair.dataset), mechanism.embed(pair.neighbour)
    ratio = float(((y - q) ** 2 / (2 * v) - (y - p) ** 2 / (2 * v)).sum())
    assert float(weights @ release) - offset == pytest.approx(ratio)


def test_sampled_evidence_agrees(seed: int) -> None:
    mechanism = DiscreteCorrelatedGaussian(dim=3, rho=2)
    pair = worst_case(mechanism).pair
    kept = distinguish(mechanism, pair, mechanism.claim, error_probability=1e-9, samples=20_000, seed=seed)
    broken = distinguish(mechanism, pair, ZeroConcentratedDP("0.5"), error_probability=1e-9, samples=20_000, seed=seed)
    assert not kept.refuted
    assert broken.refuted


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"dim": 0, "rho": 1}, "dim"),
        ({"dim": 1, "rho": 0}, "rho"),
        ({"dim": 1, "rho": float("nan")}, "rho"),
        ({"dim": 1, "rho": 1, "s": 0}, "s"),
        ({"dim": 1, "rho": 1, "s": -2}, "s"),
        ({"dim": 1, "rho": 1, "s": "root"}, "s"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_one_line(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidValue, match=rf"^{name}=[^\n]*$"):
        DiscreteCorrelatedGaussian(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [[0.5, 0], [2, 0], [-1, 0], [0], [math.nan, 0]])
def test_what_is_not_binary_is_refused(record: list[float]) -> None:
    with pytest.raises(InvalidValue, match=r"^dataset"):
        DiscreteCorrelatedGaussian(dim=2, rho=1).release_integers([record])


def test_the_space_speaks_of_its_own_noise_alone() -> None:
    with pytest.raises(InvalidValue, match="exact maximiser"):
        SignedUnits(dim=2).maximise(SharedNoise(dim=2, independent_scale=1.0))
    noise = LatticeNoise(dim=2, query_variance=Fraction(1), count_variance=Fraction(1))
    assert SignedUnits(dim=2).loss(noise, np.zeros(2)).law_key == DiscreteGaussianLoss.from_groups([(1, 1, 3)]).law_key
