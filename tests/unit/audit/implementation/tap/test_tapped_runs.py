"""The tap on small functions of our own: each kind of noise with a planted fault and a correct control."""

import ctypes
import hashlib
import math
import os
import pickle
import random
import secrets
import subprocess
import sys
import threading
import time
from os import urandom
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.random import laplace as imported_laplace

from dpverdict.audit.implementation.tap.tap_verdict import TapStatus, repeats_needed
from dpverdict.audit.implementation.tap.tapped_runs import tap, tap_runs
from dpverdict.mechanisms.core.guarantees import parse_guarantee

D = np.zeros((10, 3))
D[0] = 1
E = D[1:]
PAIR = (D, E)
RNG = np.random.default_rng(5)
LIBC = ctypes.CDLL(None)
REFUTED, FINDING, QUIET, OPEN = TapStatus.REFUTED, TapStatus.FINDING, TapStatus.QUIET, TapStatus.NOT_COVERED


def counts(x: Any) -> Any:
    return x.sum(axis=0)


def total(x: Any) -> float:
    return float(x[:, 0].sum())


def laplace(x, rng):
    return counts(x) + rng.laplace(scale=3, size=3)


def laplace_small(x, rng):
    return counts(x) + rng.laplace(scale=1, size=3)


def located(x, rng):
    return rng.laplace(counts(x), 3)


def located_small(x, rng):
    return rng.laplace(counts(x), 1)


def gaussian(x, rng):
    return counts(x) + rng.normal(0, math.sqrt(3), 3)


def gaussian_small(x, rng):
    return counts(x) + rng.normal(0, 1, 3)


def legacy(x):
    return counts(x) + np.random.laplace(0, 3, 3)  # noqa: NPY002  # as users write it


def legacy_small(x):
    return counts(x) + np.random.laplace(0, 1, 3)  # noqa: NPY002  # as users write it


def state(x):
    return counts(x) + np.random.RandomState().laplace(0, 3, 3)


def state_small(x):
    return counts(x) + np.random.RandomState().laplace(0, 1, 3)


def plain_random(x):
    return [one + random.gauss(0, math.sqrt(3)) for one in counts(x)]


def plain_random_small(x):
    return [one + random.gauss(0, 1) for one in counts(x)]


def of_scipy(x):
    return counts(x) + scipy.stats.laplace.rvs(scale=3, size=3)


def of_scipy_small(x):
    return scipy.stats.laplace(loc=counts(x)).rvs()


def geometric(x, rng):
    return total(x) + rng.geometric(1 - math.exp(-1)) - rng.geometric(1 - math.exp(-1))


def geometric_small(x, rng):
    return total(x) + rng.geometric(1 - math.exp(-3)) - rng.geometric(1 - math.exp(-3))


def two_exponentials(x, rng):
    return total(x) + (rng.exponential() - rng.exponential())


def one_sided(x, rng):
    return total(x) + rng.exponential()


def two_noises(x, rng):
    return total(x) + rng.laplace(scale=0.5) + rng.laplace(scale=10)


def noises_together(x, rng):
    return total(x) + (rng.laplace(scale=2) + rng.laplace(scale=2))


def two_small_noises(x, rng):
    return total(x) + rng.laplace(scale=0.5) + rng.laplace(scale=0.4)


def through_views(x, rng):
    z = rng.standard_normal(3)
    z[:2] *= math.sqrt(3)
    z[2:] *= math.sqrt(3)
    z += counts(x)
    return z


def through_views_small(x, rng):
    z = rng.standard_normal(3) * 3
    z[:2] /= 3
    return counts(x) + z


def one_by_one(x, rng):
    z = np.zeros(3)
    for i in range(3):
        z[i] = rng.laplace(scale=3)
    return counts(x) + z


def one_by_one_small(x, rng):
    z = np.array([rng.laplace() for _ in range(3)])
    return np.concatenate([counts(x)[:1] + z[:1], counts(x)[1:] + z[1:]])


def in_a_dictionary(x, rng):
    return {name: float(one + rng.laplace(scale=3)) for name, one in zip("abc", counts(x), strict=True)}


def in_a_dictionary_small(x, rng):
    return {name: float(one + rng.laplace()) for name, one in zip("abc", counts(x), strict=True)}


def prefix_sums(x, rng):
    return np.tri(3) @ (counts(x) + rng.laplace(scale=3, size=3))


def prefix_sums_small(x, rng):
    return np.cumsum(counts(x)) + np.cumsum(rng.laplace(size=3))


def adaptive(x, rng):
    first = x[:, 0].sum() + rng.laplace(scale=2)
    second = x[:, 1].sum() if first > 0 else x[:, 2].sum()
    return [first, second + rng.laplace(scale=2)]


def adaptive_small(x, rng):
    first = x[:, 0].sum() + rng.laplace(scale=1)
    second = x[:, 1].sum() if first > 0 else x[:, 2].sum()
    return [first, second + rng.laplace(scale=1)]


def clipped(x, rng):
    return np.round(np.maximum(counts(x) + rng.laplace(scale=3, size=3), 0))


def clipped_small(x, rng):
    return np.round(np.maximum(counts(x) + rng.laplace(scale=1, size=3), 0))


def shuffled(x, rng):
    return rng.permutation(x).sum(axis=0) + rng.laplace(scale=3, size=3)


def no_noise(x, rng):
    return counts(x)


def shared(x, rng):
    return counts(x) + rng.laplace(scale=3)


def around(x, rng):
    return counts(x) + rng.laplace(scale=3, size=3), len(x)


def scale_of_data(x, rng):
    return counts(x) + rng.laplace(scale=len(x), size=3)


def multiplied(x, rng):
    return total(x) * rng.laplace()


def not_finite(x, rng):
    return np.log(np.zeros(3) + (len(x) == 9)) + rng.laplace(scale=3, size=3)


def uniform(x, rng):
    return total(x) + rng.uniform(-5, 5)


def of_the_module(x):
    return counts(x) + RNG.laplace(scale=3, size=3)


def of_the_module_small(x):
    return counts(x) + RNG.laplace(scale=1, size=3)


def by_name(x):
    return counts(x) + imported_laplace(scale=3, size=3)  # noqa: NPY002  # as users write it


def by_name_small(x):
    return counts(x) + imported_laplace(scale=1, size=3)  # noqa: NPY002  # as users write it


def of_a_secret_seed(x):
    return counts(x) + np.random.default_rng(secrets.randbits(128)).laplace(scale=3, size=3)


def of_a_secret_seed_small(x):
    return counts(x) + np.random.default_rng(secrets.randbits(128)).laplace(scale=1, size=3)


def of_a_seed_that_is_noise_too(x):
    seed = secrets.randbits(20)
    return counts(x) + np.random.default_rng(seed).laplace(scale=3, size=3), total(x) + seed


def seeded(x):
    return counts(x) + np.random.default_rng(3).laplace(scale=3, size=3)


def seeded_by_the_data(x):
    return total(x) + random.Random(len(x)).gauss(0, 9)


def started_again(x, rng):
    state = rng.bit_generator.state
    first = x[:, 0].sum() + rng.laplace(scale=3)
    rng.bit_generator.state = state
    return first, x[:, 1].sum() + rng.laplace(scale=3)


CORRECT = [
    *(laplace, located, gaussian, legacy, state, plain_random, of_scipy, geometric, two_exponentials, two_noises),
    *(noises_together, through_views, one_by_one, in_a_dictionary, prefix_sums, adaptive, clipped, shuffled),
    *(of_the_module, by_name, of_a_secret_seed),
]
WRONG = [
    (laplace_small, REFUTED, 3.0),
    (located_small, REFUTED, 3.0),
    (gaussian_small, REFUTED, None),
    (legacy_small, REFUTED, 3.0),
    (state_small, REFUTED, 3.0),
    (plain_random_small, REFUTED, None),
    (of_scipy_small, REFUTED, 3.0),
    (geometric_small, REFUTED, 3.0),
    (one_sided, REFUTED, math.inf),
    (uniform, REFUTED, math.inf),
    (two_small_noises, REFUTED, 2.0),
    (through_views_small, REFUTED, None),
    (one_by_one_small, REFUTED, 3.0),
    (in_a_dictionary_small, REFUTED, 3.0),
    (prefix_sums_small, REFUTED, 3.0),
    (adaptive_small, REFUTED, 2.0),
    (clipped_small, FINDING, 3.0),
    (no_noise, REFUTED, math.inf),
    (shared, FINDING, None),
    (around, FINDING, None),
    (scale_of_data, FINDING, math.inf),
    (multiplied, FINDING, math.inf),
    (not_finite, FINDING, math.inf),
    (of_the_module_small, REFUTED, 3.0),
    (by_name_small, REFUTED, 3.0),
    (of_a_secret_seed_small, REFUTED, 3.0),
    (seeded, FINDING, None),
    (seeded_by_the_data, FINDING, None),
    (started_again, FINDING, None),
]
GAUSSIAN = {gaussian, gaussian_small, plain_random, plain_random_small, through_views, through_views_small}


def claim_of(function: Any) -> str:
    return "mu=1" if function in GAUSSIAN else "eps=1"


@pytest.mark.few(10)
@pytest.mark.parametrize("function", CORRECT, ids=lambda function: function.__name__)
def test_a_correct_function_is_quiet(function: Any) -> None:
    found = tap_runs(function, PAIR, claim_of(function), seed=2)
    assert found.status is QUIET, found.text()
    assert found.exit_code == 3
    assert not found.findings


@pytest.mark.few(15)
@pytest.mark.parametrize(("function", "status", "epsilon"), WRONG, ids=lambda one: getattr(one, "__name__", ""))
def test_a_planted_fault_is_found(function: Any, status: TapStatus, epsilon: float | None) -> None:
    found = tap_runs(function, PAIR, claim_of(function), seed=2)
    assert found.status is status, found.text()
    assert found.exit_code == (1 if status is REFUTED else 3)
    assert found.runs <= 10 or not found.rows
    if epsilon is not None:
        assert found.epsilon == pytest.approx(epsilon, rel=1e-9)
    if function in GAUSSIAN:
        assert found.mu == pytest.approx(math.sqrt(19 / 9 if function is through_views_small else 3))


def test_the_loss_of_laplace_noise_is_exact_and_takes_two_recorded_runs() -> None:
    found = tap_runs(laplace_small, PAIR, "eps=1", seed=1)
    assert found.epsilon == 3.0
    assert found.exact
    assert found.runs == 5  # recorded, replayed twice and on the neighbour, recorded anew
    assert found.rows[0].where.startswith("test_tapped_runs.py:")
    assert "3 of 3 places" in found.rows[0].measured


# what fights the tap --------------------------------------------------------------------------------------------------


class Keeper:
    """Keeps a generator where the tap does not look for one."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)


KEEPER = Keeper()


def own_generator(x):
    return counts(x) + KEEPER.rng.laplace(scale=3, size=3)


def seldom_of_a_kept_generator(x, rng):
    noisy = counts(x) + rng.laplace(scale=3, size=3)
    return counts(x) if KEEPER.rng.random() < 1e-6 else noisy


def seldom_of_compiled_code(x, rng):
    noisy = counts(x) + rng.laplace(scale=3, size=3)
    return counts(x) if LIBC.rand() == 7 else noisy


def seldom_of_a_coin(x, rng):
    noisy = counts(x) + rng.laplace(scale=3, size=3)
    return counts(x) if rng.random() < 1e-6 else noisy


def seldom_of_bits(x):
    return (len(x) == 10) ^ (urandom(2) == b"ab")


def thrown_until(x, rng):
    thrown = 0
    while rng.random() < 1 / (1 + total(x)):
        thrown += 1
    return thrown


def polar(x, rng):
    while True:
        u, v = rng.uniform(-1, 1), rng.uniform(-1, 1)
        square = u * u + v * v
        if 0 < square < 1:
            return total(x) + 3 * u * math.sqrt(-2 * math.log(square) / square)


def of_a_fork(x, rng):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, np.random.default_rng().laplace(scale=3, size=3).tobytes())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return counts(x) + np.frombuffer(pipe.read())


def of_a_pickled_generator(x, rng):
    return counts(x) + pickle.loads(pickle.dumps(rng)).laplace(scale=3, size=3)


def of_raw_bits(x, rng):
    return total(x) + np.log1p(float(rng.bit_generator.random_raw()) / 2**64)


def of_time(x):
    return total(x) + int.from_bytes(hashlib.sha256(str(time.perf_counter_ns()).encode()).digest()[:4], "big") / 2**32


def of_a_process(x):
    script = "import random; print(random.gauss(0, 9))"
    return total(x) + float(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)


def of_a_device(x):
    with open("/dev/urandom", "rb") as device:
        return total(x) + math.log(1 + int.from_bytes(device.read(7), "big") / 2**56)


def in_a_thread(x, rng):
    out: list[Any] = []
    thread = threading.Thread(target=lambda: out.append(rng.laplace(scale=3, size=3)))
    thread.start()
    thread.join()
    return counts(x) + out[0]


def of_bits(x):
    return total(x) + secrets.randbelow(1000) - 500


def of_the_system(x):
    return total(x) + math.log(1 + int.from_bytes(os.urandom(7), "big") / 2**56)


def by_inversion(x):
    u = random.random() - 0.5
    return total(x) - math.copysign(1, u) * math.log(1 - 2 * abs(u))


def rejected(x, rng):
    z = rng.laplace()
    while z < 0:
        z = rng.laplace()
    return total(x) + z


def drawn_again(x, rng):
    while True:
        value = x[:, 0].sum() + rng.laplace()
        if 0 <= value <= 20:
            return value


def forgotten(x, rng):
    return total(x) + float(rng.laplace())


def sparse_vector(x, rng):
    threshold = 0.5 + rng.laplace(scale=2)
    for i, one in enumerate(counts(x)):
        if one + rng.laplace(scale=4) >= threshold:
            return i
    return -1


def coin_then_answer(x, rng):
    return len(x) == 10 if rng.random() < 0.73 else len(x) == 9


def raises(x, rng):
    raise ValueError("no")


def other_number_of_draws(x, rng):
    return sum(one.sum() * 0 + rng.laplace() for one in x)


def sampled(x, rng):
    kept = x[rng.choice(9, 5, replace=False)]
    return kept.sum(axis=0) + rng.laplace(scale=1, size=3)


def lasting(x, rng):
    while True:
        pass


@pytest.mark.few(12)
@pytest.mark.parametrize(
    "function",
    [own_generator, in_a_thread, of_bits, of_the_system, by_inversion, rejected, drawn_again, forgotten, sparse_vector,
     coin_then_answer, raises, other_number_of_draws, seldom_of_a_kept_generator, seldom_of_compiled_code,
     seldom_of_a_coin, seldom_of_bits, thrown_until, polar, of_a_fork, of_a_pickled_generator, of_raw_bits, of_time,
     of_a_process, of_a_device, of_a_seed_that_is_noise_too],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_what_cannot_be_followed_is_not_covered_and_never_clean(function: Any) -> None:
    found = tap_runs(function, PAIR, "eps=1", seed=2)
    assert found.status is OPEN, found.text()
    assert found.exit_code == 3
    assert found.reason


def test_picking_records_before_the_noise_is_no_finding_by_its_transcript() -> None:
    assert tap_runs(sampled, (D, np.vstack([D[1:], D[1:2]])), "eps=1", seed=2).status in (OPEN, QUIET)


def test_nothing_of_this_process_is_replaced_by_a_tap() -> None:
    before = np.random.default_rng, np.zeros, random.random, secrets.token_bytes
    state = np.random.get_state()[1].copy()  # noqa: NPY002  # as users write it
    assert tap(laplace_small, PAIR, "eps=1", seed=1).status is REFUTED
    assert before == (np.random.default_rng, np.zeros, random.random, secrets.token_bytes)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002  # as users write it


def test_a_function_that_does_not_end_is_not_covered() -> None:
    found = tap(lasting, PAIR, "eps=1", seed=1, seconds=1.0)
    assert found.status is OPEN
    assert "1 seconds" in found.reason


def test_a_function_of_frames_that_does_not_end_is_not_covered() -> None:
    """They are tapped in this process."""
    polars = pytest.importorskip("polars")
    frames = polars.DataFrame({"x": [1, 2]}), polars.DataFrame({"x": [1]})
    found = tap(lasting, frames, "eps=1", seed=1, seconds=0.5)
    assert found.status is OPEN
    assert "0.5 seconds" in found.reason


@pytest.mark.parametrize("empty_first", [True, False])
def test_noise_that_was_made_a_plain_number_is_no_finding_where_zero_is_added_to_it(empty_first: bool) -> None:
    def added(x: Any, rng: np.random.Generator) -> float:
        return len(x) + float(rng.laplace(0, 1))

    pair = (E[:0], E[:1]) if empty_first else (E[:1], E[:0])
    assert tap_runs(added, pair, "eps=1", seed=2).status is OPEN


def test_a_function_that_ends_its_process_is_not_covered() -> None:
    assert tap(lambda x, rng: os._exit(0), PAIR, "eps=1", seed=1).status is OPEN


def rarely_flipped(x):
    return (len(x) == 10) ^ HIDDEN()


def HIDDEN() -> bool:  # what stands for compiled code
    return False


def test_without_a_draw_a_claim_is_refuted_only_as_far_as_the_runs_go() -> None:
    small, large = (tap_runs(rarely_flipped, PAIR, claim, seed=1) for claim in ("eps=1", "eps=6"))
    assert small.status is REFUTED
    assert not small.exact
    assert "error 1e-6" in small.reason
    assert large.status is FINDING  # a coin that falls otherwise once in 400 times keeps eps = 6


@pytest.mark.parametrize("claim", ["eps=0.1", "eps=1", "eps=3", "mu=1", "eps=1, delta=0.1", "rho=1"])
def test_the_runs_without_noise_are_enough_for_every_law_within_the_claim(claim: str) -> None:
    guarantee = parse_guarantee(claim)
    count = repeats_needed(guarantee)
    p, q = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401))  # of the outcomes a on D and b on E
    inside = np.ones_like(p, dtype=bool)
    for epsilon in np.linspace(0, 8, 81):
        inside &= q - np.exp(epsilon) * (1 - p) <= guarantee.delta_upper(float(epsilon))
    assert (p * q)[inside].max() ** count <= 1e-6
    assert count < 10**9
