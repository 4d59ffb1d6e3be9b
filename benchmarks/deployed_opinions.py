"""What other packages say of mechanisms outside training, beside our exact curve of the same mechanism.

A package tells a chance, which has to be ours; a number of privacy (epsilon, delta, rho), which may be above ours but
not below; or a scale of noise, which may be above the least that is enough. Where it tells nothing, 20 000 of its
reports are counted: "agrees" then means that an exact binomial test has a p-value above 1e-6 at our chance.

Each package is run by an interpreter of its own, DIR/NAME/bin/python; one that is not there is left out.

    python benchmarks/deployed_opinions.py --peers DIR
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

REPORTS: Final = 20_000
ERROR: Final = 1e-6
"""Of a binomial test: the chance that it wrongly says "wrong"."""
NEAR: Final = 1e-9
"""Relative difference of float64 numbers that are called equal."""
LIMIT: Final = 600
Told = dict[str, Any]


def frequency(seen: int, of: int = REPORTS) -> Told:
    return {"seen": int(seen), "of": of}


# what the packages say, run by their interpreters: (what, told) -------------------------------------------------------


def multi_freq_ldpy() -> Iterator[tuple[str, Told]]:
    import xxhash
    from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    for name, optimal in (("SUE", False), ("OUE", True)):
        ones = sum(UE_Client(0, 4, 1.0, optimal) for _ in range(REPORTS))
        yield f"{name}, own bit", frequency(ones[0])
        yield f"{name}, other bit", frequency(ones[1])
    sets = [SS_Client(0, 6, 1.0).tolist() for _ in range(REPORTS)]
    yield "subset selection, own", frequency(sum(0 in held for held in sets))
    yield "subset selection, other", frequency(sum(1 in held for held in sets))
    hashed = [LH_Client(0, 6, 1.0) for _ in range(REPORTS)]
    for name, value in (("own", 0), ("other", 1)):
        same = sum(
            int(told == xxhash.xxh32(str(value), seed=seed & 0xFFFFFFFF).intdigest() % 4) for told, seed in hashed
        )
        yield f"OLH, {name} hash", frequency(same)
    ones = sum(L_SUE_Client(0, 4, 2.0, 1.0) for _ in range(REPORTS))
    yield "RAPPOR, one report, own bit", frequency(ones[0])
    yield "RAPPOR, one report, other bit", frequency(ones[1])


def pure_ldp() -> Iterator[tuple[str, Told]]:
    from pure_ldp.frequency_oracles.apple_cms import CMSClient
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient
    from pure_ldp.frequency_oracles.local_hashing import LHClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    for name, optimal in (("SUE", False), ("OUE", True)):
        client = UEClient(1.0, 4, use_oue=optimal)
        yield f"{name}, own bit", {"value": client.p}
        yield f"{name}, other bit", {"value": client.q}
        yield f"{name}, own bit of reports", frequency(sum(client.privatise(1)[0] for _ in range(REPORTS)))
    hashing = LHClient(1.0, 6, use_olh=True)
    yield "OLH, own hash", {"value": hashing.p}
    sketch = CMSClient(2.0, [lambda _: 0], 4)
    yield "count-mean sketch, kept", {"value": 1 - sketch.prob}
    bits = [sketch.privatise("a")[0] for _ in range(REPORTS)]
    yield "count-mean sketch, own bit of reports", frequency(sum(row[0] == 1 for row in bits))
    yield "count-mean sketch, other bit of reports", frequency(sum(row[1] == 1 for row in bits))
    hadamard = HadamardResponseClient(1.0, 5, None)
    columns = [hadamard.privatise(1) for _ in range(REPORTS)]
    for name, row in (("own row", 1), ("other row", 3)):
        yield f"Hadamard response, {name}", frequency(sum((row & y).bit_count() % 2 == 0 for y in columns))


def opendp() -> Iterator[tuple[str, Told]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")

    def counts(kind: type, distance: Any) -> tuple[Any, Any]:
        values = dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=kind)
        return dp.map_domain(dp.atom_domain(T=str), values), distance(dp.absolute_distance(T=kind))

    whole = dp.m.make_laplace_threshold(*counts(int, dp.l01inf_distance), scale=1.0, threshold=5)
    yield "whole Laplace noise above a threshold, delta", {"value": whole.map((1, 1, 1))[1]}
    yield "whole Laplace noise above a threshold, shown", frequency(len(whole({str(i): 1 for i in range(REPORTS)})))
    real = dp.m.make_laplace_threshold(*counts(float, dp.l01inf_distance), scale=1.0, threshold=5.0)
    yield "Laplace noise above a threshold, delta", {"value": real.map((1, 1.0, 1.0))[1]}
    real = dp.m.make_laplace_threshold(*counts(float, dp.l01inf_distance), scale=3.0, threshold=20.0)
    yield "Laplace noise above a threshold, 3 keys, delta", {"value": real.map((3, 3.0, 1.0))[1]}
    gaussian = dp.m.make_gaussian_threshold(*counts(float, dp.l02inf_distance), scale=2.0, threshold=9.0)
    yield "Gaussian noise above a threshold, delta", {"value": gaussian.map((1, 1.0, 1.0))[1]}
    truth = math.e / (math.e + 3)
    yield (
        "randomised response of 4, epsilon",
        {"value": dp.m.make_randomized_response(categories=[0, 1, 2, 3], prob=truth).map(1)},
    )
    bits = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=4), dp.discrete_distance(), f=0.95)
    yield "randomised bits, 4 of each, epsilon", {"value": bits.map(1)}
    scores = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    yield "noisy max, scale 1, epsilon", {"value": dp.m.make_noisy_max(*scores, dp.max_divergence(), scale=1.0).map(1)}
    noise = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
    yield "discrete Gaussian noise moved by 3, rho", {"value": noise.map(3)}
    curve = dp.c.make_zCDP_to_approxDP(noise).map(3)
    yield "discrete Gaussian noise moved by 3, epsilon", {"value": curve.epsilon(1e-6)}


def diffprivlib() -> Iterator[tuple[str, Told]]:
    from diffprivlib.mechanisms import Binary, GaussianAnalytic, GaussianDiscrete, Geometric
    from diffprivlib.tools import quantile

    values = [1.0, 2.0, 2.5, 6.0, 7.0]
    found = [quantile(values, 0.25, epsilon=1.0, bounds=(0.0, 8.0)) for _ in range(REPORTS)]
    for at in (1.0, 2.0, 6.0):
        yield f"quantile below {at:g}", frequency(sum(y < at for y in found))
    response = Binary(epsilon=1.0, value0="a", value1="b")
    yield "randomised response of 2", frequency(sum(response.randomise("a") == "a" for _ in range(REPORTS)))
    whole = Geometric(epsilon=1.0, sensitivity=2)
    yield "geometric noise is 0", frequency(sum(whole.randomise(0) == 0 for _ in range(REPORTS)))
    yield "Gaussian noise, scale", {"value": GaussianAnalytic(epsilon=1.0, delta=1e-6, sensitivity=2.0)._scale}
    yield "discrete Gaussian noise, scale", {"value": GaussianDiscrete(epsilon=1.0, delta=1e-6, sensitivity=2)._scale}


def pipeline_dp() -> Iterator[tuple[str, Told]]:
    import pipeline_dp
    from pipeline_dp import dp_computations, partition_selection

    strategies = pipeline_dp.PartitionSelectionStrategy
    far = dp_computations.compute_l2_sensitivity(4, 2), dp_computations.compute_l1_sensitivity(4, 2)
    yield "sums of 4 keys, 2 each, Gaussian scale", {"value": dp_computations.compute_sigma(1.0, 1e-6, far[0])}
    laplace = dp_computations.LaplaceMechanism.create_from_epsilon(1.0, far[1])
    yield "sums of 4 keys, 2 each, Laplace scale", {"value": laplace.noise_parameter}
    yield "Gaussian noise, epsilon", {"value": dp_computations.gaussian_epsilon(2.0, 1e-6)}
    for keys in (1, 3):
        made = partition_selection.create_partition_selection_strategy(strategies.TRUNCATED_GEOMETRIC, 1.0, 0.01, keys)
        for users in (1, 2, 5):
            yield f"selection, {keys} keys, {users} users", {"value": made.probability_of_keep(users)}
        for name in ("LAPLACE", "GAUSSIAN"):
            kind = getattr(strategies, f"{name}_THRESHOLDING")
            made = partition_selection.create_partition_selection_strategy(kind, 1.0, 1e-3, keys)
            yield f"{name.capitalize()} noise, {keys} keys, threshold", {"value": made.threshold}


def dp_accounting_head() -> Iterator[tuple[str, Told]]:
    from dp_accounting.pld import privacy_loss_distribution as pld

    losses = {
        "Laplace noise, 3 sums, delta": pld.from_laplace_mechanism(2.0).self_compose(3),
        "discrete Laplace noise moved by 3, delta": pld.from_discrete_laplace_mechanism(0.5, sensitivity=3),
        "discrete Gaussian noise moved by 3, delta": pld.from_discrete_gaussian_mechanism(2.0, sensitivity=3),
        "randomised response of 4, delta": pld.from_randomized_response(4 / (math.e + 3), 4),
    }
    for what, loss in losses.items():
        yield what, {"value": float(loss.get_delta_for_epsilon(0.5))}


PEERS: Final[dict[str, Callable[[], Iterator[tuple[str, Told]]]]] = {
    told.__name__: told for told in (multi_freq_ldpy, pure_ldp, opendp, diffprivlib, pipeline_dp, dp_accounting_head)
}


# ours -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ours:
    """The exact number, and whether a larger one of a package is no mistake."""

    value: float
    may_be_larger: bool = False


def of_reports() -> dict[str, Ours]:
    """Chances of reports, by what they are of."""
    from dpverdict.mechanisms.local.hashing import CountMeanSketch, LocalHashing
    from dpverdict.mechanisms.local.subsets import HadamardResponse, SubsetSelection
    from dpverdict.mechanisms.local.unary import UnaryEncoding

    symmetric = UnaryEncoding(options=4, epsilon=1, bits="symmetric").chances
    optimised = UnaryEncoding(options=4, epsilon=1, bits="optimised").chances
    subsets, hashing = SubsetSelection(options=6, epsilon=1), LocalHashing(options=6, epsilon=1)
    sketch, hadamard = CountMeanSketch(options=3, epsilon=2, width=4), HadamardResponse(options=5, epsilon=1)
    weights = [float(region.p.ball()) for region in subsets.regions(Fraction(0), Fraction(1))]
    found = {
        "SUE, own bit": symmetric[0],
        "SUE, own bit of reports": symmetric[0],
        "SUE, other bit": symmetric[1],
        "OUE, own bit": optimised[0],
        "OUE, own bit of reports": optimised[0],
        "OUE, other bit": optimised[1],
        "subset selection, own": subsets.included,
        "subset selection, other": (weights[1] + weights[2]) / sum(weights),
        "OLH, own hash": hashing.truthful,
        "OLH, other hash": 1 / hashing.hashes,
        "RAPPOR, one report, own bit": symmetric[0],
        "RAPPOR, one report, other bit": symmetric[1],
        "count-mean sketch, kept": sketch.kept,
        "count-mean sketch, own bit of reports": sketch.kept,
        "count-mean sketch, other bit of reports": 1 - sketch.kept,
        "Hadamard response, own row": hadamard.likely,
        "Hadamard response, other row": 0.5,
    }
    return {what: Ours(value) for what, value in found.items()}


def of_opendp() -> dict[str, Ours]:
    from dpverdict.audit.exact.decide import known_epsilon
    from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
    from dpverdict.mechanisms.finite.permute_and_flip import PermuteAndFlip
    from dpverdict.mechanisms.finite.randomized_response import RandomizedResponse
    from dpverdict.mechanisms.keys.key_noise import NoiseName
    from dpverdict.mechanisms.keys.thresholded_counts import ThresholdedCounts
    from dpverdict.mechanisms.local.unary import Rappor

    def above(noise: NoiseName, scale: int, threshold: int, keys: int = 1) -> ThresholdedCounts:
        given: dict[str, Any] = {"epsilon": 1, "delta": "1e-3", "adjacency": ADD_OR_REMOVE_ONE}
        return ThresholdedCounts(keys=keys, noise=noise, scale=scale, threshold=threshold, **given)

    def delta(made: ThresholdedCounts) -> float:
        return float(made.largest_delta(Fraction(1)) or math.nan)

    def epsilon(made: Any) -> Ours:
        return Ours(known_epsilon(made, Fraction(0)).upper, may_be_larger=True)  # of noisy max some pairs come near it

    whole, gaussian = above("geometric", 1, 5), above("gaussian", 2, 9)
    bits = Rappor(options=2, epsilon=1, flip="0.95", report_zero="0.1", report_one="0.9", hashes=4, reports=0)
    return {
        "whole Laplace noise above a threshold, delta": Ours(delta(whole), may_be_larger=True),
        "whole Laplace noise above a threshold, shown": Ours(float(whole.release_chances([[1]])[0])),
        "Laplace noise above a threshold, delta": Ours(delta(above("laplace", 1, 5)), may_be_larger=True),
        "Laplace noise above a threshold, 3 keys, delta": Ours(delta(above("laplace", 3, 20, 3)), may_be_larger=True),
        "Gaussian noise above a threshold, delta": Ours(float(gaussian.release_chances([[1]])[0]), may_be_larger=True),
        "randomised response of 4, epsilon": epsilon(RandomizedResponse(options=4, epsilon=1)),
        "randomised bits, 4 of each, epsilon": epsilon(bits),
        "noisy max, scale 1, epsilon": epsilon(PermuteAndFlip(options=3, epsilon=2, adjacency=REPLACE_ONE)),
        "discrete Gaussian noise moved by 3, rho": Ours(3**2 / (2 * 2**2), may_be_larger=True),
        "discrete Gaussian noise moved by 3, epsilon": Ours(
            known_epsilon(sums("discrete-gaussian", 1, 3, scale=2), Fraction(1, 10**6)).lower, may_be_larger=True
        ),
    }


def sums(noise: Any, keys: int, per_key: int, scale: Any = None) -> Any:
    """Noise for (1, 1e-6), or of a scale; Laplace noise for epsilon = 1."""
    from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
    from dpverdict.mechanisms.sums.bounded_contributions import BoundedContributions

    delta: Any = 0 if noise == "laplace" else "1e-6"
    given: dict[str, Any] = {"epsilon": 1, "delta": delta, "adjacency": ADD_OR_REMOVE_ONE}
    return BoundedContributions(dim=keys, keys=keys, per_key=per_key, noise=noise, scale=scale, **given)


def of_diffprivlib() -> dict[str, Ours]:
    import numpy as np

    from dpverdict.audit.exact.calibrate import calibrate
    from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
    from dpverdict.mechanisms.finite.quantile import IntervalQuantile
    from dpverdict.mechanisms.finite.randomized_response import RandomizedResponse
    from dpverdict.mechanisms.sums.shares import SumOfShares

    made = IntervalQuantile(quantile="1/4", low=0, high=8, epsilon=1, adjacency=REPLACE_ONE)
    weights = np.exp(made.noise.log_weights(made.embed([[1.0], [2.0], [2.5], [6.0], [7.0]])))
    below = np.cumsum(weights) / weights.sum()
    values, chances = SumOfShares(name="geometric", size=Fraction(2), present=1, parties=1).in_floats()
    least = calibrate(lambda scale: sums("discrete-gaussian", 1, 2, scale=scale), "eps=1, delta=1e-6").scale
    return {
        "quantile below 1": Ours(below[0]),
        "quantile below 2": Ours(below[1]),
        "quantile below 6": Ours(below[3]),
        "randomised response of 2": Ours(RandomizedResponse(options=2, epsilon=1).probabilities([[0]])[0]),
        "geometric noise is 0": Ours(chances[values == 0][0]),
        "Gaussian noise, scale": Ours(sums("gaussian", 1, 2).scale, may_be_larger=True),
        "discrete Gaussian noise, scale": Ours(least, may_be_larger=True),
    }


def of_pipeline_dp() -> dict[str, Ours]:
    from dpverdict.audit.exact.calibrate import calibrate
    from dpverdict.audit.losses.closed_form import GaussianLoss
    from dpverdict.balls import Real
    from dpverdict.mechanisms.core.calibration import analytic_scale
    from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
    from dpverdict.mechanisms.keys.partition_selection import PartitionSelection
    from dpverdict.mechanisms.keys.thresholded_counts import ThresholdedCounts

    found = {
        "sums of 4 keys, 2 each, Gaussian scale": Ours(sums("gaussian", 4, 2).scale, may_be_larger=True),
        "sums of 4 keys, 2 each, Laplace scale": Ours(sums("laplace", 4, 2).scale, may_be_larger=True),
        "Gaussian noise, epsilon": Ours(GaussianLoss("0.5").certified_epsilon("1e-6").lower, may_be_larger=True),
    }
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-3", "adjacency": ADD_OR_REMOVE_ONE}
    for keys in (1, 3):
        chances = PartitionSelection(keys=keys, epsilon=1, delta="0.01").chances
        found |= {f"selection, {keys} keys, {users} users": Ours(chances[users]) for users in (1, 2, 5)}
        # half of delta is for the noise
        deviation = analytic_scale(Fraction(1), Fraction(1, 2000), Real.of(keys).sqrt())
        for noise, scale in (("laplace", float(keys)), ("gaussian", deviation)):
            least = calibrate(
                lambda at, noise=noise, scale=scale, keys=keys: ThresholdedCounts(
                    keys=keys, noise=noise, scale=scale, threshold=at, **given
                ),
                "eps=1, delta=1e-3",
            )
            found[f"{noise.capitalize()} noise, {keys} keys, threshold"] = Ours(least.scale, may_be_larger=True)
    return found


def of_dp_accounting() -> dict[str, Ours]:
    from dpverdict.audit.exact.worst_case import worst_case
    from dpverdict.mechanisms.finite.randomized_response import RandomizedResponse
    from dpverdict.mechanisms.sums.secure_sum import SecureSum

    made = {
        "Laplace noise, 3 sums, delta": sums("laplace", 3, 1, scale=2),
        "discrete Laplace noise moved by 3, delta": SecureSum(
            parties=1, noise="geometric", scale=2, sensitivity=3, epsilon=1, delta="1e-6"
        ),
        "discrete Gaussian noise moved by 3, delta": sums("discrete-gaussian", 1, 3, scale=2),
        "randomised response of 4, delta": RandomizedResponse(options=4, epsilon=1),
    }
    return {
        what: Ours(worst_case(each).loss.certified_delta("0.5").lower, may_be_larger=True)
        for what, each in made.items()
    }


OURS: Final[dict[str, Callable[[], dict[str, Ours]]]] = {
    "multi_freq_ldpy": of_reports,
    "pure_ldp": of_reports,
    "opendp": of_opendp,
    "diffprivlib": of_diffprivlib,
    "pipeline_dp": of_pipeline_dp,
    "dp_accounting_head": of_dp_accounting,
}


def lines_of(name: str, interpreter: str) -> list[tuple[str, Told]]:
    """What one package says."""
    command = [interpreter, __file__, "--as", name]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        print(f"{name}: {(done.stderr.splitlines() or ['no output'])[-1]}", file=sys.stderr)
    return [(line["what"], line) for line in map(json.loads, done.stdout.splitlines())]


def opinion(told: Told, ours: Ours) -> str:
    """Whether a package agrees."""
    if "seen" in told:
        from scipy.stats import binomtest

        level = float(binomtest(told["seen"], told["of"], min(max(ours.value, 0.0), 1.0)).pvalue)
        return f"agrees (p = {level:.2g})" if level > ERROR else f"WRONG (p = {level:.2g})"
    off = told["value"] / ours.value - 1
    if abs(off) <= NEAR:
        return "agrees"
    if off > 0 and ours.may_be_larger:
        return f"safe by {100 * off:.2g} %"
    return f"WRONG by a factor of {ours.value / told['value']:.6g}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, default=Path("build/peers"))
    parser.add_argument("--as", dest="name")
    options = parser.parse_args()
    if options.name:
        warnings.simplefilter("ignore")
        for what, told in PEERS[options.name]():
            print(json.dumps({"what": what, **told}), flush=True)
        return
    words: collections.Counter[str] = collections.Counter()
    print(f"{'package':19}{'what':47}{'theirs':>12} {'ours':>12}  opinion")
    for name in PEERS:
        interpreter = options.peers / name / "bin" / "python"
        if not interpreter.exists():
            continue
        ours = OURS[name]()
        for what, told in lines_of(name, str(interpreter.absolute())):
            own, theirs = ours[what], told["seen"] / told["of"] if "seen" in told else told["value"]
            said = opinion(told, own)
            words[said.split()[0]] += 1
            print(f"{name:19}{what:47}{theirs:12.7g} {own.value:12.7g}  {said}")
    print(", ".join(f"{number} {word}" for word, number in words.items()))


if __name__ == "__main__":
    main()
