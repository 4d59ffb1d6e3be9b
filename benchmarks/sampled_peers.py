"""What other accountants say of the runs of benchmarks/sampled.py: epsilon at delta = 1e-5, and their processor time.

Opacus's Renyi accountant is read from its file alone, so PyTorch is not needed. Its other accountant is its own
implementation of the method of prv_accountant, in part adapted from the same code, and is not run. Run it with an
interpreter that has both, beside this package's own figures:

    python -m venv peers && peers/bin/pip install prv-accountant && peers/bin/pip install --no-deps opacus
    peers/bin/python benchmarks/sampled_peers.py
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

CASES = [(1.0, 0.01, 1_000), (1.0, 0.01, 10_000), (0.8, 0.02, 2_000), (2.0, 0.001, 100_000)]
DELTA = 1e-5
ORDERS = [1 + x / 10.0 for x in range(1, 100)] + list(range(12, 64))
"""Those that Opacus takes by default."""


def opacus_rdp() -> Any:
    """The module of Opacus with the Renyi accountant, without importing the package."""
    package = importlib.util.find_spec("opacus")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "accountants" / "analysis" / "rdp.py"
    spec = importlib.util.spec_from_file_location("opacus_rdp", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    rdp = opacus_rdp()
    for scale, rate, steps in CASES:
        start = time.process_time()
        moments = rdp.compute_rdp(q=rate, noise_multiplier=scale, steps=steps, orders=ORDERS)
        epsilon, _ = rdp.get_privacy_spent(orders=ORDERS, rdp=moments, delta=DELTA)
        print(f"{scale}, {rate}, {steps}: Opacus RDP {epsilon:.6f}, {time.process_time() - start:.2f} s")
        start = time.process_time()
        one = PoissonSubsampledGaussianMechanism(noise_multiplier=scale, sampling_probability=rate)
        accountant = PRVAccountant(prvs=one, max_self_compositions=steps, eps_error=0.01, delta_error=1e-8)
        low, estimate, high = accountant.compute_epsilon(delta=DELTA, num_self_compositions=steps)
        seconds = time.process_time() - start
        print(f"    prv_accountant [{low:.6f}, {high:.6f}], estimate {estimate:.6f}, {seconds:.2f} s")


if __name__ == "__main__":
    main()
