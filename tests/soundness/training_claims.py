"""Random claims about training runs, 2 % to either side of the least that is true, for every way of batching.

    python tests/soundness/training_claims.py 500 [FIRST] [SAMPLING ...]

prints a line for each that is not decided, or decided wrongly, and a count by sampling and relation at the end, with
the median and the largest ratio of the two ends between which the truth is. Where a pair dominates whose curve is
certified the ends are one. Elsewhere the claims are beside the two ends: of shuffled batches, known batches and what a
pair attains; of k of T steps, k blocks of them and sums of scores; of balls in bins whose record is replaced, the way
through the data without it; of Poisson batches that are cut, what tells how many others were drawn; of batches of fixed
size with a record replaced, the composition of the worst step.
"""

import collections
import contextlib
import math
import statistics
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dpverdict.audit.exact.decide import certify, known_epsilon
from dpverdict.audit.exact.verdict import Status
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, adjacency_name
from dpverdict.mechanisms.training.batches import SAMPLINGS, BatchSampling
from dpverdict.mechanisms.training.dp_sgd import DPSGD

AWAY: Final = Fraction(1, 50)
NOISES: Final = ("0.5", "0.6", "0.8", "1", "1.1", "1.5", "2", "3", "5")
BATCHES: Final = (10, 50, 100, 128, 256, 1000, 3000)
EPOCHS: Final = (1, 2, 5, 10, 30, 100)
PER_BATCH: Final = (20, 64, 256)
ABOVE: Final = 6
"""Standard deviations of the size of a Poisson batch above its mean, at which it is cut."""
DELTAS: Final = ("1e-4", "1e-5", "1e-6", "1e-8", "1e-10")


@dataclass(frozen=True)
class TrainingClaim:
    """A run, with a claim that is true or false by 2 %."""

    run: DPSGD
    delta: str
    epsilon: Fraction
    is_true: bool
    gap: float

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
            f"{run.sampling}, {adjacency_name(run.adjacency)}: "
            f"noise {run.noise_multiplier}, {run.batches} batches, {run.steps} steps: "
            f"epsilon {float(self.epsilon):.6g} at {self.delta}, {'true' if self.is_true else 'false'}"
        )


def ends(run: DPSGD, delta: str) -> tuple[float, float]:
    """Between what the least true epsilon is."""
    found = known_epsilon(run, Fraction(delta))
    return found.lower, found.upper


def random_claim(rng: np.random.Generator, sampling: BatchSampling) -> TrainingClaim:
    batches, epochs = int(rng.choice(BATCHES)), int(rng.choice(EPOCHS))
    cut, again = sampling == "truncated-poisson", sampling == "with-replacement"
    records = batches * int(rng.choice(PER_BATCH))
    size = None
    if cut or again:
        size = records // batches + (math.ceil(ABOVE * math.sqrt(records / batches)) if cut else 0)
    run = DPSGD(
        noise_multiplier=str(rng.choice(NOISES)),
        rate=None if again else Fraction(1, batches),
        steps=batches * epochs,
        sampling=sampling,
        adjacency=REPLACE_ONE if rng.random() < 0.5 else ADD_OR_REMOVE_ONE,
        separation=batches if sampling == "cyclic-poisson" else None,
        records=records if cut or again else None,
        size=size,
    )
    delta, is_true = str(rng.choice(DELTAS)), bool(rng.random() < 0.5)
    lower, upper = ends(run, delta)
    is_true = is_true or not lower  # below 0 there is no claim
    epsilon = Fraction(upper) * (1 + AWAY) if is_true else Fraction(lower) * (1 - AWAY)
    return TrainingClaim(run, delta, epsilon, is_true, upper / lower if lower else math.inf)


def main() -> None:
    number, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    samplings = [known for known in SAMPLINGS if known in sys.argv[3:] or not sys.argv[3:]]
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    gaps: dict[str, list[float]] = collections.defaultdict(list)
    with contextlib.suppress(KeyboardInterrupt):  # the counts are of what was decided until then
        for seed in range(first, first + number):
            sampling = samplings[seed % len(samplings)]
            start = time.process_time()
            claim = random_claim(np.random.default_rng(seed), sampling)
            middle = time.process_time()
            right = claim.is_right
            word = {True: "right", False: "WRONG", None: "inconclusive"}[right]
            kind = f"{sampling}, {adjacency_name(claim.run.adjacency)}"
            counts[kind][word] += 1
            gaps[kind].append(claim.gap)
            took = time.process_time() - middle
            if right is not True or took > 10:
                print(f"{seed}: {word} in {took:.1f} s ({middle - start:.1f} s for the truth): {claim}", flush=True)
    for kind, count in sorted(counts.items()):
        print(f"{kind}: {dict(count)}, ratio {statistics.median(gaps[kind]):.3f}, at most {max(gaps[kind]):.3f}")


if __name__ == "__main__":
    main()
