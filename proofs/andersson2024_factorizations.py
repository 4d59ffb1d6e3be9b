"""Andersson et al. 2024, section 1.3: dense factorisations, under Laplace and under Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from flint import arb

from dpverdict.balls import Real, precision
from dpverdict.mechanisms.factorization_levels import BinaryTree
from dpverdict.proofs.andersson2024_balls import certainly_below
from dpverdict.proofs.andersson2024_constants import rational
from dpverdict.proofs.andersson2024_dense import Bounds, bounds_in_floats, certified_bounds
from dpverdict.proofs.andersson2024_trees import PAPER
from dpverdict.proofs.boxes import smaller
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Plant, Reading, statement
from dpverdict.proofs.vertices import every


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
    kind=Kind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Due to the high l1 sensitivity of the optimal (square-root) factorisation, the noise needed with the "
    "Laplace mechanism results in a worse error than that of the binary mechanism.",
    formula=r"2\,(2Tf_T)^2\,\frac{1}{T}\sum_t\,G_{t-1} > \frac{2h^2}{T}\sum_t\,\mathrm{pop}(t)",
    printed=WORSE,
    caveat=Reading(
        "read for every T >= 2: it is better at T = 2, and for the last time at T = 37", WORSE._replace(first=2)
    ),
    corrected=Reading("it is worse for every T >= 38", WORSE),
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
        scope=f"T = {claim.first}..{LONG - 1}",
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
        scope="all T >= 1, by the value at T = 1",
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
        scope="all T >= 2048",
    )


_PARTIAL: list[tuple[arb, arb]] = []


def _coefficients(horizon: int) -> tuple[arb, arb]:
    """(f_T, G_(T-1)) in balls of 128 bits, from one pass over all T < 2048."""
    if not _PARTIAL:
        with precision(128):
            f, total = arb(1), arb(0)
            for j in range(LONG + 1):
                _PARTIAL.append((f, total))  # f_j and G_(j-1)
                total += f * f
                f = f * (2 * j + 1) / (2 * j + 2)
    return _PARTIAL[horizon]


def _laplace_error(horizon: int) -> Real:
    """2 Delta_1^2 times the mean squared row norm, for eps = 1, by the closed forms of `SquareRootToeplitz`."""
    f, total = _coefficients(horizon)
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
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="Recent papers improve the error for (eps, delta)-DP by searching among factorisations directly: with "
    "Gaussian noise the best error is 4.4094 at T = 64, 6.3727 at T = 256, 8.735 at T = 1024, over the variance for "
    "sensitivity 1.",
    formula=r"\min_{LR = A}\ \frac{1}{T}\|L\|_F^2\,\max_j\,\|Re_j\|^2",
    printed=DENSE,
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
            scope=f"T = {', '.join(str(horizon) for horizon, _ in values)}",
            method=method,
            show=lambda case, bounds=bounds: (
                f"T = {case[0]}: between {bounds(case[0]).lower} and {bounds(case[0]).upper}"
            ),  # type: ignore[misc]
        )


def _rounds(bounds: Bounds, printed: str) -> bool:
    half = Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))
    value = Fraction(printed)
    return value - half <= Fraction(bounds.lower) and Fraction(bounds.upper) <= value + half
