"""Andersson et al. 2024, section 1.3: sparse trees, and trees under Gaussian noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import NamedTuple

import numpy as np
import sympy

from dpverdict.mechanisms.factorization_smooth import SmoothBinary
from dpverdict.mechanisms.tree_constants import gaussian_constant
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.proofs.andersson2024_baselines import is_factorization
from dpverdict.proofs.andersson2024_constants import Constant, best_arity
from dpverdict.proofs.andersson2024_section3 import show_kw, up_to
from dpverdict.proofs.andersson2024_section3_utility import total_sizes
from dpverdict.proofs.andersson2024_section4_2 import offset_error
from dpverdict.proofs.andersson2024_trees import OFFSET, ORDINARY, PAPER, h, k, sizes_in_time
from dpverdict.proofs.boxes import positive_on_box
from dpverdict.proofs.identities import identity, positive
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every


class Smooth(NamedTuple):
    """Errors by the height, and the sensitivity that is claimed."""

    laplace: Formula
    gaussian: Formula
    sensitivity: Callable[[int], int]


SMOOTH = Smooth(lambda h: h**3 / 4, lambda h: h**2 / 4, lambda height: height // 2)


@statement(
    paper=PAPER,
    number="base.smooth",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="Only a subset of the leaves stores inputs, and the variance of outputs is constant: with h even and "
    "binom(h, h/2) >= T + 1 every output uses h/2 nodes and the sensitivity is h/2, for errors h^3/4 and, Gaussian, "
    "h^2/4: a factor 4 below the binary tree under eps-DP, and 2 under (eps, delta)-DP.",
    formula=r"\frac{h^3}{4},\quad \frac{h^2}{4}",
    printed=SMOOTH,
    planted=(
        Plant("nodes and sensitivity", "h/2 - 1", SMOOTH._replace(sensitivity=lambda height: height // 2 - 1)),
        Plant("errors", "h^3/2", SMOOTH._replace(laplace=lambda h: h**3 / 2)),
        Plant("factors over the binary tree", "h^2/2", SMOOTH._replace(gaussian=lambda h: h**2 / 2)),
    ),
    assumptions=("h = log(T) + O(log log T) for the factors, since binom(h, h/2) is within a polynomial of 2^h",),
)
def smooth(claim: Smooth) -> Findings:
    """The factorisation of `SmoothBinary`, for every h at the largest T; exact norms of all rows and columns."""
    horizons = [comb(height, height // 2) - 1 for height in (2, 4, 6, 8)]
    yield every(
        "nodes and sensitivity",
        horizons,
        lambda horizon: _is_smooth(SmoothBinary(horizon), claim.sensitivity),
        scope="h = 2, 4, 6, 8, the largest T",
        show=lambda horizon: f"T = {horizon}",
    )
    half = h / 2
    errors = sympy.Matrix([2 * half**2 * half, half * half])
    yield identity("errors", errors, sympy.Matrix([claim.laplace(h), claim.gaussian(h)]), scope="all even h")
    factors = sympy.Matrix([h**3 / claim.laplace(h), h**2 / 2 / claim.gaussian(h)])
    yield identity("factors over the binary tree", factors, sympy.Matrix([4, 2]), scope="leading terms")


def _is_smooth(made: SmoothBinary, sensitivity: Callable[[int], int]) -> bool:
    left, right = made.decode(np.eye(made.size)).T, made.embed(np.eye(made.horizon)).T
    return bool(
        is_factorization(made)
        and set(np.unique(left)) <= {0.0, 1.0}
        and np.all(left.sum(axis=1) == made.height // 2)
        and np.abs(right).sum(axis=0).max() == sensitivity(made.height)
    )


@statement(
    paper=PAPER,
    number="base.kary",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="With Gaussian noise of variance h for l2 sensitivity 1, the k-ary tree of Algorithm 1 has the error (k-1) "
    "h^2/(2 (1 - k^-h)) at T = k^h - 1.",
    formula=r"\frac{(k-1)h^2}{2(1-k^{-h})}",
    printed=lambda k, h: (k - 1) * h**2 / (2 * (1 - k ** (-h))),
    planted=(
        Plant("from the digits", "k h^2", lambda k, h: k * h**2 / (2 * (1 - k ** (-h)))),
        Plant("of all strings", "k h^2", lambda k, h: k * h**2 / (2 * (1 - k ** (-h)))),
    ),
)
def gaussian_kary(error: Formula) -> Findings:
    """h times the mean number of vertices: 1/(2 h) of the error under Laplace noise (Lemma 3.5)."""
    laplace = (k - 1) * h**3 / (1 - k ** (-h))
    yield identity("from the digits", laplace / (2 * h), error(k, h), scope="all k >= 2, h >= 1")
    yield every(
        "of all strings",
        up_to(range(2, 12), 60_000),
        lambda case: (
            Fraction(case[1] * total_sizes(ORDINARY, *case), case[0] ** case[1] - 1)
            == error(Fraction(case[0]), case[1])
        ),
        scope="k = 2..11, k^h <= 60000",
        show=show_kw,
    )


class GaussianOffset(NamedTuple):
    """The error at full T, and the leading constant of log(T)^2."""

    error: Formula
    constant: Constant


GAUSSIAN_OFFSET = GaussianOffset(
    lambda k, h: (k - 1 / k) * h**2 / (4 * (1 - k ** (-h))),
    Constant(
        lambda k, log, log2: (k - 1 / k) * log2**2 / (4 * log**2),
        7,
        "0.21751",
        2,
        lambda k, log: log - 2 * (k**2 - 1) / (k**2 + 1),
    ),
)


def _with_constant(**changes: object) -> GaussianOffset:
    return GAUSSIAN_OFFSET._replace(constant=GAUSSIAN_OFFSET.constant._replace(**changes))  # type: ignore[arg-type]


@statement(
    paper=PAPER,
    number="base.offset",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="With Gaussian noise of variance h, the offset tree has the error (k - 1/k) h^2/(4 (1 - k^-h)) at T = (k^h - "
    "1)/2; its constant is minimal at k = 7: 0.21751 log(T)^2.",
    formula=r"\frac{(k-1/k)h^2}{4(1-k^{-h})},\quad 0.21751\,\log(T)^2",
    printed=GAUSSIAN_OFFSET,
    planted=(
        Plant("from Lemma 4.7", "k h^2", GAUSSIAN_OFFSET._replace(error=lambda k, h: k * h**2 / (4 * (1 - k ** (-h))))),
        Plant("of all strings", "k h^2", GAUSSIAN_OFFSET._replace(error=lambda k, h: k * h**2 / (4 * (1 - k ** (-h))))),
        Plant(
            "sign of the derivative", "3 for 2", _with_constant(slope=lambda k, log: log - 3 * (k**2 - 1) / (k**2 + 1))
        ),
        Plant("best arity", "9", _with_constant(best=9)),
        Plant("value", "0.21752", _with_constant(value="0.21752")),
        Plant("the project's constant", "k", _with_constant(formula=lambda k, log, log2: k * log2**2 / (4 * log**2))),
        Plant("falling up to 4", "1 for 2", _with_constant(slope=lambda k, log: log - (k**2 - 1) / (k**2 + 1))),
        Plant(
            "the slope increases from 4",
            "5 for 2",
            _with_constant(slope=lambda k, log: log - 5 * (k**2 - 1) / (k**2 + 1)),
        ),
    ),
)
def gaussian_offset(claim: GaussianOffset) -> Findings:
    """1/(2 h) of Lemma 4.7; the slope ln k - 2(k^2-1)/(k^2+1) is negative on [3, 4] and increases from there."""
    yield identity("from Lemma 4.7", offset_error(k, h, 1) / (2 * h), claim.error(k, h), scope="all odd k >= 3, h >= 1")
    yield every(
        "of all strings",
        up_to(range(3, 20, 2), 60_000),
        lambda case: (
            Fraction(2 * case[1] * int(sizes_in_time(OFFSET, *case).sum()), case[0] ** case[1] - 1)
            == claim.error(Fraction(case[0]), case[1])
        ),
        scope="odd k < 20, k^h <= 60000",
        show=show_kw,
    )
    factor = k * sympy.log(k) * (k**2 - 1) / (k**2 + 1)
    yield from best_arity(claim.constant, factor, gaussian_constant, Digits.symmetric, "all odd k >= 3")
    yield positive_on_box("falling up to 4", lambda a: -claim.constant.slope(a, a.log()), {"k": (3, 4)})
    derivative = sympy.together(sympy.diff(claim.constant.slope(k, sympy.log(k)), k))
    yield positive("the slope increases from 4", derivative, {k: 4})
