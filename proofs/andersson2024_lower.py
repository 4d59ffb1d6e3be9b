"""Andersson et al. 2024, section 1.3: what no factorisation with Gaussian noise can beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import sympy
from flint import arb, fmpz_mat
from sympy import Symbol, cos, pi, sin

from dpverdict.balls import Real, precision
from dpverdict.proofs.andersson2024_balls import certainly_below
from dpverdict.proofs.andersson2024_section5_bound import square_root_error
from dpverdict.proofs.andersson2024_trees import PAPER
from dpverdict.proofs.boxes import rounds_to
from dpverdict.proofs.identities import identity
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every


class Lower(NamedTuple):
    """The angle of the i-th singular value, 1/(2 sin(angle/2)), over any field; and values at T = 2^10, 2^12, 2^14."""

    angle: Formula
    eigenvalue: Formula
    """Of the inverse of A A^T, by sin(angle/2)^2."""
    values: tuple[tuple[int, str], ...]


LOWER = Lower(
    lambda i, horizon, pi: (2 * i - 1) * pi / (2 * horizon + 1),
    lambda square: 4 * square,
    ((10, "8.4657"), (12, "11.222"), (14, "14.371")),
)


@statement(
    paper=PAPER,
    number="base.lower",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="(no factorisation with Gaussian noise can asymptotically improve) Its error is at least (nuc(A)/T)^2, "
    "nuc(A) = sum_i 1/(2 sin((2i-1) pi/(4T+2))).",
    formula=r"\left(\frac{1}{T}\sum_{i \leq T}\frac{1}{2\sin\frac{(2i-1)\pi}{4T+2}}\right)^2",
    printed=LOWER,
    planted=(
        Plant("last row", "2 T", LOWER._replace(angle=lambda i, horizon, pi: (2 * i - 1) * pi / (2 * horizon))),
        Plant("inner rows", "2 sin^2", LOWER._replace(eigenvalue=lambda square: 2 * square)),
        Plant("sum of squares", "2 T", LOWER._replace(angle=lambda i, horizon, pi: (2 * i - 1) * pi / (2 * horizon))),
        Plant(
            "roots of the characteristic polynomial",
            "2 T + 3",
            LOWER._replace(angle=lambda i, horizon, pi: (2 * i - 1) * pi / (2 * horizon + 3)),
        ),
        Plant(
            "below the square root",
            "half the angle",
            LOWER._replace(angle=lambda i, horizon, pi: (2 * i - 1) * pi / (4 * horizon + 2)),
        ),
        Plant("values", "11.3", LOWER._replace(values=((12, "11.3"),))),
    ),
    assumptions=("nuc(L R) <= |L|_F |R|_F, and |R|_F^2 <= T max_j |R e_j|^2",),
)
def lower(claim: Lower) -> Findings:
    """The inverse of A A^T has the rows (-1, 2, -1), and (-1, 1) at the end; its eigenvectors are sin(j theta).

    An inner row gives the eigenvalue 2 - 2 cos(theta) = 4 sin(theta/2)^2, and the last one asks 0 = sin((T+1) theta) -
    sin(T theta) = 2 cos((2T+1) theta/2) sin(theta/2). The T angles are distinct and in (0, pi).
    """
    i, j, horizon = sympy.symbols("i j T", integer=True, positive=True)
    theta = Symbol("theta", real=True)
    row = 2 * sin(j * theta) - sin((j - 1) * theta) - sin((j + 1) * theta)
    yield identity(
        "inner rows",
        sympy.expand(row, trig=True),
        claim.eigenvalue((1 - cos(theta)) / 2) * sin(j * theta),
        scope="all T, all inner rows j",
    )
    zero = (2 * horizon + 1) * claim.angle(i, horizon, pi) / 2
    yield identity("last row", zero, (2 * i - 1) * pi / 2, scope="all T, all i: an odd multiple of pi/2")

    def singular(index: int, size: int) -> arb:
        value: arb = claim.angle(arb(index), size, arb.pi())
        return 1 / (2 * (value / 2).sin())

    yield every(
        "sum of squares",
        range(1, 60),
        lambda size: _is_near(lambda: sum((singular(n, size) ** 2 for n in range(1, size + 1)), arb(0)), size),
        scope="T < 60: |A|_F^2 = T (T+1)/2 to 30 digits",
        method=Method.BALLS,
        show=lambda size: f"T = {size}",
    )
    yield every(
        "roots of the characteristic polynomial",
        range(1, 13),
        lambda size: _are_roots(size, singular),
        scope="T = 1..12: exact polynomial of the inverse of A A^T, at the balls",
        method=Method.BALLS,
        show=lambda size: f"T = {size}",
    )

    def bound(size: int) -> Real:
        return Real(lambda: (sum((singular(n, size) for n in range(1, size + 1)), arb(0)) / size) ** 2)

    yield every(
        "below the square root",
        [1, 2, 3, 7, 30, 100],
        lambda size: size == 1 or certainly_below(bound(size), square_root_error(size)),
        scope="T = 2, 3, 7, 30, 100: `SquareRootToeplitz`",
        method=Method.BALLS,
        show=lambda size: f"T = {size}",
    )
    checks = [rounds_to("values", bound(2**e), value, scope="T = 2^10, 2^12, 2^14") for e, value in claim.values]
    yield next((found for found in checks if not found.holds), checks[-1])


def _is_near(value: Callable[[], arb], size: int) -> bool:
    with precision(160):
        return bool(abs(value() - arb(size * (size + 1)) / 2) < arb(10) ** -30)


def _are_roots(size: int, singular: Callable[[int, int], arb]) -> bool:
    """Every 1/s_n^2 makes the characteristic polynomial 0 to 30 digits, and no two of them touch."""
    rows = [
        [2 - (r == c == size - 1) if r == c else -1 if abs(r - c) == 1 else 0 for c in range(size)] for r in range(size)
    ]
    polynomial = [int(c) for c in fmpz_mat(rows).charpoly().coeffs()]
    with precision(200):
        roots = [1 / singular(n, size) ** 2 for n in range(1, size + 1)]
        small = all(
            abs(sum((c * root**e for e, c in enumerate(polynomial)), arb(0))) < arb(10) ** -30 for root in roots
        )
        return small and all(roots[n] < roots[n + 1] for n in range(size - 1))
