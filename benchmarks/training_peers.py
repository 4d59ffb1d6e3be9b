"""Epsilon of training runs by this package and by other accountants, on the same work, one after the other in one run.

Each peer is run by an interpreter of its own, DIR/NAME/bin/python, where it is installed; one that is not there is left
out. A line has the two numbers that are told, or one where there is only an upper one or an estimate, and the processor
time of all threads; then how many times as long as ours the peer takes, and how many times as wide its interval is,
from our lower end where it has none of its own. The other lines of ours are for `DIGITS` digits; "at its width" is how
many times as long a peer takes as our quickest line that is no wider. Imports and a first small case are not timed.

    python benchmarks/training_peers.py --peers DIR
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

BAND: Final = (1.0, 0.5, 0.375, 0.3125)
"""Of the square root of the prefix sums."""
CASES: Final[dict[str, dict[str, Any]]] = {
    "Poisson, 1, 0.01, 1000": {"parts": [(1.0, 0.01, 1_000)]},
    "Poisson, 1, 0.01, 10 000": {"parts": [(1.0, 0.01, 10_000)]},
    "Poisson, 0.8, 0.02, 2000": {"parts": [(0.8, 0.02, 2_000)]},
    "Poisson, 2, 0.001, 100 000": {"parts": [(2.0, 0.001, 100_000)]},
    "three Poisson runs together": {"parts": [(1.0, 0.01, 1_000), (0.8, 0.02, 100), (2.0, 0.05, 500)]},
    "allocation, 1, 10 steps": {"allocation": (1.0, 10, 1)},
    "allocation, 1, 100 steps": {"allocation": (1.0, 100, 1)},
    "allocation, 1, 100 steps x 10": {"allocation": (1.0, 100, 10)},
    "allocation, 0.8, 1000 steps x 10": {"allocation": (0.8, 1_000, 10)},
    "matrix, band 4, 4, 100 steps in 10 bins": {"bins": (BAND, 4.0, 100, 10)},
    "matrix, band 4, 4, 1000 steps in 100 bins": {"bins": (BAND, 4.0, 1_000, 100)},
}
WARM: Final[list[dict[str, Any]]] = [
    {"parts": [(3.0, 0.1, 3)]},
    {"allocation": (3.0, 4, 1)},
    {"bins": ((1.0, 0.25), 5.0, 8, 4)},
]
DELTA: Final = 1e-5
DIGITS: Final = (3, 5)
"""Of our other lines."""
OURS: Final[dict[str, int | None]] = {"dpverdict": None} | {f"dpverdict, {digits} digits": digits for digits in DIGITS}
LIMIT: Final = 600
"""Seconds of the clock that a peer has for all cases."""
Interval = tuple[float | None, float | None]


def gram(band: tuple[float, ...], steps: int, bins: int) -> list[float]:
    """All inner products of the means of the bins, row by row."""
    import numpy as np

    means = np.zeros((bins, steps))
    for t in range(steps):
        reach = min(len(band), steps - t)
        means[t % bins, t : t + reach] += band[:reach]
    found: list[float] = (means @ means.T).ravel().tolist()
    return found


# one function for each accountant: from a case to (lower, upper), None where it has no such number --------------------


def ours(case: dict[str, Any], digits: int | None) -> Interval:
    """Certified: the truth of a matrix mechanism is between what is attained and what is certified from above."""
    from dpverdict.audit import GaussianLoss, compose, poisson_sampled, random_allocation

    if "bins" in case:
        if digits is not None:
            raise NotImplementedError
        from dpverdict.audit.exact.decide import known_epsilon
        from dpverdict.balls import exactly
        from dpverdict.mechanisms.training.sampled_matrix import SampledMatrixMechanism

        band, scale, steps, bins = case["bins"]
        made = SampledMatrixMechanism(
            noise_multiplier=scale,
            steps=steps,
            kind="toeplitz",
            coefficients=band,
            sampling="balls-in-bins",
            separation=bins,
        )
        found = known_epsilon(made, exactly("1e-5"))
        return found.lower, found.upper
    if "allocation" in case:
        scale, steps, epochs = case["allocation"]
        loss: Any = random_allocation(noise_multiplier=str(scale), steps=steps, epochs=epochs)
    else:
        parts = [poisson_sampled(GaussianLoss(1 / s), str(q), t) for s, q, t in case["parts"]]
        loss = compose(*parts)
    found = loss.certified_epsilon("1e-5") if digits is None else loss.enclosed_epsilon("1e-5", digits)
    return found.lower, found.upper


def dp_accounting(case: dict[str, Any]) -> Interval:
    from dp_accounting.pld import privacy_loss_distribution as pld

    if "parts" not in case:
        raise NotImplementedError
    sides = []
    for pessimistic in (False, True):
        whole = None
        for scale, rate, steps in case["parts"]:
            one = pld.from_gaussian_mechanism(scale, sampling_prob=rate, pessimistic_estimate=pessimistic).self_compose(
                steps
            )
            whole = one if whole is None else whole.compose(one)
        sides.append(float(whole.get_epsilon_for_delta(DELTA)))  # type: ignore[union-attr]
    return sides[0], sides[1]


def prv_accountant(case: dict[str, Any]) -> Interval:
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    if "parts" not in case:
        raise NotImplementedError
    made = [PoissonSubsampledGaussianMechanism(noise_multiplier=s, sampling_probability=q) for s, q, _ in case["parts"]]
    counts = [t for _, _, t in case["parts"]]
    accountant = PRVAccountant(prvs=made, max_self_compositions=counts, eps_error=0.01, delta_error=1e-8)
    low, _, high = accountant.compute_epsilon(delta=DELTA, num_self_compositions=counts)
    return float(low), float(high)


def opake(case: dict[str, Any]) -> Interval:
    from opake.api.accounting.core import opake_accounting as native
    from opake.api.accounting.core.discretization import get_discretization

    config = get_discretization().to_native()
    if "bins" in case:
        band, scale, steps, bins = case["bins"]
        return None, float(native.bnb_mc_pld(gram(band, steps, bins), bins, scale, config).epsilon_at(DELTA))
    if "allocation" in case:
        scale, steps, epochs = case["allocation"]
        one = native.random_allocation_gaussian_pld(scale, steps, 1, config)
        return None, float(one.self_compose(epochs).epsilon_at(DELTA))
    whole = None
    for scale, rate, steps in case["parts"]:
        one = native.poisson_pld(native.gaussian_pld(scale, config), rate).self_compose(steps)
        whole = one if whole is None else whole.compose(one)
    return None, float(whole.epsilon_at(DELTA))  # type: ignore[union-attr]


def pld_accounting(case: dict[str, Any]) -> Interval:
    from PLD_accounting import gaussian_allocation_epsilon_range

    if "allocation" not in case:
        raise NotImplementedError
    scale, steps, epochs = case["allocation"]
    high, low = gaussian_allocation_epsilon_range(
        delta=DELTA, sigma=scale, num_steps=steps, num_selected=1, num_epochs=epochs
    )
    return float(low), float(high)


def random_allocation_peer(case: dict[str, Any]) -> Interval:
    """By Renyi divergences of whole orders, its method for several epochs."""
    from random_allocation import PrivacyParams, SchemeConfig, allocation_epsilon_direct

    if "allocation" not in case:
        raise NotImplementedError
    scale, steps, epochs = case["allocation"]
    run = PrivacyParams(sigma=scale, num_steps=steps, num_selected=1, num_epochs=epochs, delta=DELTA)
    return None, float(allocation_epsilon_direct(run, SchemeConfig(allocation_direct_alpha_orders=list(range(2, 60)))))


def jax_privacy(case: dict[str, Any]) -> Interval:
    """The epsilon of 100 000 samples of the loss in either order, without the samples that would verify it."""
    import numpy as np
    from jax_privacy import batch_selection
    from jax_privacy.experimental.monte_carlo import sample_generation

    if "bins" not in case:
        raise NotImplementedError
    band, scale, steps, bins = case["bins"]
    norm = float(np.linalg.norm(band))
    found = 0.0
    for positive in (True, False):
        losses, _ = sample_generation.get_privacy_loss_sample(
            strategy=batch_selection.BallsInBinsSampling(cycle_length=bins, iterations=steps),
            noise_multiplier=scale / norm,
            c_col=np.array(band) / norm,
            positive_sample=positive,
            num_samples=100_000,
        )
        values = np.asarray(losses, dtype=np.float64) * (1 if positive else -1)
        low, high = 0.0, 50.0
        for _ in range(50):
            middle = (low + high) / 2
            above = np.maximum(0.0, -np.expm1(np.minimum(middle - values, 0.0))).mean() > DELTA
            low, high = (middle, high) if above else (low, middle)
        found = max(found, high)
    return None, found


PEERS: Final[dict[str, Callable[[dict[str, Any]], Interval]]] = {
    "dp_accounting": dp_accounting,
    "dp_accounting_head": dp_accounting,
    "prv_accountant": prv_accountant,
    "opake": opake,
    "PLD_accounting": pld_accounting,
    "random_allocation": random_allocation_peer,
    "jax_privacy": jax_privacy,
}


def measured(accountant: Callable[[dict[str, Any]], Interval]) -> None:
    """All cases by one accountant, a line of JSON for each."""
    for case in WARM:
        try:
            accountant(case)
        except Exception as error:  # what a peer cannot do is told
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
    for name, case in CASES.items():
        start = time.process_time()
        try:
            low, high = accountant(case)
        except NotImplementedError:
            continue
        except Exception as error:
            print(json.dumps({"case": name, "error": f"{type(error).__name__}: {error}"[:80]}), flush=True)
            continue
        print(json.dumps({"case": name, "low": low, "high": high, "s": time.process_time() - start}), flush=True)


def lines_of(name: str, interpreter: str) -> dict[str, dict[str, Any]]:
    """What one accountant says, by the name of the case."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    command = [interpreter, __file__, "--as", name]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        ).stdout
    except subprocess.TimeoutExpired as late:
        done = (late.stdout or b"").decode() if isinstance(late.stdout, bytes) else late.stdout or ""
    found = (json.loads(line) for line in done.splitlines() if line.startswith("{"))
    return {line["case"]: line for line in found}


def interval(line: dict[str, Any]) -> str:
    """The two numbers, or the one there is."""
    if "error" in line:
        return str(line["error"])
    low, high = (line[side] for side in ("low", "high"))
    if low is not None and high - low < 1e-9 * high:
        return f"{high:.12g}, width {(high - low) / high:.0e}"
    return f"[{low:.6g}, {high:.6g}]" if low is not None else f"<= {high:.6g}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, default=Path("build/peers"))
    parser.add_argument("--as", dest="name")
    options = parser.parse_args()
    if options.name:
        measured(partial(ours, digits=OURS[options.name]) if options.name in OURS else PEERS[options.name])
        return
    told = {name: lines_of(name, sys.executable) for name in OURS}
    for name in PEERS:
        interpreter = options.peers / name / "bin" / "python"
        if interpreter.exists():
            told[name] = lines_of(name, str(interpreter.absolute()))
    print(f"epsilon at delta = {DELTA}; processor time; ratios to ours: time, width")
    for case in CASES:
        lines_of_ours = [line for name in OURS if (line := told[name].get(case)) and "s" in line]
        own = told["dpverdict"].get(case)
        print(case)
        for name, lines in told.items():
            line = lines.get(case)
            if line is None:
                continue
            text = f"    {name:21} {interval(line):34}"
            if "s" in line:
                text += f" {line['s']:8.2f} s"
            if name not in OURS and own and "s" in line:
                width = max(own["high"] - own["low"], math.ulp(own["high"]))
                gap = line["high"] - (own["low"] if line["low"] is None else line["low"])
                seconds = [one["s"] for one in lines_of_ours if one["high"] - one["low"] <= gap]
                text += f"   time {line['s'] / own['s']:.3g}, width {gap / width:.1e}"
                text += f"; at its width time {line['s'] / min(seconds, default=math.nan):.3g}"
                if line["high"] < own["low"] or (line["low"] or 0) > own["high"]:
                    text += "   does not hold ours"
            print(text)


if __name__ == "__main__":
    main()
