"""The ledger as JSON and as Markdown: every statement is in it, and the schema holds."""

import dataclasses
import json
import re
from importlib import resources

import jsonschema
import pytest

from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import matching, statements
from dpverdict.proofs.ledger.ledger import Ledger, as_json, certificate_command, families, make_ledger, markdown

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
    assert sum(bool(one["formula"]) for one in made["statements"]) >= 3
    assert made["versions"].keys() == {"python", "dpverdict", "sympy", "python-flint"}
    assert any(one["caveat"] and any(f["holds"] is False for f in one["caveat_findings"]) for one in made["statements"])
    shown = [side for one in made["statements"] for found in one["findings"] for side in found["sides"]]
    assert {(side["relation"], bool(side["left"])) for side in shown} >= {("=", True), (">=", True)}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made | {"statements": []}, SCHEMA)


def test_the_markdown_has_a_row_and_an_anchor_for_every_statement(ledger: Ledger) -> None:
    text = markdown(ledger)
    for entry in ledger.entries:
        assert f'<a id="{entry.outcome.anchor}"></a>{entry.outcome.label} |' in text
    rows = [line for line in text.splitlines() if line.startswith("| <a id=")]
    assert len(rows) == len(ledger.entries)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 9 for row in rows)
    assert all(certificate_command(entry.outcome) in row for entry, row in zip(ledger.entries, rows, strict=True))


def test_what_fails_or_has_a_caveat_comes_first(ledger: Ledger) -> None:
    first = markdown(ledger).split("\n## ")[1]
    lines = [line for line in first.splitlines() if line.startswith("| <a")]
    odd = {Standing.FAILS_AS_PRINTED, Standing.HOLDS_WITH_CAVEAT}
    assert len(lines) == sum(entry.outcome.standing in odd for entry in ledger.entries) > 0
    assert "1.0987" in first


def test_variants_of_a_statement_are_one_line() -> None:
    many = [found for found in statements("new_results") if re.match(r"leb\.new\.mu(t\.M|\.F)\d", found.number)]
    made = make_ledger(many[:1])
    entry = made.entries[0]
    entries = [
        dataclasses.replace(
            entry, statement=one, outcome=dataclasses.replace(entry.outcome, number=one.number, label=one.label)
        )
        for one in many
    ]
    assert len(many) >= 39
    assert [len(family) for family in families(entries)] == [14, len(many) - 14]
    assert [len(family) for family in families(entries[:4])] == [1, 1, 1, 1]
    folded = markdown(Ledger(tuple(entries))).split("\n## ")[2]
    assert len(re.findall(r"^\| <a", folded, re.MULTILINE)) == 2


def test_progress_is_reported_to_the_end() -> None:
    seen: list[tuple[str, int, int]] = []
    make_ledger(matching("lebeda2024", "lem3.1"), lambda what, done, total: seen.append((what, done, total)))
    assert seen[-1] == ("statements", 1, 1)
