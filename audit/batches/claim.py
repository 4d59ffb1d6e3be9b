"""How batches are said to be made."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import exact_text, whole_number
from dpverdict.suggestions import nearest

Making: TypeAlias = Literal["poisson", "fixed-size", "shuffle", "balls-in-bins"]
MAKINGS: Final[tuple[Making, ...]] = ("poisson", "fixed-size", "shuffle", "balls-in-bins")

_BY_NAME: Final[dict[str, Making]] = {making: making for making in MAKINGS}


@final
@dataclass(frozen=True, slots=True)
class BatchClaim:
    """How batches are said to be made.

    Attributes:
        making: "poisson", every record is in a batch with probability q, independently of all others and of other
            batches; "fixed-size", each batch is a uniform set of b records, drawn anew; "shuffle", in each pass the
            records are permuted and cut into batches of b, the last one of what is left; "balls-in-bins", in each pass
            every record is in one of 1/q batches, uniformly and independently.
        rate: q of "poisson" and "balls-in-bins"; else 0.
        size: b of "fixed-size" and "shuffle"; else 0.
    """

    making: Making
    rate: Fraction = Fraction(0)
    size: int = 0

    @property
    def bins(self) -> int:
        """The batches of a pass of balls in bins."""
        return self.rate.denominator

    @property
    def words(self) -> str:
        """For a report."""
        return {
            "poisson": f"Poisson sampling with rate {exact_text(self.rate)}",
            "fixed-size": f"batches of {self.size} records, each drawn anew without replacement",
            "shuffle": f"records shuffled in each pass, batches of {self.size}",
            "balls-in-bins": f"each record in one of {self.bins} batches of a pass, drawn for itself",
        }[self.making]


def read_claim(sampling: str | None, rate: str | None, size: str | None) -> BatchClaim:
    """The claim that options state.

    Raises:
        InvalidValue: another way to make batches; a rate or a size that is missing, out of range or not used.

    >>> read_claim("poisson", "0.01", None).words
    'Poisson sampling with rate 0.01'
    """
    if sampling is None:
        raise InvalidValue("sampling", None, "given", f"add --sampling {', '.join(MAKINGS[:-1])} or {MAKINGS[-1]}")
    making: Making | None = _BY_NAME.get(sampling)
    if making is None:
        remedy = f"{nearest(sampling, MAKINGS)}say how batches are made"
        raise InvalidValue("sampling", sampling, f"one of {', '.join(MAKINGS)}", remedy)
    by_rate = making in ("poisson", "balls-in-bins")
    wanted, other = ("rate", "size") if by_rate else ("size", "rate")
    given = {"rate": rate, "size": size}
    text = given[wanted]
    if text is None:
        raise InvalidValue(wanted, None, f"given with sampling {making}", f"add --{wanted}")
    if given[other] is not None:
        raise InvalidValue(other, given[other], f"left out with sampling {making}", f"give --{wanted} alone")
    if not by_rate:
        return BatchClaim(making, size=whole_number(text, "size", at_least=1))
    q = exactly(text, name="rate")
    if not Fraction(1, 10**9) <= q <= 1:
        raise InvalidValue("rate", text, "in [1e-9, 1]", "give the expected part of the records in a batch")
    if making == "balls-in-bins" and q.numerator != 1:
        raise InvalidValue("rate", text, "the inverse of a whole number", "a pass has 1/rate batches")
    return BatchClaim(making, rate=q)
