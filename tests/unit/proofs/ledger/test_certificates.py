"""The certificate of a statement has every reading and condition, with what each rests on."""

import json

from dpverdict.proofs.checks.registry import registered
from dpverdict.proofs.ledger.certificates import certificate, certificates, seal


def test_a_certificate_has_every_reading_and_condition_of_the_statement() -> None:
    made = certificate(registered("lebeda2024", "lem3.6"))
    words = ["as printed", "excluded by the caveat", "in its place"]
    assert [reading["reading"] for reading in made["readings"]] == words
    for reading in made["readings"]:
        assert reading["conditions"]
        assert all(condition["evidence"] for condition in reading["conditions"])
    outcome = registered("lebeda2024", "lem3.6").verify()
    assert [c["name"] for c in made["readings"][0]["conditions"]] == [f.name for f in outcome.findings]


def test_what_an_enumeration_compared_is_in_it() -> None:
    made = certificate(registered("lebeda2024", "opt.monotone"))
    nested, optima = made["readings"][0]["conditions"]
    assert nested["evidence"][0]["kind"] == "cases"
    assert any(entries for _, entries in optima["evidence"][0]["cases"])


def test_files_are_sealed_and_named_by_their_statement() -> None:
    files = certificates([("lebeda2024", "lem3.1")])
    assert set(files) == {"lebeda2024/lem3.1.json", "lebeda2024/lem3.1.smt2", "MANIFEST.json"}
    for name in ("lebeda2024/lem3.1.json", "MANIFEST.json"):
        document = json.loads(files[name])
        assert document["sha256"] == seal(document)
