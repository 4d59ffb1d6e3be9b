"""Three simple events that show how little random-direction noise hides, and a bound by hand.

Notation: P, Q the laws of f(X) + n and f(X') + n with n = sigma z v in R^M, z ~ N(0,1), v uniform on the sphere; their
centres are E_P[y] = f(X) and E_Q[y] = f(X'). Lengths are in units of the distance of the centres; r and rho are the
distances of the output to the two. Any event S shows

    delta(epsilon) >= P(S) - exp(epsilon) Q(S).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy
from flint import arb

from dpverdict.audit.losses.domains import EventBound
from dpverdict.audit.losses.spherical.integral import SphericalQuantity, integrate
from dpverdict.audit.losses.spherical.law import quotient
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Exact, Real, ball, exactly, float_down, precision
from dpverdict.checks import check_positive, check_positive_real
from dpverdict.errors import InvalidValue

_BITS = 128
_HALF_SPACE_BITS = 96
_RADII = 100


def ball_event(dim: int, scale: Exact | Real, radius: Exact, shift: Exact | Real = 1) -> EventBound:
    """{r <= c}: the output is near the centre of P, where the density of the noise is unbounded. No integration.

    P = erf(c/(sigma sqrt 2)). Under Q the line through f(X') in direction v meets the ball with probability
    I_{c^2}((M-1)/2, 1/2), in a chord of at most 2c, on which the density of sigma z is at most 1/(sigma sqrt(2 pi)):

        Q <= I_{c^2}((M-1)/2, 1/2) min(1, 2c/(sigma sqrt(2 pi))).

    Args:
        dim: M >= 2.
        scale: sigma > 0.
        radius: c in (0, 1), in units of the shift.
        shift: |f(X) - f(X')| > 0.

    Raises:
        InvalidValue: an argument out of range.
    """
    sigma, c = _scale_in_shifts(dim, scale, shift), exactly(radius, name="radius")
    if not 0 < c < 1:
        raise InvalidValue("radius", radius, "in (0, 1)", "give the radius of the ball in units of the shift")
    with precision(_BITS):
        hit = ball(c**2).beta_lower(arb(dim - 1) / 2, arb(1) / 2, regularized=True)
        chord = 2 * ball(c) / (sigma.ball() * (2 * arb.pi()).sqrt())
        return EventBound(
            event=f"|y - E_P[y]| <= {c} |E_P[y] - E_Q[y]|: the output is near the centre of P",
            p_ball=(ball(c) / (sigma.ball() * arb(2).sqrt())).erf(),
            q_ball=hit * chord.min(arb(1)),
        )


def best_ball_event(dim: int, scale: Exact | Real, epsilon: Exact, shift: Exact | Real = 1) -> EventBound:
    """The `ball_event` that shows the most, among c = 1/100..99/100: chosen in float64, then enclosed.

    Raises:
        InvalidValue: an argument out of range.
    """
    sigma, level = _scale_in_shifts(dim, scale, shift).nearest(), float(exactly(epsilon, name="epsilon"))
    c = np.arange(1, _RADII) / _RADII
    log_hit = np.log(np.maximum(scipy.special.betainc((dim - 1) / 2, 0.5, c * c), 1e-300))
    log_chord = np.minimum(0.0, np.log(2 * c) - np.log(sigma * np.sqrt(2 * np.pi)))
    shown = scipy.special.erf(c / (sigma * np.sqrt(2.0))) - np.exp(np.minimum(level + log_hit + log_chord, 700.0))
    return ball_event(dim, scale, Fraction(int(np.argmax(shown)) + 1, _RADII), shift)


def half_space_event(dim: int, scale: Exact | Real, shift: Exact | Real = 1) -> EventBound:
    """{r < rho}: f(X) is the nearer centre. P = 1 - beta_0 and Q = beta_0 = P[sigma z v_1 > 1/2], certified integrals.

    It shows delta(epsilon) >= 1 - (1 + exp(epsilon)) beta_0; its advantage P - Q is the total variation distance.
    """
    law = RandomDirectionGaussian(_scale_in_shifts(dim, scale, shift))
    zero = Fraction(0)
    return EventBound(
        event="|y - E_P[y]| < |y - E_Q[y]|: the centre of P is the nearer one",
        p_ball=integrate(law, dim, zero, SphericalQuantity.P_TAIL, _HALF_SPACE_BITS),
        q_ball=integrate(law, dim, zero, SphericalQuantity.Q_TAIL, _HALF_SPACE_BITS),
    )


def apollonius_event(dim: int, scale: Exact | Real, epsilon: Exact, shift: Exact | Real = 1) -> EventBound:
    """{rho > lambda r}, lambda = exp(epsilon/(M-1)): the ball in which the event {L > epsilon} ends as sigma grows.

    The ball has radius lambda R, R = 1/(lambda^2 - 1), its centre R behind f(X). From the mean chords seen from the two
    centres, with x - x^3/3 <= (sqrt(pi)/2) erf(x) <= x and no point of the ball further than 1/(lambda - 1) from f(X),

        P >= sqrt(2/pi) (lambda R/sigma) H_1 (1 - 1/(6 sigma^2 (lambda - 1)^2)),
        Q <= sqrt(2/pi) (lambda R/sigma) H_2 exp(-epsilon),
        H_1 = 2F1(-1/2, (M-1)/2; M/2; lambda^-2),    H_2 = 2F1(1/2, (M-1)/2; M/2 + 1; lambda^-2)/M.

    Args:
        dim: M >= 2.
        scale: sigma > 0; the bound on P is positive once 6 sigma^2 (lambda - 1)^2 > 1.
        epsilon: > 0; it shapes the event.
        shift: |f(X) - f(X')| > 0.
    """
    sigma = _scale_in_shifts(dim, scale, shift)
    level = check_positive(epsilon, "epsilon", "at 0 the event is a half-space: use half_space_event")
    with precision(2 * _BITS):
        mean = (2 / arb.pi()).sqrt() / sigma.ball()
        h_1, h_2, radius, stretch = _chords(dim, level)
        longest = 1 / (6 * sigma.ball() ** 2 * (stretch - 1) ** 2)
        return EventBound(
            event=f"|y - E_Q[y]| > exp({level}/{dim - 1}) |y - E_P[y]|",
            p_ball=(mean * radius * h_1 * (1 - longest)).max(arb(0)),
            q_ball=mean * radius * h_2 * (-ball(level)).exp(),
        )


def apollonius_constant(dim: int, epsilon: Exact) -> Enclosure:
    """Encloses K_M(epsilon) = lambda R (H_1 - H_2).

    As sigma grows, delta(epsilon) = sqrt(2/pi) K_M(epsilon)/sigma (1 + o(1)). Hence the least scale that is really
    (epsilon, delta)-DP is about sqrt(2/pi) K_M(epsilon)/delta: see `honest_scale`.
    """
    level = exactly(epsilon, name="epsilon")
    if dim < 2 or level <= 0:
        raise InvalidValue("dim, epsilon", (dim, epsilon), "at least 2, and > 0", "give the parameters of the event")
    with precision(2 * _BITS):
        h_1, h_2, radius, _ = _chords(dim, level)
        return Enclosure.of_ball(radius * (h_1 - h_2))


def chebyshev_delta_lower(dim: int, scale: Exact | Real, epsilon: Exact, shift: Exact | Real = 1) -> float:
    """delta(epsilon) >= 1 - (1 + exp(epsilon)) 2 sigma^2/M, rounded down: the half-space, with beta_0 <= 2 sigma^2/M by
    Chebyshev's inequality. At a fixed scale the mechanism is the worse the larger M is.
    """
    sigma, level = _scale_in_shifts(dim, scale, shift), exactly(epsilon, name="epsilon")
    with precision(_BITS):
        return float_down(1 - (1 + ball(level).exp()) * 2 * sigma.ball() ** 2 / dim)


def _chords(dim: int, epsilon: Fraction) -> tuple[arb, arb, arb, arb]:
    """H_1, H_2, the radius of the ball, and lambda."""
    stretch = (ball(epsilon) / (dim - 1)).exp()
    shrunk, half = stretch**-2, arb(dim) / 2
    h_1 = shrunk.hypgeom_2f1(arb(-0.5), half - arb(0.5), half)
    h_2 = shrunk.hypgeom_2f1(arb(0.5), half - arb(0.5), half + 1) / dim
    return h_1, h_2, stretch / (stretch**2 - 1), stretch


def _scale_in_shifts(dim: int, scale: Exact | Real, shift: Exact | Real) -> Real:
    """sigma in units of the shift."""
    sigma = check_positive_real(scale, "scale", "give the scale of the noise as a positive number")
    RandomDirectionGaussian(sigma).require(dim)
    return quotient(sigma, check_positive_real(shift, "shift", "give the distance of the two centres"))
