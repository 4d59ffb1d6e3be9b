"""The elliptical Gaussian mechanism: coordinates of different sensitivity, each with noise of its own scale."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, exactly, sqrt_up
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.core.noise import DiagonalNoise
from dpverdict.mechanisms.core.parameters import Parameter, Words
from dpverdict.mechanisms.core.sensitivity import Box
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.files import read_limited

LONGEST_FILE: Final = 2**26
"""Bytes of a file of bounds, at most: for a million of them there is room."""


def _read_bounds(name: str, words: Words) -> str | tuple[str, ...]:
    """Numbers separated by commas or white space, or ``@file`` for a file that holds them; one number is for all.

    Raises:
        InvalidValue: a file that cannot be read, or no numbers.

    >>> _read_bounds("bounds", {"bounds": "1, 2,0.5"}), _read_bounds("bounds", {"bounds": "2", "dim": "3"})
    (('1', '2', '0.5'), '2')
    """
    text = found = words[name]
    if text.startswith("@"):
        try:
            found = read_limited(text[1:], name, LONGEST_FILE).decode("utf-8")
        except UnicodeDecodeError as error:
            remedy = f"reading it fails with {type(error).__name__}"
            raise InvalidValue(name, text, "a readable text file after the @", remedy) from None
    numbers = tuple(found.replace(",", " ").split())
    if not numbers:
        remedy = "separate them by commas, or name a file as @bounds.txt"
        raise InvalidValue(name, text, "one or more numbers", remedy)
    for number in numbers:
        if exactly(number, name=name) < 0:
            raise InvalidValue(name, number, "a number >= 0", "give the sensitivity of each coordinate")
    return numbers[0] if len(numbers) == 1 and "dim" in words else numbers


@final
class EllipticalGaussian(GaussianMechanism):
    """f(X) + N(0, diag(sigma_j^2)) with sigma_j^2 = Delta_j (sum_i Delta_i)/mu^2, under REPLACE_ONE.

    Records lie in the box prod_j [-Delta_j/2, Delta_j/2], so the differences of f(X) = sum x_i fill the box
    prod_j [-Delta_j, Delta_j]. Every corner of it attains exactly mu, and the total variance (sum Delta_j)^2/mu^2 is
    the least among all Gaussian covariances (Pagh and Lebeda; restored and proved from Poulsen 2022, section 2).

    Args:
        mu: GDP parameter > 0, exact.
        bounds: the sensitivities Delta_j >= 0, one per coordinate, exact; at least one must be positive. A coordinate
            of sensitivity 0 is constant and is released without noise. A single number (1 when nothing is given) is
            the common bound of ``dim`` coordinates.
        dim: the number of coordinates; needed for a common bound only.

    Attributes:
        bounds: float64, each at least the Delta_j given (rounded up), so that the box is never too small.
        scales: float64 standard deviations sigma_j, rounded up.

    Raises:
        InvalidValue: a parameter out of range.

    >>> EllipticalGaussian(bounds=[1, 4], mu=1).scales ** 2
    array([ 5., 20.])
    """

    name = "elliptical-gaussian"
    title = "sums, each with noise for its own bound"
    source = "Poulsen 2022, section 2 (Pagh and Lebeda)"
    adjacency: NeighboringRelation = REPLACE_ONE
    bounds: Array
    dim: int
    claim: GaussianDP
    scales: Array
    noise: DiagonalNoise
    sensitivity: Box
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "bounds", "1,2,4 or @FILE", "Sensitivity of each coordinate; 1 if not given.", _read_bounds
        ).otherwise(
            "1",
            "every coordinate has the bound 1, so records lie in [-1/2, 1/2]^d",
            when=lambda given: "dim" in given,
        ),
    )
    example = "--bounds 1,2,4 --mu 1"

    def __init__(self, *, mu: Exact, bounds: Iterable[Exact] | Array | Exact = 1, dim: int | None = None) -> None:
        exact_mu = check_positive(mu, "mu")
        self.bounds = _bounds(bounds, dim)
        self.dim = self.bounds.size
        self.claim = GaussianDP(exact_mu)
        distinct, position = np.unique(self.bounds, return_inverse=True)
        total = sum(
            (Fraction(float(b)) * int(n) for b, n in zip(distinct, np.bincount(position), strict=True)), Fraction(0)
        )
        if total == 0:
            raise InvalidValue("bounds", "all zero", "positive in at least one coordinate", "drop constant coordinates")
        scales = [sqrt_up(Real.of(Fraction(float(b)) * total / exact_mu**2)) if b else 0.0 for b in distinct]
        self.scales = np.array(scales)[position]
        self.noise = DiagonalNoise(scales=self.scales)
        self.sensitivity = Box(bounds=self.bounds)
        self.assumptions = ("every record lies in prod_j [-Delta_j/2, Delta_j/2]",)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), entry j in [-Delta_j/2, Delta_j/2]."""
        return check_array(dataset, self.record_shape, -self.bounds / 2, self.bounds / 2)


def _bounds(bounds: Iterable[Exact] | Array | Exact, dim: int | None) -> Array:
    """The bounds as float64 of shape (d,), rounded up."""
    if isinstance(bounds, np.ndarray) and bounds.dtype == np.float64:
        array = bounds.astype(np.float64)  # a copy
    elif isinstance(bounds, str | int | float | Fraction | Decimal | np.number):
        if dim is None:
            raise InvalidValue("bounds", bounds, "one number per coordinate", "add --bounds 1,2,4, or --dim for 1 each")
        array = np.full(check_dim(dim), _float_at_least(exactly(bounds, name="bounds")))
    elif isinstance(bounds, Iterable):
        array = np.array([_float_at_least(exactly(value, name="bounds")) for value in bounds])
    else:
        raise InvalidValue("bounds", bounds, "numbers, one per coordinate", "give each coordinate's sensitivity")
    if array.ndim != 1 or array.size == 0 or not bool(np.all(np.isfinite(array) & (array >= 0))):
        remedy = "give each coordinate's sensitivity"
        raise InvalidValue("bounds", bounds, "finite numbers >= 0, one per coordinate", remedy)
    if dim is not None and dim != array.size:
        raise InvalidValue("dim", dim, f"the number of bounds, {array.size}", "leave dim out")
    return array


def _float_at_least(value: Fraction) -> float:
    """The smallest float64 >= value.

    Raises:
        InvalidValue: the value is negative, or beyond the range of float64.
    """
    if value < 0 or value > sys.float_info.max:
        raise InvalidValue("bounds", value, "finite numbers >= 0", "give each coordinate's sensitivity")
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))
