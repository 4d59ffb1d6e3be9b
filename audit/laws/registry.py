"""The laws that are known: the one place where a law is registered, and where it is found by a name."""

from __future__ import annotations

from typing import Final

from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.discrete_gaussian import DiscreteGaussian
from dpverdict.audit.laws.exponential import Exponential
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.geometric import Geometric
from dpverdict.audit.laws.gumbel import Gumbel
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric
from dpverdict.audit.laws.uniform import Uniform
from dpverdict.errors import InvalidValue

LAWS: Final[tuple[type[Law], ...]] = (
    Gaussian,
    Laplace,
    DiscreteGaussian,
    TwoSidedGeometric,
    Geometric,
    Exponential,
    Gumbel,
    Uniform,
)
"""Every law; a new one is a file of this room, and a line here."""


def law_named(name: str) -> type[Law]:
    """The law whose `Law.name` this is.

    Raises:
        InvalidValue: no law has this name.
    """
    for law in LAWS:
        if law.name == name:
            return law
    raise InvalidValue("law", name, f"one of {', '.join(law.name for law in LAWS)}", "register it in LAWS")


def scipy_laws() -> dict[str, type[Law]]:
    """The laws that `scipy.stats` has as well, by the name that they have there."""
    return {law.scipy_name: law for law in LAWS if law.scipy_name is not None}


def numpy_laws() -> dict[str, type[Law]]:
    """The laws that a method ``(loc, scale, size)`` of `numpy.random.Generator` draws, by the name of the method."""
    return {law.numpy_name: law for law in LAWS if law.numpy_name is not None}
