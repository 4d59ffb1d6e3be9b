"""Make the gallery: reports of every kind as pages, from audits that run now. Nothing of it is kept in the repository.

python tools/gallery.py           into build/site/gallery; tools/site.py calls it too
"""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from dpverdict.audit.reports.html import render_html
from dpverdict.audit.runs.audits import Sampling, audit_callable, audit_mechanism
from dpverdict.audit.runs.plans.packet import packet_fields, render_packet_html
from dpverdict.audit.runs.plans.plan import read_plan
from dpverdict.audit.runs.plans.renderings import render_plan_html
from dpverdict.audit.runs.plans.run import open_journal, run_plan
from dpverdict.audit.trials.catalogue import find_white_box
from dpverdict.mechanisms import CorrelatedGaussian, NeighbourPair, broken, parse_guarantee
from dpverdict.mechanisms.core.neighbours import parse_adjacency
from dpverdict.proofs import statements
from dpverdict.proofs.ledger.html import render_html as render_ledger
from dpverdict.proofs.ledger.ledger import make_ledger

ROOT: Final = Path(__file__).parents[1]
SAMPLING: Final = Sampling(samples=20_000, error_probability=1e-6, seed=1)


def certified() -> str:
    """Correlated noise keeps its claim."""
    command = "dpverdict audit correlated-gaussian --dim 20 --mu 1 --samples 20000 --seed 1"
    return render_html(audit_mechanism(CorrelatedGaussian(dim=20, mu=1), None, sampling=SAMPLING, command=command))


def refuted() -> str:
    """A printed misprint: the variance where the standard deviation belongs."""
    command = "dpverdict audit broken:M3 --dim 5 --mu 1 --samples 20000 --seed 1"
    return render_html(audit_mechanism(broken.by_name("M3").make(5, 1), None, sampling=SAMPLING, command=command))


def random_direction() -> str:
    """R1SMG: the published claim is false; its curves are drawn through certified dots."""
    mechanism, _ = find_white_box("rank1-gaussian", {"dim": "10", "epsilon": "1", "delta": "1e-6"})
    command = "dpverdict audit rank1-gaussian --dim 10 --epsilon 1 --delta 1e-6 --samples 20000 --seed 1"
    return render_html(audit_mechanism(mechanism, None, sampling=SAMPLING, command=command))


def black_box() -> str:
    """A function of one's own, not refuted: inconclusive."""
    example = runpy.run_path(str(ROOT / "examples" / "release.py"))
    dataset, neighbour = example["neighbours"]()
    pair = NeighbourPair(dataset=dataset, neighbour=neighbour, adjacency=parse_adjacency("add-or-remove-one"))
    claim = parse_guarantee("eps=1")
    name = "examples/release.py:noisy_counts"
    return render_html(audit_callable(example["noisy_counts"], claim, neighbours=pair, sampling=SAMPLING, name=name))


@cache
def finished_plan() -> tuple[str, str]:
    """The plan of the tutorial: its page, and that of its packet."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("plan.toml", "release.py"):
            (folder / file).write_bytes((ROOT / "examples" / file).read_bytes())
        dataset, neighbour = runpy.run_path(str(folder / "release.py"))["neighbours"]()
        np.savez(folder / "pair.npz", dataset=dataset, neighbour=neighbour)
        path = folder / "plan.toml"
        with open_journal(path, folder / "journal") as kept:
            result = run_plan(read_plan(path), kept)
        return render_plan_html(result), render_packet_html(packet_fields(result, path))


def plan() -> str:
    """The plan of the tutorial."""
    return finished_plan()[0]


def packet() -> str:
    """What those who decide get of that plan."""
    return finished_plan()[1]


def ledger() -> str:
    """One section of a paper, statement by statement."""
    chosen = [one for one in statements() if one.paper == "lebeda2024" and one.number.startswith("lem3")]
    return render_ledger(make_ledger(chosen))


PAGES: Final[dict[str, Callable[[], str]]] = {
    "certified.html": certified,
    "refuted.html": refuted,
    "random_direction.html": random_direction,
    "black_box.html": black_box,
    "plan.html": plan,
    "packet.html": packet,
    "ledger.html": ledger,
}


def write(folder: Path) -> None:
    """Write every page of the gallery."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write(ROOT / "build" / "site" / "gallery")
