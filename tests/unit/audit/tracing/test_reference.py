"""The page that says what is covered says what the trace covers."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_the_tables_of_the_page_are_those_of_the_trace() -> None:
    tool = runpy.run_path(str(ROOT / "tools/covered_operations.py"))
    page = (ROOT / "docs/reference_tracing.md").read_text(encoding="utf-8")
    assert tool["written"](page) == page, "run: python tools/covered_operations.py"
    assert tool["written"](page.replace("`np.cumsum`", "`np.nothing`")) == page
