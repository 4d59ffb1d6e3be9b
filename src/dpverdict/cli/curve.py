"""``dpverdict curve``: certified curves, and comparisons, as tables and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from dpverdict.cli.options import (
    MechanismName,
    option,
    parameters,
)
from dpverdict.cli.session import Ended, Outputs, ends, printing, say

MOST_POINTS: Final = 10_000
"""Of a curve: each is certified, and written in a table."""


@ends
def curve(
    context: typer.Context,
    mechanism: MechanismName,
    points: Annotated[str, option("--points", "N", "How many points of each curve.", "Output")] = "11",
    csv: Annotated[Path | None, option("--csv", "FILE", "Write the numbers in full.", "Output")] = None,
    json: Annotated[Path | None, option("--json", "FILE", "Write the numbers in full, as JSON.", "Output")] = None,
    png: Annotated[Path | None, option("--png", "FILE", "Draw the curves.", "Output")] = None,
    svg: Annotated[Path | None, option("--svg", "FILE", "Draw the curves, as SVG.", "Output")] = None,
) -> Ended:
    """Certified curves of the worst neighbours: the privacy profile delta(epsilon) and the trade-off beta(alpha).

    Of a counter, its errors as well. In place of a mechanism: counters (Laplace trees against Gaussian factorisations,
    and the delta below which the tree is better), ellipses (counting queries on records with at most k non-zero
    entries, and the optimum), constants (the embedding constant C of correlated noise).

    For example: dpverdict curve correlated-gaussian --dim 100 --mu 1 --points 5
    """
    from dpverdict.audit.comparisons.request import curve_faces
    from dpverdict.audit.runs.costs import announced_curve
    from dpverdict.numerics.text import whole_number

    with Outputs(csv=csv, json=json, png=png, svg=svg) as outputs:
        count = whole_number(points, "points", at_least=2, at_most=MOST_POINTS)
        options = parameters(context)
        cost = announced_curve(mechanism, options, count)
        if cost is not None:
            say(f"note: {cost}")
        faces = curve_faces(mechanism, options, points=count)
        outputs.write(**faces.written)
    with printing():
        faces.show()
    return Ended(code=0)
