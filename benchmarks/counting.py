"""Streams of counts: items per second, live noise, work per item, and the error, against other people's counters.

Run: OMP_NUM_THREADS=1 python benchmarks/counting.py [--peer-python PATH]

All counters run one after the other in one session on the same stream of T = 2^20 ones at epsilon = 1. OpenDP has no
streaming counter, so its binary tree is run on the whole stream at once (`make_b_ary_tree` with exact discrete Laplace
noise), and the prefix sums are put together from its nodes; that is less work than a stream is. jax-privacy's streaming
counters need jax: give the interpreter of an environment that has it with --peer-python.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp
from rich.console import Console
from rich.table import Table

from dpverdict.mechanisms.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.tree_counter import TreeCounter
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_errors import best_arity
from dpverdict.mechanisms.tree_noise import NoiseSource
from dpverdict.mechanisms.tree_stream import TreeStream

HORIZON = 1 << 20
SAMPLED = 200_000
"""Items of a stream that starts in the middle."""

JAX = """
import json, time
import jax, jax.numpy as jnp
from jax_privacy.matrix_factorization import buffered_toeplitz, streaming_matrix
jax.config.update("jax_enable_x64", True)
horizon, items = {horizon}, {items}
blt = buffered_toeplitz.BufferedToeplitz.from_rational_approx_to_sqrt_x(num_buffers=4)
matrix = streaming_matrix.prefix_sum() @ blt.inverse_as_streaming_matrix()
def step(state, key):
    value, state = matrix.multiply_next(jax.random.normal(key), state)
    return state, value
advance = jax.jit(step)
run = jax.jit(lambda keys: jax.lax.scan(step, matrix.init_multiply(jnp.zeros(())), keys)[1])
keys = jax.random.split(jax.random.key(0), horizon)
listed = list(keys[:items])
def each():
    state = matrix.init_multiply(jnp.zeros(()))
    for key in listed:
        state, value = advance(state, key)
        float(value)
def seconds(call):
    call()
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
print(json.dumps([items / seconds(each), horizon / seconds(lambda: run(keys).block_until_ready())]))
"""


def streaming(make: Callable[[], TreeCounter | FactorizationCounter], items: int) -> tuple[float, int]:
    """Items per second of `add`, the best of three, and the most noise values in use."""
    best = 0.0
    for _ in range(3):
        add = make().add
        begin = time.perf_counter()
        for _ in range(items):
            add(1)
        best = max(best, items / (time.perf_counter() - begin))
    counter, most = make(), 0
    for _ in range(items):
        counter.add(1)
        most = max(most, counter.live)
    return best, most


def opendp_tree() -> tuple[float, float]:
    """Items per second of OpenDP's binary tree on the whole stream, and the error of one run."""
    dp.enable_features("contrib")
    leaves = HORIZON
    domain = dp.vector_domain(dp.atom_domain(T=int), size=leaves)
    tree = dp.t.make_b_ary_tree(domain, dp.l1_distance(T=int), leaf_count=leaves, branching_factor=2)
    noisy = tree >> dp.m.then_laplace(scale=float(leaves.bit_length()))
    stream = [1] * leaves
    begin = time.perf_counter()
    nodes = np.array(noisy(stream))
    counts = np.zeros(leaves, dtype=np.int64)
    t = np.arange(1, leaves + 1)
    for level in range(leaves.bit_length()):  # node e of level l (0 = leaves) ends at item e 2^l
        first = (leaves >> level) - 1
        ends = t >> level
        counts += np.where(ends & 1, nodes[first + np.maximum(ends - 1, 0)], 0)
    seconds = time.perf_counter() - begin
    return leaves / seconds, float(((counts - t) ** 2).mean())


def opendp_stream(items: int) -> float:
    """Items per second of a binary-tree stream that asks OpenDP for every noise value."""
    dp.enable_features("contrib")
    noisy = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), float(HORIZON.bit_length()))
    digits = Digits.ordinary(2)
    stream = TreeStream(digits, digits.height(HORIZON), lambda: noisy(0), 0)
    begin = time.perf_counter()
    for _ in range(items):
        stream.advance()
    return items / (time.perf_counter() - begin)


def jax_privacy(python: str) -> tuple[float, float]:
    """Items per second of jax-privacy's buffered Toeplitz noise, item by item and in one compiled scan."""
    script = JAX.format(horizon=HORIZON, items=20_000)
    run = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"jax-privacy in {python} failed:\n{run.stderr[-2000:]}")
    each, scanned = json.loads(run.stdout.splitlines()[-1])
    return float(each), float(scanned)


def nanoseconds_per_item(power: int) -> float:
    """The time of one step of the noise of a stream for T = 2^power, from the middle of the stream on."""
    horizon = 1 << power
    arity = best_arity(horizon, "offset")
    counter = TreeCounter(horizon=horizon, epsilon=1, arity=arity)
    law = counter.noise
    source = NoiseSource(lambda words, size: law.sample(words, size).tolist(), bytes(32))
    items = min(SAMPLED, horizon // 2)
    best = float("inf")
    for _ in range(7):
        stream = TreeStream(Digits.offset(arity), counter.height, source.draw, 0, time=horizon // 2)
        begin = time.perf_counter()
        for _ in range(items):
            stream.advance()
        best = min(best, 1e9 * (time.perf_counter() - begin) / items)
    return best


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--peer-python", default="", help="an interpreter with jax-privacy")
    python: str = arguments.parse_args().peer_python
    console = Console()

    table = Table(title="T = 2^20 items, epsilon = 1; batch = not a stream")
    for column in ("counter", "items/s", "live", "mean squared error"):
        table.add_column(column, justify="left" if column == "counter" else "right")
    tree: dict[str, Callable[[], TreeCounter]] = {
        "TreeCounter, k = 19, discrete": lambda: TreeCounter(horizon=HORIZON, epsilon=1, arity=19),
        "TreeCounter, k = 2, discrete": lambda: TreeCounter(horizon=HORIZON, epsilon=1, arity=2),
        "TreeCounter, k = 19, continuous": lambda: TreeCounter(
            horizon=HORIZON, epsilon=1, arity=19, noise="continuous"
        ),
    }
    for name, make in tree.items():
        speed, live = streaming(make, HORIZON)
        table.add_row(name, f"{speed:,.0f}", str(live), f"{float(make().mean_squared_error()):.1f}")
    for kind in ("binary", "honaker", "smooth-binary"):

        def made(kind: str = kind) -> FactorizationCounter:
            return FactorizationCounter(horizon=HORIZON, kind=kind, noise="laplace", claim="eps=1")  # type: ignore[arg-type]

        speed, live = streaming(made, HORIZON >> 2)
        error = made().mean_squared_error().nearest()
        table.add_row(f"FactorizationCounter, {kind}, Laplace", f"{speed:,.0f}", str(live), f"{error:.1f}")
    batch, stream = TreeCounter(horizon=HORIZON, epsilon=1, arity=19), np.ones(HORIZON)
    begin = time.perf_counter()
    batch.release_many(stream, 1, np.random.default_rng(0))
    table.add_row("TreeCounter.release_many (batch)", f"{HORIZON / (time.perf_counter() - begin):,.0f}", "", "1147.4")
    speed, error = opendp_tree()
    table.add_row("OpenDP binary tree (batch)", f"{speed:,.0f}", "", f"{error:.0f} (one run)")
    table.add_row("binary-tree stream on OpenDP's noise", f"{opendp_stream(50_000):,.0f}", "", "8820.0")
    if python:
        each, scanned = jax_privacy(python)
        table.add_row("jax-privacy BLT, 4 buffers, Gaussian, item by item", f"{each:,.0f}", "", "")
        table.add_row("jax-privacy BLT, 4 buffers, Gaussian, one scan (batch)", f"{scanned:,.0f}", "", "")
    console.print(table)

    work = Table(title="work per item from the middle of the stream, best arity")
    for column in ("T", "k", "ns per item"):
        work.add_column(column, justify="right")
    for power in (10, 15, 20, 25, 30, 35, 40):
        work.add_row(f"2^{power}", str(best_arity(1 << power, "offset")), f"{nanoseconds_per_item(power):.0f}")
    console.print(work)

    tracemalloc.start()
    counter = TreeCounter(horizon=1 << 40, epsilon=1, arity="best")
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20_000):
        counter.add(1)
    peak = tracemalloc.get_traced_memory()[1] - before
    console.print(f"memory of a stream with T = 2^40 beyond its set-up, at most: {peak / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
