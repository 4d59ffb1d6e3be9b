"""What every correct Gaussian mechanism obeys: its claim is certified, a stronger one is refuted, releases are right.

Statistical laws: N releases, and an error probability of at most ERROR for each test function and mechanism.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Enclosure
from dpverdict.mechanisms import REPLACE_ONE, EllipticalGaussian, GaussianDP, GroupedGaussian
from dpverdict.mechanisms.core.mechanism import GaussianMechanism

Array = NDArray[np.float64]
Draw = Callable[[GaussianMechanism, int, np.random.Generator], Array]

ERROR = 1e-9
N = 20_000


def mu_squared(mechanism: GaussianMechanism) -> Fraction:
    loss = worst_case(mechanism).loss
    assert isinstance(loss, GaussianLoss)
    assert loss.mu_squared.rational is not None
    return loss.mu_squared.rational


def records_of_worst_pair(mechanism: GaussianMechanism) -> tuple[Array, Array | None]:
    pair = worst_case(mechanism).pair
    return pair.dataset[0], pair.neighbour[0] if mechanism.adjacency is REPLACE_ONE else None


# the claim ------------------------------------------------------------------------------------------------------------


def test_the_claim_is_certified(gaussian_mechanism: GaussianMechanism) -> None:
    verdict = certify(gaussian_mechanism).require()
    assert verdict.claim == gaussian_mechanism.claim
    assert verdict.certificate is not None
    assert verdict.certificate.value.lower <= verdict.certificate.bound.upper
    if isinstance(gaussian_mechanism.claim, GaussianDP):
        assert verdict.certificate.method == "exact rational arithmetic"
        assert verdict.certificate.value.contains(mu_squared(gaussian_mechanism))
        assert verdict.certificate.bound.contains(gaussian_mechanism.claim.mu**2)
        assert mu_squared(gaussian_mechanism) <= gaussian_mechanism.claim.mu**2
    assert all(assumption in verdict.certificate.assumptions for assumption in gaussian_mechanism.assumptions)


def test_a_claim_one_percent_stronger_is_refuted_by_numbers_that_can_be_recomputed(
    gaussian_mechanism: GaussianMechanism,
) -> None:
    squared = mu_squared(gaussian_mechanism)
    stronger = Fraction(99, 100) * Fraction(math.sqrt(squared))
    verdict = certify(gaussian_mechanism, GaussianDP(stronger))
    assert verdict.status is Status.REFUTED
    witness = verdict.witness
    assert witness is not None
    with mpmath.workdps(40):
        mu = mpmath.sqrt(mpmath.mpf(squared.numerator) / squared.denominator)
        p, q = mpmath.ncdf(mu / 2), mpmath.ncdf(-mu / 2)  # of the event {s >= mu/2}
        claimed = mpmath.mpf(stronger.numerator) / stronger.denominator
        quantile = -mu / 2  # Phi^-1(q)
        assert p > mpmath.ncdf(quantile + claimed)
        assert contains(witness.probability, p)
        assert contains(witness.neighbour_probability, q)
    assert witness.value.contains(squared)
    assert witness.bound.contains(stronger**2)
    assert witness.value.lower > witness.bound.upper
    assert witness.pair.adjacency is gaussian_mechanism.adjacency


def contains(enclosure: Enclosure, value: Any) -> bool:  # mpmath has no types
    return enclosure.contains(Fraction(mpmath.nstr(value, 38)))


# releases -------------------------------------------------------------------------------------------------------------


def test_releases_are_reproducible_and_of_one_shape(
    gaussian_mechanism: GaussianMechanism, random_records: Draw, seed: int
) -> None:
    records = random_records(gaussian_mechanism, 5, np.random.default_rng([seed, 0]))
    many = gaussian_mechanism.release_many(records, 7, np.random.default_rng(seed))
    again = gaussian_mechanism.release_many(records, 7, np.random.default_rng(seed))
    one = gaussian_mechanism.release_many(records, 1, np.random.default_rng(seed))[0]
    single = gaussian_mechanism.release(records, np.random.default_rng(seed))
    called = gaussian_mechanism(records, np.random.default_rng(seed))
    assert many.shape == (7, gaussian_mechanism.noise.size)
    assert many.dtype == np.float64
    assert np.isfinite(many).all()
    np.testing.assert_array_equal(many, again)
    np.testing.assert_array_equal(one, single)
    np.testing.assert_array_equal(one, called)
    assert not np.array_equal(one, gaussian_mechanism.release(records, np.random.default_rng(seed + 1)))
    assert len(np.unique(many[:, 0])) == 7


def test_embedding_adding_noise_and_decoding_is_the_release(
    gaussian_mechanism: GaussianMechanism, random_records: Draw, seed: int
) -> None:
    records = random_records(gaussian_mechanism, 4, np.random.default_rng([seed, 1]))
    statistic = gaussian_mechanism.embed(records)
    assert statistic.shape == (gaussian_mechanism.noise.size,)
    noisy = gaussian_mechanism.noise.add(statistic, 3, np.random.default_rng(seed))
    released = gaussian_mechanism.release_many(records, 3, np.random.default_rng(seed))
    np.testing.assert_array_equal(gaussian_mechanism.decode(noisy), released)


def test_an_empty_dataset_is_released_like_any_other(gaussian_mechanism: GaussianMechanism, seed: int) -> None:
    nothing = np.zeros((0, *gaussian_mechanism.record_shape))
    assert not gaussian_mechanism.embed(nothing).any()
    assert np.isfinite(gaussian_mechanism.release(nothing, np.random.default_rng(seed))).all()


def test_the_statistic_is_the_sum_and_the_count(
    gaussian_mechanism: GaussianMechanism, random_records: Draw, seed: int
) -> None:
    records = random_records(gaussian_mechanism, 6, np.random.default_rng([seed, 2]))
    statistic = gaussian_mechanism.embed(records)
    if isinstance(gaussian_mechanism, GroupedGaussian):
        queries, counts = gaussian_mechanism.rows(statistic)
        np.testing.assert_allclose(queries, records.sum(axis=0), rtol=1e-15)
        np.testing.assert_array_equal(counts, np.count_nonzero(records.any(axis=2), axis=0))
        return
    shift = len(records) / 2 if getattr(gaussian_mechanism, "count", None) == "estimated" else 0.0
    np.testing.assert_allclose(statistic[: gaussian_mechanism.dim], records.sum(axis=0) - shift, atol=1e-12)
    assert statistic[gaussian_mechanism.dim :].tolist() in ([], [6.0])


def test_releases_have_the_mean_and_the_covariance_that_are_certified(
    gaussian_mechanism: GaussianMechanism, random_records: Draw, seed: int
) -> None:
    # Whitened by the sampler's own exact covariance, releases are N(0, I): chi-square of means, of every coordinate,
    # and of the normalised sums of two coordinates, which show a wrong correlation. Bonferroni over all of them.
    records = random_records(gaussian_mechanism, 3, np.random.default_rng([seed, 3]))
    n = N if gaussian_mechanism.dim <= 5 else N // 10
    released = gaussian_mechanism.release_many(records, n, np.random.default_rng([seed, 4]))
    mean = gaussian_mechanism.decode(gaussian_mechanism.embed(records)[None])[0]
    assert smallest_p_value(released - mean, stated_covariance(gaussian_mechanism)) > ERROR


def stated_covariance(mechanism: GaussianMechanism) -> Array:
    """The dense covariance from the entries that the noise states."""
    entries = {name: float(value) for name, value in mechanism.noise.covariance().items()}
    if isinstance(mechanism, EllipticalGaussian):
        assert math.isclose(entries["largest variance"], float(mechanism.scales.max()) ** 2)
        return np.diag(mechanism.scales**2)
    d = mechanism.dim
    row = np.full((d, d), entries["query-query"])
    np.fill_diagonal(row, entries["query"])
    if "count" in entries:
        row = np.block(
            [
                [row, np.full((d, 1), entries["query-count"])],
                [np.full((1, d), entries["query-count"]), entries["count"]],
            ]
        )
    return np.kron(np.eye(mechanism.groups if isinstance(mechanism, GroupedGaussian) else 1), row)


def smallest_p_value(centred: Array, covariance: Array) -> float:
    white = np.linalg.solve(np.linalg.cholesky(covariance), centred.T)
    m, n = white.shape
    rows = [white, (white + np.roll(white, 1, axis=0)) / math.sqrt(2), (white + white[-1]) / math.sqrt(2)]
    projections = np.concatenate([rows[0], rows[1][: m if m > 1 else 0], rows[2][: m - 1]])
    squares = np.square(projections).sum(axis=1)
    law = stats.chi2(n)
    p_values = [2 * min(law.cdf(s), law.sf(s)) for s in squares]
    means = float(n * np.square(white.mean(axis=1)).sum())
    p_values.append(float(stats.chi2(m).sf(means)))
    return min(1.0, min(p_values) * len(p_values))


def test_the_law_of_releases_is_told_from_a_neighbouring_one(seed: int) -> None:
    # The control on the other side: 6 % on the variance of eta, or a mean off by a tenth of its standard deviation.
    rng = np.random.default_rng([seed, 5])
    right = np.array([[1.0, 0.4], [0.4, 1.0]])
    sample = rng.multivariate_normal(np.zeros(2), right, size=N)
    assert smallest_p_value(sample, right) > ERROR
    assert smallest_p_value(sample, np.array([[1.0, 0.3], [0.3, 1.0]])) < ERROR
    assert smallest_p_value(sample * 1.05, right) < ERROR
    assert smallest_p_value(sample + 0.1, right) < ERROR


# the worst case -------------------------------------------------------------------------------------------------------


def test_the_worst_pair_attains_the_worst_mu_exactly(gaussian_mechanism: GaussianMechanism) -> None:
    loss = neighbour_loss(gaussian_mechanism, *records_of_worst_pair(gaussian_mechanism))
    assert isinstance(loss, GaussianLoss)
    assert loss.mu_squared.rational == mu_squared(gaussian_mechanism)


def test_the_likelihood_direction_is_the_dense_one_and_scores_have_the_moments_of_the_loss(
    small_gaussian_mechanism: GaussianMechanism,
) -> None:
    pair = worst_case(small_gaussian_mechanism).pair
    weights, offset = small_gaussian_mechanism.likelihood_direction(pair)
    means = small_gaussian_mechanism.decode(
        np.stack([small_gaussian_mechanism.embed(pair.dataset), small_gaussian_mechanism.embed(pair.neighbour)])
    )
    covariance = stated_covariance(small_gaussian_mechanism)
    np.testing.assert_allclose(weights, np.linalg.solve(covariance, means[0] - means[1]), rtol=1e-9, atol=1e-12)
    square = float(mu_squared(small_gaussian_mechanism))
    np.testing.assert_allclose(means @ weights - offset, [square / 2, -square / 2], rtol=1e-9)
    np.testing.assert_allclose(weights @ covariance @ weights, square, rtol=1e-9)


def test_scores_of_releases_have_mean_half_mu_squared_and_variance_mu_squared(
    gaussian_mechanism: GaussianMechanism, seed: int
) -> None:
    pair = worst_case(gaussian_mechanism).pair
    weights, offset = gaussian_mechanism.likelihood_direction(pair)
    square = float(mu_squared(gaussian_mechanism))
    n = 2000
    for sign, dataset, stream in ((1, pair.dataset, 6), (-1, pair.neighbour, 7)):
        rng = np.random.default_rng([seed, stream])
        scores = gaussian_mechanism.release_many(dataset, n, rng) @ weights - offset
        standard = (scores - sign * square / 2) / math.sqrt(square)
        assert 2 * stats.norm.sf(abs(standard.sum()) / math.sqrt(n)) > ERROR
        spread = float(np.square(standard).sum())
        assert 2 * min(stats.chi2(n).cdf(spread), stats.chi2(n).sf(spread)) > ERROR


def test_a_mechanism_describes_itself_in_text(gaussian_mechanism: GaussianMechanism) -> None:
    described = gaussian_mechanism.describe()
    assert described["mechanism"] == gaussian_mechanism.name
    assert described["dim"] == str(gaussian_mechanism.dim)
    assert described["claim"] == gaussian_mechanism.claim.describe()
    assert all(isinstance(value, str) and value for value in described.values())
    assert gaussian_mechanism.claim.describe() in repr(gaussian_mechanism)
