"""Make the gallery: reports of every kind as pages, from commands that run now. None is kept in the repository.

python tools/gallery.py           into build/site/gallery; tools/site.py calls it too
"""

from __future__ import annotations

import runpy
import shutil
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
EXACT: Final = "audit dp-sgd --noise-multiplier 1 --rate 0.1 --steps 10 --sampling shuffle --adjacency replace-one"
OWN: Final = "audit examples/own_function/release.py:{} --schema examples/own_function/patients.toml --claim eps=1"
TESTED: Final = "audit examples/release.py:{} --neighbours examples/pair.npz --claim eps=1 --samples 20000 --seed 1"
TRAINED: Final = "--records 1000 --noise-multiplier 1 --steps 200 --delta 1e-5 --seed 1"

PAGES: Final[dict[str, str]] = {
    "certified.html": "audit correlated-gaussian --dim 20 --mu 1 --samples 20000 --seed 1",
    "refuted.html": "audit broken:M3 --dim 5 --mu 1 --samples 20000 --seed 1",
    "random_direction.html": "audit rank1-gaussian --dim 10 --epsilon 1 --delta 1e-6 --samples 20000 --seed 1",
    "training.html": f"{EXACT} --claim 'eps=7.6, delta=1e-5' --no-test",
    "function.html": OWN.format("mean_cost"),
    "function_refuted.html": OWN.format("second_try"),
    "function_not_covered.html": f"{OWN.format('first_try')} --no-test",
    "black_box.html": TESTED.format("noisy_counts"),
    "black_box_refuted.html": TESTED.format("forgetful_counts"),
    "table_search.html": "audit examples/own_function/release.py:second_try --data examples/patients.csv "
    "--schema examples/own_function/patients.toml --claim eps=1 --samples 2000 --search-time 5 --seed 1",
    "risk.html": "audit gaussian --sigma 4.3 --sensitivity 1 --dim 2 --adjacency add-or-remove-one --no-test "
    "--base-rate 0.001",
    "compare.html": "compare laplace gaussian correlated-gaussian --dim 10 --claim 'eps=1, delta=1e-6' "
    "--base-rate 0.001",
    "batches.html": f"audit-sampler examples/loaders.py:weighted --sampling poisson --rate 0.05 {TRAINED}",
    "plan.html": "run examples/plan.toml --packet packet",
    "packet.html": "",  # of the same plan
    "ledger.html": "prove lebeda2024 --statement 3.1",
}
"""The pages, and the commands of dpverdict that write them with --report."""

TABLE: Final = "age,city,cost\n" + "".join(
    f"{20 + 3 * i},{('Bonn', 'Oslo', 'Rome')[i % 3]},{100 * i}\n" for i in range(20)
)


def write(folder: Path) -> None:
    """Write every page of the gallery."""
    run = runpy.run_path(str(ROOT / "tools" / "transcripts.py"))["run"]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(ROOT / "examples", work / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        run("python examples/release.py examples/pair.npz", work)
        (work / "examples" / "patients.csv").write_text(TABLE, encoding="utf-8")
        for page, command in PAGES.items():
            if command:
                run(f"dpverdict {command} --report {page}", work)
            else:
                shutil.move(work / "packet" / page, work / page)
            shutil.copy(work / page, folder / page)


if __name__ == "__main__":
    write(ROOT / "build" / "site" / "gallery")
