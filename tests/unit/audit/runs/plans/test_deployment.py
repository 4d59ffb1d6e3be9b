"""A plan states what no audit can find out, in the words of the public registry of deployments."""

import datetime

import pytest

from dpverdict.audit.runs.plans.deployment import FOUND, SECTIONS, Deployment, read_deployment, registry_entry
from dpverdict.errors import InvalidValue

BASIC = {
    "data_curators": ["Office"],
    "intended_use": "counts",
    "data_product_type": "Summary statistics",
    "data_product_region": "Lisbon",
    "description": "Counts by district.",
    "publication_date": datetime.date(2026, 11, 23),
    "registry_authors": ["A. Clerk"],
}
GUARANTEE = {
    "privacy_unit": "one person",
    "model_name": "Central",
    "release_type": "One release",
    "data_source_type": "Static",
    "access_type": "Non-interactive",
}
SEEN: dict[str, object] = {"variant_name": "Pure DP", "privacy_parameters": {"epsilon": 1.0, "delta": 0.0}}


def test_the_tier_is_that_of_what_is_there() -> None:
    nothing = registry_entry("Counts", Deployment(), {})
    assert nothing.tier == 0
    assert set(nothing.missing) == BASIC.keys()
    first = registry_entry("Counts", read_deployment(BASIC), {})
    assert first.tier == 1
    assert set(first.missing) == GUARANTEE.keys() | SEEN.keys()
    second = registry_entry("Counts", read_deployment(BASIC | GUARANTEE), SEEN)
    assert (second.tier, second.fields["tier"], second.fields["url_slug"]) == (2, 2, "counts")
    everything = {name: "said" for names in SECTIONS.values() for name, tier in names.items() if tier == 3}
    stated = {name: value for name, value in everything.items() if name not in FOUND}
    third = registry_entry("Counts", read_deployment(BASIC | GUARANTEE | stated), SEEN | everything)
    assert (third.tier, third.missing) == (3, ())


def test_an_entry_has_no_field_that_nobody_stated() -> None:
    entry = registry_entry("Counts", read_deployment(BASIC), {})
    assert entry.fields["deployment"] == {
        "basic": {"name": "Counts", "publication_date": "2026-11-23"}
        | {name: value for name, value in BASIC.items() if name not in ("publication_date", "registry_authors")},
        "administrative": {"registry_authors": ["A. Clerk"]},
    }


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("privacy_units", "one person", "did you mean privacy_unit?"),
        ("model_name", "central", "did you mean Central?"),
        ("variant_name", "Pure DP", "filled in from the audits"),
        ("publication_date", "23.11.2026", "a date"),
        ("data_curators", [], "one or more texts"),
        ("intended_use", 3, "a text"),
        ("records", 0, "records"),
        ("budget", 3, "a guarantee"),
        ("budget", "eps=perhaps", "eps"),
    ],
)
def test_what_cannot_be_stated_is_refused(key: str, value: object, meant: str) -> None:
    with pytest.raises(InvalidValue, match=meant.replace("?", r"\?")):
        read_deployment({key: value})
