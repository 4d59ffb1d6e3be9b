"""Streams of counts: items per second, live noise, work per item, and the error, against other people's counters.

Run: OMP_NUM_THREADS=1 python benchmarks/counting.py [--peer-python PATH]

All counters run one after the other in one session on the same stream of T = 2^20 ones at epsilon = 1. OpenDP has no
streaming counter, so its binary tree is run on the whole stream at once (`make_b_ary_tree` with exact discrete Laplace
noise), and the prefix sums are put together from its nodes; that is less work than a stream is. jax-privacy's streaming
counters need jax: give the interpreter of an environment that has it with --peer-python. The rows of a peer that is not
installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from dpverdict.mechanisms.core.calibration import analytic_scale
from dpverdict.mechanisms.streams.blt import best_blt, blt_error
from dpverdict.mechanisms.streams.errors import (
    binary_error,
    gaussian_lower_bound,
    honaker_error,
    largest_size,
    square_root_error,
    tree_error,
)
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.streams.state import NoiseSource
from dpverdict.mechanisms.streams.tree import TreeDigits, TreeStream, best_arity
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

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
speeds = [items / seconds(each), horizon / seconds(lambda: run(keys).block_until_ready())]
begin = time.perf_counter()
best = buffered_toeplitz.optimize(n=horizon, error="max", min_buffers=4, max_buffers=4)
took = time.perf_counter() - begin
parameters = [best.buf_decay.tolist(), best.inverse().buf_decay.tolist()]
print(json.dumps([*speeds, took, parameters]))
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
    import opendp.prelude as dp

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
    import opendp.prelude as dp

    dp.enable_features("contrib")
    noisy = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), float(HORIZON.bit_length()))
    digits = TreeDigits.ordinary(2)
    stream = TreeStream(digits, digits.height(HORIZON), lambda: noisy(0), 0)
    begin = time.perf_counter()
    for _ in range(items):
        stream.advance()
    return items / (time.perf_counter() - begin)


class Peer(NamedTuple):
    """What jax-privacy did: items per second item by item and in one compiled scan, and what it optimised."""

    each: float
    scanned: float
    seconds: float
    optimised: tuple[list[float], list[float]]


def jax_privacy(python: str) -> Peer:
    """jax-privacy's buffered Toeplitz noise with 4 buffers: its speed, and the parameters it finds in how many seconds.

    Its speed is that of the parameters from a rational approximation of the square root; the optimised ones, for the
    largest error, take the same operations. Optimising for the mean error materialises T coefficients and is left out.
    """
    script = JAX.format(horizon=HORIZON, items=20_000)
    run = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"jax-privacy in {python} failed:\n{run.stderr[-2000:]}")
    each, scanned, seconds, optimised = json.loads(run.stdout.splitlines()[-1])
    return Peer(float(each), float(scanned), float(seconds), optimised)


def nanoseconds_per_item(power: int) -> float:
    """Processor time of one step of the noise of a stream for T = 2^power, from the middle of the stream on."""
    horizon = 1 << power
    arity = best_arity(horizon, "offset")
    counter = TreeCounter(horizon=horizon, epsilon=1, arity=arity)
    law = counter.noise
    source = NoiseSource(lambda words, size: law.sample(words, size).tolist(), bytes(32))
    items = min(SAMPLED, horizon // 2)
    best = float("inf")
    for _ in range(7):
        stream = TreeStream(TreeDigits.offset(arity), counter.height, source.draw, 0, time=horizon // 2)
        begin = time.process_time()
        for _ in range(items):
            stream.advance()
        best = min(best, 1e9 * (time.process_time() - begin) / items)
    return best


def work(power: int) -> tuple[float, int]:
    """Noise values drawn per item, and the most in use, over items from the middle of a stream of 2^power on."""
    horizon = 1 << power
    digits = TreeDigits.offset(best_arity(horizon, "offset"))
    drawn = 0

    def draw() -> int:
        nonlocal drawn
        drawn += 1
        return 0

    stream = TreeStream(digits, digits.height(horizon), draw, 0, time=horizon // 2)
    first, most = drawn, 0
    items = min(SAMPLED, horizon // 2)
    for _ in range(items):
        stream.advance()
        most = max(most, stream.live)
    return (drawn - first) / items, most


def show_errors(console: Console, peer: Peer | None) -> None:
    """The errors at equal budgets, exactly."""
    advantage = Table(title="mean squared error at epsilon = 1, pure DP, best arity")
    for column in ("T", "k", "TreeCounter", "Honaker", "Honaker over tree", "binary over tree"):
        advantage.add_column(column, justify="right")
    for power in (10, 20, 30, 60):
        for horizon in ((1 << power) - 1, 1 << power):
            tree, honaker = tree_error(horizon, "best"), honaker_error(horizon, "laplace").mean.nearest()
            ours, binary = tree.mean.nearest(), binary_error(horizon, "laplace").mean.nearest()
            name = f"2^{power}" + (" - 1" if horizon % 2 else "")
            cells = (name, tree.name.partition("=")[2], f"{ours:.1f}", f"{honaker:.1f}")
            advantage.add_row(*cells, f"{honaker / ours:.3f}", f"{binary / ours:.3f}")
    console.print(advantage)

    gaussian = Table(title="mean squared error at epsilon = 1, delta = 1e-6, T = 2^20, Gaussian noise")
    for column in ("factorisation", "mean squared error"):
        gaussian.add_column(column, justify="left" if column == "factorisation" else "right")
    square = analytic_scale(1, "1e-6", 1) ** 2
    rows = [("square root", square_root_error(HORIZON).mean)]
    rows += [(f"BLT, {q} buffers, best_blt", blt_error(HORIZON, *best_blt(HORIZON, q)).mean) for q in (2, 3, 4, 5)]
    if peer is not None:
        label = f"BLT, 4 buffers, jax-privacy optimised for the largest error ({peer.seconds:.0f} s)"
        rows.append((label, blt_error(HORIZON, *peer.optimised).mean))
    rows.append(("any factorisation, at least", gaussian_lower_bound(HORIZON)))
    for name, error in rows:
        gaussian.add_row(name, f"{square * error.nearest():.1f}")
    console.print(gaussian)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--peer-python", default="", help="an interpreter with jax-privacy")
    python: str = arguments.parse_args().peer_python
    console = Console()

    table = Table(title="T = 2^20 items, epsilon = 1; batch = not a stream")
    for column in ("counter", "items/s", "live", "at most", "mean squared error"):
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
        counter = make()
        bound = counter.height * counter.nodes.digits.largest  # Lemma 4.12
        reached = largest_size(counter.nodes.digits, HORIZON)
        if live != reached or live > bound:
            raise SystemExit(f"{name}: {live} noise values in use, {reached} expected, at most {bound} by Lemma 4.12")
        table.add_row(name, f"{speed:,.0f}", str(live), str(bound), f"{float(counter.mean_squared_error()):.1f}")
    for kind in ("binary", "honaker", "smooth-binary"):

        def made(kind: str = kind) -> FactorizationCounter:
            return FactorizationCounter(horizon=HORIZON, kind=kind, noise="laplace", claim="eps=1")  # type: ignore[arg-type]

        speed, live = streaming(made, HORIZON >> 2)
        error = made().mean_squared_error().nearest()
        table.add_row(f"FactorizationCounter, {kind}, Laplace", f"{speed:,.0f}", str(live), "", f"{error:.1f}")
    batch, stream = TreeCounter(horizon=HORIZON, epsilon=1, arity=19), np.ones(HORIZON)
    begin = time.perf_counter()
    batch.release_many(stream, 1, np.random.default_rng(0))
    table.add_row(
        "TreeCounter.release_many (batch)", f"{HORIZON / (time.perf_counter() - begin):,.0f}", "", "", "1147.4"
    )
    if importlib.util.find_spec("opendp") is not None:
        speed, error = opendp_tree()
        table.add_row("OpenDP binary tree (batch)", f"{speed:,.0f}", "", "", f"{error:.0f} (one run)")
        table.add_row("binary-tree stream on OpenDP's noise", f"{opendp_stream(50_000):,.0f}", "", "", "8820.0")
    peer = jax_privacy(python) if python else None
    if peer is not None:
        table.add_row("jax-privacy BLT, 4 buffers, Gaussian, item by item", f"{peer.each:,.0f}", "4", "", "")
        table.add_row("jax-privacy BLT, 4 buffers, Gaussian, one scan (batch)", f"{peer.scanned:,.0f}", "4", "", "")
    console.print(table)
    show_errors(console, peer)

    flat = Table(title="work per item from the middle of the stream, best arity")
    for column in ("T", "k", "noise values per item", "most in use", "ns per item"):
        flat.add_column(column, justify="right")
    for power in (10, 15, 20, 25, 30, 35, 40):
        drawn, most = work(power)
        arity = best_arity(1 << power, "offset")
        flat.add_row(f"2^{power}", str(arity), f"{drawn:.3f}", str(most), f"{nanoseconds_per_item(power):.0f}")
    console.print(flat)

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
