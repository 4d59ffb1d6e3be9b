"""What a plan states of a release that no audit can find out, and the release as an entry of the public registry.

The table ``[deployment]`` of a plan holds statements of whoever answers for the release: who is protected, what all
releases together may spend, who publishes what for which use. A packet shows them as statements, never as findings.

The fields are those of the registry of deployments of differential privacy: Nanayakkara, Ghazi and Vadhan 2025,
"Practitioners' Perspectives on a Differential Privacy Deployment Registry" (arXiv:2509.13509), as the schema of the
registry's own data has them (opendp/deployments-registry-data, ``schemas/deployments-schema.yaml``, as of July 2026,
commit 3e9c812). An entry of tier 1 says what is published, of tier 2 its guarantee as well, of tier 3 how it was made.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.numerics.text import whole_number
from dpverdict.suggestions import nearest

SECTIONS: Final[Mapping[str, Mapping[str, int]]] = {
    "basic": {
        "name": 1,
        "data_curators": 1,
        "intended_use": 1,
        "data_product_type": 1,
        "data_product_region": 1,
        "description": 1,
        "publication_date": 1,
        "data_product_sector": 0,
    },
    "dp_variant": {"variant_name": 2, "data_domain": 3, "unprotected_quantities": 3},
    "privacy_loss": {
        "privacy_unit": 2,
        "privacy_unit_details": 3,
        "privacy_parameters": 2,
        "privacy_parameters_details": 0,
    },
    "deployment_model": {
        "model_name": 2,
        "model_name_details": 0,
        "actors": 3,
        "release_type": 2,
        "release_type_details": 0,
        "data_source_type": 2,
        "data_source_type_details": 0,
        "access_type": 2,
        "access_type_details": 0,
    },
    "accounting": {"post_processing": 3, "composition": 3},
    "implementation": {"preprocessing_and_hyperparameter_tuning": 3, "mechanisms": 3, "justification": 3},
    "administrative": {"sources": 0, "notes": 0, "registry_authors": 1},
}
"""The fields of the registry, with the tier from which on an entry has to have each; 0 for one that is never asked."""

KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "data_product_type": (
        *("Summary statistics", "Machine learning model", "Dataset"),
        *("Synthetic data", "Interactive API", "SQL queries"),
    ),
    "data_product_sector": ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
    "model_name": ("Local", "Central", "Shuffle", "Federated"),
    "release_type": ("One release", "Many releases"),
    "data_source_type": ("Static", "Dynamic"),
    "access_type": ("Interactive", "Non-interactive"),
}
"""The fields that take one of a few words."""

FOUND: Final = ("variant_name", "privacy_unit_details", "privacy_parameters", "composition", "mechanisms")
"""The fields that are filled in from the audits."""

LISTS: Final = ("data_curators", "registry_authors")
OWN: Final = ("budget", "records")
"""Keys of ``[deployment]`` that are no fields of the registry."""

_STATED: Final = tuple(name for fields in SECTIONS.values() for name in fields if name not in FOUND)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What is stated of a release.

    Attributes:
        fields: of the registry, by name: a text, or a list of texts.
        budget: what all releases together may spend; None if it is not stated.
        records: how many units of privacy the data hold; None if it is not stated.
    """

    fields: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    budget: Guarantee | None = None
    records: int | None = None

    def stated(self, name: str) -> str | None:
        """A field as text; None if it is not stated."""
        found = self.fields.get(name)
        return found if found is None or isinstance(found, str) else ", ".join(found)


def read_deployment(table: object) -> Deployment:
    """The table ``[deployment]`` of a plan.

    Raises:
        InvalidValue: no table, a key nobody knows, or a value of the wrong kind.

    >>> read_deployment({"privacy_unit": "one person", "budget": "eps=2, delta=1e-6"}).stated("privacy_unit")
    'one person'
    """
    if not isinstance(table, dict):
        raise InvalidValue("deployment", table, "a table", "begin it with one line [deployment]")
    fields: dict[str, str | tuple[str, ...]] = {}
    for key, value in table.items():
        name = f"deployment.{key}"
        if key in FOUND:
            raise InvalidValue(name, value, "left out", "it is filled in from the audits")
        if key not in (*_STATED, *OWN):
            remedy = f"{nearest(key, (*_STATED, *OWN))}[deployment] has {', '.join((*OWN, *_STATED))}"
            raise InvalidValue(name, value, "a key of [deployment]", remedy)
        if key == "budget" and not isinstance(value, str):
            raise InvalidValue(name, value, "a guarantee in quotes", 'write budget = "eps=2, delta=1e-6"')
        if key not in OWN:
            fields[key] = _texts(name, value) if key in LISTS else _text(name, key, value)
    budget, records = table.get("budget"), table.get("records")
    return Deployment(
        fields=fields,
        budget=None if budget is None else as_guarantee(budget),
        records=None if records is None else whole_number(str(records), "deployment.records", at_least=1),
    )


def _text(name: str, key: str, value: object) -> str:
    if key == "publication_date" and type(value) is datetime.date:
        return value.isoformat()
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(name, value, "a text that says something", "write it in quotes")
    if key in KNOWN and value not in KNOWN[key]:
        remedy = f"{nearest(value, KNOWN[key])}the registry knows {', '.join(KNOWN[key])}"
        raise InvalidValue(name, value, "a word of the registry", remedy)
    if key == "publication_date":
        try:
            return datetime.date.fromisoformat(value).isoformat()
        except ValueError:
            raise InvalidValue(name, value, "a date", "write it as 2026-11-23") from None
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not given or not all(isinstance(one, str) and one.strip() for one in given):
        raise InvalidValue(name, value, "one or more texts", 'write ["One", "Another"]')
    return tuple(given)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """A release as an entry of the registry.

    Attributes:
        fields: the entry; it has no field that nobody stated or found.
        tier: the highest tier of which every field is there; 0 if one of tier 1 is missing.
        missing: the fields that the next tier asks for; empty at tier 3.
    """

    fields: Mapping[str, object]
    tier: int
    missing: tuple[str, ...]


def registry_entry(title: str, deployment: Deployment, found: Mapping[str, object]) -> RegistryEntry:
    """The entry of a release: what is stated, and what the audits found.

    Args:
        title: of the plan; the name of the release if none is stated.
        deployment: what is stated.
        found: values of the fields in `FOUND`.
    """
    values: dict[str, object] = {"name": title}
    values |= {name: list(value) if isinstance(value, tuple) else value for name, value in deployment.fields.items()}
    values |= found
    sections = {
        section: {name: values[name] for name in names if name in values} for section, names in SECTIONS.items()
    }
    wanted = {
        tier: [name for names in SECTIONS.values() for name, of in names.items() if of == tier and name not in values]
        for tier in (1, 2, 3)
    }
    reached = next((tier - 1 for tier in (1, 2, 3) if wanted[tier]), 3)
    slug = re.sub(r"[^a-z0-9]+", "-", str(values["name"]).lower()).strip("-") or "release"
    return RegistryEntry(
        fields={
            "url_slug": slug,
            "status": "Draft",
            "tier": max(1, reached),
            "deployment": {section: fields for section, fields in sections.items() if fields},
        },
        tier=reached,
        missing=tuple(wanted[reached + 1]) if reached < 3 else (),
    )


def delta_is_small(delta: Fraction, records: int) -> bool:
    """Whether delta is below one in the number of units: otherwise publishing one of them at random may keep it."""
    return delta * records < 1
