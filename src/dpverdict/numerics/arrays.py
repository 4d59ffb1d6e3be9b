"""The types of arrays that signatures name."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Floats: 64 bits each."""

Integers: TypeAlias = NDArray[np.int64]
"""Whole numbers: 64 bits each, signed."""
