"""The simplest event that refutes random-direction noise: the output falls near the centre of P. No integration.

All lengths are in units of the shift. For 0 < c < 1 let S = {|y - E_P[y]| <= c}. Under P the distance is |sigma z|, so
P(S) = erf(c/(sigma sqrt 2)) exactly. Under Q the line through the other centre has to hit the ball, which a uniform
direction in R^M does with probability I_{c^2}((M-1)/2, 1/2); it then meets it in a chord of length at most 2c, on which
the density of sigma z is at most 1/(sigma sqrt(2 pi)). Hence

    Q(S) <= I_{c^2}((M-1)/2, 1/2) min(1, 2c/(sigma sqrt(2 pi))).

The density of the noise is unbounded at its centre in two or more dimensions, which is what the event exploits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb
from scipy import special

from dpverdict.balls import ball, precision
from dpverdict.mechanisms.shift import RandomDirectionShift

_BITS = 128
_STEPS = 100


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BallEvent:
    """{|y - E_P[y]| <= fraction * |shift|}.

    Attributes:
        fraction: c in (0, 1).
        probability: encloses P(event).
        neighbour_probability_upper: encloses an upper bound on Q(event).
    """

    fraction: Fraction
    probability: arb
    neighbour_probability_upper: arb

    def excess(self, epsilon: Fraction) -> arb:
        """A ball whose lower end is below P(event) - exp(epsilon) Q(event), and so below delta(epsilon)."""
        with precision(_BITS):
            return self.probability - ball(epsilon).exp() * self.neighbour_probability_upper


def ball_event(shift: RandomDirectionShift, fraction: Fraction) -> BallEvent:
    """The event for one c, with its two probabilities in balls."""
    with precision(_BITS):
        sigma = ball(shift.scale) / ball(shift.squared_length).sqrt()
        c = ball(fraction)
        hit = (c * c).beta_lower(arb(shift.dim - 1) / 2, arb(1) / 2, regularized=True)
        chord = 2 * c / (sigma * (2 * arb.pi()).sqrt())
        return BallEvent(
            fraction=fraction,
            probability=(c / (sigma * arb(2).sqrt())).erf(),
            neighbour_probability_upper=hit * chord.min(arb(1)),
        )


def best_ball_event(shift: RandomDirectionShift, epsilon: Fraction) -> BallEvent:
    """The event, among c = 1/100..99/100, that shows the largest delta(epsilon); chosen in float64, then enclosed."""
    c = np.arange(1, _STEPS) / _STEPS
    sigma = float(shift.scale) / float(shift.squared_length) ** 0.5
    log_hit = np.log(np.maximum(special.betainc((shift.dim - 1) / 2, 0.5, c * c), 1e-300))
    log_chord = np.minimum(0.0, np.log(2 * c) - np.log(sigma * np.sqrt(2 * np.pi)))
    shown = special.erf(c / (sigma * np.sqrt(2.0))) - np.exp(np.minimum(float(epsilon) + log_hit + log_chord, 700.0))
    return ball_event(shift, Fraction(int(np.argmax(shown)) + 1, _STEPS))
