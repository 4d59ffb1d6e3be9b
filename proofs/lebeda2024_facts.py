"""Lebeda 2024: the two facts that every privacy proof of the paper rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import sympy
from sympy import exp, integrate, oo, pi, sqrt, symbols

from dpverdict.proofs.identities import identity
from dpverdict.proofs.lebeda2024_algebra import PAPER
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import binary_records, every, form_of, grid_records

mu, a = symbols("mu a", positive=True)
y = symbols("y", real=True)

GAUSS: Mapping[str, Formula] = {
    "mean": lambda m2: m2 / 2,
    "variance": lambda m2: m2,
    "renyi": lambda m2, order: order * m2 / 2,
    "rho": lambda m2: m2 / 2,
}


@statement(
    paper=PAPER,
    number="fact.gauss",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="N(a, S) and N(b, S) are exactly mu_v-GDP apart, mu_v^2 = v^T S^-1 v with v = a - b: the privacy loss is "
    "N(mu_v^2/2, mu_v^2), the Renyi divergence of order alpha is alpha mu_v^2/2, and rho = mu_v^2/2.",
    formula=r"\mu_v^2 = v^T S^{-1} v,\quad L \sim N(\mu_v^2/2,\ \mu_v^2),\quad D_\alpha = \alpha \mu_v^2/2",
    printed=GAUSS,
    planted=(
        Plant("loss is linear in the output", "mean mu^2", {**GAUSS, "mean": lambda m2: m2}),
        Plant("mean of the loss", "mean mu^2", {**GAUSS, "mean": lambda m2: m2}),
        Plant("variance of the loss", "variance mu^2/2", {**GAUSS, "variance": lambda m2: m2 / 2}),
        Plant("Renyi divergence", "order a - 1", {**GAUSS, "renyi": lambda m2, order: (order - 1) * m2 / 2}),
        Plant("zCDP parameter", "rho = mu^2", {**GAUSS, "rho": lambda m2: m2}),
    ),
)
def gaussian_pairs(claim: Mapping[str, Formula]) -> Findings:
    """With <u, w> = u^T S^-1 w, the log-ratio of the densities is <v, y - b> - <v, v>/2, for every dimension.

    It is normal, since y is; <v, y - b> has the variance v^T S^-1 S S^-1 v = <v, v>. Its law is thus that of the scalar
    pair N(mu, 1), N(0, 1), whose moments are integrals of one variable.
    """
    yy, yv, vv = symbols("yy yv vv", real=True)  # <y-b, y-b>, <y-b, v>, <v, v>
    log_ratio = (yy - (yy - 2 * yv + vv)) / 2
    yield identity("loss is linear in the output", log_ratio, yv - claim["mean"](vv), scope="every dimension and S > 0")
    p, q = (exp(-((y - m) ** 2) / 2) / sqrt(2 * pi) for m in (mu, 0))
    loss = mu * y - mu**2 / 2
    mean = integrate(sympy.expand(loss) * p, (y, -oo, oo))
    yield identity("mean of the loss", mean, claim["mean"](mu**2))
    variance = integrate(sympy.expand((loss - mu**2 / 2) ** 2) * p, (y, -oo, oo))
    yield identity("variance of the loss", variance, claim["variance"](mu**2))
    log_moment = sympy.expand_log(sympy.log(sympy.simplify(integrate(exp(a * loss) * q, (y, -oo, oo)))), force=True)
    yield identity("Renyi divergence", log_moment, (a - 1) * claim["renyi"](mu**2, a))
    yield identity("zCDP parameter", a * claim["rho"](mu**2), claim["renyi"](mu**2, a))


@statement(
    paper=PAPER,
    number="fact.vertices",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="The supremum of v^T S^-1 v over the box [0,1]^d is attained at a binary vertex.",
    formula=r"\sup_{x \in [0,1]^d} x^T S^{-1} x = \max_{x \in \{0,1\}^d} x^T S^{-1} x",
    printed=(lambda dim: binary_records(dim), lambda t: t * (1 - t)),
    planted=(
        Plant("chord", "t in place of t(1-t)", (lambda dim: binary_records(dim), lambda t: t)),
        Plant("vertices suffice", "only x = 1", (lambda dim: [(1,) * dim], lambda t: t * (1 - t))),
    ),
)
def vertices_suffice(claim: tuple[Callable[[int], Iterable[tuple[int, ...]]], Formula]) -> Findings:
    """Q((1-t) x + t y) = (1-t) Q(x) + t Q(y) - t(1-t) Q(y - x): on every segment Q is at most its chord, so convex.

    A convex function on a box is largest at a vertex. The brute force compares grid points with vertices.
    """
    candidates, defect = claim
    t, xx, xy, yy = symbols("t xx xy yy", real=True)
    inside = (1 - t) ** 2 * xx + 2 * t * (1 - t) * xy + t**2 * yy
    chord = (1 - t) * xx + t * yy - defect(t) * (xx - 2 * xy + yy)
    yield identity("chord", inside, chord, scope="every dimension and S > 0, 0 <= t <= 1")

    def covered(dim: int, covariance: list[list[int]]) -> bool:
        form = form_of(covariance)
        best = max(form(record) for record in candidates(dim))
        return all(form(point) <= best for point in grid_records(dim, 4))

    cases = [(2, [[2, 1], [1, 2]]), (2, [[4, -1], [-1, 3]]), (3, [[5, 4, 4], [4, 5, 4], [4, 4, 5]])]
    yield every("vertices suffice", cases, lambda case: covered(*case), scope="3 covariances, grid of step 1/4")
