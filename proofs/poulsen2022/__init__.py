"""Poulsen 2022, report of 24 November 2022 on the elliptical Gaussian mechanism of Pagh and Lebeda.

The text supplied ends after the problem setup: definitions, the Gaussian mechanism with its classic scale, and the box
of records. The mechanism itself is not printed; it is restored from the setup, and its properties are checked.
Notation: Delta_j the sensitivity of coordinate j, S = sum Delta_j, s the standard deviation of the scalar mechanism at
sensitivity 1, w a difference f(X) - f(X'), mu(w)^2 = sum w_j^2/sigma_j^2.
"""

from __future__ import annotations

from dpverdict.proofs.poulsen2022 import elliptical as _1
from dpverdict.proofs.poulsen2022 import gaussian as _0

PARTS = (
    _0,
    _1,
)
"""The parts in the report's order; in each, the statements stand in it too."""
