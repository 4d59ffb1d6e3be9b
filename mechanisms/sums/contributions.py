"""What one user may add to a vector of sums: bounds on its keys (l0), each sum (linf), and its l1 or l2 norm.

Theorem (shifts of log-concave noise). Let f be a log-concave density on R^d. For every epsilon the hockey-stick
divergence H(v) of f(. - v) from f is a quasi-convex function of the shift v, so that over a polytope it is largest at a
vertex. For 1 - H(v) is the integral over x of min(f(x - v), e^epsilon f(x)), where both functions are log-concave in
(x, v), so their minimum is, and so is its integral over x (Prékopa 1973).

Noise that is independent and equal in every coordinate has an H that is symmetric and even, too, and so increases under
weak majorisation of |v| (Marshall, Olkin and Arnold 2011, 3.C.3 and 3.A.8). A vector of at most k sums, each at most M,
of an l1 norm of at most L, is majorised by the one of floor(L/M) sums of M and one of the rest, or of k sums of M.
That is the user who tells most, at every epsilon.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import gaussian_loss, identical_laws
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, ball
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.core.noise import Noise, SharedNoise
from dpverdict.mechanisms.core.sensitivity import Maximum, unsupported
from dpverdict.mechanisms.sums.whole_noise import DiscreteGaussianNoise
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_below
from dpverdict.numerics.text import exact_text


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """What a mechanism keeps of the records of one user, whatever they are.

    In this order: every value is clipped to [low, high]; of the values with one key the first m are kept, and added; of
    the keys the first k with a sum that is not 0; the vector of sums is scaled down to an l1 norm of at most L1, and to
    an l2 norm of at most L2. What is kept of one user depends on that user alone.

    Attributes:
        dim: number of keys d.
        keys: k, from 1 to d.
        per_key: m >= 1.
        low, high: of a value; low is 0 or -high.
        l1, l2: None for no such bound.
    """

    dim: int
    keys: int
    per_key: int
    low: Fraction
    high: Fraction
    l1: Fraction | None = None
    l2: Fraction | None = None

    @property
    def largest_sum(self) -> Fraction:
        """M = m high: of one key, in absolute value."""
        return self.per_key * self.high

    @property
    def whole_sums(self) -> int:
        """How many sums of M the user has who tells most."""
        return self.keys if self.l1 is None else min(self.keys, int(self.l1 // self.largest_sum))

    @property
    def rest(self) -> Fraction:
        """The one further sum of the user who tells most; 0 for none."""
        if self.l1 is None or self.whole_sums == self.keys:
            return Fraction(0)
        return self.l1 - self.whole_sums * self.largest_sum

    def largest_user(self) -> list[tuple[Fraction, int]]:
        """The sums of the user who tells most, before the l2 norm is bounded, each with its number of keys."""
        return [
            (size, number) for size, number in ((self.largest_sum, self.whole_sums), (self.rest, 1)) if size * number
        ]

    def largest_difference(self, *, replaced: bool) -> list[tuple[Fraction, int]]:
        """By how much that user moves the sums, where added, or replaced by the opposite one or one of other keys.

        Sums that are not negative differ by at most M, so that the two users share no key; with fewer keys than both
        have, as many sums move by M as there can be.
        """
        if not replaced:
            return self.largest_user()
        if self.low:
            return [(2 * size, number) for size, number in self.largest_user()]
        whole = min(self.dim, 2 * self.whole_sums)
        rests = min(self.dim - whole, 2) if self.rest else 0
        return [(size, number) for size, number in ((self.largest_sum, whole), (self.rest, rests)) if number]

    def largest_square(self, *, replaced: bool) -> Fraction:
        """The largest squared l2 norm of a difference: |x|^2, |2x|^2, or |x|^2 + |y|^2 of users of different keys."""
        square = self._squared_norm(self.largest_user())
        if not replaced or self.low:
            return square * (4 if replaced else 1)
        one, other = self.divided()
        return self._squared_norm(one) + self._squared_norm(other)

    def _squared_norm(self, user: list[tuple[Fraction, int]]) -> Fraction:
        whole = sum((size**2 * number for size, number in user), Fraction(0))
        return whole if self.l2 is None else min(whole, self.l2**2)

    def divided(self) -> tuple[list[tuple[Fraction, int]], list[tuple[Fraction, int]]]:
        """The moves of two users without a common key, of as equal numbers of keys as there can be."""
        one, other = list[tuple[Fraction, int]](), list[tuple[Fraction, int]]()
        for size, number in self.largest_difference(replaced=True):
            one.append((size, number - number // 2))
            other.append((size, number // 2))
        return one, other

    def keep(self, users: Array) -> Array:
        """What is kept of the values of every user: shape (n, d, slots) -> (n, d), in float64."""
        held = np.clip(users, float(self.low), float(self.high))
        held = np.where(np.cumsum(held != 0, axis=2) <= self.per_key, held, 0.0)
        sums: Array = held.sum(axis=2)
        sums = np.where(np.cumsum(sums != 0, axis=1) <= self.keys, sums, 0.0)
        for norm, most in ((1, self.l1), (2, self.l2)):
            if most is not None:
                size = np.linalg.norm(sums, norm, axis=1, keepdims=True)
                sums = np.where(size > float(most), sums * (float(most) / np.maximum(size, float(most))), sums)
        return sums

    def kept_exactly(self, user: Array) -> tuple[list[Fraction], Fraction]:
        """The vector that is kept as a whole is sqrt(share) times the sums: both in exact numbers."""
        sums: list[Fraction] = []
        keys = 0
        for values in user.tolist():
            clipped = [min(max(Fraction(value), self.low), self.high) for value in values]
            total = sum([value for value in clipped if value][: self.per_key], Fraction(0))
            keys += total != 0
            sums.append(total if keys <= self.keys else Fraction(0))
        length = sum(map(abs, sums), Fraction(0))
        if self.l1 is not None and length > self.l1:
            sums = [size * self.l1 / length for size in sums]
        square = sum((size**2 for size in sums), Fraction(0))
        return sums, Fraction(1) if self.l2 is None or square <= self.l2**2 else self.l2**2 / square

    def user_of(self, sums: list[tuple[Fraction, int]], *, slots: int, first: int = 0, sign: int = 1) -> Array:
        """Records of a user with these sums, the first with key ``first``: shape (d, slots).

        A sum that is no sum of float64 is rounded towards 0.
        """
        user = np.zeros((self.dim, slots))
        for size, number in sums:
            full = int(size // self.high)
            left = float_below(size - full * self.high)
            user[first : first + number, :full] = sign * float(self.high)
            if left:
                user[first : first + number, full] = sign * left
            first += number
        return user


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedUsers:
    """The differences that one user makes: that user's vector, or the difference of two.

    Args:
        bounds: of every user.
        slots: how many values of one key a record of the data has room for.
        replaced: whether a user is replaced by another; otherwise one is added or removed.
    """

    bounds: ContributionBounds
    slots: int
    replaced: bool

    @property
    def is_box(self) -> bool:
        """Whether all differences are of sums up to M, as many as there can be: then every move is the largest at once.

        The theorem above is about densities; on whole numbers only this much of it is used, for which it is enough that
        the loss of a log-concave law grows with each move.
        """
        norms = self.bounds.l1 is not None or self.bounds.l2 is not None
        return not norms and not (self.replaced and self.bounds.low)

    def maximise(self, noise: Noise) -> Maximum:
        """The loss of the difference that majorises all, see the theorem above."""
        bounds = self.bounds
        words = "a user who adds " + " and ".join(
            f"{exact_text(size)} to {f'each of {number} sums' if number > 1 else 'one sum'}"
            for size, number in bounds.largest_user()
        )
        if bounds.l2 is not None:
            words += f", scaled down to an l2 norm of at most {exact_text(bounds.l2)}"
        if self.replaced:
            words += ", replaced by the opposite one" if bounds.low else ", replaced by one of other keys"
        return Maximum(
            loss=self._largest_loss(noise),
            datasets=self._datasets,
            description=words,
            justification="the loss of independent noise of one log-concave law grows under weak majorisation of the "
            "moves, and these moves majorise those of every user",
        )

    def _largest_loss(self, noise: Noise) -> PrivacyLoss:
        if isinstance(noise, LaplaceNoise) and self.bounds.l2 is None:
            moves = self.bounds.largest_difference(replaced=self.replaced)
            return LaplaceLoss.grouped([(size * noise.rate, number) for size, number in moves])
        if isinstance(noise, DiscreteGaussianNoise) and self.is_box:
            counted = Counter(dict(self.bounds.largest_difference(replaced=self.replaced)))
            return noise.loss_of_moves(counted)
        if isinstance(noise, SharedNoise):
            return gaussian_loss(
                noise.mu_squared_of(Fraction(0), self.bounds.largest_square(replaced=self.replaced), 0)
            )
        raise unsupported(self, noise)

    def _datasets(self) -> tuple[Array, Array]:
        """The user alone, and nobody, the opposite user, or one of other keys."""
        bounds, most = self.bounds, self.bounds.largest_user()
        if not self.replaced:
            one = bounds.user_of(most, slots=self.slots)[None]
            return one, one[:0]
        if bounds.low:
            one = bounds.user_of(most, slots=self.slots)[None]
            return one, -one
        here, there = bounds.divided()
        first = sum(number for _, number in here)
        return (
            bounds.user_of(here, slots=self.slots)[None],
            bounds.user_of(there, slots=self.slots, first=first)[None],
        )

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The privacy loss of one pair, exactly."""
        if (replacement is None) is self.replaced:
            raise unsupported(self, noise)
        x, share = self.bounds.kept_exactly(record)
        y, other = ([Fraction(0)] * self.bounds.dim, Fraction(1))
        if replacement is not None:
            y, other = self.bounds.kept_exactly(replacement)
        if isinstance(noise, LaplaceNoise) and self.bounds.l2 is None:
            moves = Counter(abs(a - b) * noise.rate for a, b in zip(x, y, strict=True))
            del moves[Fraction(0)]
            return LaplaceLoss.grouped(moves.items()) if moves else identical_laws()
        if isinstance(noise, DiscreteGaussianNoise) and self.is_box:
            return noise.loss_of_moves(Counter(abs(a - b) for a, b in zip(x, y, strict=True)))
        if isinstance(noise, SharedNoise):
            return gaussian_loss(_squared_distance(x, share, y, other, 1 / noise.variances[0]))
        raise unsupported(self, noise)


def _squared_distance(x: list[Fraction], share: Fraction, y: list[Fraction], other: Fraction, unit: Fraction) -> Real:
    """unit |sqrt(share) x - sqrt(other) y|^2: rational, unless the users share a key and the root is not."""
    squares = share * sum(a * a for a in x) + other * sum(b * b for b in y)
    common = sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))
    root = Real.of(share * other).sqrt()
    if not common or root.rational is not None:
        return Real.of(unit * (squares - 2 * common * (root.rational or 0)))
    return Real(lambda: ball(unit * squares) - ball(2 * unit * common) * root.ball())
