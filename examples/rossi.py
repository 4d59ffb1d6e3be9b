"""A real table of binary attributes: 432 men released from Maryland prisons, followed for a year.

Rossi, Berk and Lenihan (1980), "Money, Work and Crime: Some Experimental Results", Academic Press. The table ships
with the lifelines package (``pip install ".[examples]"``): nothing is downloaded. Six columns are answers to
yes/no questions:

    fin     received financial aid after release      mar     was married at release
    race    was recorded as black                     paro    was released on parole
    wexp    had full-time work experience             arrest  was arrested within the year

How many men said yes to each is a vector of six counting queries. Release it with correlated noise, and audit the
release with the man whose membership it exposes most:

    dpverdict audit correlated-gaussian --data examples/rossi.py:records --mu 1
    dpverdict audit correlated-gaussian --data examples/rossi.py:records --mu 1 --count withheld

With the count released every binary record is exposed to the same degree, mu = 1 exactly (Lebeda 2024, Theorem 3.1).
With the count withheld the exposure depends on the record: see the report.
"""

import numpy as np
from lifelines.datasets import load_rossi
from numpy.typing import NDArray

COLUMNS = ("fin", "race", "wexp", "mar", "paro", "arrest")


def records() -> NDArray[np.float64]:
    """One row per man, one column per question, 1 for yes: shape (432, 6)."""
    table: NDArray[np.float64] = load_rossi()[list(COLUMNS)].to_numpy(dtype=np.float64)
    return table
