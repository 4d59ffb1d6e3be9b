"""Lebeda 2024, "Better Gaussian Mechanism using Correlated Noise" (arXiv:2408.06853), and the poster of that title.

The texts checked are those supplied, misprints included. Notation: d queries, r = sqrt d, vz and ve the variances of
z_i and eta, C the constant of the embedding, B = d + C^2, A = B/C^2; mu = 1 where it does not appear.
"""

from __future__ import annotations

from dpverdict.proofs import (
    lebeda2024_facts,
    lebeda2024_poster,
    lebeda2024_section1,
    lebeda2024_section2,
    lebeda2024_section3,
    lebeda2024_section3_1,
    lebeda2024_section3_float,
    lebeda2024_section3_privacy,
    lebeda2024_section4,
    lebeda2024_section4_1,
    lebeda2024_section4_2,
    lebeda2024_section4_privacy,
    lebeda2024_section5,
)

PARTS = (
    lebeda2024_facts,
    lebeda2024_poster,
    lebeda2024_section1,
    lebeda2024_section2,
    lebeda2024_section3,
    lebeda2024_section3_privacy,
    lebeda2024_section3_float,
    lebeda2024_section3_1,
    lebeda2024_section4,
    lebeda2024_section4_privacy,
    lebeda2024_section4_1,
    lebeda2024_section4_2,
    lebeda2024_section5,
)
"""The parts in the paper's order; in each, the statements stand in it too."""
