"""The blocks in which the pairs of a sequential test are drawn, and the pairs that train the scores of each.

A block is scored by what was learned from earlier blocks only. Where blocks end is a function of the number of pairs
alone, so that a test which is interrupted there and resumed is the test that was not.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.trials import Sampler

Array = NDArray[np.float64]
Block = tuple[Array, Array]
"""Outputs on the dataset and on the neighbour, shape (n, m) each."""

FIRST_BLOCK: Final = 8
"""Pairs that only train, without a known score; later blocks add a quarter to a half of what there is."""
OFTEN: Final = 512
"""Pairs up to which the scores of one number are learned again before every block: that is quick. Later, and from the
start where an output holds more numbers, they are learned again whenever the number of pairs has doubled."""
MOST_TRAINING: Final = 50_000
"""Pairs after which the scores are learned no further."""


def next_end(done: int) -> int:
    """Where the block after ``done`` pairs ends, if nothing else ends it.

    >>> next_end(0), next_end(8), next_end(64), next_end(1000)
    (8, 16, 96, 1024)
    """
    step = FIRST_BLOCK
    while 4 * step <= done:
        step *= 2
    return (done // step + 1) * step


def training_pairs(start: int, outputs: int) -> int:
    """How many of the first pairs train the scores of the block that begins after ``start`` pairs.

    >>> [training_pairs(start, 1) for start in (0, 8, 80, 1000)]
    [0, 8, 80, 512]
    >>> [training_pairs(start, 20) for start in (0, 8, 80, 1000)]
    [0, 8, 64, 512]
    """
    if start < FIRST_BLOCK or (outputs == 1 and start <= OFTEN):
        return start if outputs == 1 else 0
    pairs = FIRST_BLOCK
    while 2 * pairs <= min(start, MOST_TRAINING):
        pairs *= 2
    return pairs


class Stream:
    """Both sides of the pairs, block by block, and those of earlier blocks as far as they may train.

    Args:
        p: the mechanism on the dataset.
        q: on the neighbour.
        starts: where the blocks of earlier calls began; it grows with every block that is drawn.
    """

    p: Sampler
    q: Sampler
    starts: list[int]

    def __init__(self, p: Sampler, q: Sampler, starts: list[int]) -> None:
        self.p, self.q, self.starts = p, q, starts
        self._held: list[Block] = []

    def draw(self, start: int, size: int) -> Block:
        """The next block."""
        block = self._outputs(start, size)
        if start < MOST_TRAINING and len(self._held) == len(self.starts):
            self._held.append(block)
        self.starts.append(start)
        return block

    def first(self, pairs: int, done: int) -> Block:
        """The first ``pairs`` of the ``done`` ones. Blocks of earlier calls are drawn again.

        If the mechanism has randomness of its own they are other pairs, but no less independent of what is to come.
        """
        ends = [*self.starts[1:], done]
        blocks = [(start, end) for start, end in zip(self.starts, ends, strict=True) if start < MOST_TRAINING]
        self._held += [self._outputs(start, end - start) for start, end in blocks[len(self._held) :]]
        of_p, of_q = (np.concatenate([block[side] for block in self._held])[:pairs] for side in (0, 1))
        return of_p, of_q

    def _outputs(self, start: int, size: int) -> Block:
        return self.p.collect(f"block {start} dataset", size), self.q.collect(f"block {start} neighbour", size)
