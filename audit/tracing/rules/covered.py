"""The list of covered operations, with the rules of every kind in it."""

from __future__ import annotations

from typing import Final

from dpverdict.audit.tracing.rules import dates, operations, records, statistics

OPERATIONS: Final = operations.OPERATIONS
"""Every covered operation by its name."""

RULES: Final = (records.__name__, dates.__name__, statistics.__name__)
"""The modules whose rules a certificate rests on."""
