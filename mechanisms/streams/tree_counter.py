"""Counting under continual observation: a private count after every item of a stream, by trees with subtraction."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Literal, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, ball
from dpverdict.checks import check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise, LaplaceNoise
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import ARITY, Parameter
from dpverdict.mechanisms.streams.counter import Counter
from dpverdict.mechanisms.streams.sensitivity import LaplaceStep, vertex_score
from dpverdict.mechanisms.streams.state import (
    KEY_BYTES,
    UNIT,
    NoiseSource,
    StatePath,
    check_bits,
    check_item,
    check_stream,
    check_unit_interval,
    read_counter,
    read_state,
    text_of,
    write_state,
)
from dpverdict.mechanisms.streams.tree import (
    TreeNodes,
    TreeStream,
    best_arity,
    digit_system,
    unit_mean_squared_error,
    unit_variance,
)
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import exact_text

NoiseKind = Literal["discrete", "continuous"]
DigitKind = Literal["offset", "symmetric", "ordinary"]


@final
class TreeCounter(Counter):
    """Noisy prefix sums of a stream x_1, ..., x_T of items in {0, 1}, or in [0, 1] under continuous noise.

    The vertices of a tree of height h and arity k get independent Laplace noise of scale h/epsilon, and the count at
    time t is the true one plus the noise of the vertices that the digits of t add and subtract. An item lies in at most
    h of the vertices in use, so the counts are epsilon-DP for streams that differ in one item, by at most 1. They stay
    so when the items are chosen in the light of the counts released before.

    A counter is used once: `add` takes the items one by one and returns the counts. It needs O(k log T) memory and O(1)
    time per item on average, whatever the horizon. `release_many` runs independent copies on a whole stream instead.

    Args:
        horizon: the largest number of items T.
        epsilon: > 0, exact.
        arity: k >= 2, or "best" for the arity of the least mean squared error at this horizon (an exact search).
        digits: "offset" subtracts, for any arity (Algorithm 2 and Definition C.1); "symmetric" is the same and requires
            an odd arity; "ordinary" never subtracts (Algorithm 1).
        noise: "discrete" for exact integer noise on items 0 and 1, "continuous" for items in [0, 1].
        rng: where the 32-byte key of the noise is drawn from; the operating system if it is not given.

    Attributes:
        claim: PureDP(epsilon), with REPLACE_ONE: the two streams have the same length.
        height: number of levels h, which is the l1 sensitivity.

    Raises:
        InvalidValue: an argument is out of range, or the noise would not fit into 64-bit integers.

    Reference: Andersson, Pagh and Torkamani 2024, Algorithms 1 and 2, Lemmas 3.3 and 4.5 (arXiv:2408.07021v2).

    >>> counter = TreeCounter(horizon=3429, epsilon=1, arity=19, rng=np.random.default_rng(0))
    >>> [type(counter.add(1)).__name__, counter.time, counter.height, counter.mean_squared_error()]
    ['int', 1, 3, Fraction(32490, 127)]
    """

    name = "tree-counter"
    title = "prefix sums by a k-ary tree"
    source: str = "Andersson, Pagh and Torkamani 2024, Algorithms 1 and 2"
    adjacency: NeighboringRelation = REPLACE_ONE
    kind = "tree counter"
    claim: PureDP
    noise: LaplaceNoise | DiscreteLaplaceNoise
    dim: int
    nodes: TreeNodes
    height: int
    sensitivity: LaplaceStep
    _stream: TreeStream
    parameters: ClassVar[tuple[Parameter, ...]] = (
        ARITY.otherwise("best", "the one with the least mean squared error at this horizon was taken"),
        Parameter("digits", "offset|symmetric|ordinary", "With or without subtraction."),
        Parameter("noise", "discrete|continuous", "The law of the noise."),
    )
    example = "--horizon 12 --epsilon 1 --arity 5"
    horizon: int
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        horizon: int,
        epsilon: Exact,
        arity: int | Literal["best"],
        digits: DigitKind = "offset",
        noise: NoiseKind = "discrete",
        rng: np.random.Generator | None = None,
    ) -> None:
        self.horizon = self.dim = check_dim(horizon, "horizon")
        self.claim = PureDP(check_positive(epsilon, "epsilon"))
        system = digit_system(digits)
        chosen = best_arity(self.horizon, digits) if arity == "best" else arity
        self.nodes = TreeNodes(system(chosen), self.horizon)
        self.height = self.nodes.height
        self.noise = _noise(noise, self.claim.epsilon / self.height, self.nodes.size)
        self.digits: DigitKind = digits
        self.noise_kind: NoiseKind = noise
        self.sensitivity = LaplaceStep(
            horizon=self.horizon,
            column=lambda item: ((Fraction(1), self.nodes.paths(item)),),
            invertible=self.nodes.invertible(),
            alone=self.nodes.alone,
        )
        statement = "Algorithm 2" if self.nodes.digits.subtracted else "Algorithm 1"
        self.source = f"Andersson, Pagh and Torkamani 2024, {statement}"
        self.assumptions = (
            ("every item is 0 or 1", "the 32-byte key of the noise is uniformly random and secret")
            if isinstance(self.noise, DiscreteLaplaceNoise)
            else ("every item lies in [0, 1]", "noise and counts are real numbers, not floats")
        )
        self._time, self._count = 0, 0  # the count in units of 2^-1074 under continuous noise: every float64 is exact
        self._start(secrets.token_bytes(KEY_BYTES) if rng is None else rng.bytes(KEY_BYTES))

    @property
    def arity(self) -> int:
        """The number of children of a vertex, k."""
        return self.nodes.digits.arity

    # the stream -------------------------------------------------------------------------------------------------------

    def add(self, item: float) -> float:
        """Take the next item and release the noisy number of items so far: an int under discrete noise.

        Raises:
            InvalidValue: the item is not in range, or the horizon is past; the counter is as it was.
        """
        exact = isinstance(self.noise, DiscreteLaplaceNoise)
        if type(item) is not int or not 0 <= item <= 1 or not exact:
            item = check_item(item, exact)
        self._may_add()
        noise: float = self._stream.advance()
        self._time += 1
        self._count += item
        return self._count + noise if exact else self._count / UNIT + noise

    def save(self, path: StatePath) -> None:
        """Write the state, so that `load` gives a counter that continues as this one would, value for value.

        Save before a count is published, or give the same items again after a crash: two different continuations of one
        state share their noise, and their difference has none. Keep the file as secret as the items (`tree_noise` says
        what it gives away).

        Raises:
            OSError: the file cannot be written; an older one is untouched.
        """
        state = {
            "horizon": str(self.horizon),
            "epsilon": exact_text(self.claim.epsilon),
            "arity": self.arity,
            "digits": self.digits,
            "noise": self.noise_kind,
            "time": str(self._time),
            "count": str(self._count),
            "sums": [text_of(value) for value in self._stream.sums],
            "pending": [text_of(value) for value in self._source.pending],
            "key": self._source.key.hex(),
        }
        write_state(path, self.kind, state)

    @classmethod
    def load(
        cls,
        path: StatePath,
        *,
        horizon: int | None = None,
        epsilon: Exact | None = None,
        arity: int | None = None,
    ) -> TreeCounter:
        """The counter that was saved. Parameters that are given must be those of the file.

        Raises:
            InvalidValue: the file is damaged, or belongs to another counter.
            OSError: the file cannot be read.
        """
        expected = {"horizon": horizon, "epsilon": epsilon, "arity": arity}
        read = read_counter(read_state(path, cls.kind), expected)
        try:
            counter = cls(
                horizon=read.horizon,
                epsilon=read.epsilon,
                arity=read.arity,
                digits=read.digits,  # type: ignore[arg-type]  # checked by the constructor
                noise=read.noise,  # type: ignore[arg-type]
            )
        except InvalidValue as error:
            raise read.damaged(str(error)) from None
        counter._resume(read.time, read.count, read.numbers("sums"), read.numbers("pending"), read.key)
        return counter

    def _resume(self, time: int, count: int, sums: list[float], pending: list[float], key: bytes) -> None:
        unit = 1 if isinstance(self.noise, DiscreteLaplaceNoise) else UNIT
        if not (0 <= time <= self.horizon and 0 <= count <= time * unit and len(sums) == self.nodes.digits.size(time)):
            raise InvalidValue("state", f"time {time}", "consistent", "restore the file from a backup")
        self._time, self._count = time, count
        self._start(key, time, sums, pending)

    def _start(
        self, key: bytes, time: int = 0, sums: Sequence[float] | None = None, pending: Sequence[float] = ()
    ) -> None:
        noise = self.noise
        sample = noise.law().draw_from_words if isinstance(noise, DiscreteLaplaceNoise) else noise.sample
        self._source = NoiseSource(lambda words, size: sample(words, size).tolist(), key, pending)
        zero = 0 if isinstance(self.noise, DiscreteLaplaceNoise) else 0.0
        self._stream = TreeStream(self.nodes.digits, self.height, self._source.draw, zero, time=time, sums=sums)

    # whole streams ----------------------------------------------------------------------------------------------------

    def check_records(self, dataset: ArrayLike) -> Array:
        """The stream as float64 of shape (n,), 1 <= n <= T.

        Raises:
            InvalidValue: another shape, too many items, or an item out of range.
        """
        stream = check_stream(dataset, self.horizon)
        if isinstance(self.noise, DiscreteLaplaceNoise):
            check_bits(stream)
        else:
            check_unit_interval(stream)
        return stream

    def statistic(self, records: Array) -> Array:
        """The sums of the used vertices, each with its sign, of a stream padded with zeros: shape (noise.size,)."""
        sums: Array = self.nodes.embed(self.padded(records))[0]
        return sums

    def decode(self, noisy: Array) -> Array:
        """The counts at t = 1..T from noisy vertices: shape (trials, noise.size) -> (trials, T)."""
        return self.nodes.decode(noisy)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at counts of shape (trials, n): the most powerful score.

        If ``nodes.invertible()`` and n = T, the noisy vertices are embed(increments of the counts), and the ratio is
        rate times the sum of |v - E_Q[v]| - |v - E_P[v]|. Otherwise that is a score like any other.
        """
        return vertex_score(self.nodes.embed, self.horizon, float(self.noise.rate), self.embed, pair)

    # errors and privacy -----------------------------------------------------------------------------------------------

    def mean_squared_error(self) -> Fraction:
        """The mean over t = 1..T of the variance of the count, exactly, for continuous noise of scale h/epsilon.

        The discrete noise has `variance_ratio` times this error, a little less.
        """
        return unit_mean_squared_error(self.nodes.digits, self.horizon) / self.claim.epsilon**2

    def variance_at(self, time: int) -> Fraction:
        """The variance of the count at a time, exactly, for continuous noise of scale h/epsilon (see `variance_ratio`).

        Raises:
            InvalidValue: the time is not in 1..T.
        """
        checked = self._checked_time(time)
        return unit_variance(self.nodes.digits, self.horizon, checked) / self.claim.epsilon**2

    def variance_ratio(self) -> Real:
        """The variance of the noise in use, over that of continuous noise of scale h/epsilon.

        It is 1 for continuous noise, up to the rounding of the scale to a float64, and with s = epsilon/h it is
        s^2/(4 sinh(s/2)^2) < 1 for discrete noise: 0.991 at s = 1/3. All variances are `variance_at` times this number.
        """
        if isinstance(self.noise, LaplaceNoise):
            return Real.of((self.noise.scale * self.claim.epsilon / self.height) ** 2)
        rate = self.noise.rate
        return Real(lambda: (ball(rate) / (2 * (ball(rate) / 2).sinh())) ** 2)

    def laplace_shifts(self, item: int) -> tuple[Fraction, ...]:
        """How far one item can move the noisy vertices, in units of the noise's scale: one entry per vertex it is in.

        When item number ``item`` changes by 1, the privacy loss of the noisy vertices is that of so many independent
        coordinates: Laplace variables with these shifts, or randomised response with these epsilons if the noise is
        discrete. If ``nodes.invertible()``, the counts of all T steps have exactly this loss; otherwise it bounds
        theirs. Item 1 has the most entries, h, and its loss is exact at every horizon T >= k^(h - 1) too.

        Raises:
            InvalidValue: the item is not in 1..T.
        """
        return (self.noise.rate,) * self.nodes.paths(self._checked_time(item, "item"))

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return AdditiveMechanism.describe(self) | {
            "horizon": str(self.horizon),
            "arity": str(self.arity),
            "height": str(self.height),
            "digits": self.digits,
            "noise": self.noise_kind,
            "mean squared error": exact_text(self.mean_squared_error()),
        }

    def arguments(self) -> dict[str, object]:
        """What the constructor was given, but for ``rng``; the arity is the one found, if the best was asked for."""
        return {
            "horizon": self.horizon,
            "epsilon": self.claim.epsilon,
            "arity": self.arity,
            "digits": self.digits,
            "noise": self.noise_kind,
        }

    def __repr__(self) -> str:
        return f"TreeCounter(horizon={self.horizon}, arity={self.arity}, claim={self.claim.describe()!r})"


def _noise(kind: object, rate: Fraction, size: int) -> LaplaceNoise | DiscreteLaplaceNoise:
    """Noise of scale 1/rate; the float64 scale is rounded up."""
    if kind == "discrete":
        return DiscreteLaplaceNoise(size=size, rate=rate)
    if kind == "continuous":
        return LaplaceNoise(size=size, scale=float_above(1 / rate))
    raise InvalidValue("noise", kind, "'discrete' or 'continuous'", "discrete noise for items 0 and 1 is exact")
