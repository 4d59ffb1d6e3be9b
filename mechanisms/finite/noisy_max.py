"""Report noisy max: the option whose score with Laplace, Gumbel or exponential noise is the largest."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.balls import Exact
from dpverdict.checks import check_moderate
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.mechanisms.finite.selection import (
    OPTIONS,
    SENSITIVITY,
    ExponentialScores,
    GumbelNoise,
    LaplaceScores,
    ScoreNoise,
    Selection,
)
from dpverdict.numerics.roots import float_above

NoiseName: TypeAlias = Literal["laplace", "gumbel", "exponential"]
NOISES: Final[dict[str, type[ScoreNoise]]] = {
    "laplace": LaplaceScores,
    "gumbel": GumbelNoise,
    "exponential": ExponentialScores,
}


@final
class ReportNoisyMax(Selection):
    """The number of the option with the largest u_i + Z_i, Z_i independent noise of one scale.

    With records of [0, D]^k and scale 2 D/epsilon under REPLACE_ONE, D/epsilon under ADD_OR_REMOVE_ONE, it is
    epsilon-DP. Gumbel noise makes it the exponential mechanism, exponential noise permute-and-flip. With Laplace noise
    epsilon is approached, not attained, and delta(level) <= 1 - exp((level - epsilon)/2) is a bound only.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.
        adjacency: the neighbouring relation of the claim.
        noise: "laplace", "gumbel" or "exponential".
        sensitivity: D > 0, exact; rounded up to a float64.
        scale: of the noise, in place of that of the claim, exact; the scale is rounded up to a float64.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Dwork and Roth 2014, Claim 3.9; Ding, Kifer, Steinke et al. 2021 (arXiv:2105.07260).

    >>> from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
    >>> ReportNoisyMax(options=4, epsilon="0.5", adjacency=ADD_OR_REMOVE_ONE, noise="laplace").scale
    2.0
    """

    name = "report-noisy-max"
    title = "the option of the largest noisy score"
    source = "Dwork and Roth 2014, Claim 3.9"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        OPTIONS,
        SENSITIVITY,
        Parameter("noise", "laplace|gumbel|exponential", "The law of the noise."),
    )
    example = "--options 3 --epsilon 1 --adjacency replace-one --noise laplace"
    scale: float
    noise: ScoreNoise

    def __init__(
        self,
        *,
        options: int,
        epsilon: Exact,
        adjacency: NeighboringRelation,
        noise: NoiseName,
        sensitivity: Exact = 1,
        scale: Exact | None = None,
    ) -> None:
        rate = self._set(options, epsilon, adjacency, sensitivity)
        if noise not in NOISES:
            raise InvalidValue("noise", noise, f"one of {', '.join(NOISES)}", "laplace is the usual one")
        exact = 1 / rate if scale is None else check_moderate(scale, "scale")
        self.noise_name, self.scale = noise, float_above(exact)
        self.noise = NOISES[noise](size=self.dim, rate=1 / Fraction(self.scale))

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return Selection.describe(self) | {"noise": self.noise_name}
