"""The Count ellipse: the constraint it is made from, the layer where it is worst, and where it stops being private."""

from fractions import Fraction

import pytest
from flint import arb

from dpverdict.balls import Real as Number
from dpverdict.balls import ball, compare, precision
from dpverdict.mechanisms.broken.mutant import exact_root
from dpverdict.mechanisms.queries.count_ellipse import (
    eigenvalues,
    largest_optimal_k,
    shared_noise_variances,
    worst_layer_value,
)

BITS = 200


def root(m: int) -> arb:
    return ball(m).sqrt()


def layers(d: int, k: int, most: int) -> list[arb]:
    along, across = eigenvalues(d, k, root)
    return [ball(j * j) / (d * along) + ball(j * (d - j)) / (d * across) for j in range(most + 1)]


@pytest.mark.parametrize("d", [2, 3, 5, 10, 31])
def test_the_layer_of_k_ones_meets_the_constraint_and_the_trace_is_the_printed_variance(d: int) -> None:
    with precision(BITS):
        for k in range(1, d):
            along, across = eigenvalues(d, k, root)
            assert layers(d, k, k)[k].contains(1)
            r = root((d - 1) * k * (d - k))
            assert ((along + (d - 1) * across) / d - (k + r) ** 2 / ball(d * d)).contains(0)
            vz, ve = shared_noise_variances(d, k, root)
            assert (vz + d * ve - along).contains(0)
            assert (vz - across).contains(0)


@pytest.mark.parametrize("d", [2, 3, 4, 7, 16, 33])
def test_the_worst_layer_is_the_largest_of_all(d: int) -> None:
    with precision(BITS):
        for k in range(1, d):
            for most in {k, min(k + 2, d), d}:
                value = worst_layer_value(d, k, most, root)
                assert value is not None
                everywhere = layers(d, k, most)
                assert not any(layer > value for layer in everywhere)
                assert any(layer.overlaps(value) for layer in everywhere)


def test_a_flat_ellipse_protects_nothing() -> None:
    assert worst_layer_value(7, 7, 7, exact_root) is None
    assert eigenvalues(7, 7, exact_root)[1] == 0


@pytest.mark.parametrize("d", range(1, 61))
def test_the_last_private_k_is_found_in_integers(d: int) -> None:
    # Private iff no layer j <= k exceeds the layer of k ones, whose value is 1. An excess is decided in balls; one that
    # stays undecided is a layer that ties (d = s^2 +- 1 has such pairs), and ties are private.
    def is_private(k: int) -> bool:
        if k == d:
            return d == 1
        for j in range(1, k):
            excess = Number(lambda j=j: layers(d, k, k)[j] - 1)  # type: ignore[misc]
            if compare(excess, Number.of(0), max_bits=512) == 1:
                return False
        return True

    assert max(k for k in range(1, d + 1) if is_private(k)) == largest_optimal_k(d)


def test_rational_roots_give_rational_values() -> None:
    assert worst_layer_value(5, 4, 4, exact_root) == Fraction(33, 32)
    assert worst_layer_value(16, 15, 15, exact_root) == Fraction(57, 25)
