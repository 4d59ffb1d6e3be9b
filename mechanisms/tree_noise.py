"""Where the noise of a stream comes from: a chain of keys that cannot be run backwards.

A block of random words is SHAKE-256 of a 32-byte key, which also gives the next key; the old key is then forgotten.
Each noise value is handed out once, and forgotten too. So the noise to come follows from a few bytes, the same on every
machine, and a stream that is saved and restored continues as if it had not been interrupted; the noise that is past
cannot be found again from them.

The alternative, a generator indexed by the vertex, has a state as small, but that state gives away all the noise there
ever was, and with it every item of the stream. Who reads a saved state of this one learns the true count, the values in
use (hence the true counts at those earlier times, at most as many, whose noise is all still in use) and all noise to
come, but no other past value: the items between those times stay behind the noise that they had. An older copy of the
state gives away all noise since it was written. So the state is to be kept like the data, and old copies destroyed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

Words = Callable[[int], NDArray[np.uint64]]

KEY_BYTES = 32
BLOCK = 512
_TAG = b"dpverdict noise, version 1:"


@final
class KeyChain:
    """Uniform 64-bit words from a key that is replaced whenever it was used.

    >>> chain = KeyChain(bytes(32))
    >>> chain(2).tolist() == KeyChain(bytes(32))(2).tolist(), chain.key == bytes(32)
    (True, False)
    """

    __slots__ = ("key",)
    key: bytes

    def __init__(self, key: bytes) -> None:
        self.key = key

    def __call__(self, count: int) -> NDArray[np.uint64]:
        """The next words: shape (count,)."""
        stream = hashlib.shake_256(_TAG + self.key).digest(KEY_BYTES + 8 * count)
        self.key = stream[:KEY_BYTES]
        return np.frombuffer(stream, dtype="<u8", offset=KEY_BYTES).astype(np.uint64, copy=False)


@final
class NoiseSource:
    """Noise values one by one, sampled in blocks: all int, or all float.

    Args:
        sample: from a source of words and a number n, a list of n independent values.
        key: 32 bytes that nobody else has.
        pending: values that were sampled and not yet handed out; the last one comes next.
    """

    __slots__ = ("_chain", "_pending", "_sample")

    def __init__(self, sample: Callable[[Words, int], list[float]], key: bytes, pending: Sequence[float] = ()) -> None:
        self._sample = sample
        self._chain = KeyChain(key)
        self._pending = list(pending)

    @property
    def key(self) -> bytes:
        """The key of the next block."""
        return self._chain.key

    @property
    def pending(self) -> list[float]:
        """The values that will be handed out before the next block, the last one first."""
        return list(self._pending)

    def draw(self) -> float:
        """The next value."""
        if not self._pending:
            self._pending = self._sample(self._chain, BLOCK)
        return self._pending.pop()
