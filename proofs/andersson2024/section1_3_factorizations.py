"""Andersson et al. 2024, section 1.3: factorisations of the prefix sums under Laplace and Gaussian noise.

Dense ones, those by a few geometric series, and what no factorisation with Gaussian noise can beat.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import sympy
from flint import arb, fmpz_mat
from sympy import Symbol, cos, pi, sin

from dpverdict.balls import Real, precision
from dpverdict.mechanisms.streams.factorizations import BinaryTree
from dpverdict.proofs.andersson2024.section5_1 import square_root_error
from dpverdict.proofs.andersson2024.shared.curves import certainly_below
from dpverdict.proofs.andersson2024.shared.dense import Bounds, bounds_in_floats, certified_bounds
from dpverdict.proofs.andersson2024.shared.notation import PAPER, RESTORED, rational
from dpverdict.proofs.checks.boxes import rounds_to, smaller
from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every


class Worse(NamedTuple):
    """The first T from which it is worse; the lower bound of T f_T^2; the power of log T in the binary tree's error."""

    first: int
    least: Fraction
    power: int


WORSE = Worse(38, Fraction(1, 4), 3)
LONG = 2048


@statement(
    paper=PAPER,
    number="sec1.3.sqrtlaplace",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Due to the high l1 sensitivity of the optimal (square-root) factorisation, the noise needed with the "
    "Laplace mechanism results in a worse error than that of the binary mechanism.",
    formula=r"2\,(2Tf_T)^2\,\frac{1}{T}\sum_t\,G_{t-1} > \frac{2h^2}{T}\sum_t\,\mathrm{pop}(t)",
    printed=WORSE,
    caveat=Reading(
        "read for every T >= 2: it is better at T = 2, and for the last time at T = 37", WORSE._replace(first=2)
    ),
    corrected=Reading("it is worse for every T >= 38", WORSE),
    named=(
        "short horizons",
        "at T = 2048",
    ),
    needs=("huu.T",),
    planted=(
        Plant("short horizons", "from T = 37 on", WORSE._replace(first=37)),
        Plant("at T = 2048", "T f_T^2 >= 1/20", WORSE._replace(least=Fraction(1, 20))),
        Plant("T f_T^2 increases from 1/4", "from 1/3", WORSE._replace(least=Fraction(1, 3))),
        Plant("T grows faster than the power of log T", "log(T)^9", WORSE._replace(power=9)),
    ),
)
def square_root_laplace(claim: Worse) -> Findings:
    """(2 T f_T)^2 = 4 T (T f_T^2) >= T, and rows have norm >= 1: error >= 2T. The binary tree's is <= 2 (log T + 1)^3.

    2^x/(x + 1)^3 increases for x >= 11, as ln 2 > 3/(x + 1). T f_T^2 increases (huu.T).
    """
    yield every(
        "short horizons",
        range(claim.first, LONG),
        lambda horizon: certainly_below(_binary_error(horizon), _laplace_error(horizon)),
        over="T",
        cases=LONG - claim.first,
        method=Method.BALLS,
        show=lambda horizon: (
            f"T = {horizon}: {_laplace_error(horizon).nearest():.3f} against {_binary_error(horizon).nearest():.3f}"
        ),
    )
    first = Fraction(1, 2) ** 2  # T f_T^2 at T = 1
    yield every(
        "T f_T^2 increases from 1/4",
        [first],
        lambda value: claim.least <= value,
        over="the value at T = 1",
        argued="for all T >= 1, since T f_T^2 increases",
        cases=1,
    )
    logarithm = LONG.bit_length() - 1
    yield smaller(
        "at T = 2048",
        Real.of(2 * (logarithm + 1) ** claim.power),
        Real.of(8 * claim.least * LONG),
        scope="T = 2048",
    )
    yield smaller(
        "T grows faster than the power of log T",
        Real.of(Fraction(claim.power, logarithm + 1)),
        Real(lambda: arb(2).log()),
        scope="T = 2048",
        argued="for all T >= 2048: the ratio of the logarithmic slopes grows",
    )


@cache
def _coefficients() -> tuple[tuple[arb, arb], ...]:
    """(f_T, G_(T-1)) for every T <= 2048, in balls of 128 bits."""
    made: list[tuple[arb, arb]] = []
    with precision(128):
        f, total = arb(1), arb(0)
        for j in range(LONG + 1):
            made.append((f, total))
            total += f * f
            f = f * (2 * j + 1) / (2 * j + 2)
    return tuple(made)


def _laplace_error(horizon: int) -> Real:
    """2 Delta_1^2 times the mean squared row norm, for eps = 1, by the closed forms of `SquareRootToeplitz`."""
    f, total = _coefficients()[horizon]
    return Real(lambda: 2 * (2 * horizon * f) ** 2 * (total * (1 + arb(1) / (4 * horizon)) - horizon * f * f))


def _binary_error(horizon: int) -> Real:
    made = BinaryTree(horizon)
    return Real.of(2 * rational(made.l1_sensitivity()) ** 2 * rational(made.mean_row_squared()))


class Dense(NamedTuple):
    """The values printed for T = 64, 256 and 1024."""

    certified: tuple[tuple[int, str], ...]
    floats: tuple[tuple[int, str], ...]


DENSE = Dense(((64, "4.4094"), (256, "6.3727")), ((1024, "8.735"),))


@statement(
    paper=PAPER,
    number="base.dense",
    new=True,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="Recent papers improve the error for (eps, delta)-DP by searching among factorisations directly: with "
    "Gaussian noise the best error is 4.4094 at T = 64, 6.3727 at T = 256, 8.735 at T = 1024, over the variance for "
    "sensitivity 1.",
    formula=r"\min_{LR = A}\ \frac{1}{T}\|L\|_F^2\,\max_j\,\|Re_j\|^2",
    printed=DENSE,
    named=(
        "bounds from both sides",
        "bounds in float64",
    ),
    planted=(
        Plant("bounds from both sides", "4.4095 at T = 64", DENSE._replace(certified=((64, "4.4095"),))),
        Plant("bounds in float64", "8.737 at T = 1024", DENSE._replace(floats=((1024, "8.737"),))),
    ),
    note="at T = 1024 both bounds are computed in float64, since balls would take minutes; their rounding errors of "
    "about 1e-8 are not enclosed, and the bounds lie 1e-5 apart. At T = 64 and 256 they are enclosed",
)
def dense(claim: Dense) -> Findings:
    """The optimum is between a bound by weights and the error of a factorisation, which agree to 1e-5 (see
    `Bounds`)."""
    for name, values, bounds, method in (
        ("bounds from both sides", claim.certified, certified_bounds, Method.BALLS),
        ("bounds in float64", claim.floats, bounds_in_floats, Method.SAMPLED),
    ):
        yield every(
            name,
            values,
            lambda case, bounds=bounds: _rounds(bounds(case[0]), case[1]),  # type: ignore[misc]
            over="T, error",
            cases=len(values),
            method=method,
            show=lambda case, bounds=bounds: (
                f"T = {case[0]}: between {bounds(case[0]).lower} and {bounds(case[0]).upper}"
            ),  # type: ignore[misc]
        )


def _rounds(bounds: Bounds, printed: str) -> bool:
    half = Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))
    value = Fraction(printed)
    return value - half <= Fraction(bounds.lower) and Fraction(bounds.upper) <= value + half


Numbers = list[Fraction]


class Blt(NamedTuple):
    """The formulas of a BLT of degree q with poles z and zeros y."""

    weight: Callable[[Numbers, Numbers, int], Fraction]
    squares: Callable[[Numbers, Numbers, int], Fraction]
    beta: Callable[[Fraction, Fraction], Fraction]


def residue(z: Numbers, y: Numbers, i: int) -> Fraction:
    """prod_j (z_i - y_j)/prod_(j != i) (z_i - z_j)."""
    value = Fraction(1)
    for j in range(len(z)):
        value *= z[i] - y[j]
        if j != i:
            value /= z[i] - z[j]
    return value


def geometric(omega: Numbers, z: Numbers, horizon: int) -> Fraction:
    """1 + sum_(i,l) omega_i omega_l (1 - (z_i z_l)^(T-1))/(1 - z_i z_l)."""
    pairs = [(a * b, x * w) for a, x in zip(omega, z, strict=True) for b, w in zip(omega, z, strict=True)]
    return 1 + sum((weight * (1 - q ** (horizon - 1)) / (1 - q) for weight, q in pairs), Fraction(0))


BLT = Blt(residue, geometric, lambda omega, y: -omega / (1 - y))
BLTS: tuple[tuple[Numbers, Numbers], ...] = (
    ([Fraction(9, 10)], [Fraction(4, 10)]),
    ([Fraction(99, 100), Fraction(6, 10)], [Fraction(9, 10), Fraction(1, 10)]),
    ([Fraction(98, 100), Fraction(7, 10), Fraction(2, 10)], [Fraction(9, 10), Fraction(4, 10), Fraction(1, 20)]),
)


@statement(
    paper=PAPER,
    number="base.blt",
    new=True,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="(efficient factorisations, Dvijotham et al. 2024) The coefficients, the sensitivity, the inverse and the "
    "error of a BLT of degree q are sums of q or q^2 geometric series.",
    formula=r"w_j = \sum_i\,\omega_i z_i^{j-1},\quad b_j = b_0 + \sum_i\,\beta_i \hat{z}_i^{\,j}",
    printed=BLT,
    planted=(
        Plant(
            "coefficients", "one factor left out", BLT._replace(weight=lambda z, y, i: residue(z, y, i) / (z[i] - y[i]))
        ),
        Plant(
            "sensitivity",
            "T for T - 1",
            BLT._replace(squares=lambda omega, z, horizon: geometric(omega, z, horizon + 1)),
        ),
        Plant("rows of L", "+", BLT._replace(beta=lambda omega, y: omega / (1 - y))),
        Plant("error", "+", BLT._replace(beta=lambda omega, y: omega / (1 - y))),
    ),
)
def blt(claim: Blt) -> Findings:
    """W(x) = prod (1 - y_i x)/prod (1 - z_i x) as power series in rationals, against the closed forms."""
    cases = [(z, y, horizon) for z, y in BLTS for horizon in (1, 2, 3, 10, 25)]
    scope = "3 BLTs of degrees 1, 2, 3, T = 1, 2, 3, 10, 25, in rationals"
    show = lambda case: f"z = {[str(x) for x in case[0]]}, T = {case[2]}"  # noqa: E731

    def omega(z: Numbers, y: Numbers) -> Numbers:
        return [claim.weight(z, y, i) for i in range(len(z))]

    def closed(z: Numbers, y: Numbers, horizon: int) -> Numbers:
        weights = omega(z, y)
        rest = [
            sum((w * x ** (j - 1) for w, x in zip(weights, z, strict=True)), Fraction(0)) for j in range(1, horizon)
        ]
        return [Fraction(1), *rest]

    def rows(z: Numbers, y: Numbers, horizon: int) -> Numbers:
        beta = [claim.beta(residue(y, z, i), y[i]) for i in range(len(y))]
        start = 1 - sum(beta, Fraction(0))
        return [start + sum((b * x**j for b, x in zip(beta, y, strict=True)), Fraction(0)) for j in range(horizon)]

    yield every(
        "coefficients", cases, lambda c: closed(*c) == series(c[0], c[1], c[2]), over=scope, cases=15, show=show
    )
    yield every(
        "sensitivity",
        cases,
        lambda c: (
            claim.squares([residue(c[0], c[1], i) for i in range(len(c[0]))], c[0], c[2])
            == sum(w * w for w in series(*c))
        ),
        over=scope,
        cases=15,
        show=show,
    )
    yield every("rows of L", cases, lambda c: rows(*c) == inverse_sums(*c), over=scope, cases=15, show=show)
    yield every(
        "error",
        cases,
        lambda c: sum((c[2] - j) * b * b for j, b in enumerate(rows(*c))) == _squared_norm(*c),
        over=scope,
        cases=15,
        show=show,
    )


def series(z: Numbers, y: Numbers, horizon: int) -> Numbers:
    """The first coefficients of prod (1 - y_i x)/prod (1 - z_i x)."""
    values = [Fraction(1), *[Fraction(0)] * (horizon - 1)]
    for zero in y:
        values = [v - zero * (values[j - 1] if j else 0) for j, v in enumerate(values)]
    for pole in z:
        for j in range(1, horizon):
            values[j] += pole * values[j - 1]
    return values


def inverse_sums(z: Numbers, y: Numbers, horizon: int) -> Numbers:
    """The entries of L = A R^-1 by solving L R = A: b * w = (1, 1, ...)."""
    w = series(z, y, horizon)
    found: Numbers = []
    for j in range(horizon):
        found.append(1 - sum((found[i] * w[j - i] for i in range(j)), Fraction(0)))
    return found


def _squared_norm(z: Numbers, y: Numbers, horizon: int) -> Fraction:
    """|L|_F^2, row after row."""
    b = inverse_sums(z, y, horizon)
    return sum((b[i] * b[i] for time in range(1, horizon + 1) for i in range(time)), Fraction(0))


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
    new=True,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="(no factorisation with Gaussian noise can asymptotically improve) Its error is at least (nuc(A)/T)^2, "
    "nuc(A) = sum_i 1/(2 sin((2i-1) pi/(4T+2))).",
    formula=r"\left(\frac{1}{T}\sum_{i \leq T}\frac{1}{2\sin\frac{(2i-1)\pi}{4T+2}}\right)^2",
    printed=LOWER,
    confirms={"roots of the characteristic polynomial": "inner rows", "sum of squares": "inner rows"},
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
        over="T: |A|_F^2 = T (T+1)/2 to 30 digits",
        cases=59,
        method=Method.BALLS,
        show=lambda size: f"T = {size}",
    )
    yield every(
        "roots of the characteristic polynomial",
        range(1, 13),
        lambda size: _are_roots(size, singular),
        over="T: exact polynomial of the inverse of A A^T, at the balls",
        cases=12,
        method=Method.BALLS,
        show=lambda size: f"T = {size}",
    )

    def bound(size: int) -> Real:
        return Real(lambda: (sum((singular(n, size) for n in range(1, size + 1)), arb(0)) / size) ** 2)

    yield every(
        "below the square root",
        [1, 2, 3, 7, 30, 100],
        lambda size: size == 1 or certainly_below(bound(size), square_root_error(size)),
        over="T: `SquareRootToeplitz`",
        cases=6,
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
