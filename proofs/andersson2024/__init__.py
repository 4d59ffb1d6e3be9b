"""Andersson, Pagh and Torkamani 2024, "Count on Your Elders: Laplace vs Gaussian Noise" (arXiv:2408.07021v2).

The text supplied had lost its inline formulas; they are restored from the definitions, and misprints of the words are
kept. Notation: T time steps, k the arity of the tree, h its height, A the T x T lower-triangular matrix of ones, and
log the logarithm to base 2. Errors are for epsilon = 1 where epsilon does not appear.
"""

from __future__ import annotations

from dpverdict.proofs.andersson2024 import appendix as _9
from dpverdict.proofs.andersson2024 import appendix_c as _10
from dpverdict.proofs.andersson2024 import baselines as _1
from dpverdict.proofs.andersson2024 import factorizations as _2
from dpverdict.proofs.andersson2024 import section1 as _0
from dpverdict.proofs.andersson2024 import section3 as _3
from dpverdict.proofs.andersson2024 import section3_errors as _4
from dpverdict.proofs.andersson2024 import section4 as _5
from dpverdict.proofs.andersson2024 import section4_2 as _6
from dpverdict.proofs.andersson2024 import section5_1 as _7
from dpverdict.proofs.andersson2024 import section5_2 as _8

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
    _9,
    _10,
)
"""The parts in the paper's order; in each, the statements stand in it too."""
