"""Rank votes: every permutation attains mu, the noise is the least of its kind, and is sampled as stated."""

import itertools
import math
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy
from scipy import stats

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.queries.vote_ellipse import VoteEllipse, vote_eigenvalues, vote_optimum

ERROR = 1e-9
N = 40_000
oracle = runpy.run_path(str(Path(__file__).parents[3] / "exact_covariance.py"))


@pytest.mark.parametrize("d", range(2, 6))
def test_every_permutation_attains_the_same_value_as_dense_rational_algebra(d: int) -> None:
    mechanism = VoteEllipse(dim=d, mu="0.7")
    dense = oracle["DenseForm"](oracle["covariance_of_the_sampler"](mechanism.noise))
    values = set()
    for ranks in itertools.permutations(range(d)):
        record = np.array(ranks, dtype=float)
        exact = neighbour_loss(mechanism, record).mu_squared.rational  # type: ignore[attr-defined]
        assert exact == dense.at(record)
        values.add(exact)
    assert values == {worst_case(mechanism).loss.mu_squared.rational}  # type: ignore[attr-defined]
    assert max(values) <= Fraction(49, 100)
    assert float(max(values)) == pytest.approx(0.49, rel=1e-14)


@pytest.mark.parametrize("d", [2, 3, 4, 10, 11, 47, 500])
def test_the_claim_is_certified_and_a_stronger_one_refuted(d: int) -> None:
    mechanism = VoteEllipse(dim=d, mu=1)
    certificate = certify(mechanism).require().certificate
    assert certificate is not None
    assert certificate.method == "exact rational arithmetic"
    assert certify(mechanism, GaussianDP("0.999999")).status is Status.REFUTED
    variance = (d - 1) ** 2 * (0.5 + math.sqrt((d + 1) / 12)) ** 2
    assert float(mechanism.per_query_variance) == pytest.approx(variance, rel=1e-13)
    assert mechanism.per_query_variance <= Fraction((d - 1) * d * (2 * d - 1), 6)  # the ball's; equal at d = 2


def test_the_eigenvalues_are_the_printed_ones_and_meet_the_lower_bound_for_all_d() -> None:
    d = sympy.symbols("d", positive=True)
    w1, w2 = sympy.sqrt(d) * (d - 1) / 2, sympy.sqrt(d * (d**2 - 1) / 12)
    length = w1 + sympy.sqrt(d - 1) * w2
    a1, a2 = vote_eigenvalues(d, sympy.sqrt((d + 1) / 3))
    for at in (2, 3, 7, 10, 50):
        assert sympy.simplify((a1 - w1 * length).subs(d, at)) == 0
        assert sympy.simplify((a2 - w2 * length / sympy.sqrt(d - 1)).subs(d, at)) == 0
        # tr S = (tr M^(1/2))^2, M the second moment of a uniform permutation: eigenvalues w1^2 and w2^2/(d - 1)
        assert sympy.simplify((a1 + (d - 1) * a2 - length**2).subs(d, at)) == 0


def test_private_and_as_dear_as_the_bound_in_the_exact_field() -> None:
    for d in range(2, 60):
        along, across = vote_optimum(d)
        p, q = Fraction(d * (d - 1) ** 2, 4), Fraction(d * (d * d - 1), 12)
        assert p / along + q / across == 1
        cross = along + (d - 1) * across - p - (d - 1) * q
        assert cross >= 0
        assert cross * cross == 4 * p * q * (d - 1)


def test_releases_are_unbiased_with_the_stated_variance(seed: int) -> None:
    mechanism = VoteEllipse(dim=4, mu="0.5")
    rng = np.random.default_rng(seed)
    votes = np.array([rng.permutation(4) for _ in range(30)])
    released = mechanism.release_many(votes, N, rng) - votes.sum(axis=0)
    variance, share = float(mechanism.per_query_variance), ERROR / 20
    assert np.all(np.abs(released.mean(axis=0)) < stats.norm.isf(share) * math.sqrt(variance / N))
    spread = (released**2).sum(axis=0) / variance
    assert np.all((spread > stats.chi2.ppf(share, N)) & (spread < stats.chi2.isf(share, N)))
    contrast = ((released[:, 0] - released[:, 1]) ** 2).sum() / (2 * float(mechanism.independent_variance))
    assert stats.chi2.ppf(share, N) < contrast < stats.chi2.isf(share, N)


@pytest.mark.parametrize(
    ("dim", "mu", "name"), [(1, 1, "dim"), (0, 1, "dim"), (2.5, 1, "dim"), (3, -1, "mu"), (3, "x", "mu")]
)
def test_a_parameter_out_of_range_is_refused_in_one_line(dim: object, mu: object, name: str) -> None:
    with pytest.raises(InvalidValue, match=rf"^{name}=[^\n]*$"):
        VoteEllipse(dim=dim, mu=mu)  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [[0, 1, 1], [1, 2, 3], [0, 1, 2.5], [0, 0.5, 2], [0, 1], [0, 1, float("nan")]])
def test_what_is_no_permutation_is_refused(record: list[float]) -> None:
    with pytest.raises(InvalidValue, match=r"^dataset"):
        VoteEllipse(dim=3, mu=1).release(
            [[2, 1, 0], record] if len(record) == 3 else [record], np.random.default_rng(0)
        )


def test_an_empty_election_is_released() -> None:
    assert VoteEllipse(dim=3, mu=1).release(np.zeros((0, 3)), np.random.default_rng(0)).shape == (3,)
