"""docs/ledger.md is what the checks generate: it is stale as soon as a check, or anything it calls, has changed."""

import re
from pathlib import Path

from dpverdict.proofs.registry import statements

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"
ROW = re.compile(r'\| <a id="(?P<anchor>[^"]+)"></a>.*` (?P<hash>[0-9a-f]{12}) \|')


def test_the_ledger_in_the_documentation_is_not_stale() -> None:
    rows = [found for line in PAGE.read_text(encoding="utf-8").splitlines() if (found := ROW.fullmatch(line))]
    in_the_page = {row["anchor"]: row["hash"] for row in rows}
    now = {f"{found.paper}-{found.number}": found.source_sha256[:12] for found in statements()}
    stale = sorted(name for name in in_the_page.keys() | now.keys() if in_the_page.get(name) != now.get(name))
    assert stale == [], "run: python tools/ledger.py"
