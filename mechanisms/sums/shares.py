"""The law of a sum of shares of noise on the whole numbers, in balls on a window, with what is outside of it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

import numpy as np
from flint import arb, arb_poly

from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

ShareName: TypeAlias = Literal["skellam", "binomial", "discrete-gaussian", "geometric"]
SHARES: Final[tuple[ShareName, ...]] = ("skellam", "binomial", "discrete-gaussian", "geometric")
MOST_VALUES: Final = 1 << 15
"""The largest window, in whole numbers."""

BITS: Final = 320
_FAR: Final = 26.0  # standard deviations of the window: tails of Gaussian decay are below 2^-480 there
_DECAY: Final = 240.0  # of a geometric tail, as a logarithm
_SPAN: Final = 48  # standard deviations on which one discrete Gaussian share is summed, at the least


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumOfShares:
    """Shares of noise of some parties: independent, of one law, symmetric about 0.

    Attributes:
        name: "skellam", the difference of two Poisson variables; "binomial", coins less half of their number;
            "discrete-gaussian", P(z) proportional to exp(-z^2/(2 variance)); "geometric", of which the shares of all
            n parties add up to P(z) proportional to exp(-|z|/scale): differences of two Polya variables of shape 1/n.
        size: the variance of one share, or its variance parameter; of "geometric" the scale of all n parties.
        present: m, of how many parties the shares are in the sum.
        parties: n.
    """

    name: ShareName
    size: Fraction
    present: int
    parties: int

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum in float64, of "geometric" at most."""
        if self.name == "geometric":
            return math.sqrt(2) * float(self.size) + 1
        return math.sqrt(float(self.size) * self.present)

    def window(self) -> int:
        """W: the law is known on -W, ..., W.

        Raises:
            InvalidValue: it would be longer than `MOST_VALUES`.
        """
        wide = math.ceil(_FAR * (self.deviation + 1))
        if self.name == "geometric":
            wide = math.ceil(_DECAY * float(self.size)) + 8
        if self.name == "binomial":
            wide = min(wide, math.ceil(2 * self.size * self.present))
        if 2 * wide + 1 > MOST_VALUES:
            remedy = "count in larger units, or take less noise"
            raise InvalidValue("noise", f"on {2 * wide + 1} numbers", f"on at most {MOST_VALUES}", remedy)
        return wide

    @property
    def doubled_offset(self) -> int:
        """1 where the sum is half of an odd number, as of an odd number of coins; else 0."""
        return int(4 * self.size * self.present) % 2 if self.name == "binomial" else 0

    def law(self) -> list[arb]:
        """P(Z = z) for z = -W, ..., W, at a precision of `BITS`; of an odd number of coins P(Z = z - 1/2).

        It is computed once, and not to be changed.
        """
        return _law_of(self)

    def in_floats(self) -> tuple[Array, Array]:
        """The numbers -W, ..., W and their chances, in float64."""
        chances = np.array([float(weight.mid()) for weight in self.law()])
        return np.arange(len(chances), dtype=np.float64) - (len(chances) - 1) // 2, chances

    def compute_law(self) -> list[arb]:
        """What `law` gives, anew."""
        wide = self.window()
        with precision(BITS):
            return {
                "skellam": self._skellam,
                "binomial": self._binomial,
                "discrete-gaussian": self._discrete_gaussian,
                "geometric": self._geometric,
            }[self.name](wide)

    def _skellam(self, wide: int) -> list[arb]:
        """exp(-v) I_|z|(v), v the variance of the sum."""
        variance = ball(self.size * self.present)
        side = [(-variance).exp() * variance.bessel_i(z) for z in range(wide + 1)]
        return [*side[:0:-1], *side]

    def _binomial(self, wide: int) -> list[arb]:
        coins = int(4 * self.size) * self.present
        whole, middle = arb(2) ** coins, coins // 2 + self.doubled_offset
        return [
            arb(math.comb(coins, at)) / whole if 0 <= (at := middle + z) <= coins else arb(0)
            for z in range(-wide, wide + 1)
        ]

    def _discrete_gaussian(self, wide: int) -> list[arb]:
        """Powers of one share by squaring, each cut to the window: what is cut off is never added back."""
        reach = math.ceil(_SPAN * math.sqrt(float(self.size))) + 8
        weights = [(-ball(Fraction(z * z) / (2 * self.size))).exp() for z in range(reach + 1)]
        # beyond: a sum of at most twice the first term, as each term is less than half of the one before
        rest = 4 * (-ball(Fraction((reach + 1) ** 2) / (2 * self.size))).exp()
        whole = weights[0] + 2 * sum(weights[1:], arb(0)) + arb(0).union(rest)
        one = [weight / whole for weight in (*weights[:0:-1], *weights)]
        found: list[arb] | None = None
        left = self.present
        while left:
            if left & 1:
                found = one if found is None else _cut(_product(found, one), wide)
            left >>= 1
            if left:
                one = _cut(_product(one, one), wide)
        assert found is not None
        short = wide - (len(found) - 1) // 2
        return [*[arb(0)] * short, *found, *[arb(0)] * short] if short >= 0 else _cut(found, wide)

    def _geometric(self, wide: int) -> list[arb]:
        """Of X - Y, both negative binomial of shape r = m/n: (1 - a)^(2 r) sum over j of c_j c_(j + z) a^(2 j + z)."""
        shape = Fraction(self.present, self.parties)
        a = (-1 / ball(self.size)).exp()
        terms = [arb(1)]
        for j in range(2 * wide):
            terms.append(terms[-1] * a * ball((shape + j) / (j + 1)))
        # P(X = j) <= a^j: what is left out of each sum is at most a^(2 wide)/(1 - a)
        polynomial = arb_poly(terms) * arb_poly(terms[::-1])
        scale = ((1 - a).log() * 2 * ball(shape)).exp()
        rest = arb(0).union(a ** (2 * wide) / (1 - a))
        side = [scale * polynomial[2 * wide - z] + rest for z in range(wide + 1)]
        return [*side[:0:-1], *side]


@functools.lru_cache(maxsize=16)
def _law_of(shares: SumOfShares) -> list[arb]:
    return shares.compute_law()


def _product(one: list[arb], other: list[arb]) -> list[arb]:
    product = arb_poly(one) * arb_poly(other)
    return [product[i] for i in range(len(one) + len(other) - 1)]


def _cut(law: list[arb], wide: int) -> list[arb]:
    """The middle 2 W + 1 numbers."""
    extra = (len(law) - 1) // 2 - wide
    return law[extra : len(law) - extra] if extra > 0 else law
