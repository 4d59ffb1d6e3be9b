"""A search for neighbours as a user asks for it, in words: the domain of the records, and what the search may cost."""

from __future__ import annotations

from typing import Final

from dp_accounting import NeighboringRelation

from dpverdict.audit.neighbour_search import Domain, NeighbourSearch, search_neighbours
from dpverdict.audit.option_text import whole_number
from dpverdict.audit.trials import AnyMechanism
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.guarantee import Guarantee

SEARCH_SHARE: Final = 0.25
"""Of the samples: spent on the search, and never used to test the claim."""
DEFAULT_SAMPLES: Final = 40_000
"""Per dataset, search included, if the user names no number."""


def parse_domain(text: str) -> tuple[Domain, int]:
    """The domain of the records: ``binary:20`` is {0, 1}^20, ``unit:20`` is [0, 1]^20.

    >>> parse_domain("binary:20")
    ('binary', 20)
    """
    kind, colon, size = text.strip().partition(":")
    remedy = "write binary:20 for 20 entries 0 or 1, unit:20 for 20 numbers from 0 to 1"
    if not colon or kind not in ("binary", "unit"):
        raise InvalidValue("search", text, "a domain of records", remedy)
    dim = whole_number(size, "search", at_least=1)
    return ("binary" if kind == "binary" else "unit"), dim


def search_as_asked(
    text: str,
    mechanism: AnyMechanism,
    claim: Guarantee,
    *,
    adjacency: NeighboringRelation | None,
    samples: int,
    seed: int,
) -> tuple[NeighbourSearch, int]:
    """The search, and the samples that are left for the test."""
    domain, dim = parse_domain(text)
    if adjacency is None:
        remedy = "add --adjacency add-or-remove-one or --adjacency replace-one: it changes what is claimed"
        raise InvalidValue("adjacency", None, "given with --search", remedy)
    search = search_neighbours(
        mechanism,
        claim,
        dim=dim,
        adjacency=adjacency,
        samples=int(SEARCH_SHARE * samples),
        seed=seed,
        domain=domain,
    )
    return search, samples - search.samples
