"""Write what tracing covers into docs/reference_tracing.md, from the registers that the trace itself uses.

Usage: python tools/covered_operations.py            rewrite the tables
       python tools/covered_operations.py --check    exit with 1 if they are stale
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.handles import draws, functions, histograms
from dpverdict.audit.tracing.handles.arrays import FUNCTIONS, methods
from dpverdict.audit.tracing.handles.frames import functions as frame_functions
from dpverdict.audit.tracing.handles.frames.frames import FollowedFrame
from dpverdict.audit.tracing.handles.frames.polars_frames import COVERED as POLARS_NODES
from dpverdict.audit.tracing.handles.frames.polars_frames import PolarsFrame
from dpverdict.audit.tracing.handles.frames.series import FollowedSeries
from dpverdict.audit.tracing.rules.bounds import ELEMENTWISE
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.rules.dates import PARTS

PAGE: Final = Path(__file__).parents[1] / "docs/reference_tracing.md"
BEGIN, END = "<!-- covered: begin -->", "<!-- covered: end -->"

REFUSED: Final = ("median", "quantile", "percentile", "nanmedian", "sort", "argsort", "unique", "var", "std", "argmax",
                  "isclose")  # fmt: skip
REFUSED_METHODS: Final = ("std", "var", "argmax", "sort", "argsort", "item", "tolist", "any", "all")


def rows(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    made = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    made += ["| " + " | ".join(cell.replace("|", "\\|") or " " for cell in line) + " |" for line in lines]
    return "\n".join(made)


def public(kind: type, but: tuple[str, ...] = ()) -> str:
    """The public names of a class, in a sentence."""
    names = sorted(name for name in vars(kind) if not name.startswith("_") and name not in but)
    return ", ".join(f"`{name}`" for name in names)


def tables() -> str:
    """Everything between the marks."""
    named = {f"np.{one.__name__}" for one in FUNCTIONS if callable(one) and one.__name__ not in REFUSED and
             one is not np.linalg.norm}  # fmt: skip
    named |= {f"np.{name}" for name in ELEMENTWISE} | {"np.array", "np.asarray", "np.zeros", "np.empty",
                                                     "np.linalg.norm", "np.power", "np.floor_divide", "np.remainder"}  # fmt: skip  # noqa: E501
    laws = sorted(name for name in draws._DRAWS)
    parts: list[Any] = [
        "### Operations and why their rules hold\n",
        rows(("operation", "why it holds for every pair", "asks for"),
             [(one.name, one.reason, one.domain) for one in OPERATIONS.values()]),
        "\n### Elementwise functions of records\n",
        rows(("function", "bounds"), [(f"`np.{name}`", reason) for name, (_, reason) in ELEMENTWISE.items()]),
        "\n### Names\n",
        rows(("of", "covered"), [
            ("NumPy", ", ".join(f"`{name}`" for name in sorted(named))),
            ("arrays", ", ".join(f"`.{name}`" for name in sorted(methods()) if name not in REFUSED_METHODS)),
            ("pandas: a frame", public(FollowedFrame, ("iloc", "empty", "size", "index", "value_counts"))),
            ("pandas: a series", public(FollowedSeries, ("replace", "tolist", "argmax", "iloc"))),
            (
                "pandas: groups",
                "`size`, `count`, `sum` and `agg` of these, then `.reindex(public_labels, fill_value=0)`",
            ),
            ("pandas: functions", ", ".join(f"`pd.{name}`" for name in sorted(frame_functions._OWN))),
            ("polars: a frame", public(PolarsFrame)),
            ("polars: groups", "`agg` of `pl.len()`, `count()` and `sum()`, `len`, `value_counts` of a series, then "
             '`pl.DataFrame({"city": [...]}).join(counts, on="city", how="left", maintain_order="left").fill_null(0)`'),
            ("polars: expressions", ", ".join(f"`{name}`" for name in sorted(POLARS_NODES))),
            ("dates", "`.dt` of pandas and polars: the year and " + ", ".join(f"`{name}`" for name in PARTS)
             + "; comparisons with public dates, `between`, `isin`, and of two columns"),
            ("Python", "`collections.Counter` of a column, of which `counter[label]` and `counter.get(label, 0)` of "
             "public labels are taken"),
            ("random numbers", ", ".join(f"`{name}`" for name in laws) + " of `numpy.random` (`rand`, `random` and "
             "`uniform` for a Poisson sample alone); "
             + ", ".join(f"`random.{name}`" for name in sorted(draws._PLAIN_DRAWS))
             + "; `scipy.stats.laplace`, `norm`, `gumbel_r`, `expon`, `dlaplace`; `scipy.special.softmax` of scores"),
        ]),
        "",
    ]  # fmt: skip
    assert functions is not None  # it fills the registers
    assert histograms is not None
    return "\n".join(parts)


def written(page: str) -> str:
    """The page with the tables in it."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(written(text) != text)
    PAGE.write_text(written(text), encoding="utf-8")
