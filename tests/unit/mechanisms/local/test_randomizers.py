"""Local randomisers: the regions against laws that are enumerated, claims beside the truth, reports without bias."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import PureDP
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.local.hashing import CountMeanSketch, LocalHashing
from dpverdict.mechanisms.local.numbers import PIECES, NumberReport, Pieces
from dpverdict.mechanisms.local.randomizer import LocalRandomizer
from dpverdict.mechanisms.local.subsets import HadamardResponse, SubsetSelection
from dpverdict.mechanisms.local.unary import BITS, Bits, Rappor, UnaryEncoding

LEVELS = (0.0, 0.3, 0.9, 1.5)
TIGHT: dict[str, Callable[[str], LocalRandomizer]] = {
    **{f"unary, {bits}": lambda e, bits=bits: UnaryEncoding(options=5, epsilon=e, bits=bits) for bits in BITS},  # type: ignore[misc]
    "hashing": lambda e: LocalHashing(options=5, epsilon=e),
    "sketch": lambda e: CountMeanSketch(options=5, epsilon=e, width=3),
    "subsets": lambda e: SubsetSelection(options=5, epsilon=e),
    "hadamard": lambda e: HadamardResponse(options=5, epsilon=e),
    **{f"number, {pieces}": lambda e, pieces=pieces: NumberReport(epsilon=e, pieces=pieces) for pieces in PIECES},  # type: ignore[misc]
}


def profile(p: list[float], q: list[float], level: float) -> float:
    return sum(max(a - math.exp(level) * b, 0.0) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("make", TIGHT.values(), ids=TIGHT)
@pytest.mark.parametrize("epsilon", ["0.2", "1", "3.7"])
def test_the_claim_is_tight(make: Callable[[str], LocalRandomizer], epsilon: str) -> None:
    made = make(epsilon)
    assert certify(made).status is Status.CERTIFIED
    assert certify(made, PureDP(Fraction(epsilon) * (1 - Fraction(1, 10**12)))).status is Status.REFUTED


def test_a_thousand_values_take_two_bits() -> None:
    made = UnaryEncoding(options=1000, epsilon=1, bits="symmetric")
    half = math.exp(0.5)
    bits = {0: half / (1 + half), 1: 1 / (1 + half)}
    for level in LEVELS:
        p, q = zip(*((bits[1 - a] * bits[b], bits[a] * bits[1 - b]) for a in (0, 1) for b in (0, 1)), strict=True)
        assert worst_case(made).loss.delta(level) == pytest.approx(profile(list(p), list(q), level), rel=1e-12)


@pytest.mark.parametrize("bits", BITS)
def test_all_bits_of_a_unary_encoding_that_are_written_out_have_the_loss_of_two(bits: Bits) -> None:
    made = UnaryEncoding(options=4, epsilon=1, bits=bits)
    own, other = made.chances
    laws = [
        [
            math.prod(chance if bit else 1 - chance for bit, chance in zip(row, chances, strict=True))
            for row in itertools.product((0, 1), repeat=4)
        ]
        for chances in ([own, other, other, other], [other, own, other, other])
    ]
    for level in LEVELS:
        assert worst_case(made).loss.delta(level) == pytest.approx(profile(*laws, level), rel=1e-12)


def test_all_sets_that_are_written_out_have_the_loss_of_four_kinds() -> None:
    made = SubsetSelection(options=6, epsilon=1, subset=2)
    sets = list(itertools.combinations(range(6), 2))
    laws = []
    for value in (0, 1):
        weights = [math.e if value in one else 1.0 for one in sets]
        laws.append([weight / sum(weights) for weight in weights])
    for level in LEVELS:
        assert worst_case(made).loss.delta(level) == pytest.approx(profile(*laws, level), rel=1e-12)


def test_all_columns_of_a_hadamard_matrix_that_are_written_out_have_the_loss_of_three_kinds() -> None:
    made = HadamardResponse(options=5, epsilon=1)
    assert made.columns == 8
    laws = []
    for value in (0, 3):
        weights = [math.e if (y & (value + 1)).bit_count() % 2 == 0 else 1.0 for y in range(8)]
        laws.append([weight / sum(weights) for weight in weights])
    for level in LEVELS:
        found = neighbour_loss(made, [0], [3]).delta(level)
        assert found == pytest.approx(profile(*laws, level), rel=1e-12)


def test_all_hashes_and_responses_that_are_written_out_have_the_loss_of_four_kinds() -> None:
    made = LocalHashing(options=2, epsilon=1, hashes=3)
    truth = math.e / (math.e + 2)
    laws: list[list[float]] = [[], []]
    for table in itertools.product(range(3), repeat=2):
        for response in range(3):
            for value in (0, 1):
                laws[value].append((truth if response == table[value] else (1 - truth) / 2) / 9)
    for level in LEVELS:
        assert worst_case(made).loss.delta(level) == pytest.approx(profile(*laws, level), rel=1e-12)


def test_all_bits_of_a_sketch_that_are_written_out_have_the_loss_of_four_kinds() -> None:
    made = CountMeanSketch(options=2, epsilon=1, width=3)
    laws: list[list[float]] = [[], []]
    for table in itertools.product(range(3), repeat=2):
        for bits in itertools.product((0, 1), repeat=3):
            for value in (0, 1):
                kept = [made.kept if bit == (at == table[value]) else 1 - made.kept for at, bit in enumerate(bits)]
                laws[value].append(math.prod(kept) / 9)
    for level in LEVELS:
        assert worst_case(made).loss.delta(level) == pytest.approx(profile(*laws, level), rel=1e-12)


@pytest.mark.parametrize("reports", [0, 1, 3])
def test_reports_of_kept_bits_that_are_written_out_have_the_loss_that_is_stated(reports: int) -> None:
    made = Rappor(options=3, epsilon=9, flip="0.4", report_zero="0.3", report_one="0.8", hashes=1, reports=reports)

    def bit(kept: float) -> list[float]:
        if not reports:
            return [1 - kept, kept]
        rows = itertools.product((0, 1), repeat=reports)
        return [
            kept * math.prod(0.8 if one else 0.2 for one in row)
            + (1 - kept) * math.prod(0.3 if one else 0.7 for one in row)
            for row in rows
        ]

    own, other = bit(0.8), bit(0.2)
    p = [a * b for a in own for b in other]
    q = [a * b for a in other for b in own]
    for level in LEVELS:
        assert worst_case(made).loss.delta(level) == pytest.approx(profile(p, q, level), rel=1e-12)


def test_many_reports_come_near_the_kept_bits_and_never_beyond() -> None:
    def epsilon(reports: int) -> float:
        made = Rappor(options=2, epsilon=9, flip="0.5", report_zero="0.5", report_one="0.75", hashes=2, reports=reports)
        return worst_case(made).loss.certified_epsilon("1e-3").upper

    found = [epsilon(reports) for reports in (1, 2, 5, 20, 60)]
    assert found == sorted(found)
    assert found[-1] <= epsilon(0) * (1 + 1e-12)


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("epsilon", ["0.4", "2"])
def test_numbers_are_reported_without_bias_and_no_pair_is_worse_than_the_ends(
    pieces: Pieces, epsilon: str, seed: int
) -> None:
    """Hoeffding: a mean of n numbers within m of 0 is off by 6 m/sqrt(n) with a probability of 3e-8 at most."""
    made = NumberReport(epsilon=epsilon, pieces=pieces)
    number = 100_000
    for x in (-1.0, 0.3, 1.0):
        released = made.release_many([[x]], number, np.random.default_rng([seed, int(10 * x + 10)]))[:, 0]
        assert abs(released.mean() - x) <= 6 * np.abs(released).max() / math.sqrt(number)
    worst = worst_case(made).loss
    for here, there in ((0.5, 0.25), (-0.125, 0.875), (1.0, 0.75)):
        pair = neighbour_loss(made, [here], [there])
        for level in LEVELS:
            assert pair.certified_delta(level).lower <= worst.certified_delta(level).upper


@pytest.mark.parametrize("pieces", PIECES)
def test_numbers_fall_into_the_regions_of_any_pair_as_often_as_stated(pieces: Pieces, seed: int) -> None:
    """Six deviations of a binomial count: 2e-9 for each of 36."""
    made, number = NumberReport(epsilon="1.5", pieces=pieces), 50_000
    for here, there in (
        (Fraction(1, 2), Fraction(1, 4)),
        (Fraction(-1, 8), Fraction(7, 8)),
        (Fraction(0), Fraction(-1)),
    ):
        regions = made.regions(here, there)
        for side, value in ((0, here), (1, there)):
            released = made.release_many([[float(value)]], number, np.random.default_rng([seed, side]))
            seen = np.bincount(made.region_of(released, here, there), minlength=len(regions)) / number
            chances = np.array([float(region[1 + side].ball()) for region in regions])
            chances /= chances.sum()
            assert (np.abs(seen - chances) <= 6 * np.sqrt(chances * (1 - chances) / number) + 36 / number).all()


def test_the_likelihood_ratio_of_kept_bits_is_that_of_all_their_reports(seed: int) -> None:
    made = Rappor(options=3, epsilon=9, flip="0.4", report_zero="0.3", report_one="0.8", hashes=2, reports=2)
    zero, one = np.zeros((1, 1)), np.ones((1, 1))
    score = made.likelihood_score(NeighbourPair(dataset=zero, neighbour=one, adjacency=REPLACE_ONE))
    here, there = (score(made.release_many(side, 50_000, np.random.default_rng([seed, 1]))) for side in (zero, one))
    # E_Q exp(L) = 1, and L under P is -L under Q: six deviations
    assert abs(np.exp(there).mean() - 1) <= 6 * np.exp(there).std() / math.sqrt(50_000)
    assert abs(here.mean() + there.mean()) <= 6 * (here.std() + there.std()) / math.sqrt(50_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: UnaryEncoding(options=1, epsilon=1, bits="symmetric"),
        lambda: UnaryEncoding(options=3, epsilon=0, bits="symmetric"),
        lambda: UnaryEncoding(options=3, epsilon=1000, bits="symmetric"),
        lambda: UnaryEncoding(options=3, epsilon=1, bits="loud"),  # type: ignore[arg-type]
        lambda: LocalHashing(options=3, epsilon=1, hashes=1),
        lambda: CountMeanSketch(options=3, epsilon=1, width=1),
        lambda: SubsetSelection(options=3, epsilon=1, subset=3),
        lambda: HadamardResponse(options=3, epsilon=-1),
        lambda: NumberReport(epsilon=1, pieces="two"),  # type: ignore[arg-type]
        lambda: Rappor(options=3, epsilon=1, flip="0.5", report_zero="0.8", report_one="0.7"),
        lambda: Rappor(options=3, epsilon=1, flip="1.5", report_zero="0.5", report_one="0.7"),
        lambda: Rappor(options=3, epsilon=1, flip="0.5", report_zero="0.5", report_one="0.7", reports=-1),
        lambda: UnaryEncoding(options=3, epsilon=1, bits="symmetric").check_records([[3]]),
        lambda: UnaryEncoding(options=3, epsilon=1, bits="symmetric").check_records([[0.5]]),
        lambda: UnaryEncoding(options=3, epsilon=1, bits="symmetric").check_records([[0], [1]]),
        lambda: NumberReport(epsilon=1, pieces="duchi").check_records([[1.5]]),
    ],
)
def test_what_is_out_of_range_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidValue):
        make()
