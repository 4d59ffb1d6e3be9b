"""Random claims about training runs, 2 % to either side of the least that is true, for every way of batching.

    python tests/soundness/training_claims.py 500 [FIRST] [SAMPLING ...]

prints a line for each that is not decided, or decided wrongly, and a count by sampling at the end. The truth of Poisson
sampling and of balls in bins is the certified epsilon of the pair that dominates. Of shuffled batches nothing two-sided
is known: there the claims are beside the two ends of what is published, known batches and an attained event.
"""

import collections
import contextlib
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dpverdict.audit.exact.decide import certify, known_epsilon
from dpverdict.audit.exact.verdict import Status
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.training.dp_sgd import DPSGD, SAMPLINGS, BatchSampling

AWAY: Final = Fraction(1, 50)
NOISES: Final = ("0.5", "0.6", "0.8", "1", "1.1", "1.5", "2", "3", "5")
BATCHES: Final = (10, 50, 100, 128, 256, 1000, 3000)
EPOCHS: Final = (1, 2, 5, 10, 30, 100)
DELTAS: Final = ("1e-4", "1e-5", "1e-6", "1e-8", "1e-10")


@dataclass(frozen=True)
class TrainingClaim:
    """A run, with a claim that is true or false by 2 %."""

    run: DPSGD
    delta: str
    epsilon: Fraction
    is_true: bool

    def verdict(self) -> Status:
        claim = ApproximateDP(epsilon=self.epsilon, delta=self.delta)
        return certify(self.run, claim).status

    @property
    def is_right(self) -> bool | None:
        """Whether the verdict is; None where there is none."""
        found = self.verdict()
        if found is Status.INCONCLUSIVE:
            return None
        return (found is Status.CERTIFIED) is self.is_true

    def __str__(self) -> str:
        run = self.run
        return (
            f"{run.sampling} noise {run.noise_multiplier}, {run.batches} batches, {run.steps} steps: "
            f"epsilon {float(self.epsilon):.6g} at {self.delta}, {'true' if self.is_true else 'false'}"
        )


def ends(run: DPSGD, delta: str) -> tuple[float, float]:
    """Between what the least true epsilon is."""
    found = known_epsilon(run, Fraction(delta))
    return found.lower, found.upper


def random_claim(rng: np.random.Generator, sampling: BatchSampling) -> TrainingClaim:
    batches, epochs = int(rng.choice(BATCHES)), int(rng.choice(EPOCHS))
    run = DPSGD(
        noise_multiplier=str(rng.choice(NOISES)),
        rate=Fraction(1, batches),
        steps=batches * epochs,
        sampling=sampling,
        separation=batches if sampling == "cyclic-poisson" else None,
    )
    delta, is_true = str(rng.choice(DELTAS)), bool(rng.random() < 0.5)
    lower, upper = ends(run, delta)
    epsilon = Fraction(upper) * (1 + AWAY) if is_true else Fraction(lower) * (1 - AWAY)
    return TrainingClaim(run, delta, epsilon, is_true)


def main() -> None:
    number, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    samplings = [known for known in SAMPLINGS if known in sys.argv[3:] or not sys.argv[3:]]
    counts: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in samplings}
    with contextlib.suppress(KeyboardInterrupt):  # the counts are of what was decided until then
        for seed in range(first, first + number):
            sampling = samplings[seed % len(samplings)]
            start = time.process_time()
            claim = random_claim(np.random.default_rng(seed), sampling)
            middle = time.process_time()
            right = claim.is_right
            word = {True: "right", False: "WRONG", None: "inconclusive"}[right]
            counts[sampling][word] += 1
            took = time.process_time() - middle
            if right is not True or took > 10:
                print(f"{seed}: {word} in {took:.1f} s ({middle - start:.1f} s for the truth): {claim}", flush=True)
    for name, count in counts.items():
        print(name, dict(count))


if __name__ == "__main__":
    main()
