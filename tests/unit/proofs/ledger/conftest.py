"""A ledger to show: six statements of one paper, with every standing that a paper can have."""

import pytest

from dpverdict.proofs.checks.registry import matching
from dpverdict.proofs.ledger.ledger import Ledger, make_ledger

NUMBERS = ("poster.line1", "lem3.1", "sec3.recover", "lem3.6", "fig2", "alg2.replacement")


@pytest.fixture(scope="package")
def ledger() -> Ledger:
    return make_ledger([found for number in NUMBERS for found in matching("lebeda2024", number)])
