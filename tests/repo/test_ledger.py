"""docs/ledger.md is what the checks generate: it is stale as soon as a check, or anything it calls, has changed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpverdict.proofs.checks import source_hash
from dpverdict.proofs.checks.registry import statements

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"
ROW = re.compile(r'\| <a id="(?P<anchor>[^"]+)"></a>.*` (?P<hash>[0-9a-f]{12}) \|')

HASHES = """
import json, sys
from dpverdict.proofs.checks.registry import statements
hashes = {f"{found.paper}-{found.number}": found.source_sha256[:12] for found in statements()}
memories = [
    f"{home}.{name}" for home, module in list(sys.modules.items()) if home.startswith("dpverdict.proofs.")
    for name, value in vars(module).items() if name.isupper() and isinstance(value, list | dict | set) and not value
]
print(json.dumps([hashes, memories]))
"""
"""In an interpreter of its own: other tests register statements. A name in capitals is a constant, and hashed: one that
is empty before anything ran is a memory, and would make the hash depend on what ran before.
"""


def test_the_ledger_in_the_documentation_is_not_stale() -> None:
    rows = [found for line in PAGE.read_text(encoding="utf-8").splitlines() if (found := ROW.fullmatch(line))]
    in_the_page = {row["anchor"]: row["hash"] for row in rows}
    done = subprocess.run([sys.executable, "-c", HASHES], capture_output=True, text=True, check=True)
    now, memories = json.loads(done.stdout)
    assert memories == [], "use functools.cache, or a name in small letters"
    stale = sorted(name for name in in_the_page.keys() | now.keys() if in_the_page.get(name) != now.get(name))
    assert stale == [], "run: python tools/ledger.py"
    assert f"{len(now)} statements, " in (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_page_is_read_in_twenty_minutes() -> None:
    """At 275 words a minute, what is not folded."""
    page = PAGE.read_text(encoding="utf-8")
    shown = re.sub(r"<[^>]*>", "", page.partition("\n## Every row in full")[0])
    assert len(re.findall(r"\w[^\s|]*", shown)) <= 20 * 275


def test_a_hash_rests_on_the_same_sources_whatever_the_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """On none of the standard library, whose methods every enumeration, data class and named tuple has."""
    read, source = set(), source_hash._source
    monkeypatch.setattr(source_hash, "_source", lambda item: read.add(item.__module__) or source(item))
    for found in statements()[::10]:
        source_hash.source_sha256(found.check)
    assert len(read) > 10
    assert {name.partition(".")[0] for name in read} == {"dpverdict"}
