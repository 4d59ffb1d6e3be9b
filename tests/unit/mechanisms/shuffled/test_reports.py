"""Shuffled reports: both sides against multisets that are written out in balls, for everything that others may have."""

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.exact.decide import certify, known_epsilon
from dpverdict.audit.exact.verdict import Status
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import KnownEvent
from dpverdict.mechanisms.shuffled.labels import attained_event, delta_of_crowd, response_labels, response_of_crowd
from dpverdict.mechanisms.shuffled.reports import RANDOMIZERS, RandomizerName, ShuffledReports

BITS = 160
LEVELS = (Fraction(0), Fraction(1, 10), Fraction(2, 5), Fraction(4, 5))
Counts = tuple[int, ...]


def made(
    people: int, options: int, local: int | str, randomizer: RandomizerName = "randomized-response"
) -> ShuffledReports:
    return ShuffledReports(
        people=people, randomizer=randomizer, options=options, local_epsilon=local, epsilon="0.4", delta="1e-6"
    )


def multisets(laws: Sequence[Sequence[arb]]) -> Mapping[Counts, arb]:
    """The law of how many reports are of each outcome, of people with these laws."""
    found: dict[Counts, arb] = {(0,) * len(laws[0]): arb(1)}
    for law in laws:
        grown: dict[Counts, arb] = {}
        for counts, chance in found.items():
            for outcome, share in enumerate(law):
                after = (*counts[:outcome], counts[outcome] + 1, *counts[outcome + 1 :])
                grown[after] = grown.get(after, arb(0)) + chance * share
        found = grown
    return found


def hockey_stick(p: Mapping[Counts, arb], q: Mapping[Counts, arb], level: Fraction) -> arb:
    grown = ball(level).exp()
    return sum((arb(0).max(p[counts] - grown * q[counts]) for counts in p), arb(0))


def responses(options: int, epsilon: int) -> list[list[arb]]:
    grown = arb(epsilon).exp()
    return [[(grown if i == j else arb(1)) / (grown + options - 1) for i in range(options)] for j in range(options)]


def unary(options: int, kept: arb, risen: arb) -> list[list[arb]]:
    """Of every value the chance of every list of bits: its own is 1 with chance ``kept``, another with ``risen``."""

    def chance(value: int, bits: Counts) -> arb:
        found = arb(1)
        for i, bit in enumerate(bits):
            one = kept if i == value else risen
            found *= one if bit else 1 - one
        return found

    lists = list(itertools.product((0, 1), repeat=options))
    return [[chance(value, bits) for bits in lists] for value in range(options)]


def laws_of(randomizer: str, options: int, epsilon: int) -> list[list[arb]]:
    """The chances of every outcome of a report, of every value, written out."""
    grown, root = arb(epsilon).exp(), (arb(epsilon) / 2).exp()
    if randomizer == "randomized-response":
        return responses(options, epsilon)
    if randomizer == "symmetric-unary-encoding":
        return unary(options, root / (root + 1), 1 / (root + 1))
    if randomizer == "optimised-unary-encoding":
        return unary(options, arb(1) / 2, 1 / (grown + 1))
    if randomizer == "subset-selection":  # one of three values is the nearest number
        assert (options, epsilon) == (3, 1)
        return responses(options, epsilon)
    assert randomizer == "hadamard-response"
    columns = 1 << math.ceil(math.log2(options + 1))
    rows = [[1 - (r & y).bit_count() % 2 for y in range(columns)] for r in range(1, options + 1)]
    return [[(grown if one else arb(1)) / (columns // 2 * (grown + 1)) for one in row] for row in rows]


CASES = [
    *[(people, options, "randomized-response", epsilon) for people in (2, 3, 5) for options in (2, 3, 4)
      for epsilon in (1, 3)],
    *[(people, 2, kind, 1) for people in (2, 4) for kind in ("symmetric-unary-encoding", "optimised-unary-encoding")],
    *[(3, 3, kind, 1) for kind in ("optimised-unary-encoding", "subset-selection", "hadamard-response")],
]  # fmt: skip


@pytest.mark.parametrize(("people", "options", "randomizer", "epsilon"), CASES)
def test_no_pair_that_is_written_out_is_above_and_what_is_attained_is_not_above_the_largest(
    people: int, options: int, randomizer: RandomizerName, epsilon: int
) -> None:
    mechanism = made(people, options, epsilon, randomizer)
    (entry,) = mechanism.below()
    with precision(BITS):
        laws = laws_of(randomizer, options, epsilon)
        for level in LEVELS:
            known = entry.at_level(level)
            assert isinstance(known, KnownEvent)
            here = known.pair.dataset[1:, 0].astype(int).tolist()
            largest = arb(0)
            for others in itertools.combinations_with_replacement(range(options), people - 1):
                rest = [laws[value] for value in others]
                stick = hockey_stick(multisets([laws[0], *rest]), multisets([laws[1], *rest]), level)
                largest = largest.max(stick)
                if list(others) == here:
                    event = known.event(level)
                    assert not event.p_ball - ball(level).exp() * event.q_ball > stick
            found = mechanism.largest_delta(level)
            assert found is not None
            assert not largest > found


@pytest.mark.parametrize("level", LEVELS)
def test_a_response_of_three_values_attains_the_profile_of_a_pair_that_is_written_out(level: Fraction) -> None:
    with precision(BITS):
        laws = responses(3, 2)
        stick = max(
            (
                hockey_stick(multisets([laws[0], *[laws[v]] * 6]), multisets([laws[1], *[laws[v]] * 6]), level)
                for v in range(3)
            ),
            key=lambda found: found.lower(),
        )
        known = made(7, 3, 2).below()[0].at_level(level)
        assert isinstance(known, KnownEvent)
        event = known.event(level)
        assert (event.p_ball - ball(level).exp() * event.q_ball).overlaps(stick)


def test_two_numbers_of_the_published_reduction_are_less_than_is_attained() -> None:
    """Five people with one of five values: counts of two labels, without the third, miss most of delta(0.8)."""
    level = Fraction(4, 5)
    published = attained_event(5, response_of_crowd(5, Fraction(1), 2), level).delta()  # the counts of T0 and T1 alone
    with precision(BITS):
        laws = responses(5, 1)
        truth = hockey_stick(multisets([laws[0], *[laws[0]] * 4]), multisets([laws[1], *[laws[0]] * 4]), level)
        assert truth > 4 * published
        assert not truth > delta_of_crowd(5, response_labels(5, Fraction(1)), level)


@pytest.mark.parametrize("wrong", ["twice the people", "everybody in the crowd"])
def test_wrong_bounds_are_below_a_pair_that_is_written_out(wrong: str) -> None:
    """The planted faults of the first test."""
    level = Fraction(2, 5)
    with precision(BITS):
        laws = responses(4, 1)
        truth = hockey_stick(multisets([laws[0], *[laws[3]] * 4]), multisets([laws[1], *[laws[3]] * 4]), level)
    if wrong == "twice the people":
        assert truth > delta_of_crowd(10, response_labels(4, Fraction(1)), level)
    else:
        assert truth > attained_event(5, response_of_crowd(4, Fraction(1), 2), level).delta()


@pytest.mark.parametrize(
    ("people", "options", "local", "level"),
    [(10_000, 4, 1, "0.034"), (10_000, 3, 2, "0.12"), (20_000, 10, 3, "0.39")],  # of the last delta is about 1e-30
)
def test_both_sides_are_within_a_thousandth_of_each_other(people: int, options: int, local: int, level: str) -> None:
    mechanism, epsilon = made(people, options, local), Fraction(level)
    above = mechanism.largest_delta(epsilon)
    closer = epsilon * Fraction(999, 1000)
    known = mechanism.below()[0].at_level(closer)
    assert above is not None
    assert isinstance(known, KnownEvent)
    assert known.event(closer).delta_lower(closer) > above


def test_a_million_people_take_seconds() -> None:
    started = time.process_time()
    mechanism = ShuffledReports(
        people=10**6,
        randomizer="randomized-response",
        options=10,
        local_epsilon=2,
        epsilon="0.0066",
        delta="1e-6",
    )
    verdict, closer = certify(mechanism), certify(mechanism, "eps=0.00659, delta=1e-6")
    assert time.process_time() - started < 20  # two claims
    assert (verdict.status, closer.status) == (Status.CERTIFIED, Status.REFUTED)


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_epsilon_is_enclosed_and_far_below_the_local_one(randomizer: RandomizerName) -> None:
    known = known_epsilon(made(60, 4, 1, randomizer), Fraction(1, 1000))
    assert 0 < known.lower <= known.upper < 0.7


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
@pytest.mark.parametrize(("people", "options", "local"), [(2, 2, "1e-3"), (1000, 3, "20"), (100, 50, "600")])
def test_extreme_arguments_are_decided(randomizer: RandomizerName, people: int, options: int, local: str) -> None:
    mechanism = made(people, options, local, randomizer)
    known = known_epsilon(mechanism, Fraction(1, 10**6))
    assert 0 <= known.lower <= known.upper <= float(local)
    assert certify(mechanism, f"eps={local}").status is Status.CERTIFIED


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_reports_are_shuffled_and_of_the_right_law(randomizer: RandomizerName, seed: int) -> None:
    mechanism = made(4, 3, 1, randomizer)
    values, rng = np.array([[0.0], [1.0], [2.0], [0.0]]), np.random.default_rng(seed)
    released = mechanism.release_many(values, 20_000, rng)
    if randomizer == "randomized-response":
        mean, seen = mechanism.response_chances(values[:, 0]).sum(axis=0), released.mean(axis=0)
    else:
        local = [mechanism.local.release_many(values[i : i + 1], 20_000, rng).mean(axis=0) for i in range(4)]
        mean = np.tile(np.mean(local, axis=0), 4)  # every place has the same law
        seen = released.mean(axis=0)
    np.testing.assert_allclose(seen, mean, atol=6 * np.sqrt(released.var(axis=0).max() / 10_000))


def test_the_score_is_the_ratio_of_laws_that_are_written_out() -> None:
    mechanism = made(4, 3, 1)
    pair = mechanism.neighbours(np.array([[0.0], [2], [2], [2]]), np.array([[1.0], [2], [2], [2]]))
    laws = responses(3, 1)
    p, q = (multisets([laws[first], *[laws[2]] * 3]) for first in (0, 1))
    score = mechanism.likelihood_score(pair)(np.array(list(p), dtype=float))
    np.testing.assert_allclose(score, [float((p[counts] / q[counts]).log()) for counts in p], rtol=1e-12, atol=1e-12)


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidValue, match="people"):
        made(1, 3, 1)
    with pytest.raises(InvalidValue, match="randomizer"):
        made(3, 3, 1, "response")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="options"):
        made(3, 1, 1)
    with pytest.raises(InvalidValue, match="local_epsilon"):
        made(3, 3, "601")
    for dataset in ([[0.0]], [[0.0], [1.0], [3.0]], [[0.0], [1.0], [0.5]]):
        with pytest.raises(InvalidValue, match="dataset"):
            made(3, 3, 1).release(np.array(dataset), np.random.default_rng(0))
