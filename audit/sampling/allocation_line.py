r"""The moments E R^-b of one epoch of random allocation at complex b, in balls with every error bounded.

R = (X_1 + ... + X_T)/T is the likelihood ratio of one epoch under Q (`dpverdict.audit.sampling.allocation`), with the
Laplace transform F(u) = E exp(-u R) = f(u/T)^T, f(w) = E exp(-w X). For b = c + i y, c > 0, on any ray of angle th,
|th| < pi/2, with u = exp(x + i th),

    Gamma(b) E R^-b = integral of exp(b (x + i th)) F(exp(x + i th)) dx.

* The rule in x, of step k: |F(v e^(i ph))| <= F(v cos ph), so that on the line moved to the angle ph the integrand has
  an integral of at most N(ph) = exp(-y ph) cos(ph)^-c Gamma(c) E R^-c; the alias is at most N(th + a) r/(1 - r) +
  N(th - a') r'/(1 - r'), r = exp(-2 pi a/k), r' = exp(-2 pi a'/k).
* What is left out at either end: F <= 1 below. Above, F falls, so that its integral against w^(d-1) up to u is at least
  F(u) u^d/d: F(u) <= Gamma(d + 1) E R^-d u^-d, and E R^-d <= exp(d (d/T + 1)/(2 s^2)), because R is at least the
  geometric mean of the X_t.
* f on the same grid: X = exp(z/s - 1/(2 s^2)) with z normal. Shifted by -i th s, f(w) is the integral of
  phi(z) exp(th^2 s^2/2 + i z th s - |w| exp(z/s - 1/(2 s^2))). If the steps of x and of z/s are multiples of one
  number, the last factor depends on the sum of two indices: f at all points is one product of polynomials. Its rule,
  of step k in z: in the strip |Im z| <= a, a <= pi s/2, the last factor is at most 1 and the alias at most
  2 exp((a + |th| s)^2/2) r/(1 - r), r = exp(-2 pi a/k). Beyond |z| = Z it leaves out at most
  2 exp(th^2 s^2/2) phi(Z) (k + 1/Z).

Rays through arg b lose nothing to cancellation; nearby nodes share one.

Write z_t = m + r_t with the mean m of all z_t. Then R = exp(m/s) R', with R' independent of m: log R has a normal
factor of variance 1/(T s^2), and |E R^-(c + i y)| <= exp(-y^2/(2 T s^2)) E R^-c for every y. So the contours of
`dpverdict.audit.losses.contour.integral` invert the powers of these moments, with that variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

import numpy as np
import scipy
from flint import acb, acb_mat, arb, ctx, fmpz, fmpz_poly

from dpverdict.audit.losses.finite.atoms import to_the_power
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.arrays import Array

_MOST_POINTS: Final = 1 << 16
_REACH: Final = 36.0  # standard deviations, of estimates
_LOST: Final = 30.0  # as a logarithm, by sharing a ray: some more bits take less than the short steps of a steep ray
_LEAST_NOISE: Final = 1 / 40
_LOG2: Final = math.log(2)
_GUARD: Final = 16
_BLOCK: Final = 128
_TIME: Final = 1 / 20  # of an exponential
_WIDTHS: Final = 2.0 ** (-np.arange(0, 64) / 4)


@final
@dataclass(frozen=True, slots=True)
class _Ray:
    """Nodes c + i y that share an angle, and how many nats they lose to cancellation on it."""

    angle: float
    first: int
    last: int
    lost: float


@final
class AllocationMoments:
    """E R^-b of one epoch of T steps with noise multiplier s.

    Args:
        noise_multiplier: s > 0.
        steps: T >= 2.
    """

    __slots__ = ("_curve", "_s", "largest", "noise_multiplier", "steps")
    largest: float  # c for which estimates are made
    noise_multiplier: Fraction
    steps: int

    def __init__(self, noise_multiplier: Fraction, steps: int) -> None:
        self.noise_multiplier, self.steps, self._s = noise_multiplier, steps, float(noise_multiplier)
        s = self._s
        if s < _LEAST_NOISE:
            raise PrecisionExhausted("the moments", 64, "with so little noise, known batches tell as much")
        x = np.linspace(-80.0, 40.0 + _REACH / s + 1 / (2 * s * s) + math.log(steps), 1200)
        z = np.arange(-_REACH, _REACH + 1 / s, min(0.1, 0.25 * s))
        weights = np.exp(-z * z / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            sizes = np.exp(np.minimum(x[:, None] - math.log(steps) + z / s - 1 / (2 * s * s), 700))
            rest, whole = -np.expm1(-sizes) @ weights, np.exp(-sizes) @ weights
            logarithm = np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.6)), np.log(np.maximum(whole, 1e-300)))
        known = whole > 1e-290  # beyond, float64 has no figure
        self._curve = scipy.interpolate.CubicSpline(x[known], steps * logarithm[known])
        exponents = np.geomspace(1.0, 2e4, 120)
        inside = (exponents[:, None] * self._curve.x + self._curve(self._curve.x)).argmax(axis=1)
        self.largest = float(exponents[inside < known.sum() - 4].max(initial=1.0))

    # float64, which only steers ---------------------------------------------------------------------------------------

    def estimates(self, points: Array) -> Array:
        """log E R^-c at c > 0 of shape (n,), about."""
        x = self._curve.x
        heights = points[:, None] * x + self._curve(x)
        peaks = x[heights.argmax(axis=1)]
        widths = np.maximum(1 / np.sqrt(points), 1 / points)
        near = np.clip(peaks[:, None] + widths[:, None] * np.linspace(-24.0, 24.0, 241), x[0], x[-1])
        heights = points[:, None] * near + self._curve(near)
        peak = heights.max(axis=1)
        pieces = np.diff(near, axis=1)
        total = (np.exp(heights - peak[:, None])[:, 1:] * pieces).sum(axis=1)
        total += np.exp(heights[:, 0] - peak) / points  # F is 1 below, or there is next to nothing
        found: Array = peak + np.log(total) - scipy.special.loggamma(points).real
        return found

    def _deep(self, c: float) -> float:
        """log of how much more errors of f weigh than f does, in the integral for c: f is small where u is large."""
        x = self._curve.x
        whole, others = c * x + self._curve(x), c * x + (1 - 1 / self.steps) * self._curve(x)
        return float(others.max() - whole.max())

    def _beyond(self, c: float, aim: float) -> tuple[float, float]:
        """log u and d where the part of the integral for c beyond u is below exp(aim)."""
        s = self._s
        powers = c + np.geomspace(0.5, 4000.0, 240)
        moments = scipy.special.loggamma(powers + 1).real + powers * (powers / self.steps + 1) / (2 * s * s)
        for end in np.arange(-40.0, 400.0 + 4 / (s * s), 0.5).tolist():
            bounds = moments + (c - powers) * end - np.log(powers - c)
            best = int(bounds.argmin())
            if bounds[best] < aim:
                return end, float(powers[best])
        raise PrecisionExhausted("the moments", 64, "little noise and large orders: ask for a smaller epsilon")

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """About log of ``beyond`` over E R^-c: that of the normal factor."""
        found: Array = -(heights**2) / (2 * self.steps * self._s**2)
        return found

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """The points of the rule at the highest node, for every node; by time, as they are summed in matrices."""
        room, need = math.atan2(centre, height) / 2, bits * _LOG2
        return (need / centre + 10) * need / (2 * math.pi * room) * (number + 40) * _TIME

    # balls ------------------------------------------------------------------------------------------------------------

    def at(self, t: arb) -> arb:
        """E R^-t at a real t >= 0, to about 64 bits."""
        return self.real(t)

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """E R^-(centre + i step (k + 1/2)) for k < number, at the current precision."""
        half = arb(step) / 2
        return self.line(centre, [half * (2 * k + 1) for k in range(number)], ctx.prec - 16)

    def beyond(self, centre: arb, height: arb) -> arb:
        """An upper bound on |E R^-(c + i w)| for all w >= height."""
        s = ball(self.noise_multiplier)
        return self.real(centre) * (-height * height / (2 * self.steps * s * s)).exp()

    def real(self, exponent: arb) -> arb:
        """E R^-c at a real c >= 0, to about 64 bits."""
        if exponent.is_zero():
            return arb(1)
        with precision(96):
            return self.line(exponent, [arb(0)], 64)[0].real

    def line(self, centre: float | arb, heights: Sequence[arb], bits: int) -> list[acb]:
        """E R^-(c + i y) at heights y >= 0 that grow, to about ``bits`` bits relative to E R^-c.

        A float is taken at its exact value, and a ball for every c in it.

        Raises:
            PrecisionExhausted: that takes too many points.
        """
        exact, c, need = arb(centre), float(centre), bits * _LOG2
        tops = np.array([float(height) for height in heights])
        log_gamma = scipy.special.loggamma(c + 1j * tops).real
        size = float(self.estimates(np.array([c]))[0])
        rays = self._rays(c, tops, log_gamma)
        step = min(self._step(c, tops, log_gamma, ray, need) for ray in rays)
        worst = max(ray.lost for ray in rays)
        turned = max(ray.angle for ray in rays)
        real_size = float(scipy.special.loggamma(c).real) + size
        last, power = self._beyond(c, real_size - need - worst)
        # (f + e)^T is too large by T f^(T-1) e where f is, and by e^T where f is next to nothing
        nothing = (c * last - real_size + need + worst) / self.steps - need - worst
        worst += max(self._deep(c), nothing, 0.0)
        fine, stride, spacing = self._grid(step, need + worst + math.log(self.steps), turned)
        first = min((real_size - need - worst + math.log(c)) / c, last - 1)
        log_s = -math.log(math.cos(turned))
        points = (last - first + log_s) / fine
        if points > _MOST_POINTS:
            raise PrecisionExhausted("the moments", bits, "little noise and large orders: ask for a smaller epsilon")
        working = int(bits + worst / _LOG2 + math.log2(self.steps)) + 48
        values: list[acb] = []
        with precision(working):
            table = _Table(self, fine)
            for ray in rays:
                values += self._on_ray(
                    table, exact, heights[ray.first : ray.last], ray, fine, stride, spacing, (first, last, power)
                )
        return values

    def _rays(self, c: float, tops: Array, log_gamma: Array) -> list[_Ray]:
        """Runs of nodes with an angle each: no node loses more than `_LOST` more than on its own best ray."""
        angles = np.arctan2(tops, c)
        own = self._lost(c, tops, log_gamma, angles)
        rays, first = [], 0
        while first < tops.size:
            last = first + 1
            angle = float(angles[first])
            lost = float(own[first])
            while last < tops.size:
                middle = float(angles[first] + angles[last]) / 2
                losses = self._lost(c, tops[[first, last]], log_gamma[[first, last]], np.full(2, middle))
                if (losses > own[[first, last]] + _LOST).any():
                    break
                angle, lost, last = middle, float(losses.max()), last + 1
            rays.append(_Ray(angle, first, last, max(lost, 0.0)))
            first = last
        return rays

    @staticmethod
    def _lost(c: float, tops: Array, log_gamma: Array, angles: Array) -> Array:
        """log of N(angle) over |Gamma(b)| E R^-c."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = -tops * angles - c * np.log(np.cos(angles)) + scipy.special.loggamma(c).real - log_gamma
        return np.where(np.abs(angles) < math.pi / 2, found, np.inf)

    def _step(self, c: float, tops: Array, log_gamma: Array, ray: _Ray, need: float) -> float:
        """The largest step in x that keeps the aliases of the nodes of a ray below exp(-need)."""
        steps = []
        for node in {ray.first, ray.last - 1}:
            one, other = np.full(_WIDTHS.size, tops[node]), np.full(_WIDTHS.size, log_gamma[node])
            for side in (1, -1):
                room = math.pi / 2 - side * ray.angle
                lost = self._lost(c, one, other, ray.angle + side * room * (1 - _WIDTHS))
                steps.append(float((2 * math.pi * room * (1 - _WIDTHS) / (need + 2 + np.maximum(lost, 0.0))).max()))
        return min(steps)

    def _grid(self, step: float, need: float, angle: float) -> tuple[float, int, int]:
        """The common step of x and z/s, and how many of it make the step of x, and that of z/s."""
        s = self._s
        widths = np.linspace(0.05, 1, 39) * math.pi / 2 * s * (1 - 1e-9)
        largest = float((2 * math.pi * widths / (need + (widths + angle * s) ** 2 / 2 + 3)).max()) / s
        if step >= largest:
            return largest, int(step / largest), 1
        return step, 1, int(largest / step)

    def _on_ray(
        self,
        table: _Table,
        centre: arb,
        heights: Sequence[arb],
        ray: _Ray,
        fine: float,
        stride: int,
        spacing: int,
        ends: tuple[float, float, float],
    ) -> list[acb]:
        theta, low, power = arb(ray.angle), *ends[::2]
        shift = -math.log(math.cos(ray.angle))
        begin, number = math.floor((low + shift) / fine), math.ceil((ends[1] - low) / (fine * stride)) + 3
        transform = self._transform(table, theta, begin, number, stride, spacing)
        k, origin, d = arb(fine) * stride, arb(fine) * begin, arb(power)
        cosine, top = theta.cos(), origin + k * number
        with precision(96):
            own = self.real(centre) if heights[-1] > 0 or len(heights) > 1 else None
            s = ball(self.noise_multiplier)
            below = (centre * (origin - k)).exp() / (1 - (-centre * k).exp())
            moment = ((d + 1).lgamma() + d * (d / self.steps + 1) / (2 * s * s)).exp()
            above = moment * cosine ** (-d) * ((centre - d) * top).exp() / (1 - ((centre - d) * k).exp())
        bases = [value * k for value in transform]
        found = []
        nodes = [acb(centre, height) for height in heights]
        for height, b, part in zip(heights, nodes, _power_sums(bases, [(b * k).exp() for b in nodes]), strict=True):
            total = part * (b * acb(origin, theta)).exp()
            with precision(96):
                left = (k * (below + above) * (-height * theta).exp()).upper()
                found_alias = self._alias(centre, height, theta, k)
            gamma = b.gamma()
            if own is None:  # at a real point: |error| <= alias E R^-c + left
                relative = found_alias.upper() * arb(0, 1)
                found.append(acb((total.real + left * arb(0, 1)) / gamma.real / (1 + relative)))
                continue
            radius = (left + (found_alias * own * centre.gamma())).upper() * arb(0, 1)
            found.append((total + acb(radius, radius)) / gamma)
        return found

    def _alias(self, centre: arb, height: arb, theta: arb, k: arb) -> arb:
        """A bound on the alias, over Gamma(c) E R^-c; at a real point over Gamma(c) E R^-c too."""
        total = arb(0)
        c, y, angle = float(centre), float(height), float(theta)
        for side in (1, -1):
            room = math.pi / 2 - side * angle
            widths = room * (1 - _WIDTHS[1:])
            turned = angle + side * widths
            with np.errstate(all="ignore"):
                sizes = -y * turned - c * np.log(np.cos(turned)) - 2 * math.pi * widths / float(k)
            a = arb(float(widths[int(np.nanargmin(sizes))]))
            phi = theta + side * a
            assert abs(phi) < arb.pi() / 2
            fall = (-2 * arb.pi() * a / k).exp()
            total += (-height * phi).exp() * phi.cos() ** (-centre) * fall / (1 - fall)
        return total.upper()

    def _transform(self, table: _Table, theta: arb, begin: int, number: int, stride: int, spacing: int) -> list[acb]:
        """F(exp(x_i + i theta)) for x_i = (begin + i stride) fine, i < number."""
        s, h = ball(self.noise_multiplier), arb(table.fine)
        k = h * spacing * s  # of z
        need = math.log(2) * (ctx.prec - 24)
        angle = float(theta)
        reach = math.sqrt(2 * need + (angle * self._s) ** 2) + 1
        last = math.ceil(reach / float(k))
        lean = theta * s
        weights = [(-((k * j) ** 2) / 2).exp() for j in range(last + 1)]
        turns = [acb(0, k * lean * j).exp() for j in range(last + 1)]
        tilt, root = (lean * lean / 2).exp(), (2 * arb.pi()).sqrt()
        scale = k / root * tilt
        sizes = [weight * scale for weight in weights]
        cosines = [size * turn.real for size, turn in zip(sizes, turns, strict=True)]
        sines = [size * turn.imag for size, turn in zip(sizes, turns, strict=True)]
        columns = [_Whole() for _ in range(2)]
        kernels = [
            [column.add(value) for value in (*half[::-1], *(sign * value for value in half[1:]))]
            for column, half, sign in zip(columns, (cosines, sines), (1, -1), strict=True)
        ]
        values = table.between(begin - last * spacing, begin + (number - 1) * stride + last * spacing)
        found = [_convolved(kernel, values, spacing, range(0, number * stride, stride)) for kernel in kernels]
        with precision(96):
            a = arb(self._width(float(k), angle))
            fall = (-2 * arb.pi() * a / k).exp()
            alias = 2 * ((a + abs(lean)) ** 2 / 2).exp() * fall / (1 - fall)
            z = k * last
            rest = tilt * 2 * (-z * z / 2).exp() / root * (k + 1 / z)
            off = columns[0].off.max(columns[1].off) * (2 * last + 1)
            # the weights add up to less than 2 tilt, and no value is above 1
            error = (alias + rest + table.off * (2 * tilt + off) + off).upper()
        box, unit = acb(error * arb(0, 1), error * arb(0, 1)), arb(2) ** (-2 * columns[0].bits)
        return [to_the_power(acb(unit * x, unit * y) + box, self.steps) for x, y in zip(*found, strict=True)]

    def _width(self, spacing: float, angle: float) -> float:
        s = self._s
        widths = np.linspace(0.05, 1, 39) * math.pi / 2 * s * (1 - 1e-9)
        return float(widths[int(((widths + angle * s) ** 2 / 2 - 2 * math.pi * widths / spacing).argmin())])


@final
class _Whole:
    """Numbers as whole ones in units of 2^-bits, and the largest error of any.

    Attributes:
        bits: some more than the precision of its making.
        off: how far the whole numbers are off at most, as numbers.
    """

    __slots__ = ("bits", "off")

    def __init__(self) -> None:
        self.bits = ctx.prec + _GUARD
        self.off = arb(2) ** -self.bits

    def add(self, value: arb) -> int:
        """The number, rounded."""
        mantissa, exponent = (int(part) for part in value.mid().man_exp())
        shift = exponent + self.bits
        with precision(96):
            self.off = self.off.max((value.rad() + arb(2) ** -self.bits).upper())
        return mantissa << shift if shift >= 0 else mantissa >> -shift


def _convolved(kernel: list[int], values: list[int], spacing: int, places: range) -> list[fmpz]:
    """The sums over p of kernel[-1 - p] values[n + p spacing] at the places n = 0, 1, ..., or further apart."""
    assert spacing == 1 or places.step == 1
    polynomial, found = fmpz_poly(kernel), [fmpz(0)] * len(places)
    for first in range(min(spacing, len(places))):  # of one remainder
        product = polynomial * fmpz_poly(values[first::spacing])
        for i in range(first, len(places), spacing):
            found[i] = product[len(kernel) - 1 + (places[i] - first) // spacing]
    return found


@final
class _Table:
    """exp(-exp(x_n - log T - 1/(2 s^2))) at x_n = n fine, in whole numbers, as far as asked for.

    Attributes:
        fine: the distance of the points.
    """

    __slots__ = ("_origin", "_values", "_whole", "fine")

    def __init__(self, moments: AllocationMoments, fine: float) -> None:
        s = ball(moments.noise_multiplier)
        self._origin = -arb(moments.steps).log() - 1 / (2 * s * s)
        self._values: dict[int, int] = {}
        self._whole = _Whole()
        self.fine = fine

    @property
    def off(self) -> arb:
        """How far a value is off at most."""
        return self._whole.off

    def between(self, first: int, last: int) -> list[int]:
        """The values for n = first, ..., last, in units of the precision of the making."""
        if last - first > _MOST_POINTS:
            remedy = "little noise and large orders: ask for a smaller epsilon"
            raise PrecisionExhausted("the moments", ctx.prec, remedy)
        h, over = arb(self.fine), False
        for n in range(first, last + 1):
            if n not in self._values:
                self._values[n] = 0 if over else self._whole.add((-(self._origin + h * n).exp()).exp())
            over = self._values[n] == 0  # and so are all that follow, below a unit
        return [self._values[n] for n in range(first, last + 1)]


def _power_sums(values: Sequence[acb], turns: Sequence[acb]) -> list[acb]:
    """The sums of values[i] turn^i for every turn: blocks by a product of matrices, and these by Horner's rule."""
    rows = -(-len(values) // _BLOCK)
    blocks = acb_mat(rows, _BLOCK, [*values, *[acb(0)] * (rows * _BLOCK - len(values))])
    powers: list[list[acb]] = [[acb(1)] * len(turns)]
    for _ in range(_BLOCK):
        powers.append([power * turn for power, turn in zip(powers[-1], turns, strict=True)])
    leaps = powers.pop()
    parts = blocks * acb_mat(powers)
    found = []
    for j, leap in enumerate(leaps):
        total = acb(0)
        for i in range(rows - 1, -1, -1):
            total = total * leap + parts[i, j]
        found.append(total)
    return found


@lru_cache(maxsize=16)
def allocation_moments(noise_multiplier: Fraction, steps: int) -> AllocationMoments:
    """The moments of one epoch, kept for both orders and any number of epochs."""
    return AllocationMoments(noise_multiplier, steps)
