"""Lebeda 2024, "Better Gaussian Mechanism using Correlated Noise" (arXiv:2408.06853), and the poster of that title.

The texts checked are those supplied, misprints included. Notation: d queries, r = sqrt d, vz and ve the variances of
z_i and eta, C the constant of the embedding, B = d + C^2, A = B/C^2; mu = 1 where it does not appear.
"""

from __future__ import annotations

from dpverdict.proofs.lebeda2024 import poster as _0
from dpverdict.proofs.lebeda2024 import section1 as _1
from dpverdict.proofs.lebeda2024 import section2 as _2
from dpverdict.proofs.lebeda2024 import section3 as _3
from dpverdict.proofs.lebeda2024 import section3_1 as _4
from dpverdict.proofs.lebeda2024 import section4 as _5
from dpverdict.proofs.lebeda2024 import section4_1 as _6
from dpverdict.proofs.lebeda2024 import section4_2 as _7
from dpverdict.proofs.lebeda2024 import section5 as _8

PARTS = (
    _0,
    _1,
    _2,
    _3,
    _4,
    _5,
    _6,
    _7,
    _8,
)
"""The parts in the paper's order; in each, the statements stand in it too."""
