"""The exact engine against its peers, side by side: one process, one thread, the best of several runs.

Run: OMP_NUM_THREADS=1 python benchmarks/exact.py        (pip install ".[benchmarks]" for all the rows)

Every row does the same work on both sides, and says how many times faster this project is, and how far from the truth
each result lies: relative errors, against certified enclosures, that of the Laplace products to 60 digits. The
benchmarks beside this file say more about each row.
"""

from __future__ import annotations

import math
import resource
from fractions import Fraction

import composition
import gaussian_profile
import laplace_certified
import numpy as np
import pld
from dp_accounting.pld import privacy_loss_distribution as peer
from flint import arb
from rich.console import Console
from rich.table import Table
from scipy.stats import logistic

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.laplace.profile import LaplaceProfile
from dpverdict.audit.losses.lattice.bounds import compose_on_lattice
from dpverdict.audit.losses.lattice.custom import additive_noise_loss
from dpverdict.balls import Enclosure, precision

LARGE_SCALE = 4.222419644325759  # of 10 000 coordinates that shift by 1/100 each
DIGITS = 60


class Rows:
    """The table in the making."""

    def __init__(self) -> None:
        self.table = Table(title="dpverdict against the best peer; speed: its time over ours")
        for column in ("work", "by", "ms", "speed", "relative error"):
            self.table.add_column(column, justify="left" if column in ("work", "by") else "right")

    def peer(self, work: str, by: str, elapsed: float, error: str) -> None:
        """A row of a peer, which begins a section."""
        self.table.add_section()
        self.table.add_row(work, by, _ms(elapsed), "1", error)

    def ours(self, work: str, by: str, elapsed: float, theirs: float | None, error: str) -> None:
        """A row of this project, with the peer's time on the same work."""
        speed = "" if theirs is None else f"{theirs / elapsed:.3g}"
        self.table.add_row(work, by, _ms(elapsed), speed, error)

    def alone(self, work: str, by: str, elapsed: float, error: str) -> None:
        """A row without a peer."""
        self.table.add_section()
        self.table.add_row(work, by, _ms(elapsed), "", error)


def _ms(elapsed: float) -> str:
    return f"{elapsed:.0f}" if elapsed >= 100 else f"{elapsed:.3g}"


def _width(enclosure: Enclosure) -> str:
    return f"certain; width {(enclosure.upper - enclosure.lower) / enclosure.lower:.0e}"


def profile(rows: Rows) -> None:
    """The Gaussian profile at 1000 epsilons."""
    lower, upper = gaussian_profile.certified()
    theirs = gaussian_profile.best_time(gaussian_profile.peer, 5)
    error = gaussian_profile.largest_error(gaussian_profile.peer(), lower, upper)
    rows.peer("Gaussian, 1000 epsilons", "dp_accounting", theirs, f"{error:.0e}")
    ours = gaussian_profile.best_time(gaussian_profile.certified, 20)
    rows.ours("", "certified", ours, theirs, f"certain; width {((upper - lower) / lower).max():.0e}")
    ours = gaussian_profile.best_time(gaussian_profile.fast, 200)
    error = gaussian_profile.largest_error(gaussian_profile.fast(), lower, upper)
    rows.ours("", "float64", ours, theirs, f"{error:.0e}")


def laplace(rows: Rows) -> None:
    """The product of 1000 Laplace coordinates from both sides, and certified."""
    theirs, pair = pld.timed(pld.their_laplace_product, 5)
    ours, own = pld.timed(pld.our_laplace_product, 20)
    truth = laplace_truth(1000, pld.SHIFT)
    rows.peer("1000 Laplace coordinates", "dp_accounting", theirs, _ends(*pair, truth))
    tighter = (pair[1] - pair[0]) / (own[1] - own[0])
    rows.ours(f"(gap {tighter:.0f} times tighter)", "lattice", ours, theirs, _ends(*own, truth))
    ours, enclosure = pld.timed(lambda: LaplaceLoss.equal(1000, pld.SHIFT).certified_delta(1), 10)
    rows.ours("", "certified", ours, theirs, _certain(enclosure, truth))
    shift = 1 / (100 * LARGE_SCALE)
    ours, enclosure = pld.timed(lambda: LaplaceLoss.equal(10_000, shift).certified_delta(1), 3)
    rows.ours("10 000 Laplace coordinates", "certified", ours, None, _certain(enclosure, laplace_truth(10_000, shift)))


def composed_of_all(rows: Rows) -> None:
    """Gaussian, 1000 Laplace coordinates and logistic noise; and discrete Gaussian noise: routes that no peer has."""
    custom = additive_noise_loss(logistic(), 1.0, relative_error=1e-13)
    parts = [GaussianLoss(1), LaplaceLoss.equal(1000, "0.01"), custom]
    ours, (lower, upper) = pld.timed(lambda: compose(*parts).delta_bounds(np.array([1.0])), 3)
    rows.alone("Gaussian + Laplace + logistic", "lattice", ours, f"both sides, gap {(upper / lower - 1)[0]:.0e}")
    many = LaplaceLoss(np.random.default_rng(7).uniform(0.005, 0.05, 100).tolist())
    ours, (lower, upper) = pld.timed(lambda: BoundedLoss([(many, 1)]).delta_bounds(np.array([0.5])), 3)
    rows.alone("100 different Laplace shifts", "lattice", ours, f"both sides, gap {(upper / lower - 1)[0]:.0e}")
    discrete = [DiscreteGaussianLoss(100, 10, 1), DiscreteGaussianLoss(99, 10, 1)]
    ours, enclosure = pld.timed(lambda: compose(*discrete).certified_delta(1), 3)
    rows.alone("201 discrete Gaussians", "certified", ours, _width(enclosure))


def laplace_truth(m: int, shift: float) -> arb:
    """delta(1) of m equal Laplace coordinates, enclosed to `DIGITS` digits."""
    profile = LaplaceProfile(((Fraction(shift), m),))
    return profile.delta(Fraction(1), math.ceil(DIGITS * math.log2(10)))


def _ends(lower: float, upper: float, truth: arb) -> str:
    with precision(256):
        return ", ".join(f"{float(arb(end) / truth - 1):+.0e}" for end in (lower, upper))


def _certain(enclosure: Enclosure, truth: arb) -> str:
    with precision(256):
        inside = bool(arb(enclosure.lower) <= truth) and bool(truth <= arb(enclosure.upper))
    return _width(enclosure) if inside else "WRONG"


def heterogeneous(rows: Rows) -> None:
    """200 different mechanisms at one epsilon."""
    theirs, distribution = composition.timed(composition.distribution, 3)
    ours, enclosure = composition.timed(lambda: composition.composition().certified_delta(1), 10)
    error = distribution.get_delta_for_epsilon(1.0) / enclosure.lower - 1
    rows.peer("200 mechanisms, one epsilon", "dp_accounting", theirs, f"{error:+.0e}")
    if composition.prv_accountant is not None:
        elapsed, bounds = composition.timed(composition.prv_bounds, 1)
        lower, _, upper = bounds[composition.EPSILONS.index(1.0)]
        ends = f"{lower / enclosure.lower - 1:+.0e}, {upper / enclosure.lower - 1:+.0e}"
        rows.ours("", "prv_accountant", elapsed, theirs, ends)
    rows.ours("", "certified", ours, theirs, _width(enclosure))
    trade_off(rows, distribution)


def optimistic(rows: Rows) -> None:
    """The optimistic distribution of 100 Gaussian losses."""
    truth = GaussianLoss(1).certified_delta(1)
    theirs, value = pld.timed(pld.their_optimistic_gaussians, 3)
    ours, own = pld.timed(pld.our_optimistic_gaussians, 3)
    gaps = 1 - value / truth.lower, 1 - own / truth.lower
    rows.peer("optimistic, 100 Gaussians", "dp_accounting", theirs, f"{-gaps[0]:+.0e}")
    rows.ours(f"(gap {gaps[0] / gaps[1]:.0f} times tighter)", "lattice", ours, theirs, f"{-gaps[1]:+.0e}")


def trade_off(rows: Rows, distribution: peer.PrivacyLossDistribution) -> None:
    """beta at 10 000 levels from the 200 mechanisms composed before."""
    loss = composition.composition()
    loss.beta_bounds(composition.LEVELS)
    ours, (lower, upper) = composition.timed(lambda: loss.beta_bounds(composition.LEVELS), 20)
    work, theirs = "beta of these, 10 000 levels", None
    if composition.get_beta_from_pld is not None:
        theirs, values = composition.timed(lambda: composition.get_beta_from_pld(distribution, composition.LEVELS), 20)
        distance = np.maximum(np.maximum(values - upper, lower - values), 0).max()
        rows.peer(work, "riskcal", theirs, f"off {distance:.0e}, too high at {(values > upper).mean():.0%}")
        work = ""
    rows.ours(work, "certified", ours, theirs, f"both sides, gap {(upper - lower).max():.0e}")


def composed_lattice(rows: Rows) -> None:
    """beta at 10 000 levels from a composition that has no route but the lattice."""
    bounds = compose_on_lattice([(GaussianLoss("0.1").tails, 100)], 1e-4)
    truth = GaussianLoss(1).certified_beta(composition.LEVELS)

    def read() -> tuple[composition.Array, composition.Array]:
        return bounds.beta_lower(composition.LEVELS), bounds.beta_upper(composition.LEVELS)

    read()
    theirs = None
    if composition.get_beta_from_pld is not None:
        distribution = peer.from_gaussian_mechanism(1.0)
        theirs, values = composition.timed(lambda: composition.get_beta_from_pld(distribution, composition.LEVELS), 20)
        distance = np.maximum(np.maximum(values - truth.upper, truth.lower - values), 0).max()
        wrong = (values > truth.upper).mean()
        rows.peer("beta of 100 Gaussians", "riskcal", theirs, f"off {distance:.0e}, too high at {wrong:.0%}")
    ours, (lower, upper) = composition.timed(read, 20)
    wrong = float(((lower > truth.upper) | (upper < truth.lower)).mean())
    gap = f"gap {(upper - lower).max():.0e}"
    rows.ours("", "lattice", ours, theirs, f"both sides, {gap}" if wrong == 0 else f"WRONG at {wrong:.0%}")


def main() -> None:
    """Measure and print."""
    console, rows = Console(width=100), Rows()
    for part in (profile, laplace, heterogeneous, composed_lattice, optimistic, composed_of_all):
        part(rows)
    console.print(rows.table)
    laplace_certified.table(console)
    for name, module in (("prv_accountant", composition.prv_accountant), ("riskcal", composition.get_beta_from_pld)):
        if module is None:
            console.print(f"{name} is not installed: its rows are left out.")
    console.print(
        f"Largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB, peers included."
    )


if __name__ == "__main__":
    main()
