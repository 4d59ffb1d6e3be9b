"""Tapped samplers: their classes pass for the originals, and their laws are what they say."""

import math
import random
import secrets

import numpy as np
import pytest
import scipy.stats

from dpverdict.audit.implementation.tap.sources.samplers import generator, replacing, samplers
from dpverdict.audit.implementation.tap.tagged_numbers import form_of, without_tags
from dpverdict.audit.implementation.tap.tape import Tape, UnknownLaw, following


def test_outside_of_a_run_a_tapped_generator_is_a_generator() -> None:
    mine, other = generator([1, 2]), np.random.default_rng([1, 2])
    assert isinstance(mine, np.random.Generator)
    for name, arguments in {"laplace": (1, 2, 3), "normal": (0, 1, 2), "random": (2,), "integers": (9,)}.items():
        assert np.array_equal(getattr(mine, name)(*arguments), getattr(other, name)(*arguments))


def test_classes_and_instances_pass_for_each_other_while_they_are_tapped() -> None:
    original = np.random.default_rng(1)
    rng = generator(1)
    with replacing(samplers(rng, 1)):
        assert isinstance(original, np.random.Generator)
        assert isinstance(rng, np.random.Generator)
        assert isinstance(np.random.Generator(np.random.PCG64(1)), np.random.Generator)
        assert isinstance(np.random.RandomState(1), np.random.RandomState)
        assert isinstance(random.Random(1), random.Random)
        assert isinstance(secrets.SystemRandom(), random.SystemRandom)
    assert np.random.default_rng(1).random() == np.random.default_rng(1).random()


@pytest.mark.parametrize(
    ("draw", "kind", "query", "gain"),
    [
        (lambda rng: rng.laplace(5, 2), "laplace", 5, 2),
        (lambda rng: rng.normal(loc=5, scale=2), "gaussian", 5, 2),
        (lambda rng: rng.exponential(2), "exponential", 0, 2),
        (lambda rng: rng.uniform(5, 7), "uniform", 5, 2),
        (lambda rng: rng.gumbel(5, 2), "gumbel", 5, 2),
        (lambda rng: rng.geometric(0.5), "geometric", 1, 1),
        (lambda rng: np.random.normal(5, 2), "gaussian", 5, 2),  # noqa: NPY002  # as users write it
        (lambda rng: np.random.RandomState(1).laplace(5, 2), "laplace", 5, 2),
        (lambda rng: random.gauss(5, 2), "gaussian", 5, 2),
        (lambda rng: random.expovariate(0.5), "exponential", 0, 2),
        (lambda rng: random.uniform(5, 7), "uniform", 5, 2),
        (lambda rng: scipy.stats.norm.rvs(5, 2), "gaussian", 5, 2),
        (lambda rng: scipy.stats.laplace(5, 2).rvs(), "laplace", 5, 2),
        (lambda rng: scipy.stats.dlaplace.rvs(0.7), "two-sided geometric", 0, 1),
    ],
)
def test_a_draw_tells_its_law_its_location_and_its_scale(draw, kind, query, gain) -> None:  # type: ignore[no-untyped-def]
    rng = generator(1)
    with replacing(samplers(rng, 1)), following(Tape()) as tape:
        value = draw(rng)
        one = form_of(value)
        law = tape.draws()[0].law
        assert len(tape.draws()) == 1  # the outer draw alone counts
        assert law is not None
        assert (law.name, float(one.query), one.gains.tolist()) == (kind, query, [gain])
        unit = float(np.asarray(tape.draws()[0].values))
        assert float(without_tags(value)) == pytest.approx(query + gain * unit)


def test_unit_draws_have_the_law_they_are_said_to_have() -> None:
    laws = {"laplace": "laplace", "normal": "norm", "exponential": "expon", "gumbel": "gumbel_r", "random": "uniform"}
    rng = generator(7)
    with replacing(samplers(rng, 7)):
        for name, law in laws.items():
            with following(Tape()) as tape:
                getattr(rng, name)(size=2000)
            p = scipy.stats.kstest(np.asarray(tape.draws()[0].values), law).pvalue
            assert p > 1e-9, (name, p)  # the chance of an error is 1e-9 for each of five
        with following(Tape()) as tape:
            rng.geometric(0.25, size=4000)
        assert float(tape.draws()[0].law.parameter) == pytest.approx(-math.log(0.75))  # type: ignore[union-attr]
        assert np.asarray(tape.draws()[0].values).min() == 0


def test_draws_that_depend_on_each_other_are_made_of_normal_draws() -> None:
    rng, covariance = generator(7), np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.5], [0.0, 0.5, 2.0]])
    with replacing(samplers(rng, 7)), following(Tape()) as tape:
        value = rng.multivariate_normal([1.0, 2.0, 3.0], covariance)
    (draw,) = tape.draws()
    form = form_of(value)
    gains = np.zeros((3, 3))
    for row, (ids, own) in enumerate(zip(form.ids, form.gains, strict=True)):
        gains[row, ids[ids >= 0] - form.ids.max() + 2] = own[ids >= 0]
    assert form.query.tolist() == [1, 2, 3]
    np.testing.assert_allclose(gains @ gains.T, covariance, atol=1e-12)
    assert draw.law is not None
    assert draw.law.name == "gaussian"


def test_what_is_no_covariance_has_no_known_law() -> None:
    with replacing(samplers(generator(7), 7)), pytest.warns(RuntimeWarning), following(Tape()) as tape:
        generator(7).multivariate_normal([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    assert isinstance(tape.draws()[0].law, UnknownLaw)


def test_bits_are_replayed_and_have_no_law() -> None:
    with replacing(samplers(generator(1), 1)):
        with following(Tape()) as tape:
            first = secrets.token_bytes(8)
        with following(Tape(tape)):
            assert secrets.token_bytes(8) == first
        assert isinstance(tape.draws()[0].law, UnknownLaw)
