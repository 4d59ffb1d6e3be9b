"""Noise that stands in several numbers, and samples of records: the bounds hold, and wrong ones are found.

The oracles are other arithmetic: the inverse of numpy at the corners of random boxes, and a sum over a fine grid.
"""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.handles import draws
from dpverdict.audit.tracing.losses import mixed, samples
from dpverdict.audit.tracing.losses.mixed import squared_mu
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.audit.tracing.run import Trace, followed
from dpverdict.audit.tracing.spending import alternatives

SCHEMA = TableSchema.from_toml(
    'relation = "add-or-remove-one"\ntable = "numpy"\n'
    + "".join(f'[columns.{name}]\ntype = "float"\nlow = 0\nhigh = 3\n' for name in "abc")
)


def trace_of(body: str) -> Trace:
    names: dict[str, Any] = {"np": np, "__name__": "a_program_with_noise"}
    exec(compile(f"def program(x, rng):\n    {body}\n", "<planted>", "exec"), names)
    return followed(names["program"], SCHEMA)


# draws in several numbers ---------------------------------------------------------------------------------------------


def random_rows(rng: np.random.Generator) -> tuple[list[mixed.Row], Any, list[float]]:
    """Random sums of few draws, their factors as a matrix, and how far each number moves."""
    size, draws = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    matrix = rng.integers(-2, 3, size=(size, draws)) / 2
    far = rng.integers(0, 4, size=size).astype(float).tolist()
    rows = [
        (tuple((j, Fraction(float(one))) for j, one in enumerate(row) if one), Fraction(move))
        for row, move in zip(matrix, far, strict=True)
    ]
    return rows, matrix, far


def attained(matrix: Any, far: list[float]) -> float:
    """The largest mu^2 over the corners, by numpy; infinite where a combination without noise may move."""
    covariance = matrix @ matrix.T
    most = 0.0
    for signs in itertools.product((-1, 1), repeat=len(far)):
        move = np.array(signs) * far
        found = np.linalg.lstsq(covariance, move, rcond=1e-10)[0]
        if not np.allclose(covariance @ found, move, atol=1e-9):
            return np.inf
        most = max(most, float(move @ found))
    return most


def misses(rng: np.random.Generator, times: int) -> bool:
    """Whether some pair spends more than a bound says."""
    for _ in range(times):
        rows, matrix, far = random_rows(rng)
        bound = squared_mu(rows)
        if bound is not None and attained(matrix, far) > float(bound) * (1 + 1e-9):
            return True
    return False


def test_no_pair_spends_more_by_mixed_draws_than_the_bound(seed: int) -> None:
    assert not misses(np.random.default_rng(seed), 300)


def test_the_bound_by_mixed_draws_is_attained(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        rows, matrix, far = random_rows(rng)
        bound = squared_mu(rows)
        if bound is not None:
            assert float(bound) == pytest.approx(attained(matrix, far), rel=1e-9)
        else:
            assert np.linalg.matrix_rank(matrix) < len(far)


@pytest.mark.parametrize("planted", ["independent", "singular", "one corner"])
def test_a_wrong_bound_by_mixed_draws_is_found(planted: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    product, inverse = mixed._product, mixed._inverse
    if planted == "independent":  # what the numbers have in common is forgotten
        monkeypatch.setattr(mixed, "_product", lambda a, b: product(a, b) if a is b else Fraction(0))
    elif planted == "singular":  # a combination without noise is taken for one with some
        monkeypatch.setattr(
            mixed, "_inverse",
            lambda matrix: inverse([[one + int(i == j) for j, one in enumerate(row)] for i, row in enumerate(matrix)]),
        )  # fmt: skip
    else:  # moves of one sign alone
        monkeypatch.setattr(mixed, "_largest", lambda inverse, far: sum(
            (inverse[i][j] * a * b for i, a in enumerate(far) for j, b in enumerate(far)), Fraction(0)))  # fmt: skip
    assert misses(np.random.default_rng(seed), 300)


@pytest.mark.parametrize(
    ("body", "squared"),
    [
        ("z = rng.normal(0, 3)\n    w = rng.normal(0, 4)\n    return x[:, 0].sum() + (z + w)", Fraction(9, 25)),
        ("z = rng.normal(0, 3)\n    w = rng.normal(0, 3)\n    return x[:, 0].sum() + z, x[:, 1].sum() + (z + w)", 5),
        ("z = rng.normal(0, 3)\n    w = rng.normal(0, 3)\n    return x[:, 0].sum() + z, x[:, 1].sum() + (w - z)", 5),
        ("return x[:, 0].sum() + 2 * rng.normal(0, 3)", Fraction(1, 4)),
        ("return x.sum(axis=0)[:2] + np.array([[1.0, 0.0], [1.0, 1.0]]) @ rng.normal(0, 3, size=2)", 5),
    ],
)
def test_mixed_draws_of_a_function(body: str, squared: Fraction) -> None:
    trace = trace_of(body)
    assert trace.refused is None
    assert max(one.gaussian for one in alternatives(trace.releases, replace=False)) == squared


@pytest.mark.parametrize(
    "body",
    [
        "z = rng.normal(0, 99)\n    return x[:, 0].sum() + z, x[:, 1].sum() + z",
        "z = rng.normal(0, 99)\n    return x[:, 0].sum() + z, x[:, 0].sum() - z",
        "z = rng.normal(0, 99)\n    return x[:, 0].sum() + z, z",
        "z = rng.normal(0, 99)\n    y = 1.0 + z\n    return y, x[:, 0].sum() + z",
        "z = rng.normal(0, 99)\n    return x[:, 0].sum() + (z - z)",
        "return x.sum(axis=0) + rng.normal(0, 99)",
        "z = rng.normal(0, 99, size=2)\n    return x.sum(axis=0) + np.array([z[0], z[1], z[0] + z[1]])",
        "z = rng.laplace(0, 99)\n    return x[:, 0].sum() + z, x[:, 1].sum() + z",
    ],
)
def test_noise_that_is_gone_from_a_combination_is_not_covered(body: str) -> None:
    refused = trace_of(body).refused
    assert refused is not None
    assert "noise" in refused


# a covariance ---------------------------------------------------------------------------------------------------------


def above_a_covariance(rng: np.random.Generator, times: int) -> bool:
    """Whether a record moves two sums further than the trace says, in units of noise of a random covariance."""
    for _ in range(times):
        half = rng.integers(-3, 4, size=(2, 2)) / 2
        covariance = half @ half.T + np.diag(rng.choice([0.25, 1.0, 4.0], size=2))
        body = f"return rng.multivariate_normal(x[:, :2].sum(axis=0), np.array({covariance.tolist()}))"
        trace = trace_of(body)
        assert trace.refused is None, trace.refused
        bound = max(one.gaussian for one in alternatives(trace.releases, replace=False))
        corners = [np.array(one) for one in itertools.product((0.0, 3.0), repeat=2)]
        most = max(float(one @ np.linalg.solve(covariance, one)) for one in corners)
        if most > float(bound) * (1 + 1e-9):
            return True
    return False


def test_no_record_moves_more_than_the_bound_of_a_covariance(seed: int) -> None:
    assert not above_a_covariance(np.random.default_rng(seed), 60)


@pytest.mark.parametrize("planted", ["square roots", "twice the noise", "the diagonal alone"])
def test_a_wrong_factor_of_a_covariance_is_found(planted: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = draws.factor_of
    wrong = {
        "square roots": lambda matrix: right(matrix @ matrix),  # the covariance is taken for its root
        "twice the noise": lambda matrix: 2 * right(matrix),
        "the diagonal alone": lambda matrix: right(np.diag(np.diag(matrix))),
    }
    monkeypatch.setattr(draws, "factor_of", wrong[planted])
    assert above_a_covariance(np.random.default_rng(seed), 60)


# samples --------------------------------------------------------------------------------------------------------------


def divergence(rate: float, scale: float, epsilon: float, *, add: bool) -> float:
    """The hockey-stick divergence of a sampled count with Laplace noise, summed over a grid that is fine enough."""
    edges = np.arange(-40 * scale, 40 * scale + 1, scale / 2000)

    def below(x: Any, centre: float) -> Any:
        z = (x - centre) / scale
        return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)

    without, present = np.diff(below(edges, 0.0)), np.diff(below(edges, 1.0))
    sampled = (1 - rate) * without + rate * present
    one, other = (without, sampled) if add else (sampled, without)
    return float(np.maximum(one - np.exp(epsilon) * other, 0).sum())


@pytest.mark.parametrize("rate", [0.05, 0.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.3])
def test_no_pair_spends_more_by_a_sample_than_the_bound(rate: float, epsilon: float) -> None:
    trace = trace_of(f"return len(x[rng.random(len(x)) < {rate}]) + rng.laplace(scale=1.0)")
    (option,) = alternatives(trace.releases, replace=False)
    upper = float(option.loss().certified_delta(epsilon).upper)
    for add in (False, True):  # events of a grid attain less than the divergence itself
        assert divergence(rate, 1.0, epsilon, add=add) <= upper * (1 + 1e-9) + 1e-12
    largest = max(divergence(rate, 1.0, epsilon, add=add) for add in (False, True))
    smaller = Spent(sampled=((Fraction(rate) / 2, Spent(laplace=((Fraction(1), 1),))),))
    if largest > 1e-3:  # a rate that is too small is found
        assert largest > float(smaller.loss().certified_delta(epsilon).upper)
    pure = option.epsilon()
    assert pure is not None
    assert float(pure) == pytest.approx(np.log1p(rate * np.expm1(1.0)), rel=1e-9)


COINS = "m = rng.random(len(x)) < 0.1\n    "


@pytest.mark.parametrize(
    ("body", "gains"),
    [
        ("return x[m, 0].sum() + rng.laplace(scale=3)", [True]),
        ("return m.sum() + rng.laplace()", [True]),
        ("return (x[:, 0] * m).sum() + rng.laplace(scale=3)", [True]),
        ("return np.where(m, x[:, 0], 0).sum() + rng.laplace(scale=3)", [True]),
        ("return (m & (x[:, 0] > 1)).sum() + rng.laplace()", [True]),
        ("y = x[m]\n    return y[y[:, 0] > 1, 1].sum() + rng.laplace(scale=3), len(y) + rng.laplace()", [True, True]),
        ("return x[m, 0].sum() + rng.laplace(scale=3), x[:, 0].sum() + rng.laplace(scale=3)", [True, False]),
        ("return x[m, 0].sum() + rng.laplace(scale=3), x[~m, 0].sum() + rng.laplace(scale=3)", [False, False]),
        ("return x[~m, 0].sum() + rng.laplace(scale=3)", [False]),
        ("return np.where(m, x[:, 0], 1.0).sum() + rng.laplace(scale=3)", [False]),
        ("return (m | (x[:, 0] > 1)).sum() + rng.laplace()", [False]),
        ("return x[m, 0].sum() + x[:, 1].sum() + rng.laplace(scale=3)", [False]),
        ("return x[m, 0].sum() - x[:, 0].sum() + rng.laplace(scale=3), m.sum() + rng.laplace()", [False, False]),
    ],
)
def test_what_is_made_of_a_sample_alone_gains(body: str, gains: list[bool]) -> None:
    trace = trace_of(COINS + body)
    assert trace.refused is None
    assert [one.sample is not None for one in trace.releases] == gains


def test_a_complement_that_gains_too_is_a_wrong_rule_that_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sees the sample and the rest sees every record: together they spend at least what one of them does."""
    body = COINS + "return m.sum() + rng.laplace(), (~m).sum() + rng.laplace()"

    def bound() -> float:
        options = alternatives(trace_of(body).releases, replace=False)
        return max(float(one.epsilon() or 0) for one in options)

    assert bound() >= 1
    monkeypatch.setattr(samples, "_implies", lambda steps, number, mask: True)
    assert bound() < 1


@pytest.mark.parametrize(
    "body",
    [
        "u = rng.random(len(x))\n    return (u < 0.1).sum() + rng.laplace(), (u < 0.5).sum() + rng.laplace()",
        "m = rng.random(len(x)) < 5 / len(x)\n    return m.sum() + rng.laplace()",
        "return rng.random(len(x)).sum() + rng.laplace()",
        "u = rng.random(len(x))\n    return x[u < 0.1, 0].sum() + rng.laplace(scale=3), u",
        "y = x[rng.random(len(x)) < 0.1]\n    return y[:, 0].mean() + rng.laplace(scale=3)",
        "return rng.random(3) + x.sum(axis=0) + rng.laplace(scale=9, size=3)",
    ],
)
def test_samples_that_are_not_followed_are_not_covered(body: str) -> None:
    assert trace_of(body).refused is not None


def test_a_sample_under_replacement_is_not_covered() -> None:
    schema = TableSchema.from_toml(SCHEMA.to_toml().replace('"add-or-remove-one"', '"replace-one"'))
    names: dict[str, Any] = {"np": np, "__name__": "a_program_with_a_sample"}
    exec("def f(x, rng):\n    return x[rng.random(len(x)) < 0.1, 0].sum() + rng.laplace(scale=3)\n", names)
    refused = followed(names["f"], schema).refused
    assert refused is not None
    assert "replace-one" in refused


# a second draw --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["laplace(scale=6, size=3)", "normal(scale=6, size=3)", "gumbel(scale=6, size=3)"])
def test_only_of_one_sided_laws_a_second_draw_makes_another_noise(law: str) -> None:
    """Of any other law it is one more random number, put to what was released: it takes nothing off the loss."""
    once, twice = (trace_of(f"return x.sum(axis=0) + rng.{law}{rest}") for rest in ("", f" - rng.{law}"))
    if law.startswith("gumbel"):
        assert once.refused is not None
        assert twice.refused is not None
        assert "gumbel noise is released" in twice.refused
        return
    assert once.refused is None, once.refused
    assert twice.refused is None, twice.refused
    (one,), (other,) = once.releases, twice.releases
    assert one.noise is not None
    assert other.noise is not None
    assert one.noise.to_json()["law"] == other.noise.to_json()["law"]
    assert one.noise.to_json()["scale"] == other.noise.to_json()["scale"]


@pytest.mark.parametrize("body", ["n", "n[0]", "n.item()", "float(n[0])"])
def test_one_draw_in_an_array_is_one_draw(body: str) -> None:
    found = trace_of(f"n = x[:, 0].sum() + rng.laplace(scale=6, size=1); return {body}")
    assert found.refused is None, found.refused
    (one,) = found.releases
    assert one.noise is not None
    assert one.noise.shape == ()
    assert trace_of("n = rng.laplace(scale=6, size=1); return x[:, 0].sum() + n, x[:, 1].sum() + n").refused is not None
    assert trace_of("return x[:, 0].sum() + rng.laplace(scale=6, size=2)").refused is not None
