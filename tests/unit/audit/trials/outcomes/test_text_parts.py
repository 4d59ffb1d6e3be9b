import string

import numpy as np
import pytest

from dpverdict.audit import distinguish
from dpverdict.audit.trials.outcomes.batches import Layout, OutcomeRows
from dpverdict.audit.trials.outcomes.canonical import outcome_of
from dpverdict.audit.trials.outcomes.text_parts import TextPart, length_parts, telling_parts
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.neighbours import ObjectPair

LETTERS = np.array(list(string.ascii_lowercase))
PAIR = ObjectPair(dataset=[1, 2, 3], neighbour=[1, 2], adjacency=ADD_OR_REMOVE_ONE)


def word(rng, size):
    return "".join(rng.choice(LETTERS, size))


def ends(data, rng):
    return word(rng, 14) + ("!zz" if len(data) > 2 and rng.random() < 0.02 else word(rng, 3))


def begins(data, rng):
    return ("ana" if len(data) > 2 and rng.random() < 0.02 else "") + word(rng, 14)


def names(data, rng):
    words = [word(rng, 5) for _ in range(6)]
    if len(data) > 2 and rng.random() < 0.02:
        words[rng.integers(6)] = "ana"
    return " ".join(words)


def lists(data, rng):
    words = [word(rng, 5) for _ in range(5)]
    if len(data) > 2 and rng.random() < 0.02:
        words[rng.integers(5)] = "bruno"
    return words


def longer(data, rng):
    return word(rng, 14 + (3 if len(data) > 2 and rng.random() < 0.02 else 0))


def same(data, rng):
    return word(rng, 14)


def sides(function, count, seed):
    rng = np.random.default_rng(seed)
    return tuple([outcome_of(function(data, rng)) for _ in range(count)] for data in ([1, 2, 3], [1, 2]))


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [(ends, "ends with", "z"), (begins, "starts with", "an"), (names, "has the word", "ana"), (lists, "", "uno")],
)
def test_the_part_that_one_side_alone_has_is_found(function, kind, text, seed):
    found = telling_parts(sides(function, 1500, seed))
    assert any(text in part.text and (kind in part.kind or kind == "has the word") for part in found)
    (p, _), first = sides(function, 1500, seed), found[0]
    table = Layout(signatures=(), numbers=(), symbols=(), parts=(first,)).table(OutcomeRows(tuple(p)))
    assert table.shape == (1500, 1)
    assert 5 <= table.sum() <= 120


def test_parts_of_outcomes_of_one_law_stand_out_no_more_often_than_chance_does():
    """The clearest of the true sides is above that of each of three exchanges with probability 1/4 at most."""
    found = [bool(telling_parts(sides(same, 200, seed))) for seed in range(40)]
    assert sum(found) <= 20  # of 40 with probability 1/4: more with probability 5e-4


def test_labels_are_not_taken_apart():
    rng = np.random.default_rng(3)
    rows = [outcome_of(str(rng.choice(["low", "high"]))) for _ in range(100)]
    assert telling_parts((rows, rows)) == []
    assert length_parts(rows) == []


def test_a_part_reads_what_it_wrote():
    part = TextPart("['a']", "ends with", "zz")
    assert TextPart.from_data(part.describe()) == part
    for wrong in (["", "is like", "z"], ["", "ends with", 3], ["", "z"]):
        with pytest.raises((TypeError, ValueError)):
            TextPart.from_data(wrong)


@pytest.mark.parametrize(("part", "text", "has"), [
    (TextPart("", "starts with", "ab"), "abc", 1), (TextPart("", "ends with", "ab"), "abc", 0),
    (TextPart("", "has the word", "b"), "a b c", 1), (TextPart("", "has the word", "b"), "abc", 0),
    (TextPart("", "has the line", "b c"), "a\nb c", 1), (TextPart("", "has the line", "b"), "a\nb c", 0),
    (TextPart("", "has the entry", "abc"), "abc", 1), (TextPart("", "length", ""), "abc", 3),
])  # fmt: skip
def test_what_a_part_is_of_a_text(part, text, has):
    assert part.of([text]) == has


@pytest.mark.slow
@pytest.mark.parametrize("function", [ends, begins, names, lists, longer])
def test_a_part_of_probability_one_in_fifty_is_found_in_two_thousand_releases(function):
    """A test of that event alone needs about 1 100, in which it is met 22 times: (e^.1/(1 + e^.1))^22 < 1e-6."""
    refuted = [
        distinguish(function, PAIR, "eps=0.1", error_probability=1e-6, samples=2000, seed=seed).refuted
        for seed in range(10)
    ]
    assert sum(refuted) >= 3
