"""Random compositions, with references of other code: every part as nodes of a rule, the last one in closed form.

A part has nodes with masses under P and Q: its outcomes, or those of a quadrature rule in its noise. The reference of a
composition is the sum over all combinations of nodes of the profile of one part at the shifted epsilon. Laplace noise
is integrated over panels that end at the kinks of the profile of what came before it. It is computed with more and more
nodes until three numbers of them agree: four times what these differ by is its error.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from scipy.special import erfcx, ndtr

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.poisson import poisson_sampled

Array = Any
MOST_NODES: Final = 400_000
MOST_PANELS: Final = 40_000_000
"""Points of all rules together."""
MOST_AT_ONCE: Final = 2_000_000
FINENESSES: Final = (2, 3, 4, 6, 9, 13, 19, 28, 41, 60, 90, 130, 200, 300)
AGREED: Final = 1e-9
"""Relative: what two rules in a row may differ by. Where a profile bends within a small part of the distance of nodes,
two coarse rules may differ by less than either is wrong."""
ROUNDING: Final = 1e-11
"""Relative: of sums of positive float64 numbers, and of the profiles they are made of."""
SMALLEST: Final = 1e-280
"""What float64 may lose where factors underflow."""


@dataclass(frozen=True)
class Nodes:
    """Masses of p and q, and losses log(p/q), of shape (n,); the mass of P where Q has none; that of Q without P."""

    p: Array
    losses: Array
    infinite: float = 0.0
    other: float = 0.0

    def times(self, other: "Nodes") -> "Nodes":
        p = np.multiply.outer(self.p, other.p).ravel()
        losses = np.add.outer(self.losses, other.losses).ravel()
        return Nodes(
            p,
            losses,
            self.infinite + (1 - self.infinite) * other.infinite,
            self.other + (1 - self.other) * other.other,
        )

    def merged(self) -> "Nodes":
        """Equal losses once."""
        keys = np.round(self.losses, 13)
        _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return Nodes(np.bincount(inverse, self.p), self.losses[places], self.infinite, self.other)

    def reversed(self) -> "Nodes":
        with np.errstate(under="ignore"):
            return Nodes(self.p * np.exp(-self.losses), -self.losses, self.other, self.infinite)


ONE = Nodes(np.ones(1), np.zeros(1))


@dataclass(frozen=True)
class Part:
    """A loss, its nodes from a fineness, and what else the reference has of it: mu^2 or a closed profile."""

    name: str
    loss: PrivacyLoss
    nodes: Callable[[int], Nodes] | None
    mu_squared: float = 0.0
    profile: tuple[Callable[[Array], Array], Callable[[Array], Array]] | None = None
    exact: bool = False
    """Whether the nodes are the outcomes themselves."""
    laplace: tuple[float, float] | None = None
    """The shift and the rate, of Laplace noise, which has no nodes but panels."""
    ends: tuple[float, ...] = ()
    """Where the profile of remove bends or ends; that of add at minus these."""


def gaussian_profile(mu: float) -> Callable[[Array], Array]:
    def profile(epsilon: Array) -> Array:
        """Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu), by the scaled complement where both are small."""
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            far = 0.5 * np.exp(-a * a / 2) * (erfcx(a / math.sqrt(2)) - erfcx(b / math.sqrt(2)))
            near = ndtr(-a) - np.exp(epsilon) * ndtr(-b)
            other = -np.expm1(epsilon) + np.exp(epsilon) * (ndtr(b) - np.exp(-epsilon) * ndtr(a))
        return np.where(a > 0, far, np.where(epsilon < -700, 1.0, np.where(epsilon < 0, _below(near, other), near)))

    return profile


def _below(near: Array, other: Array) -> Array:
    return np.where(np.isfinite(near), near, other)


def laplace_profile(shift: float) -> Callable[[Array], Array]:
    def profile(epsilon: Array) -> Array:
        with np.errstate(over="ignore"):
            inside = -np.expm1((np.minimum(epsilon, shift) - shift) / 2)
            return np.where(epsilon >= shift, 0.0, np.where(epsilon <= -shift, -np.expm1(epsilon), inside))

    return profile


def sampled_profiles(
    pair: Callable[[Array], Array], q: float
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Of one sampled step, remove and add, from the profile of a symmetric pair (Balle, Barthe and Gaboardi)."""

    def remove(epsilon: Array) -> Array:
        growth = np.expm1(epsilon)
        with np.errstate(invalid="ignore", divide="ignore"):
            inner = q * pair(np.log1p(np.maximum(growth, -q) / q))
        return np.where(growth <= -q, -growth, inner)

    def add(epsilon: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            factor = 1 - np.exp(epsilon) * (1 - q)
            level = np.log1p(np.maximum(np.expm1(-epsilon), -q) / q)
            inner = factor * pair(-level)
        return np.where(factor <= 0, 0.0, inner)

    return remove, add


def normal_nodes(number: int, reach: int = 16) -> tuple[Array, Array]:
    """The trapezoidal rule for N(0, 1), wide enough for a move by 4 to either side."""
    y = np.linspace(-reach, reach, number)
    return y, np.exp(-y * y / 2) / math.sqrt(2 * math.pi) * (y[1] - y[0])


def sampled_gaussian(noise: str, q: str, steps: int) -> Part:
    mu, rate = 1 / float(Fraction(noise)), float(Fraction(q))

    def nodes(fineness: int) -> Nodes:
        y, weights = normal_nodes(60 * fineness + 1)
        losses = np.logaddexp(math.log1p(-rate), math.log(rate) + mu * y - mu * mu / 2)
        one = Nodes(weights * np.exp(losses), losses)
        return one if steps == 1 else one.times(one)

    loss = poisson_sampled(GaussianLoss(1 / Fraction(noise)), q, steps)
    profile = sampled_profiles(gaussian_profile(mu), rate) if steps == 1 else None
    return Part(f"Poisson(1/{noise}, {q}) x {steps}", loss, nodes, profile=profile, ends=(math.log1p(-rate),))


@dataclass(frozen=True)
class Profile:
    """The profile of some parts, and where it bends."""

    at: Callable[[Array], Array]
    bends: tuple[float, ...]

    def with_laplace(self, shift: float, rate: float, order: str, fineness: int) -> "Profile":
        """That with Laplace noise on a sample: both atoms, and Gauss-Legendre on panels between all bends."""
        sign = 1 if order == "remove" else -1
        x, w = np.polynomial.legendre.leggauss(14)
        grid = np.linspace(-shift, shift, fineness + 1)

        def loss(own: Array) -> Array:
            return sign * np.log1p(rate * np.expm1(own))

        def mass(own: Array, absent: Array) -> Array:
            return absent * (1 + rate * np.expm1(own)) if order == "remove" else absent

        def at(epsilon: Array) -> Array:
            e = np.asarray(epsilon, dtype=np.float64).ravel()
            cuts = [np.broadcast_to(grid, (e.size, grid.size))]
            for bend in self.bends:
                ratio = np.expm1(np.clip(sign * (e - bend), -700, 700)) / rate
                cuts.append(np.where(ratio > -1, np.log1p(np.maximum(ratio, -1 + 1e-15)), -shift)[:, None])
            ends = np.sort(np.clip(np.concatenate(cuts, axis=1), -shift, shift), axis=1)
            half = np.diff(ends, axis=1)[..., None] / 2
            inside = ends[:, :-1, None] + half + half * x
            weights = mass(inside, np.exp(-(inside + shift) / 2) / 4) * half * w
            total = (weights * self.at(e[:, None, None] - loss(inside))).sum(axis=(1, 2))
            for own, absent in ((-shift, 0.5), (shift, math.exp(-shift) / 2)):
                total += mass(np.float64(own), np.float64(absent)) * self.at(e - loss(np.float64(own)))
            return total.reshape(np.shape(epsilon))

        edges = [float(loss(np.float64(own))) for own in (-shift, shift)]
        return Profile(at, tuple(sorted({round(b + edge, 13) for b in self.bends for edge in edges})))


def sampled_laplace(shift: str, q: str) -> Part:
    size, rate = float(Fraction(shift)), float(Fraction(q))
    loss = poisson_sampled(LaplaceLoss([shift]), q)
    profiles = sampled_profiles(laplace_profile(size), rate)
    ends = tuple(math.log1p(rate * math.expm1(own)) for own in (-size, size))
    return Part(f"Poisson(Laplace {shift}, {q})", loss, None, profile=profiles, laplace=(size, rate), ends=ends)


def laplace(shift: str) -> Part:
    size = float(Fraction(shift))
    one = laplace_profile(size)
    return Part(
        f"Laplace {shift}", LaplaceLoss([shift]), None, profile=(one, one), laplace=(size, 1.0), ends=(-size, size)
    )


def discrete(variance: str) -> Part:
    v = float(Fraction(variance))

    def nodes(fineness: int) -> Nodes:
        x = np.arange(-math.ceil(40 * math.sqrt(v)) - 12, math.ceil(40 * math.sqrt(v)) + 13)
        masses = np.exp(-x * x / (2 * v))
        return Nodes(masses / masses.sum(), 1 / (2 * v) + x / v)

    return Part(f"discrete {variance}", DiscreteGaussianLoss.product([1], [variance]), nodes, exact=True)


def finite(p: list[int], q: list[int]) -> Part:
    first, second = ([Fraction(a, sum(law)) for a in law] for law in (p, q))
    both = [(a, b) for a, b in zip(first, second, strict=True) if a and b]

    def nodes(fineness: int) -> Nodes:
        return Nodes(
            np.array([float(a) for a, _ in both]),
            np.array([math.log(a / b) for a, b in both]),
            float(sum((a for a, b in zip(first, second, strict=True) if not b), Fraction(0))),
            float(sum((b for a, b in zip(first, second, strict=True) if not a), Fraction(0))),
        )

    return Part(f"finite {p} {q}", FiniteLoss(first, second), nodes, exact=True)


def allocated(noise: str, epochs: int) -> Part:
    """Two steps of random allocation: a Gaussian loss with mu^2 = 1/(2 s^2), and one of cosh(d/s), d ~ N(0, 1/2)."""
    s = float(Fraction(noise))

    def nodes(fineness: int) -> Nodes:
        y, weights = normal_nodes(120 * fineness + 1, reach=32)  # far out the profile is made of far values
        losses = np.log(np.cosh(y / (math.sqrt(2) * s))) - 1 / (4 * s * s)
        one = Nodes(weights * np.exp(losses), losses)
        return one if epochs == 1 else one.times(one)

    loss = random_allocation(noise_multiplier=noise, steps=2, epochs=epochs)
    return Part(f"allocated({noise}, 2) x {epochs}", loss, nodes, mu_squared=epochs / (2 * s * s))


def gaussian(mu: str) -> Part:
    return Part(f"Gaussian {mu}", GaussianLoss(mu), None, mu_squared=float(Fraction(mu)) ** 2)


def random_part(rng: np.random.Generator) -> tuple[Part, int]:
    """A part, and how often it occurs."""
    kinds = ("gaussian", "laplace", "discrete", "finite", "finite", "sampled", "sampled laplace", "allocated")
    kind = rng.choice(kinds)
    pick = lambda *options: str(rng.choice(options))  # noqa: E731
    if kind == "gaussian":
        return gaussian(pick("0.1", "0.3", "0.5", "1", "2")), int(rng.integers(1, 4))
    if kind == "laplace":
        return laplace(pick("0.1", "0.3", "0.7", "1", "2")), 1
    if kind == "discrete":
        return discrete(pick("0.5", "1", "3", "17/3", "25")), int(rng.integers(1, 3))
    if kind == "sampled":
        steps = int(rng.integers(1, 3))
        return sampled_gaussian(pick("0.5", "0.8", "1", "2"), pick("0.01", "0.1", "0.5"), steps), 1
    if kind == "sampled laplace":
        return sampled_laplace(pick("0.3", "1", "2"), pick("0.05", "0.5")), 1
    if kind == "allocated":
        return allocated(pick("0.7", "1", "2"), int(rng.integers(1, 3))), 1
    while True:
        size = int(rng.integers(2, 5))
        p, q = (rng.integers(0, 10, size).tolist() for _ in range(2))
        if any(a and b for a, b in zip(p, q, strict=True)):
            return finite(p, q), int(rng.integers(1, 5))


@dataclass(frozen=True)
class Composition:
    """Parts, each with how often it occurs."""

    parts: tuple[tuple[Part, int], ...]

    @property
    def name(self) -> str:
        return ", ".join(f"{part.name}{'' if count == 1 else f' x {count}'}" for part, count in self.parts)

    def loss(self) -> PrivacyLoss:
        return compose_counted([(part.loss, count) for part, count in self.parts])

    def reference(self, epsilon: float, order: str) -> tuple[float, float] | None:
        """delta(epsilon) with its error; None where the rules take too many nodes to agree."""
        known: list[float] = []
        for fineness in FINENESSES:
            found = self._by_rule(epsilon, order, fineness)
            if found is None:
                return None
            known = [*known[-2:], found]
            apart = max(known) - min(known)
            if len(known) == 3 and apart <= AGREED * abs(found):
                return found, 4 * apart + ROUNDING * found + SMALLEST
        return None

    def _by_rule(self, epsilon: float, order: str, fineness: int) -> float | None:
        profile, left_out = self._base(order)
        total, panels = ONE, 1
        for part, count in self.parts:
            count -= part is left_out
            if part.nodes is not None and count:
                nodes = part.nodes(fineness)
                for _ in range(count):
                    if nodes.p.size * total.p.size > MOST_NODES:
                        return None
                    total = total.times(nodes)
                    if part.exact:
                        total = total.merged()
            if part.laplace is not None:
                for _ in range(count):
                    panels *= 14 * (fineness + len(profile.bends))
                    profile = profile.with_laplace(*part.laplace, order, fineness)
        if panels * total.p.size > MOST_PANELS:
            return None
        if order == "add":
            total = total.reversed()
        values = np.empty(total.p.size)
        most = max(MOST_AT_ONCE // panels, 1)
        for start in range(0, values.size, most):
            values[start : start + most] = profile.at(epsilon - total.losses[start : start + most])
        return total.infinite + float(total.p @ values)

    def _base(self, order: str) -> tuple[Profile, Part | None]:
        """The closed profile that is left after the nodes, and the part it is of: all Gaussian noise together."""
        mu_squared = sum(part.mu_squared * count for part, count in self.parts)
        if mu_squared:
            return Profile(gaussian_profile(math.sqrt(mu_squared)), ()), None
        closed = [part for part, _ in self.parts if part.profile is not None]
        if not closed:
            return Profile(lambda epsilon: np.maximum(-np.expm1(epsilon), 0.0), (0.0,)), None
        part = next((part for part in closed if part.laplace is None), closed[0])
        assert part.profile is not None
        sign = 1 if order == "remove" else -1
        return Profile(part.profile[0 if order == "remove" else 1], tuple(sign * end for end in part.ends)), part


EPSILONS: Final = ("-1", "-0.3", "0", "0.2", "0.5", "1", "2", "3.5", "6", "12")


def random_composition(rng: np.random.Generator) -> Composition:
    """Two to five parts."""
    return Composition(tuple(random_part(rng) for _ in range(int(rng.integers(2, 6)))))


# one kind, at parameters from a range ---------------------------------------------------------------------------------


def _decimal(rng: np.random.Generator, low: float, high: float) -> str:
    """Of four digits, uniform on a logarithmic scale."""
    return f"{math.exp(rng.uniform(math.log(low), math.log(high))):.4g}"


def _random_finite(rng: np.random.Generator) -> Part:
    while True:
        p, q = (rng.integers(0, 100, int(rng.integers(2, 7))).tolist() for _ in range(2))
        if len(p) == len(q) and any(a and b for a, b in zip(p, q, strict=True)):
            return finite(p, q)


KINDS: Final[dict[str, Callable[[np.random.Generator], list[Part]]]] = {
    "Gaussian": lambda rng: [gaussian(_decimal(rng, 0.02, 6))],
    "Laplace": lambda rng: [laplace(_decimal(rng, 0.02, 6))],
    "discrete Gaussian": lambda rng: [discrete(_decimal(rng, 0.1, 60))],
    "finite": lambda rng: [_random_finite(rng)],
    "sampled Gaussian": lambda rng: [sampled_gaussian(_decimal(rng, 0.4, 4), _decimal(rng, 1e-3, 0.9), 1)],
    "sampled Laplace": lambda rng: [sampled_laplace(_decimal(rng, 0.05, 4), _decimal(rng, 1e-3, 0.9))],
    "allocated": lambda rng: [allocated(_decimal(rng, 0.5, 4), 1)],
    "finite and Gaussian": lambda rng: [_random_finite(rng), gaussian(_decimal(rng, 0.05, 3))],
    "finite and Laplace": lambda rng: [_random_finite(rng), laplace(_decimal(rng, 0.05, 3))],
    "finite and discrete Gaussian": lambda rng: [_random_finite(rng), discrete(_decimal(rng, 0.3, 30))],
}
"""Kinds of few parts whose references take milliseconds."""


def random_of_a_kind(rng: np.random.Generator) -> tuple[str, Composition, str]:
    """The name of a kind, one or two of its parts, and an epsilon."""
    kind = str(rng.choice(list(KINDS)))
    epsilon = f"{rng.uniform(-2, 1):.3f}" if rng.random() < 0.5 else _decimal(rng, 0.01, 10)
    return kind, Composition(tuple((part, 1) for part in KINDS[kind](rng))), epsilon
