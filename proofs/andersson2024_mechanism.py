"""Andersson et al. 2024: this project's tree counters as matrices, to be compared with the printed algorithms."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_nodes import TreeNodes
from dpverdict.mechanisms.tree_stream import TreeStream
from dpverdict.proofs.andersson2024_trees import NOWHERE, ORDINARY, Column, Instance, Integers, Span


class Factors(NamedTuple):
    """L of shape (T, n) and R of shape (n, T): the noisy counts are L (R x + z)."""

    left: Integers
    right: Integers


def system_of(span: Span, arity: int) -> Digits:
    """The project's digit system with this span."""
    return Digits.ordinary(arity) if span is ORDINARY else Digits.offset(arity)


def factors(instance: Instance, span: Span) -> Factors:
    """L and R as the counter of this project applies them; their entries are small integers, so floats are exact."""
    nodes = TreeNodes(system_of(span, instance.arity), instance.horizon)
    left = nodes.decode(np.eye(nodes.size)).T
    right = nodes.embed(np.eye(instance.horizon)).T
    return Factors(np.rint(left).astype(np.int64), np.rint(right).astype(np.int64))


def is_prefix_sum(made: Factors) -> bool:
    """L R = A, the lower-triangular matrix of ones."""
    horizon = made.left.shape[0]
    return bool(np.array_equal(made.left @ made.right, np.tril(np.ones((horizon, horizon), dtype=np.int64))))


def sensitivity(made: Factors, power: int = 1) -> int:
    """The largest column sum of |R|^power."""
    return int((np.abs(made.right) ** power).sum(axis=0).max())


def counted(made: Factors) -> Counter[Column]:
    """The columns of L with the rows of R that belong to them."""
    found: Counter[Column] = Counter()
    for usage, row in zip(made.left.T, made.right, strict=True):
        places = np.flatnonzero(row).tolist()
        times = sum(1 << (t + 1) for t in np.flatnonzero(usage).tolist())
        interval = (places[0] + 1, places[-1] + 1) if places else NOWHERE
        found[Column(times, interval, int(row[places[0]]) if places else 0)] += 1
    return found


def stack_columns(instance: Instance, span: Span) -> Counter[int]:
    """The times at which each noise of the stack form is in use, as bits: fresh noises are 1, 2, 4, 8, ..."""
    drawn = [0]

    def draw() -> int:
        drawn[0] += 1
        return 1 << (drawn[0] - 1)

    stream = TreeStream(system_of(span, instance.arity), instance.height(span), draw, 0)
    times: dict[int, int] = {}
    for time in range(1, instance.horizon + 1):
        live = int(stream.advance())
        while live:
            noise = live & -live
            times[noise] = times.get(noise, 0) | 1 << time
            live ^= noise
    return Counter(times.values())
