"""Results of this project that are in none of the papers, or go beyond them; the number begins with the paper's."""

from __future__ import annotations

from dpverdict.proofs.ji2024 import r1smg as _10
from dpverdict.proofs.ji2024 import r1smg_claim as _11
from dpverdict.proofs.new_results import discrete as _7
from dpverdict.proofs.new_results import ellipses as _3
from dpverdict.proofs.new_results import elliptical as _12
from dpverdict.proofs.new_results import forms as _0
from dpverdict.proofs.new_results import grouped as _6
from dpverdict.proofs.new_results import joint as _5
from dpverdict.proofs.new_results import laplace as _9
from dpverdict.proofs.new_results import mutants as _1
from dpverdict.proofs.new_results import mutants_special as _2
from dpverdict.proofs.new_results import optimum as _4
from dpverdict.proofs.new_results import trees as _8

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
    _11,
    _12,
)
"""The parts, by the paper they belong to; in each, the statements stand in the order of the ledger."""
