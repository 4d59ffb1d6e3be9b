"""A search for neighbours in a table of a million records and 30 columns: the verdict, its seconds, its memory.

    python benchmarks/large_tables.py
    python benchmarks/large_tables.py --rows 100000 --only "counts of cities, pandas"

Each case is one command `dpverdict audit ... --data table.parquet`, as a user runs it. The memory is that of all its
processes together at its peak, where a page that several of them share is counted once (Pss of Linux). It exits with
code 1 if a verdict is not the one that is true, takes more than 5 minutes, or more than 2 GB (of 1e9 bytes).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

SECONDS, GIGABYTES = 300.0, 2.0
REFUTED, INCONCLUSIVE = 1, 3
"""Exit codes: a right function is never certified by a search."""

FUNCTIONS = """
import time
import numpy as np
import pandas as pd
import polars as pl

CITIES = [f"c{i}" for i in range(50)]


def counts(table: pd.DataFrame, rng):
    sizes = table.groupby("city").size()
    return dict(zip(sizes.index, sizes + rng.laplace(size=len(sizes))))


def counts_polars(table: pl.DataFrame, rng):
    sizes = table.group_by("city").len().sort("city")
    return dict(zip(sizes["city"].to_list(), sizes["len"].to_numpy() + rng.laplace(size=len(sizes))))


def fixed_counts(table: pd.DataFrame, rng):
    sizes = table["city"].value_counts().reindex(CITIES, fill_value=0)
    return dict(zip(CITIES, sizes + rng.laplace(size=50)))


def fixed_counts_polars(table: pl.DataFrame, rng):
    found = dict(table["city"].value_counts().iter_rows())
    return {city: found.get(city, 0) + rng.laplace() for city in CITIES}


def slow_largest(table: pd.DataFrame, rng):
    time.sleep(0.5)
    return table["x0"].max() + rng.laplace()


def slow_sum(table: pd.DataFrame, rng):
    time.sleep(0.5)
    return table["x0"].clip(-1, 1).sum() + rng.laplace()
"""

CASES = {
    "counts of cities, pandas": ("counts", REFUTED),
    "counts of cities, polars": ("counts_polars", REFUTED),
    "largest number, 0.5 s a call": ("slow_largest", REFUTED),
    "counts of a fixed list, pandas": ("fixed_counts", INCONCLUSIVE),
    "counts of a fixed list, polars": ("fixed_counts_polars", INCONCLUSIVE),
    "clipped sum, 0.5 s a call": ("slow_sum", INCONCLUSIVE),
}
"""What the functions are called, and the exit code that is right."""


def make_table(rows: int) -> pd.DataFrame:
    """20 columns of floats, 7 of whole numbers, 2 of texts, 1 of days; one record is alone in its city."""
    rng = np.random.default_rng(1)
    columns: dict[str, object] = {f"x{i}": rng.normal(size=rows) for i in range(20)}
    columns |= {f"k{i}": rng.integers(0, 100, rows) for i in range(6)}
    columns["city"] = np.array([f"c{i}" for i in range(50)], dtype=object)[rng.integers(0, 50, rows)]
    columns |= {"age": rng.integers(0, 100, rows), "sex": np.where(rng.random(rows) < 0.5, "m", "f")}
    columns["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), unit="D")
    table = pd.DataFrame(columns)
    table.loc[rows // 8, "city"] = "only"
    return table


def memory_of(root: int) -> int:
    """Bytes of a process and of all that descend from it, shared pages counted once."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        waiting += parents.get(process, [])
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def audit(function: str, folder: Path, *options: str) -> tuple[int, float, float, str]:
    """The exit code, the seconds, the gigabytes, and what was printed."""
    command = [sys.executable, "-m", "dpverdict.cli", "audit", f"functions.py:{function}", "--data", "table.parquet",
               "--adjacency", "add-or-remove-one", "--claim", "eps=1", "--seed", "1", *options]  # fmt: skip
    begun, peak = time.monotonic(), 0
    with (folder / "printed.txt").open("w+", encoding="utf-8") as printed:
        running = subprocess.Popen(command, cwd=folder, stdout=printed, stderr=subprocess.STDOUT)
        while running.poll() is None:
            peak = max(peak, memory_of(running.pid))
            time.sleep(0.1)
    text = (folder / "printed.txt").read_text(encoding="utf-8")
    return running.returncode, time.monotonic() - begun, peak / 1e9, text


def main() -> int:
    """Every case, one after another."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    chosen = parser.parse_args()
    failed = False
    print(f"{'rows':>9}  {'function':32} {'exit code':>9} {'seconds':>8} {'GB':>5}")
    for rows in chosen.rows:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_table(rows).to_parquet(folder / "table.parquet")
            (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
            for title in chosen.only:
                function, right = CASES[title]
                code, seconds, gigabytes, text = audit(function, folder)
                wrong = code != right or seconds > SECONDS or gigabytes > GIGABYTES
                failed |= wrong
                print(f"{rows:>9}  {title:32} {code:>9} {seconds:>8.0f} {gigabytes:>5.2f}{' FAILS' if wrong else ''}",
                      flush=True)  # fmt: skip
                if code != right:
                    print(text)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
