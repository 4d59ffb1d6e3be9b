"""What every test shares: one seed, printed, and one set of Hypothesis settings."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

DEFAULT_SEED = 20250131
SEED = int(os.environ.get("DPVERDICT_SEED", DEFAULT_SEED))

# One thread of linear algebra a process: tests run on every core already, and threads that wait for each other there
# took eight times the processor time. Set before NumPy is loaded, and for every process that a test starts.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("DPVERDICT_JOURNAL_KEY", "of the tests" * 3)  # none of them makes a key for the user

settings.register_profile("local", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_report_header() -> str:
    return f"dpverdict seed: {SEED} (to repeat this session: DPVERDICT_SEED={SEED} pytest)"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Every core for the whole suite or a folder of it; one process for files that are named."""
    named = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    return 0 if named and not any(Path(name).is_dir() for name in named) else None


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of this session: give it to numpy.random.default_rng, or spawn from it."""
    return SEED
