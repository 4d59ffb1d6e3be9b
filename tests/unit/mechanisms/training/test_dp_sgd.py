"""DP-SGD on given gradients: batches as they are stated, clipping, noise, and what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.exact.decide import known_epsilon
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.training.batches import SAMPLINGS
from dpverdict.mechanisms.training.dp_sgd import DPSGD


def training(**changed):
    given = {"noise_multiplier": "1e-6", "rate": "0.25", "steps": 8, "sampling": "poisson"}
    return DPSGD(**(given | changed))


@pytest.mark.parametrize("sampling", ["shuffle", "shuffle-once", "balls-in-bins"])
def test_every_record_is_in_one_batch_of_each_epoch(sampling):
    rng = np.random.default_rng(1)
    noise = training(sampling=sampling, dim=10).noise
    batches = noise._sums(np.eye(10), 3, rng)  # of a record, the coordinate that is its own
    assert batches.shape == (3, 8, 10)
    assert not np.array_equal(batches[0], batches[1])
    batches = batches[0]
    assert (batches[:4].sum(axis=0) == 1).all()
    assert (batches[4:].sum(axis=0) == 1).all()
    assert (batches[:4].sum(axis=1) <= 3).all() == (sampling != "balls-in-bins")  # those are of any size
    assert np.array_equal(batches[:4], batches[4:]) == (sampling == "shuffle-once")


def test_a_poisson_batch_has_every_record_with_its_probability():
    """16 000 draws, seed 2: six standard errors, 2e-9 of chance."""
    batches = training(steps=1600, dim=10).noise._sums(np.eye(10), 1, np.random.default_rng(2))
    assert abs(batches.mean() - 0.25) < 6 * np.sqrt(0.25 * 0.75 / 16_000)


def test_gradients_are_clipped_and_noise_is_added():
    run = training(rate=1, steps=2, clipping_norm=2, dim=2)
    released = run.release([[3.0, 4.0], [0.5, 0.0]], np.random.default_rng(3))
    assert released == pytest.approx([1.7, 1.6, 1.7, 1.6], abs=1e-4)
    noisy = training(rate=1, steps=400, noise_multiplier=3, clipping_norm=2, dim=5).release_many(
        np.zeros((1, 5)), 5, np.random.default_rng(4)
    )
    assert noisy.shape == (5, 2000)
    assert abs(noisy.std() / 6 - 1) < 6 / np.sqrt(2 * noisy.size)


def test_shuffled_batches_are_whole_batches_and_epochs():
    run = training(rate="1/4", sampling="shuffle")
    assert (run.batches, run.epochs) == (4, 2)
    assert run.describe()["batches"] == "shuffled in each epoch"


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("rate and steps", {"sampling": "shuffle", "rate": "0.3"}),
        ("rate and steps", {"sampling": "shuffle", "steps": 9}),
        ("rate", {"rate": 0}),
        ("rate", {"rate": "1.5"}),
        ("steps", {"steps": 0}),
        ("sampling", {"sampling": "sometimes"}),
        ("noise_multiplier", {"noise_multiplier": 0}),
        ("rate", {"sampling": "k-of-t", "rate": "0.3"}),
        ("size", {"sampling": "truncated-poisson", "records": 9}),
        ("records", {"sampling": "truncated-poisson", "size": 3}),
        ("records", {"sampling": "truncated-poisson", "size": 3, "records": 3}),
        ("records", {"sampling": "truncated-poisson", "size": 3, "records": 10**7}),
        ("size", {"size": 3}),
        ("records", {"records": 9}),
        ("size", {"rate": None, "records": 9}),
        ("size", {"rate": None, "records": 9, "size": 10}),
        ("size", {"rate": None, "records": 9, "size": 5, "sampling": "cyclic-poisson", "separation": 2}),
        ("last_batch", {"rate": None, "records": 9, "size": 2, "last_batch": "drop"}),
        ("last_batch", {"rate": None, "records": 9, "size": 2, "steps": 5, "sampling": "shuffle", "last_batch": "eat"}),
        ("rate", {"sampling": "with-replacement", "rate": "0.1", "size": 2, "records": 9}),
        ("records", {"sampling": "with-replacement", "rate": None, "size": 2}),
        ("separation", {"sampling": "cyclic-poisson"}),
        ("separation", {"separation": 2}),
        ("separation", {"sampling": "cyclic-poisson", "separation": 9}),
        ("rate", {"sampling": "fixed-size", "rate": "0.12345678901"}),
    ],
)
def test_what_is_out_of_range_or_not_proved_is_refused(name, changed):
    with pytest.raises(InvalidValue, match=name):
        training(**changed)


def test_gradients_of_another_shape_are_refused():
    for wrong in ([1.0, 2.0], [[float("nan")]]):
        with pytest.raises(InvalidValue, match="dataset"):
            training().release(wrong, np.random.default_rng(5))


def exact_ratio(run, pair, released):
    """log P/Q of one release of a run of at most 3 steps, over all batches there are."""

    def density(data):
        total = 0.0
        for chance, sums in every_batching(run, data):
            total += chance * math.exp(-float(((released - sums) ** 2).sum()) / (2 * run.noise.scale**2))
        return total

    return math.log(density(pair.dataset) / density(pair.neighbour))


def every_batching(run, data):
    if run.sampling == "k-of-t":
        own = list(itertools.combinations(range(run.steps), run.noise.taken))
        for chosen in itertools.product(own, repeat=len(data)):
            table = np.array([[t in steps for steps in chosen] for t in range(run.steps)]).reshape(run.steps, len(data))
            yield len(own) ** -float(len(data)), table @ data[:, 0]
        return
    if run.cut is not None:
        yield from every_cut_batching(run, data)
        return
    if "poisson" in run.sampling or run.sampling == "weighted":
        places = [(t, i) for t in range(run.steps) for i in range(len(data)) if (t - i) % run.separation == 0]
        for taken in itertools.product((0, 1), repeat=len(places)):
            table, q = np.zeros((run.steps, len(data))), float(run.rate)
            for place, drawn in zip(places, taken, strict=True):
                table[place] = drawn
            yield q ** sum(taken) * (1 - q) ** (len(taken) - sum(taken)), table @ data[:, 0]
        return
    if run.sampling == "fixed-size":
        number = math.floor(run.rate * (len(data) + (run.adjacency is ADD_OR_REMOVE_ONE)))
        batches = list(itertools.combinations(range(len(data)), number))
        for chosen in itertools.product(batches, repeat=run.steps):
            yield len(batches) ** -float(run.steps), np.array([data[list(batch), 0].sum() for batch in chosen])
        return
    if run.sampling == "with-replacement":
        draws = list(itertools.product(range(len(data)), repeat=run.noise.draws))
        for chosen in itertools.product(draws, repeat=run.steps):
            yield len(draws) ** -float(run.steps), np.array([data[list(batch), 0].sum() for batch in chosen])
        return
    if run.sampling == "balls-in-bins":
        for bins in itertools.product(range(run.batches), repeat=run.epochs * len(data)):
            table = np.array(bins).reshape(run.epochs, len(data))
            sums = [sum(data[i, 0] for i in range(len(data)) if o[i] == b) for o in table for b in range(run.batches)]
            yield run.batches ** -float(table.size), np.array(sums)
        return
    orders = list(itertools.permutations(range(max(len(data), run.batches))))
    epochs = run.epochs if run.sampling == "shuffle" else 1
    for chosen in itertools.product(orders, repeat=epochs):
        sums = [sum(data[i, 0] for i in range(len(data)) if o[i] == b) for o in chosen for b in range(run.batches)]
        yield 1 / len(orders) ** epochs, np.tile(np.array(sums), run.epochs // epochs)


def every_cut_batching(run, data):
    n, q, one = len(data), float(run.rate), []
    for drawn in itertools.product((0, 1), repeat=n):
        members = [i for i in range(n) if drawn[i]]
        kept = list(itertools.combinations(members, min(len(members), run.cut.size)))
        chance = q ** len(members) * (1 - q) ** (n - len(members)) / len(kept)
        one += [(chance, data[list(batch), 0].sum()) for batch in kept]
    for chosen in itertools.product(one, repeat=run.steps):
        yield math.prod(chance for chance, _ in chosen), np.array([total for _, total in chosen])


@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_score_of_the_worst_pair_is_the_likelihood_ratio(sampling, relation):
    changed = {
        "poisson": {"rate": "0.3", "steps": 3},
        "cyclic-poisson": {"rate": "0.3", "steps": 3, "separation": 2},
        "fixed-size": {"rate": "0.4", "steps": 2},
        "weighted": {"rate": "0.3", "steps": 3},
        "truncated-poisson": {"rate": "0.4", "steps": 2, "size": 2, "records": 4},
        "with-replacement": {"rate": None, "steps": 2, "size": 2, "records": 3},
    }.get(sampling, {"rate": "0.5", "steps": 4})
    run = training(sampling=sampling, noise_multiplier="0.9", adjacency=relation, **changed)
    pair = worst_case(run).pair
    released = run.release_many(pair.dataset, 5, np.random.default_rng(7))
    wanted = [exact_ratio(run, pair, row) for row in released]
    np.testing.assert_allclose(run.likelihood_score(pair)(released), wanted, rtol=1e-9, atol=1e-9)


def test_every_sampling_runs():
    for sampling in SAMPLINGS:
        groups = {
            "cyclic-poisson": {"separation": 2},
            "truncated-poisson": {"size": 2, "records": 7},
            "with-replacement": {"rate": None, "size": 2, "records": 7},
        }.get(sampling, {})
        assert training(sampling=sampling, **groups).release([[1.0]] * 7, np.random.default_rng(6)).shape == (8,)


def test_batches_that_are_not_whole_are_refused_with_numbers_that_are():
    with pytest.raises(InvalidValue, match=r"give for example rate 1/234, 3510 steps"):
        DPSGD(noise_multiplier=1, rate="256/60000", steps=3516, sampling="shuffle")
    DPSGD(noise_multiplier=1, rate="1/234", steps=3510, sampling="shuffle")


def test_another_name_of_a_way_to_make_batches_is_refused_with_the_one_that_is_known():
    with pytest.raises(InvalidValue, match="write fixed-size"):
        DPSGD(noise_multiplier=1, rate="0.1", steps=10, sampling="without-replacement")


@pytest.mark.parametrize(
    ("changed", "rate"),
    [
        ({"sampling": "poisson"}, "2/21"),
        ({"sampling": "fixed-size"}, "2/21"),
        ({"sampling": "cyclic-poisson", "separation": 2}, "4/21"),
        ({"sampling": "balls-in-bins"}, "1/11"),
        ({"sampling": "shuffle"}, "1/11"),
        ({"sampling": "shuffle", "last_batch": "drop", "steps": 10}, "1/10"),
        ({"sampling": "with-replacement"}, "2/21"),
    ],
)
def test_records_and_the_size_of_a_batch_state_the_rate(changed, rate):
    assert training(**{"rate": None, "steps": 11, "records": 1050, "size": 100} | changed).rate == Fraction(rate)


@pytest.mark.parametrize("last_batch", ["keep", "drop"])
@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
@pytest.mark.parametrize("sampling", ["shuffle", "shuffle-once"])
def test_the_last_batch_is_smaller_or_dropped(sampling, relation, last_batch):
    """Of 5 records in batches of 2: one has 1, or 1 is left; the score is the likelihood ratio over all orders."""
    sizes = [2, 2, 1][: 3 if last_batch == "keep" else 2]
    given = {"rate": None, "records": 5, "size": 2, "steps": 2 * len(sizes), "sampling": sampling}
    given |= {"adjacency": relation, "last_batch": last_batch}
    run = training(**given)
    pair = worst_case(run).pair
    assert len(pair.dataset) == 5
    drawn = training(**given, dim=5).noise._sums(np.eye(5), 200, np.random.default_rng(3)).reshape(400, len(sizes), 5)
    assert (drawn.sum(axis=2) == sizes).all()
    places = [*itertools.chain.from_iterable([t] * size for t, size in enumerate(sizes)), *[len(sizes)] * 1][:5]

    def density(data, released):
        orders = list(itertools.permutations(range(5)))
        epochs = released.reshape(2, len(sizes))
        tables = [
            np.array([sum(data[i, 0] for i in range(len(data)) if places[o[i]] == t) for t in range(len(sizes))])
            for o in orders
        ]
        logs = np.array(
            [[-((one - table) ** 2).sum() / (2 * run.noise.scale**2) for table in tables] for one in epochs]
        )
        if sampling == "shuffle-once":
            return np.logaddexp.reduce(logs.sum(axis=0))
        return np.logaddexp.reduce(logs, axis=1).sum()

    for released in run.release_many(pair.dataset, 3, np.random.default_rng(7)):
        wanted = density(pair.dataset, released) - density(pair.neighbour, released)
        assert run.likelihood_score(pair)(released[None])[0] == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_draws_with_replacement_are_as_many_as_stated():
    run = training(sampling="with-replacement", rate=None, records=20, size=5, steps=8000, dim=20)
    drawn = run.noise._sums(np.eye(20), 1, np.random.default_rng(4))[0]
    assert (drawn.sum(axis=1) == 5).all()
    assert drawn.max() >= 2
    assert abs(drawn.mean() - 0.25) < 6 * np.sqrt(0.25 / drawn.size)


def test_a_batch_of_fixed_size_has_its_size_and_every_record_as_often():
    """8 000 draws of 5 of 20 records, seed 4: six standard errors."""
    for missing, adjacency in ((1, ADD_OR_REMOVE_ONE), (0, REPLACE_ONE)):
        noise = training(sampling="fixed-size", steps=8000, dim=20, adjacency=adjacency).noise
        batches = noise._sums(np.eye(20)[missing:], 1, np.random.default_rng(4))[0]
        assert (batches.sum(axis=1) == 5).all()  # with the record or without it
        seen = batches[:, missing:].mean(axis=0)
        chance = 5 / (20 - missing)
        assert (abs(seen - chance) < 6 * np.sqrt(chance * (1 - chance) / 8000)).all()


def test_a_group_of_cyclic_poisson_sampling_is_drawn_from_in_its_turn():
    noise = training(sampling="cyclic-poisson", separation=4, rate=1, steps=6, dim=8).noise
    batches = noise._sums(np.eye(8), 1, np.random.default_rng(5))[0]
    assert [np.flatnonzero(row).tolist() for row in batches] == [[t % 4, t % 4 + 4] for t in range(6)]


def test_the_same_noise_is_told_for_every_way_to_make_batches() -> None:
    run = DPSGD(noise_multiplier=1, rate="0.25", steps=8, sampling="shuffle")
    found = {name: known_epsilon(variant, Fraction(1, 10**5)) for name, variant in run.variants().items()}
    fixed = "fixed size, drawn anew in each step"
    assert list(found) == ["Poisson", "balls in bins", "shuffled in each epoch", "shuffled once", fixed]
    twice = poisson_sampled(GaussianLoss(2), "0.25", 8).certified_epsilon("1e-5")
    assert twice.lower <= found[fixed].upper <= twice.upper + 1e-12
    poisson = poisson_sampled(GaussianLoss(1), "0.25", 8).certified_epsilon("1e-5")
    assert poisson.lower - 1e-12 <= found["Poisson"].lower <= poisson.upper
    assert poisson.lower <= found["Poisson"].upper <= poisson.upper + 1e-12
    known = GaussianLoss.from_squared(Fraction(2)).certified_epsilon("1e-5").upper
    assert found["shuffled once"].lower < known <= found["shuffled once"].upper < known + 1e-9
    uneven = DPSGD(noise_multiplier=1, rate="0.3", steps=8, sampling="poisson")
    assert list(uneven.variants()) == ["Poisson", fixed]
    replaced = DPSGD(noise_multiplier=1, rate="0.25", steps=8, sampling="shuffle", adjacency=REPLACE_ONE)
    assert list(replaced.variants()) == ["Poisson", "balls in bins", "shuffled in each epoch", "shuffled once", fixed]
