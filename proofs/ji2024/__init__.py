"""Ji and Li 2024, "Less is More: Revisiting the Gaussian Mechanism for Differential Privacy" (arXiv:2306.02256): R1SMG.

The text checked is the abstract, as supplied; the proof is not in it, and what is said of it is a reconstruction from
the constants. Notation: M the dimension, Delta = 1 the l2-sensitivity, n = sigma z v with z ~ N(0, 1) and v uniform on
the unit sphere, sigma^2 = sigma_* = C_R = 2/(eps psi); r, rho the distances of the output to f(X), f(X'); L the privacy
loss.

The claim is false in every dimension from 4 on (claim.M4; by hand at M = 100: claim.M100) and true in dimension 3
(claim.M3 on the grid, claim.M3.all for all eps and delta).
"""

from __future__ import annotations

from dpverdict.proofs.ji2024 import abstract as _2
from dpverdict.proofs.ji2024 import claim as _0
from dpverdict.proofs.ji2024 import dimension3 as _1
from dpverdict.proofs.ji2024 import proof as _3

PARTS = (
    _0,
    _1,
    _2,
    _3,
)
"""The claim first, then the rest of the abstract, then the reconstruction of the proof."""
