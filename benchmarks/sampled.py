"""Poisson-sampled training against dp_accounting's privacy loss distributions: gaps and time, in one run.

For each case, both orders and some epsilons: the relative width of the certified enclosure of delta and its processor
time, beside dp_accounting's pessimistic and optimistic estimates at its default interval, their relative gap, their
time, and whether the two estimates hold the enclosure between them.

    python benchmarks/sampled.py
"""

from __future__ import annotations

import time
from typing import Any

from dp_accounting.pld import privacy_loss_distribution

from dpverdict.audit import GaussianLoss, poisson_sampled

CASES = [
    ("1", "0.01", 1_000, ["0.1", "0.5", "1", "2"]),
    ("1", "0.01", 10_000, ["1", "2", "4", "8"]),
    ("0.8", "0.02", 2_000, ["2", "4", "8"]),
    ("2", "0.001", 100_000, ["0.1", "0.25", "0.5", "1"]),
]


def peer(scale: str, rate: str, steps: int, *, pessimistic: bool) -> Any:
    """dp_accounting's composed distribution at its defaults; it ships no types."""
    one = privacy_loss_distribution.from_gaussian_mechanism(
        float(scale), sampling_prob=float(rate), pessimistic_estimate=pessimistic
    )
    return one.self_compose(steps)


def main() -> None:
    print("sigma, q, T, order, epsilon: width ours; gap of dp_accounting; does it hold ours between its estimates")
    for scale, rate, steps, epsilons in CASES:
        start = time.process_time()
        loss = poisson_sampled(GaussianLoss(1 / float(scale)), rate, steps)
        found = {
            (order, epsilon): getattr(loss, order).certified_delta(epsilon)
            for order in ("remove", "add")
            for epsilon in epsilons
        }
        ours = time.process_time() - start
        start = time.process_time()
        both = [peer(scale, rate, steps, pessimistic=side) for side in (False, True)]
        theirs = time.process_time() - start
        for (order, epsilon), value in found.items():
            pmfs = [getattr(pld, f"_pmf_{order}") for pld in both]
            low, high = (float(pmf.get_delta_for_epsilon(float(epsilon))) for pmf in pmfs)
            inside = low <= value.upper and value.lower <= high
            width = (value.upper - value.lower) / value.upper
            note = "yes" if inside else f"no: [{low:.9g}, {high:.9g}] against {value.show(12)}"
            print(f"{scale}, {rate}, {steps}, {order}, {epsilon}: {width:.1e}; {(high - low) / high:.1e}; {note}")
        print(f"    processor time: {ours:.2f} s ours, {theirs:.2f} s dp_accounting, both estimates")


if __name__ == "__main__":
    main()
