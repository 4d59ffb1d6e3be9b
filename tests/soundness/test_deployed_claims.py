"""Claims a millionth beside the truth, about what is deployed outside training: each is decided, and none wrongly."""

import runpy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from mpmath import mpf

from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.finite.quantile import IntervalQuantile
from dpverdict.mechanisms.keys.key_noise import NoiseName
from dpverdict.mechanisms.keys.partition_selection import PartitionSelection
from dpverdict.mechanisms.keys.thresholded_counts import ThresholdedCounts
from dpverdict.mechanisms.local.hashing import CountMeanSketch, LocalHashing
from dpverdict.mechanisms.local.numbers import NumberReport
from dpverdict.mechanisms.local.randomizer import LocalRandomizer
from dpverdict.mechanisms.local.subsets import HadamardResponse, SubsetSelection
from dpverdict.mechanisms.local.unary import UnaryEncoding
from dpverdict.mechanisms.sums.bounded_contributions import BoundedContributions
from dpverdict.mechanisms.sums.bounded_contributions import NoiseName as SumNoise
from dpverdict.mechanisms.sums.secure_sum import SecureSum
from dpverdict.mechanisms.sums.shares import ShareName

CLAIMS = runpy.run_path(str(Path(__file__).parent / "deployed_claims.py"))
KINDS, TRUTHS, Claim = CLAIMS["KINDS"], CLAIMS["TRUTHS"], CLAIMS["DeployedClaim"]
LESS = 1 - Fraction(1, 10**5)
"""The planted share of noise."""


def check(first: int, number: int, kind: str) -> None:
    for seed in range(first, first + number):
        for claim in CLAIMS["random_claims"](seed, kind):
            assert claim.is_right, f"{seed}: {claim}"


@pytest.mark.parametrize("kind", KINDS)
def test_claims_beside_the_truth_are_decided(kind: str) -> None:
    check(10_000, 3, kind)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
@pytest.mark.parametrize("kind", KINDS)
def test_claims_beside_the_truth_are_decided_at_full_size(kind: str, first: int) -> None:
    check(first, 20, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_on_the_wrong_side_is_not_right(kind: str) -> None:
    for claim in CLAIMS["random_claims"](10_001, kind):
        away = Fraction(1, 10**6)
        moved = claim.delta * ((1 - away) / (1 + away) if claim.is_true else (1 + away) / (1 - away))
        if kind != "shuffled-reports":  # between its two bounds a claim may be open
            assert replace(claim, delta=moved).is_right is False


# planted: a hundred-thousandth less noise than the truth is of --------------------------------------------------------


def is_caught(wrong: object, truth: object, epsilon: Fraction = Fraction(1, 2)) -> bool:
    """Whether a mechanism with less noise is refuted of the delta of the right one, and a millionth more."""
    above = CLAIMS["exact"](truth) * (1 + Fraction(1, 10**6))
    return Claim(wrong, epsilon, above, is_true=True).is_right is False


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "geometric"])
def test_a_lower_threshold_is_caught(noise: NoiseName) -> None:
    """A key that one user has alone is released more often; of geometric noise the threshold is a whole number."""
    low = 3 if noise == "geometric" else 4 * LESS
    made = ThresholdedCounts(
        keys=2, noise=noise, scale=2, threshold=low, epsilon=1, delta="0.1", adjacency=ADD_OR_REMOVE_ONE
    )
    given = (Fraction(2), Fraction(4), 2, 1, False, Fraction(2))
    truth = TRUTHS["keys_written_out"](*given) if noise == "geometric" else TRUTHS["new_and_old_keys"](noise, *given)
    assert is_caught(made, truth, Fraction(2))


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "geometric"])
def test_less_noise_on_keys_is_caught(noise: NoiseName) -> None:
    made = ThresholdedCounts(
        keys=2, noise=noise, scale=2 * LESS, threshold=20, epsilon=1, delta="0.1", adjacency=ADD_OR_REMOVE_ONE
    )
    given = (Fraction(2), Fraction(20), 2, 1, False, Fraction(1, 2))
    truth = TRUTHS["keys_written_out"](*given) if noise == "geometric" else TRUTHS["new_and_old_keys"](noise, *given)
    assert is_caught(made, truth)


def test_a_larger_chance_of_a_key_is_caught() -> None:
    made = PartitionSelection(keys=1, epsilon=1, delta=Fraction(1, 100) / LESS)
    assert is_caught(made, TRUTHS["one_of_optimal_keys"](Fraction(1), Fraction(1, 100), Fraction(1)), Fraction(1))


LOUDER = 1 / LESS
LOCAL: dict[str, tuple[LocalRandomizer, object]] = {
    "sketch": (CountMeanSketch(options=3, epsilon=LOUDER, width=3), TRUTHS["sketch"](3, Fraction(1), Fraction(1, 2))),
    "hashing": (
        LocalHashing(options=3, epsilon=LOUDER, hashes=3),
        TRUTHS["hashed"](3, Fraction(1), Fraction(1, 2)),
    ),
    "subsets": (
        SubsetSelection(options=6, epsilon=LOUDER, subset=2),
        TRUTHS["subsets"](6, 2, Fraction(1), Fraction(1, 2)),
    ),
    "hadamard": (
        HadamardResponse(options=5, epsilon=LOUDER),
        TRUTHS["hadamard"](5, 1, 4, Fraction(1), Fraction(1, 2)),
    ),
    "number": (NumberReport(epsilon=LOUDER, pieces="hybrid"), TRUTHS["number"]("hybrid", Fraction(1), Fraction(1, 2))),
    "unary": (
        UnaryEncoding(options=4, epsilon=LOUDER, bits="optimised"),
        TRUTHS["unary"](4, mpf(1) / 2, 1 / (1 + TRUTHS["mp"].e), Fraction(1, 2)),
    ),
}


@pytest.mark.parametrize("name", LOCAL)
def test_a_louder_report_is_caught(name: str) -> None:
    assert is_caught(*LOCAL[name])


@pytest.mark.parametrize("noise", ["skellam", "discrete-gaussian", "geometric"])
def test_smaller_shares_are_caught(noise: ShareName) -> None:
    name = "scale" if noise == "geometric" else "variance"
    size: dict[str, Fraction] = {name: LESS}
    made = SecureSum(parties=3, noise=noise, sensitivity=2, epsilon=1, delta="0.1", **size)  # type: ignore[arg-type]
    law = list(TRUTHS["shares"](noise, Fraction(1), 3, 3))
    assert is_caught(made, TRUTHS["moved"](law, 2, Fraction(1, 2)))


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "discrete-gaussian"])
def test_less_noise_on_sums_is_caught(noise: SumNoise) -> None:
    made = BoundedContributions(
        dim=3, keys=2, noise=noise, scale=2 * LESS, epsilon=1, delta="0.1", adjacency=ADD_OR_REMOVE_ONE
    )
    level = Fraction(1, 2)
    truth = {
        "laplace": lambda: TRUTHS["laplace"]([mpf(1) / 2] * 2, mpf(1) / 2),
        "gaussian": lambda: TRUTHS["gaussian"](Fraction(1, 2), mpf(1) / 2),
        "discrete-gaussian": lambda: TRUTHS["whole_moves"]([1, 1], Fraction(4), level),
    }
    assert is_caught(made, truth[noise]())


def test_a_quantile_of_a_steeper_density_is_caught() -> None:
    made = IntervalQuantile(quantile="1/4", low=0, high=1, epsilon=1, rate=LOUDER, adjacency=ADD_OR_REMOVE_ONE)
    assert is_caught(made, TRUTHS["bounded_range"](Fraction(3, 2), Fraction(1, 2)))


def test_a_reference_that_forgets_a_key_is_caught() -> None:
    made = ThresholdedCounts(
        keys=3, noise="laplace", scale=2, threshold=9, epsilon=1, delta="0.1", adjacency=ADD_OR_REMOVE_ONE
    )
    right, wrong = (
        TRUTHS["new_and_old_keys"]("laplace", Fraction(2), Fraction(9), keys, 1, False, Fraction(1, 2))
        for keys in (3, 2)
    )
    assert not is_caught(made, right)
    assert is_caught(made, wrong)
