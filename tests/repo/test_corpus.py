"""The page of the corpus shows the last runs and nothing else; no entry is one that nobody has published."""

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools/corpus.py"))
PAGE = (ROOT / "docs/corpus.md").read_text(encoding="utf-8")
RUNS = {one["id"]: one for one in json.loads((ROOT / "docs/corpus.json").read_text(encoding="utf-8"))}


def test_the_page_is_what_the_runs_say() -> None:
    assert TOOL["written"](PAGE, RUNS) == PAGE


def test_a_number_that_no_run_gave_is_found() -> None:
    name = next(iter(RUNS))
    other = {**RUNS, name: {**RUNS[name], "broken": {**RUNS[name]["broken"], "status": "NOT REFUTED"}}}
    assert TOOL["written"](PAGE, other) != PAGE
    without = {key: value for key, value in RUNS.items() if key != name}
    assert "has not run" in TOOL["table"](without)
    assert TOOL["written"](PAGE, without) != PAGE


def test_the_runs_are_those_of_the_entries_as_they_are() -> None:
    for entry in TOOL["entries"]():
        ran = RUNS.get(entry.id)
        if ran is not None:
            assert ran["broken"]["install"] == list(entry.broken.install), entry.id
            assert ran["control"]["install"] == list(entry.control.install), entry.id
    assert RUNS.keys() <= {entry.id for entry in TOOL["entries"]()}
