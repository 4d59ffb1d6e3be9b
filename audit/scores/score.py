"""Scores: functions of the output that are larger the more the output looks like one of P, the law on the dataset.

Any score gives a valid test, because it is fixed before the trials that count are drawn; a good one gives power.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, Protocol, final, runtime_checkable

import numpy as np

from dpverdict.audit.trials.user_code import guarded, in_own_error_state
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.mechanism import HasLikelihoodRatio, HasLikelihoodScore
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.numerics.arrays import Array

LINEAR: Final = "learned linear (Fisher)"
"""The name of the scores of `fit_linear_score`."""
LARGEST_COVARIANCE: Final = 200
"""Beyond this number of coordinates only the variances are fitted, not the covariances."""


@runtime_checkable
class Score(Protocol):
    """A function of outputs, with its definition as data."""

    @property
    def name(self) -> str:
        """What a report calls it."""
        ...

    def __call__(self, outputs: Array) -> Array:
        """Outputs of shape (trials, m) to scores of shape (trials,), which may be infinite but not NaN."""
        ...

    def describe(self) -> dict[str, object]:
        """The score as data, ready for JSON, from which it can be computed again."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearScore:
    """The score w . y - c.

    Args:
        name: what a report calls it.
        weights: w, shape (m,), finite.
        offset: c, finite.

    Raises:
        InvalidValue: weights or an offset that are not finite, or weights not in one dimension.
    """

    name: str
    weights: Array
    offset: float

    def __post_init__(self) -> None:
        if self.weights.ndim != 1 or not np.isfinite(self.weights).all() or not np.isfinite(self.offset):
            remedy = "check the likelihood ratio of the mechanism: its noise may be singular"
            raise InvalidValue("weights", self.weights, "finite, of shape (m,), with a finite offset", remedy)

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m)."""
        if outputs.shape[1] != len(self.weights):
            remedy = "give outputs and weights of the same mechanism"
            raise InvalidValue("outputs", f"shape {outputs.shape}", f"of shape (trials, {len(self.weights)})", remedy)
        # Not a matrix product: its rounding may depend on the position of a row, and equal outputs need equal scores.
        return _without_nan(np.add.reduce(outputs * self.weights, axis=1) - self.offset, self.name)

    def times(self, factor: float) -> LinearScore:
        """A multiple of the score."""
        return replace(self, weights=self.weights * factor, offset=self.offset * factor)

    def describe(self) -> dict[str, object]:
        """Kind, weights and offset."""
        return {"kind": "linear", "name": self.name, "weights": self.weights.tolist(), "offset": float(self.offset)}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CallableScore:
    """A score given by the user: any function of outputs (trials, m) -> (trials,), checked at every call."""

    function: Callable[[Array], object]
    name: str = field(default="user")

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m).

        Raises:
            InvalidValue: the function raises, or returns another shape, something that is not a number, or NaN.
        """
        wanted = f"({len(outputs)},)"
        remedy = "return one number per output, larger where the output looks more like one of the dataset"

        def failure(said: str) -> InvalidValue:
            return InvalidValue("score", f"{self.name} raised {said}", f"a function (trials, m) -> {wanted}", remedy)

        values = guarded(lambda: in_own_error_state(lambda: np.asarray(self.function(outputs))), failure)
        if values.dtype.kind not in "biuf" or values.shape != (len(outputs),):
            found = f"{self.name} returned {values.dtype} of shape {values.shape}"
            raise InvalidValue("score", found, f"real numbers of shape {wanted}", remedy)
        return _without_nan(values.astype(np.float64), self.name)

    def describe(self) -> dict[str, object]:
        """Kind and name: the function itself is the user's."""
        return {"kind": "callable", "name": self.name}


def as_score(score: Score | Callable[[Array], object]) -> Score:
    """A score as it is, or a function of outputs wrapped into one.

    Raises:
        InvalidValue: something that cannot be called.
    """
    if isinstance(score, Score):
        return score
    if not callable(score):
        raise InvalidValue("score", score, "callable", "give a function of outputs (trials, m) -> (trials,)")
    return CallableScore(function=score, name=str(getattr(score, "__qualname__", type(score).__qualname__)))


def likelihood_ratio(mechanism: HasLikelihoodRatio | HasLikelihoodScore, pair: NeighbourPair) -> Score:
    """The log-likelihood ratio of P against Q as the mechanism states it, by Neyman and Pearson the best score."""
    if isinstance(mechanism, HasLikelihoodScore):
        return CallableScore(function=mechanism.likelihood_score(pair), name="likelihood ratio")
    weights, offset = mechanism.likelihood_direction(pair)
    return LinearScore(name="likelihood ratio", weights=np.asarray(weights, dtype=np.float64), offset=float(offset))


def fit_linear_score(dataset_outputs: Iterable[Array], neighbour_outputs: Iterable[Array]) -> LinearScore:
    """The linear discriminant of Fisher: w = S^-1 (mean under P - mean under Q), S the covariance within the classes.

    For Gaussian outputs of equal covariance w . y - c estimates the log-likelihood ratio. S is taken of standardised
    coordinates and drawn towards the identity, by the intensity that Schaefer and Strimmer estimate from the data;
    with more than `LARGEST_COVARIANCE` coordinates it is the identity.

    Args:
        dataset_outputs: chunks of outputs of the dataset, each (trials, m); at least two outputs in all.
        neighbour_outputs: the same of the neighbour.

    Reference: R. A. Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936);
        J. Schaefer and K. Strimmer, A shrinkage approach to large-scale covariance matrix estimation, Statistical
        Applications in Genetics and Molecular Biology 4 (2005), with the variance of a correlation r of Gaussian
        coordinates, (1 - r^2)^2 / n.
    """
    p, q = iter(dataset_outputs), iter(neighbour_outputs)
    first_p, first_q = next(p), next(q)
    # Powers of two bring every coordinate near 1 without rounding, so that squares neither overflow nor vanish.
    largest = np.maximum(np.abs(first_p).max(axis=0), np.abs(first_q).max(axis=0))
    exponent = np.clip(np.frexp(np.where(largest > 0, largest, 1.0))[1], -1000, 1000)
    unit: Array = np.asarray(np.ldexp(1.0, exponent), dtype=np.float64)
    count_p, mean_p, scatter_p = _moments(chain([first_p], p), unit)
    count_q, mean_q, scatter_q = _moments(chain([first_q], q), unit)
    freedom = max(count_p + count_q - 2, 1)
    within = (scatter_p + scatter_q) / freedom
    gap = mean_p - mean_q
    # A coordinate that does not vary within the classes but differs between them separates them on its own. Its spread
    # is taken as a millionth of the gap, so that it outweighs the others and the weights stay finite.
    spread = np.maximum(np.sqrt(np.diag(within) if within.ndim == 2 else within), 1e-6 * np.abs(gap))
    spread[spread == 0] = 1.0  # constant in both: the gap and the weight are 0
    standard: Array = gap / spread
    if within.ndim == 2:
        shrunk = _shrunk_correlation(within / np.outer(spread, spread), freedom)
        standard = np.linalg.solve(shrunk, standard).astype(np.float64)
    weights = standard / spread
    middle = float(weights @ (mean_p + mean_q)) / 2
    # The scale of a score is free: halve it until no weight overflows in the units of the outputs.
    shift = min(0, 900 - int(np.max(np.frexp(weights)[1] - np.frexp(unit)[1])))
    weights, middle = np.ldexp(weights, shift) / unit, float(np.ldexp(middle, shift))
    return LinearScore(name=LINEAR, weights=weights, offset=middle)


def _moments(chunks: Iterator[Array], unit: Array) -> tuple[int, Array, Array]:
    """Count, mean and scatter (a matrix, or its diagonal in many coordinates) of all chunks, in one pass.

    Chunks are merged by the formula of Chan, Golub and LeVeque (1979), which does not cancel.
    """
    full = len(unit) <= LARGEST_COVARIANCE
    count, mean = 0, np.zeros(len(unit))
    scatter = np.zeros((len(unit), len(unit)) if full else len(unit))
    for outputs in chunks:
        scaled = outputs / unit
        own = scaled.mean(axis=0)
        centred = scaled - own
        step, total = own - mean, count + len(scaled)
        weight = count * len(scaled) / total
        if full:
            scatter += centred.T @ centred + weight * np.outer(step, step)
        else:
            scatter += (centred**2).sum(axis=0) + weight * step**2
        mean, count = mean + step * (len(scaled) / total), total
    return count, mean, scatter


def _shrunk_correlation(correlation: Array, freedom: int) -> Array:
    """(1 - g) R + g I, with g estimated from the sampling error of the entries of R and kept away from 0."""
    off = correlation[~np.eye(len(correlation), dtype=bool)]
    signal = float((off**2).sum())
    noise = float(((1 - off**2) ** 2).sum()) / freedom
    intensity = min(max(noise / signal, 1e-6), 1.0) if signal > 0 else 1.0
    shrunk = (1 - intensity) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return shrunk


def _without_nan(values: Array, name: str) -> Array:
    if np.isnan(values).any():
        remedy = "let the score be minus or plus infinity where a density is 0, and 0 where both are"
        raise InvalidValue("score", f"{name} returned NaN", "a number or an infinity for every output", remedy)
    return values
