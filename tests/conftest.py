"""What every test shares: one seed, printed, and one set of Hypothesis settings."""

import os

import pytest
from hypothesis import settings

DEFAULT_SEED = 20250131
SEED = int(os.environ.get("DPVERDICT_SEED", DEFAULT_SEED))

os.environ.setdefault("DPVERDICT_JOURNAL_KEY", "of the tests" * 3)  # none of them makes a key for the user

settings.register_profile("local", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_report_header() -> str:
    return f"dpverdict seed: {SEED} (to repeat this session: DPVERDICT_SEED={SEED} pytest)"


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of this session: give it to numpy.random.default_rng, or spawn from it."""
    return SEED
