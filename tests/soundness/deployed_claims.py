"""Random claims about what is deployed outside training, a millionth to either side of the truth.

    python tests/soundness/deployed_claims.py NUMBER [FIRST] [KIND ...]

The truth is derived a second time, see `deployed_truths.py`. NUMBER random mechanisms are made, with two claims each:
delta a millionth above what the worst pair attains at an epsilon, and a millionth below. Of shuffled reports, of which
two bounds are known, the claims are beside the two bounds, and the truth, by enumeration, has to lie between them. A
line is printed for each claim that is not decided, or decided wrongly, and a count by mechanism at the end.
"""

import collections
import math
import runpy
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from mpmath import mp, mpf

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.mechanisms.core.bounds import KnownEvent
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.finite.quantile import IntervalQuantile
from dpverdict.mechanisms.keys.partition_selection import PartitionSelection
from dpverdict.mechanisms.keys.thresholded_counts import ThresholdedCounts
from dpverdict.mechanisms.local.hashing import CountMeanSketch, LocalHashing
from dpverdict.mechanisms.local.numbers import PIECES, NumberReport
from dpverdict.mechanisms.local.subsets import HadamardResponse, SubsetSelection
from dpverdict.mechanisms.local.unary import BITS, Rappor, UnaryEncoding
from dpverdict.mechanisms.shuffled.reports import ShuffledReports
from dpverdict.mechanisms.sums.bounded_contributions import BoundedContributions
from dpverdict.mechanisms.sums.secure_sum import SecureSum
from dpverdict.numerics.roots import as_fraction

TRUTHS: Final[dict[str, Any]] = runpy.run_path(str(Path(__file__).parent / "deployed_truths.py"))
AWAY: Final = Fraction(1, 10**6)
ORACLE: Final = Fraction(1, 10**30)
"""By which share a truth may be off, of which forty digits are taken."""
LEAST: Final = 1e-12
"""Of a delta: where it is smaller, or nearly 1, a mechanism and an epsilon are drawn anew."""
Truth = Callable[[Fraction], Any]


@dataclass(frozen=True)
class DeployedClaim:
    """A mechanism, with a claim that is true or false by a millionth of delta."""

    mechanism: StructuredMechanism
    epsilon: Fraction
    delta: Fraction
    is_true: bool

    @property
    def is_right(self) -> bool | None:
        """Whether the verdict is; None where there is none."""
        found = certify(self.mechanism, ApproximateDP(epsilon=self.epsilon, delta=self.delta)).status
        return None if found is Status.INCONCLUSIVE else (found is Status.CERTIFIED) is self.is_true

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.mechanism.describe().items())
        return f"{given}: epsilon {self.epsilon}, delta {float(self.delta):.9g}, {'true' if self.is_true else 'false'}"


class Draws:
    """Parameters, as decimal texts."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def whole(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def decimal(self, least: float, most: float) -> str:
        """Of three places, with equal chances for equal ratios."""
        return f"{math.exp(self.rng.uniform(math.log(least), math.log(most))):.3g}"

    def one_of(self, *values: Any) -> Any:
        return values[self.whole(0, len(values) - 1)]


CLAIM: Final[dict[str, Any]] = {"epsilon": 1, "delta": "1e-3"}
"""What mechanisms are made with where their parameters do not follow from the claim."""
Case = tuple[StructuredMechanism, Truth, float]
"""A mechanism, what it tells, and up to which epsilon claims are drawn."""


# one function for each kind: from random numbers to a case ------------------------------------------------------------


def thresholded_counts(draws: Draws) -> Case:
    noise = draws.one_of("laplace", "gaussian", "geometric")
    replaced, keys, per_key = draws.one_of(True, False), draws.whole(1, 2), draws.whole(1, 2)
    scale, threshold = draws.decimal(0.5, 4), str(draws.whole(2, 5))
    if noise == "geometric":
        keys = 1 if replaced else keys
        make = TRUTHS["keys_written_out"]
        given: tuple[Any, ...] = (Fraction(scale), Fraction(threshold), keys, per_key, replaced)
    else:
        keys = draws.whole(1, 3 if noise == "laplace" and replaced else 6)
        threshold = draws.decimal(2, 40)
        make = TRUTHS["new_and_old_keys"]
        given = (noise, Fraction(scale), Fraction(threshold), keys, per_key, replaced)
    made = ThresholdedCounts(
        keys=keys,
        noise=noise,
        scale=scale,
        threshold=threshold,
        per_key=per_key,
        adjacency=REPLACE_ONE if replaced else ADD_OR_REMOVE_ONE,
        **CLAIM,
    )
    return made, lambda epsilon: make(*given, epsilon), per_key * keys / float(scale)


def partition_selection(draws: Draws) -> Case:
    epsilon, delta, keys = draws.decimal(0.2, 4), draws.decimal(1e-6, 0.1), draws.one_of(1, 1, 2, 5, 20)
    if keys > 1:
        epsilon = str(Fraction(epsilon) * keys)
    made = PartitionSelection(keys=keys, epsilon=epsilon, delta=delta)
    claimed, share = Fraction(epsilon), Fraction(delta)
    if keys == 1:
        return made, lambda level: TRUTHS["one_of_optimal_keys"](claimed, share, level), 2 * float(claimed)

    def several(level: Fraction) -> Any:
        """Beyond the claimed epsilon no loss is left but an infinite one, of each key with the chance b."""
        return TRUTHS["real"](share) if level >= claimed else None

    return made, several, 3 * float(claimed)


def unary_encoding(draws: Draws) -> Case:
    options, local, bits = draws.one_of(2, 3, 6, 1000), draws.decimal(0.1, 5), draws.one_of(*BITS)
    real = TRUTHS["real"]
    grown = mp.exp(real(Fraction(local) / (2 if bits == "symmetric" else 1)))
    own, other = (grown / (1 + grown) if bits == "symmetric" else mpf(1) / 2), 1 / (1 + grown)
    made = UnaryEncoding(options=options, epsilon=local, bits=bits)
    return made, lambda epsilon: TRUTHS["unary"](options, own, other, epsilon), float(local)


def rappor(draws: Draws) -> Case:
    flip, zero = draws.decimal(0.1, 0.9), draws.decimal(0.05, 0.5)
    one = draws.decimal(0.6, 0.95)
    hashes, reports = draws.whole(1, 2), draws.whole(0, 4)
    made = Rappor(options=3, epsilon=1, flip=flip, report_zero=zero, report_one=one, hashes=hashes, reports=reports)
    given = (Fraction(flip), Fraction(zero), Fraction(one), hashes, reports)
    return made, lambda epsilon: TRUTHS["kept_bits"](*given, epsilon), 2.0


def local_hashing(draws: Draws) -> Case:
    local, hashes = draws.decimal(0.1, 3), draws.one_of(None, 2, 5, 9)
    made = LocalHashing(options=draws.one_of(2, 4, 100), epsilon=local, hashes=hashes)
    numbers = round(math.exp(float(local)) + 1) if hashes is None else hashes
    return made, lambda epsilon: TRUTHS["hashed"](numbers, Fraction(local), epsilon), float(local)


def count_mean_sketch(draws: Draws) -> Case:
    local, width = draws.decimal(0.1, 5), draws.whole(2, 6)
    made = CountMeanSketch(options=draws.one_of(2, 30), epsilon=local, width=width)
    return made, lambda epsilon: TRUTHS["sketch"](width, Fraction(local), epsilon), float(local)


def subset_selection(draws: Draws) -> Case:
    options, local = draws.whole(2, 10), draws.decimal(0.1, 5)
    size = draws.one_of(None, draws.whole(1, options - 1))
    made = SubsetSelection(options=options, epsilon=local, subset=size)
    taken = max(1, round(options / (math.exp(float(local)) + 1))) if size is None else size
    return made, lambda epsilon: TRUTHS["subsets"](options, taken, Fraction(local), epsilon), float(local)


def hadamard_response(draws: Draws) -> Case:
    options, local = draws.whole(2, 40), draws.decimal(0.1, 5)
    one = draws.whole(0, options - 2)
    other = draws.whole(one + 1, options - 1)
    made = HadamardResponse(options=options, epsilon=local)
    return made, lambda epsilon: TRUTHS["hadamard"](options, one, other, Fraction(local), epsilon), float(local)


def number_report(draws: Draws) -> Case:
    local, pieces = draws.decimal(0.1, 5), draws.one_of(*PIECES)
    made = NumberReport(epsilon=local, pieces=pieces)
    return made, lambda epsilon: TRUTHS["number"](pieces, Fraction(local), epsilon), float(local)


def secure_sum(draws: Draws) -> Case:
    noise, parties = draws.one_of("skellam", "binomial", "discrete-gaussian", "geometric"), draws.whole(2, 6)
    dropouts = draws.whole(0, parties - 1)
    size = str(Fraction(draws.whole(1, 12), 4)) if noise == "binomial" else draws.decimal(0.3, 3)
    reach = 1 if noise == "geometric" and dropouts else draws.whole(1, 3)
    modulus = draws.one_of(0, 0, reach + draws.whole(1, 12))
    named = {"scale" if noise == "geometric" else "variance": size}
    made = SecureSum(
        parties=parties, noise=noise, dropouts=dropouts, sensitivity=reach, modulus=modulus, **named, **CLAIM
    )

    def truth(epsilon: Fraction) -> Any:
        law = list(TRUTHS["shares"](noise, Fraction(size), parties - dropouts, parties))
        return max(TRUTHS["moved"](law, move, epsilon, modulus) for move in range(1, reach + 1))

    return made, truth, 2.0


def bounded_contributions(draws: Draws) -> Case:
    noise, replaced = draws.one_of("laplace", "gaussian", "discrete-gaussian"), draws.one_of(True, False)
    low = draws.one_of(True, False)
    dim, per_key, scale = draws.whole(1, 3), draws.whole(1, 2), draws.decimal(0.6, 4)
    keys, whole = draws.whole(1, dim), noise == "discrete-gaussian"
    if whole and replaced:
        low = False
    l1 = None if whole else draws.one_of(None, draws.whole(1, 9))
    l2 = draws.one_of(None, draws.decimal(0.5, 3)) if noise == "gaussian" else None
    made = BoundedContributions(
        dim=dim,
        keys=keys,
        noise=noise,
        scale=scale,
        per_key=per_key,
        low=-1 if low else 0,
        l1=None if l1 is None else Fraction(l1, 2),
        l2=l2,
        adjacency=REPLACE_ONE if replaced else ADD_OR_REMOVE_ONE,
        **CLAIM,
    )
    moves = TRUTHS["differences"](dim, keys, 2 * per_key, l1, None if l2 is None else Fraction(l2), low, replaced)
    unit = Fraction(scale)

    def truth(epsilon: Fraction) -> Any:
        if noise == "gaussian":
            square = max(square for _, square in moves)
            return TRUTHS["gaussian"](mpf(square) / TRUTHS["real"](unit) ** 2, TRUTHS["real"](epsilon))
        if whole:
            steps = {
                tuple(half // 2 for half in halves if half) for halves, _ in moves if not any(h % 2 for h in halves)
            }
            return max(TRUTHS["whole_moves"](each, unit**2, epsilon) for each in steps)
        reals = [tuple(Fraction(half, 2) / unit for half in halves if half) for halves, _ in moves]
        return max(TRUTHS["laplace"](list(map(TRUTHS["real"], a)), TRUTHS["real"](epsilon)) for a in set(reals) if a)

    return made, truth, 2 * keys * per_key / float(scale)


def quantile(draws: Draws) -> Case:
    share, replaced, rate = Fraction(draws.whole(1, 19), 20), draws.one_of(True, False), draws.decimal(0.1, 3)
    made = IntervalQuantile(
        quantile=share,
        low=0,
        high=draws.whole(1, 100),
        epsilon=1,
        rate=rate,
        adjacency=REPLACE_ONE if replaced else ADD_OR_REMOVE_ONE,
    )
    reach = TRUTHS["range_of_ranks"](share, replaced, 41) * Fraction(rate)
    return made, lambda epsilon: TRUTHS["bounded_range"](reach, epsilon), float(reach)


def shuffled_reports(draws: Draws) -> Case:
    people, options, local = draws.whole(2, 5), draws.whole(2, 3), draws.decimal(0.3, 3)
    randomizer = draws.one_of(
        "randomized-response", "symmetric-unary-encoding", "optimised-unary-encoding", "hadamard-response"
    )
    if randomizer != "randomized-response":
        people = min(people, 4)
    made = ShuffledReports(people=people, randomizer=randomizer, options=options, local_epsilon=local, **CLAIM)
    laws = TRUTHS["report_laws"](randomizer, options, Fraction(local))
    return made, lambda epsilon: TRUTHS["shuffled"](laws, people, epsilon), 0.8 * float(local)


KINDS: Final[dict[str, Callable[[Draws], Case]]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        thresholded_counts, partition_selection, unary_encoding, rappor, local_hashing, count_mean_sketch,
        subset_selection, hadamard_response, number_report, secure_sum, bounded_contributions, quantile,
        shuffled_reports,
    )
}  # fmt: skip


def exact(value: Any) -> Fraction:
    return Fraction(mp.nstr(value, 40))


def random_claims(seed: int, kind: str) -> list[DeployedClaim]:
    """A true claim and a false one."""
    draws = Draws(seed)
    for _ in range(100):
        made, truth, most = KINDS[kind](draws)
        epsilon = Fraction(draws.one_of("0", draws.decimal(most / 50, most), draws.decimal(most / 50, most)))
        found = truth(epsilon)
        if found is not None and LEAST < found < 0.999:
            break
    else:
        raise ValueError(f"{kind}, seed {seed}: no delta within reach")
    low = high = exact(found)
    if isinstance(made, ShuffledReports):
        low, high = ends(made, epsilon)
        if not low <= exact(found) * (1 + ORACLE) or not exact(found) * (1 - ORACLE) <= high:
            raise AssertionError(f"{kind}, seed {seed}: {float(found)} is not between {float(low)} and {float(high)}")
    return [
        DeployedClaim(made, epsilon, high * (1 + AWAY), is_true=True),
        DeployedClaim(made, epsilon, low * (1 - AWAY), is_true=False),
    ]


def ends(made: ShuffledReports, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """What some pair attains, and what no pair exceeds."""
    known, above = made.below()[0].at_level(epsilon), made.largest_delta(epsilon)
    if not isinstance(known, KnownEvent) or above is None:
        raise TypeError("no event is known at this epsilon")
    return Fraction(known.event(epsilon).delta_lower(epsilon)), as_fraction(above.upper())


def main() -> None:
    number, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = [known for known in KINDS if known in sys.argv[3:] or not sys.argv[3:]]
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    seconds: dict[str, list[float]] = collections.defaultdict(lambda: [0.0, 0.0])
    for seed in range(first, first + number):
        kind = kinds[seed % len(kinds)]
        start = time.process_time()
        try:
            claims = random_claims(seed, kind)
        except AssertionError as wrong:
            counts[kind]["WRONG"] += 1
            print(wrong, flush=True)
            continue
        seconds[kind][0] += time.process_time() - start
        for claim in claims:
            start = time.process_time()
            right = claim.is_right
            seconds[kind][1] += time.process_time() - start
            word = {True: "right", False: "WRONG", None: "undecided"}[right]
            counts[kind][word] += 1
            if right is not True:
                print(f"{seed}: {word}: {claim}", flush=True)
    print(f"{'':22} {'right':>6} {'wrong':>6} {'undecided':>9} {'s truth':>8} {'s claims':>9}")
    for kind, count in counts.items():
        truth, claimed = seconds[kind]
        print(f"{kind:22} {count['right']:6} {count['WRONG']:6} {count['undecided']:9} {truth:8.1f} {claimed:9.1f}")


if __name__ == "__main__":
    main()
