"""Powers of lattice laws: tilted FFTs with a ledger of every error, and a strict route in ball arithmetic.

Notation: composed loss L = sum of independent losses on one lattice of step h, law p; tilted law w(x) = p(x) e^(theta
x)/M with M = E exp(theta L). With theta such that the mean under w is epsilon, everything that matters to

    delta(epsilon) = M e^(-theta epsilon) sum over x > epsilon of w(x) g(x - epsilon),   g(y) = e^(-theta y) (1 - e^-y)

is of order 1, so that an absolute error of the FFT is a relative error of delta. A tilted law is kept, since it serves
every epsilon near its own mean.

Ledger of the tilted powers (all in float64, u = 2^-53, no ball arithmetic, so what it bounds is not called certified):

* *transform*: a radix-2 FFT of N non-negative numbers with sum 1 has an error of at most c log2(N) u in every entry,
  since every path from an input to an output has modulus 1 (Higham 2002, theorem 24.2, has the l2 form). c = 8 is
  assumed of pocketfft, as of any FFT with accurate twiddle factors; it is not proven.
* *power*: repeated squaring has a relative error of at most 4 u per factor. Both propagate by
  |prod (a_i + e)^m_i - prod a_i^m_i| <= e sum_i m_i prod (a_j + e)^m_j/(a_i + e).
* *outside*: what wraps around or lies beyond the window, by a Chernoff bound on the tilted law at both ends.
* *relative*: rounding of the tilted masses (m times one law's), of M e^(-theta epsilon), and of the sum.

The strict route composes the laws in ball arithmetic, without tilt, FFT or ledger, and for small sizes only
(`MAX_DEGREE`): there the composition is certified (`certified_delta`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
import scipy
from flint import arb, arb_poly
from numpy.typing import NDArray

from dpverdict.audit.losses.domains import EPSILON, PROFILE
from dpverdict.audit.losses.lattice.law import LatticeLaw, LatticePair
from dpverdict.balls import Enclosure, Exact, ball, refine
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

Parts: TypeAlias = Sequence[tuple[LatticeLaw, int]]
"""Laws on one lattice, each with the number of times it is composed."""

Spectrum: TypeAlias = NDArray[np.complex128]

ROUNDING = 2.0**-53
FFT_CONSTANT = 8.0
MAX_WINDOW = 1 << 23
"""The longest FFT: about 500 MB of working memory."""

_WIDTH = 9.0  # standard deviations of the tilted law on either side of the window
_OUTSIDE = 1e-16  # tilted mass outside a window that is wide enough
_TILTS = 3  # of one bound of the mass outside, at most
_MOST_TILTS = 24  # of the thinned laws
_STEERING = 2048  # points of a law that steers; the bounds use all of them
_ENDS = 512  # so many of them next to either end


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TiltedLaw:
    """The composed law, tilted, on the window of lattice points first, first + 1, ...

    Attributes:
        step: theta h, the tilt per step of the lattice.
        first: index of the first point of the window.
        masses: float64, sum about 1; entries may be negative by the transform error.
        log_moment: log M.
        spread: standard deviation of the tilted law, in steps.
        mean: its mean, in steps.
        transform_error: bound on the l2 norm of the error of ``masses``.
        outside: bound on the tilted mass outside the window.
        relative_error: bound on the relative error of every true mass times M, before the transform.
    """

    step: float
    first: int
    masses: Array
    log_moment: float
    spread: float
    mean: float
    transform_error: float
    outside: float
    relative_error: float


@final
class Steering:
    """The cumulant function of the composed loss, from laws thinned to a few thousand points; it bounds nothing."""

    __slots__ = ("_laws", "interval")
    interval: float

    def __init__(self, parts: Parts) -> None:
        self.interval = float(parts[0][0].interval)
        self._laws = [(*_thinned(law), count) for law, count in parts]

    def moments(self, step: float) -> tuple[float, float]:
        """Mean and variance of the composed law tilted by ``step`` per step, in steps."""
        mean = variance = 0.0
        for indices, masses, count in self._laws:
            exponents = step * indices
            weights = masses * np.exp(exponents - exponents.max())
            weights /= weights.sum()
            centre = float(weights @ indices)
            mean += count * centre
            variance += count * float(weights @ (indices - centre) ** 2)
        return mean, variance

    def log_moment(self, step: float) -> float:
        """About log E exp(step * index)."""
        total = 0.0
        for indices, masses, count in self._laws:
            exponents = step * indices
            peak = exponents.max()
            total += count * (peak + math.log(masses @ np.exp(exponents - peak)))
        return float(total)

    def step_for(self, target: float) -> float:
        """The tilt >= 0 per step with mean ``target`` steps, roughly: Newton's method, kept in a bracket."""
        low, high, step = 0.0, math.inf, 0.0
        for _ in range(60):
            mean, variance = self.moments(step)
            if mean >= target:
                high = step
            else:
                low = step
            if abs(mean - target) <= 0.02 * math.sqrt(variance) + 1e-9 * abs(target) or high == 0.0:
                break
            step = step + (target - mean) / max(variance, 1e-300)
            if not low < step < high:
                step = 2 * low + self.interval if high == math.inf else (low + high) / 2
            step = min(step, 50.0)
            if low >= 50.0:
                break
        return step


def _thinned(law: LatticeLaw) -> tuple[Array, Array]:
    """Fewer points: groups in the middle, and every point next to the ends, where large tilts put all the mass."""
    group = -(-law.masses.size // (_STEERING - 2 * _ENDS))
    if law.masses.size <= _STEERING:
        return law.indices, np.maximum(law.masses, 1e-320)
    last = law.masses.size - _ENDS
    starts = np.concatenate([np.arange(_ENDS), np.arange(_ENDS, last, group), np.arange(last, law.masses.size)])
    sizes = np.diff(np.append(starts, law.masses.size))
    indices = law.lowest + starts + (sizes - 1) / 2
    masses: Array = np.maximum(np.add.reduceat(law.masses, starts), 1e-320)
    return indices, masses


def tilted_power(parts: Parts, steering: Steering, step: float) -> TiltedLaw:
    """The composed law tilted by ``step`` per step of the lattice, on a window about its mean.

    The window is widened until next to nothing is outside of it.

    Raises:
        InvalidValue: the window is longer than `MAX_WINDOW` points.
    """
    mean, variance = steering.moments(step)
    spread = math.sqrt(variance) + 1.0
    width = _WIDTH
    while not _enough(steering, step, mean, spread, width) and 2 * width * spread < MAX_WINDOW:
        width *= 1.2
    while True:
        law = _on_window(parts, steering, step, mean, spread, width)
        if law is not None:
            return law
        width *= 1.5


def _on_window(
    parts: Parts, steering: Steering, step: float, mean: float, spread: float, width: float
) -> TiltedLaw | None:
    """The tilted law on ``width`` times its spread to either side; None if that is too narrow."""
    lowest = sum(count * law.lowest for law, count in parts)
    highest = lowest + sum(count * (law.masses.size - 1) for law, count in parts)
    first = max(lowest, math.floor(mean - width * spread) - 8)
    last = min(highest, math.ceil(mean + width * spread) + 8)
    if last - first >= MAX_WINDOW:
        interval = steering.interval
        raise InvalidValue("interval", interval, f"above {interval * (last - first) / MAX_WINDOW:.1e}", "coarsen it")
    size = scipy.fft.next_fast_len(last - first + 1, real=True)
    whole = first == lowest and last == highest
    moment, relative = _log_moment(parts, step)
    outside = 1e-290
    if not whole:
        outside += math.exp(_log_beyond(parts, steering, step, moment, last, width / spread)) * (last < highest)
        outside += math.exp(_log_beyond(parts, steering, step, moment, first, -width / spread)) * (first > lowest)
        if outside > _OUTSIDE and 2 * (last - first) < MAX_WINDOW:
            return None
    masses, error = _power(parts, step, size)
    masses = np.roll(masses, -((first - lowest) % size))[: last - first + 1]
    return TiltedLaw(
        step=step,
        first=first,
        masses=masses,
        log_moment=moment,
        spread=spread,
        mean=mean,
        transform_error=error,
        outside=outside,
        relative_error=relative,
    )


def _tails(normal: float) -> list[float]:
    return [max(min(normal, 20.0), -20.0) / 2**halvings for halvings in range(_MOST_TILTS)]


def _enough(steering: Steering, step: float, mean: float, spread: float, width: float) -> bool:
    """Whether next to nothing seems to be outside the window, from the thinned laws."""
    moment = steering.log_moment(step)
    return all(
        min(steering.log_moment(step + tail) - moment - tail * (mean + side * width * spread) for tail in tails)
        <= math.log(_OUTSIDE / 4)
        for side, tails in ((1, _tails(width / spread)), (-1, _tails(-width / spread)))
    )


def _log_beyond(parts: Parts, steering: Steering, step: float, moment: float, end: int, normal: float) -> float:
    """A bound on the logarithm of the tilted mass beyond an end: Chernoff's, at the best of some tilts.

    ``normal`` is the best tilt of a normal law; where a law has a heavier tail, a smaller one does better. The thinned
    laws say which are tried first.
    """
    tilts = sorted(_tails(normal), key=lambda tail: steering.log_moment(step + tail) - tail * end)
    best = 0.0
    for number, tail in enumerate(tilts):
        if number >= _TILTS or best <= math.log(_OUTSIDE):
            break
        other = _log_moment(parts, step + tail)[0]
        room = 1e-12 * (abs(other) + abs(moment) + abs(tail * end))
        best = min(best, other - moment - tail * end + room)
    return best


def _tilted(law: LatticeLaw, step: float) -> tuple[Array, float, float]:
    """The masses times exp(step (i - peak)), the peak, and a bound on their relative error."""
    positive = law.masses > 0
    indices = law.indices
    peak = float(indices[positive][np.argmax(np.log(law.masses[positive]) + step * indices[positive])])
    exponents = step * (indices - peak)
    with np.errstate(under="ignore", over="ignore"):
        weights = np.where(positive, law.masses * np.exp(exponents), 0.0)
    # What underflows is below 1e-300 in sum: it is in the 1e-290 with which `outside` begins.
    reach = float(np.abs(exponents[weights > 0]).max())
    return weights, peak, ROUNDING * (6 + 2 * reach)


def _log_moment(parts: Parts, step: float) -> tuple[float, float]:
    """log E exp(step * index) of the composed law, and the relative error of its tilted masses."""
    total, relative = [], 0.0
    for law, count in parts:
        weights, peak, error = _tilted(law, step)
        logarithm = math.log(float(weights.sum()))
        total += [count * logarithm, count * step * peak]
        relative += count * (error + ROUNDING * (64 + 4 * abs(logarithm) + 4 * abs(step * peak)))
    return math.fsum(total), relative


def _power(parts: Parts, step: float, size: int) -> tuple[Array, float]:
    """The circular convolution power of the tilted laws, and a bound on the l2 norm of its error."""
    entry = (FFT_CONSTANT * max(math.log2(size), 1.0) + 4.0) * ROUNDING * 1.01
    product: Spectrum | None = None
    moduli: list[tuple[Array, int]] = []
    for law, count in parts:
        weights, _, _ = _tilted(law, step)
        weights /= weights.sum()
        spectrum = scipy.fft.rfft(_folded(weights, size))
        moduli.append((np.sqrt(spectrum.real**2 + spectrum.imag**2) + entry, count))
        power = _to_the_power(spectrum, count)
        product = power if product is None else product * power
    assert product is not None  # parts are not empty
    bound = np.ones(product.size)
    slope = np.zeros(product.size)
    for modulus, count in moduli:
        bound *= modulus**count
        slope += count / modulus
    spread = 2.0 * math.sqrt(2.0 / size)  # both halves of the spectrum, and room for the rounding of these norms
    error = spread * entry * (float(np.linalg.norm(bound * slope)) + float(np.linalg.norm(bound)))
    return scipy.fft.irfft(product, size), error


UNDERFLOW = 1e-290
"""More than all that is lost where the terms of a sum are less than float64 can hold."""


def norm_of_weights(weights: Array) -> float:
    """The l2 norm of weights >= 0 of any size, whose squares may be less than float64 can hold."""
    largest = float(weights.max(initial=0.0))
    return largest * float(np.linalg.norm(weights / largest)) if largest > 0 else 0.0


def _folded(weights: Array, size: int) -> Array:
    """The weights wrapped around a circle of ``size`` points."""
    if weights.size <= size:
        return np.concatenate([weights, np.zeros(size - weights.size)])
    rows = -(-weights.size // size)
    padded = np.concatenate([weights, np.zeros(rows * size - weights.size)])
    folded: Array = padded.reshape(rows, size).sum(axis=0)
    return folded


def _to_the_power(base: Spectrum, exponent: int) -> Spectrum:
    result: Spectrum | None = None
    while True:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if not exponent:
            assert result is not None  # the exponent was at least 1
            return result
        base = base * base


def index_offset(first: int, interval: Fraction, epsilon: Fraction) -> float:
    """first * interval - epsilon, rounded once."""
    return float(first * interval - epsilon)


_REUSE = 0.5  # a tilted law serves every epsilon within so many of its standard deviations
_KEPT = 8


@final
class TiltedLaws:
    """The composition of laws on one lattice, tilted to wherever it is asked for."""

    __slots__ = ("_kept", "parts", "steering")
    parts: Parts
    steering: Steering

    def __init__(self, parts: Parts) -> None:
        self.parts = [(law, count) for law, count in parts]
        self.steering = Steering(parts)
        self._kept: list[TiltedLaw] = []

    def near(self, epsilon: Fraction) -> TiltedLaw:
        """The law with a mean of about epsilon, or the law itself if its mean is above that."""
        target = float(epsilon / self.parts[0][0].interval)
        for law in self._kept:
            flat = law.step == 0.0 and target <= law.mean
            if flat or abs(law.mean - target) <= _REUSE * law.spread:
                return law
        law = tilted_power(self.parts, self.steering, self.steering.step_for(target))
        self._kept = [law, *self._kept[: _KEPT - 1]]
        return law


def upper_sums(law: TiltedLaw, first: int, last: int) -> tuple[Array, float]:
    """The masses at and above every index from ``first`` to ``last``, and a bound on their errors."""
    total = math.exp(law.log_moment)
    sums = np.append(np.cumsum(law.masses[::-1])[::-1], 0.0) * total
    places = np.clip(np.arange(first, last + 1) - law.first, 0, law.masses.size)
    size = law.masses.size
    error = law.transform_error * math.sqrt(size) + law.outside + law.relative_error + 2 * ROUNDING * size
    return sums[places], 1.1 * total * error + 8 * ROUNDING * (1 + abs(law.log_moment))


MAX_DEGREE = 1 << 17
"""The most points a composed law may have on this route."""

_MAX_BITS = 1 << 14


def certified_delta(pairs: Sequence[tuple[LatticePair, int]], epsilon: Exact) -> Enclosure:
    """Encloses delta(epsilon) of every loss that the pairs bracket, composed: from the exact powers of both laws.

    The composition is certified. That the laws bracket the losses is what their maker states: for certain, or as far as
    the tails are as accurate as they say (`lattice_pair`).

    Args:
        pairs: laws on one lattice, each with the number of times it is composed.
        epsilon: any real number.

    Raises:
        InvalidValue: no pairs, different lattices, or a composed law of more than `MAX_DEGREE` points.
        PrecisionExhausted: cancellation beyond 16384 bits.
    """
    exact = EPSILON.exact(epsilon)
    lower = profile_ball([(pair.optimistic, count) for pair, count in pairs], exact)
    upper = profile_ball([(pair.pessimistic, count) for pair, count in pairs], exact)
    return PROFILE.enclosure(lower, upper)


def profile_ball(parts: Sequence[tuple[LatticeLaw, int]], epsilon: Fraction, *, bits: int = 60) -> arb:
    """delta(epsilon) of the composition of the laws themselves, with at least ``bits`` accurate bits, or exactly.

    An infinite loss of any part is an infinite loss of the whole: its mass is 1 minus the product of the finite ones.
    """
    if not parts:
        raise InvalidValue("pairs", "[]", "not empty", "give at least one loss to compose")
    intervals = {law.interval for law, _ in parts}
    if len(intervals) > 1:
        raise InvalidValue("interval", str(sorted(intervals)), "the same for all losses", "use one lattice")
    degree = sum(count * (law.masses.size - 1) for law, count in parts)
    if degree > MAX_DEGREE:
        raise InvalidValue("pairs", f"{degree} points", f"at most {MAX_DEGREE} points", "use LatticeBounds")
    return refine(
        lambda: _profile(parts, parts[0][0].interval, epsilon),
        bits=bits,
        start=bits + 68,
        max_bits=_MAX_BITS,
        name="delta",
        remedy="the value may be exactly 0",
    )


def _profile(parts: Sequence[tuple[LatticeLaw, int]], interval: Fraction, epsilon: Fraction) -> arb:
    power = arb_poly([1])
    finite, lowest = arb(1), 0
    infinite = False
    for law, count in parts:
        power *= arb_poly([arb(mass) for mass in law.masses.tolist()]) ** count
        finite *= (1 - arb(law.infinity_mass)) ** count
        infinite = infinite or law.infinity_mass > 0
        lowest += count * law.lowest
    total = 1 - finite if infinite else arb(0)
    first = max(0, epsilon // interval + 1 - lowest)  # the first loss above epsilon
    masses = power.coeffs()
    step = (-ball(interval)).exp()
    decay = (ball(epsilon) - ball((lowest + first) * interval)).exp()
    for mass in masses[first:]:
        total += mass * (1 - decay)
        decay *= step
    return total.min(arb(1))  # the masses may add up to a little more
