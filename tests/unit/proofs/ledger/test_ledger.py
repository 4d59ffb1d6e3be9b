"""The ledger as JSON and as Markdown: every statement is in it, and the schema holds."""

import json
import re
from importlib import resources

import jsonschema
import pytest

from dpverdict.proofs.checks.registry import matching
from dpverdict.proofs.ledger.ledger import Ledger, as_json, make_ledger, markdown

SCHEMA = json.loads(
    resources.files("dpverdict.proofs.ledger").joinpath("ledger.schema.json").read_text(encoding="utf-8")
)


def test_the_json_meets_its_schema(ledger: Ledger) -> None:
    made = as_json(ledger)
    jsonschema.validate(made, SCHEMA)
    assert made["schema_version"] == 2
    assert [row["number"] for row in made["statements"]] == [entry.statement.number for entry in ledger.entries]
    row = made["statements"][0]
    assert (row["outcome"], row["new"]) == ("FAILS_AS_PRINTED", False)
    assert "1.0987" in row["witness"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made | {"statements": []}, SCHEMA)


def test_the_markdown_has_a_row_and_an_anchor_for_every_statement(ledger: Ledger) -> None:
    text = markdown(ledger)
    for entry in ledger.entries:
        assert f'<a id="{entry.outcome.anchor}"></a>{entry.outcome.label} |' in text
    rows = [line for line in text.splitlines() if line.startswith("| <a")]
    assert len(rows) == len(ledger.entries)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 8 for row in rows)


def test_progress_is_reported_to_the_end() -> None:
    seen: list[tuple[str, int, int]] = []
    make_ledger(matching("lebeda2024", "lem3.1"), lambda what, done, total: seen.append((what, done, total)))
    assert seen[-1] == ("statements", 1, 1)
