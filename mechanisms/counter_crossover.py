"""Pure against approximate DP for counting: the delta below which a Laplace tree beats a Gaussian factorisation.

Pure DP costs the tree the same at every delta, and Gaussian noise grows without bound as delta falls; so there is one
delta at which the two errors are equal, the crossover: the tree has the smaller error below it, the factorisation
above. Everything here is enclosed by balls at any precision.

Notation: T = horizon, L = error of the Laplace tree in units of 1/epsilon^2, G = error of the factorisation in units of
sigma^2, sigma the standard deviation for an l2 sensitivity of 1; see `dpverdict.mechanisms.counter_errors`.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverdict.balls import Exact, Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import gaussian_formulas
from dpverdict.mechanisms.ball_normal import BallNormal
from dpverdict.mechanisms.mechanism import check_dim, check_positive

_KIND = BallNormal()


def crossover_delta(laplace: Real, gaussian: Real, epsilon: Exact) -> Real:
    """The delta at which exactly calibrated Gaussian noise has the error of pure epsilon-DP Laplace noise.

    The Gaussian error G sigma^2 is L/epsilon^2 at sigma = sqrt(L/G)/epsilon, which is (epsilon, delta)-DP for an l2
    sensitivity of 1 exactly if delta >= delta_G(epsilon) at mu = 1/sigma. Laplace noise has the smaller error for every
    delta below.

    Args:
        laplace: L > 0, in units of 1/epsilon^2.
        gaussian: G > 0, in units of sigma^2.
        epsilon: > 0.

    Reference: Balle and Wang 2018, Theorem 8 (arXiv:1805.06530); Andersson, Pagh and Torkamani 2024, section 5.1.

    >>> from dpverdict.mechanisms.counter_errors import square_root_error, tree_error
    >>> delta = crossover_delta(tree_error(2**20, 19).mean, square_root_error(2**20).mean, 1)
    >>> round(log10(delta).nearest(), 2)
    -11.44
    """
    e = check_positive(epsilon, "epsilon")

    def profile() -> arb:
        mu = ball(e) * (gaussian.ball() / laplace.ball()).sqrt()
        value: arb = gaussian_formulas.delta(_KIND, ball(e), mu)
        return value

    return Real(profile)


def classic_crossover_delta(laplace: Real, gaussian: Real) -> Real:
    """The crossover against the classic sigma = sqrt(2 ln(1.25/delta))/epsilon: 1.25 exp(-L/(2G)), for every epsilon.

    Reference: Dwork and Roth 2014, Theorem A.1 (epsilon < 1).
    """
    return Real(lambda: ball("5/4") * (-laplace.ball() / (2 * gaussian.ball())).exp())


def published_crossover_delta(laplace: Real, horizon: int) -> Real:
    """The crossover against the published bound of the square-root factorisation, for every epsilon.

    The bound is C^2 (1 + ln(4T/5)/pi)^2 with C^2 = (4/epsilon^2)(4/9 + ln(sqrt(2/pi)/delta)). It leads to delta =
    O(T^-0.92) (Theorem 1.2), but its C is 1.4 times the classic sigma: the exact crossover is far smaller.

    Reference: Henzinger, Upadhyay and Upadhyay 2023 (arXiv:2211.05006); Andersson, Pagh and Torkamani 2024, Theorem 1.2
    (arXiv:2408.07021v2).
    """
    n = check_dim(horizon, "horizon")
    return Real(lambda: (2 / arb.pi()).sqrt() * (ball("4/9") - laplace.ball() / (4 * published_error(n).ball())).exp())


def published_error(horizon: int) -> Real:
    """(1 + ln(4T/5)/pi)^2: the published bound of the square-root factorisation, in units of C^2; valid for T >= 7."""
    n = check_dim(horizon, "horizon")
    return Real(lambda: (1 + ball(Fraction(4 * n, 5)).log() / arb.pi()) ** 2)


def published_variance(epsilon: Exact, delta: Exact) -> Real:
    """C^2 = (4/epsilon^2)(4/9 + ln(sqrt(2/pi)/delta)), the variance in the published bound; for epsilon <= 1."""
    e, d = check_positive(epsilon, "epsilon"), check_positive(delta, "delta")
    if d >= 1:
        raise InvalidValue("delta", delta, "< 1", "give delta as a small positive probability")
    return Real(lambda: 4 / ball(e) ** 2 * (ball("4/9") + ((2 / arb.pi()).sqrt() / ball(d)).log()))


def log10(number: Real) -> Real:
    """The decimal logarithm of a positive number, also where the number is below the range of float64."""
    return Real(lambda: number.ball().log() / arb(10).log())
