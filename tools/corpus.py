"""Write the table of docs/corpus.md: what came out of each entry of the corpus, with versions and the date of the run.

    dpverdict corpus run --json docs/corpus.json      needs a package index, and minutes
    python tools/corpus.py                            the table from that file; --check exits with 1 if it is another

The file holds the last run of each entry. An entry that has not run is in the table, and said not to have run.
``python tools/corpus.py --join FILE`` takes the runs of another file in, in place of older ones.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

from dpverdict.cli.corpus.entries import CONTROLS, CorpusEntry, entries
from dpverdict.cli.corpus.running import BAD, NOT_ENDED

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/corpus.md"
RUNS: Final = ROOT / "docs/corpus.json"
PART: Final = re.compile(r"(<!-- corpus: (?P<name>\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def row(entry: CorpusEntry, ran: dict[str, Any] | None) -> str:
    """One line of the table."""
    link = entry.reference.partition(" ")[0]
    cells = [f"[{entry.id}]({link})", f"{entry.package} {entry.affected}", entry.fixed or "none", entry.defect]
    if ran is None:
        return f"| {' | '.join([*cells, 'has not run', '', ''])} |\n"
    sides = [f"{' '.join(ran[side]['install'])}: {ran[side]['status']}" for side in ("broken", "control")]
    lower = ran["broken"]["epsilon_lower"]
    bound = "" if lower is None else f", eps >= {int(1000 * lower) / 1000:g}"
    return f"| {' | '.join([*cells, sides[0] + bound, f'{sides[1]} ({entry.control_is})', ran['date']])} |\n"


def table(runs: dict[str, Any]) -> str:
    """All entries."""
    head = "| entry | versions with it | mended in | defect | seen | control | date |\n|---|---|---|---|---|---|---|\n"
    return head + "".join(row(entry, runs.get(entry.id)) for entry in entries())


def counts(runs: dict[str, Any]) -> str:
    """N of M: of the sides that ran to an end."""
    known = entries()

    def ended(side: str) -> list[dict[str, Any]]:
        found = [runs[entry.id] for entry in known if entry.id in runs]
        return [one for one in found if one[side]["status"] not in NOT_ENDED]

    broken, controls = ended("broken"), ended("control")
    found = sum(one["broken"]["status"] in ("REFUTED", one["expected"]) for one in broken)
    wrong = sum(one["control"]["status"] in BAD for one in controls)
    kinds = [sum(entry.control_is == kind for entry in known) for kind in CONTROLS]
    packages = len({entry.package for entry in known})
    return (
        f"{len(known)} entries of {packages} packages. {found} of {len(broken)} defects that were run here were found "
        f"in a version that has them, and {wrong} of {len(controls)} controls were refuted. Of these, {kinds[0]} "
        f"are a fixed release, {kinds[1]} a corrected use of the same release, and {kinds[2]} another pair, on which "
        "the same code is right.\n"
    )


def written(page: str, runs: dict[str, Any]) -> str:
    """The page with its generated parts."""
    made = {"table": table(runs), "counts": counts(runs)}
    return PART.sub(lambda match: match[1] + made[match["name"]], page)


def main(arguments: list[str]) -> int:
    """Write, check or join."""
    runs = {one["id"]: one for one in json.loads(RUNS.read_text(encoding="utf-8"))} if RUNS.exists() else {}
    if arguments[:1] == ["--join"]:
        runs |= {one["id"]: one for one in json.loads(Path(arguments[1]).read_text(encoding="utf-8"))}
        kept = [runs[entry.id] for entry in entries() if entry.id in runs]
        RUNS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    new = written(page, runs)
    if arguments == ["--check"]:
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
