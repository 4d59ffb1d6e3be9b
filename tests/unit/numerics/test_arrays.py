"""The array types are those that NumPy makes by default."""

from typing import get_args

import numpy as np

from dpverdict.numerics.arrays import Array, Integers


def test_the_types_name_the_entries_that_numpy_makes() -> None:
    for kind, entry in ((Array, np.zeros(1).dtype), (Integers, np.arange(1, dtype=np.int64).dtype)):
        assert get_args(get_args(kind)[1])[0] is entry.type
