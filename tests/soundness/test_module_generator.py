"""A correct mechanism with a generator of its module is not refuted because workers hold copies of that generator.

`benchmarks/module_generator.py` runs 1000 audits at 4 and 8 jobs; this is the same with fewer.
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.trials import run
from dpverdict.audit.trials.engines import Processes, holds_generator, running_on
from dpverdict.audit.trials.run import Sampler
from dpverdict.mechanisms.core.guarantees import PureDP

PAIR = np.ones((1, 1)), np.ones((0, 1))
ERROR = 0.05
RUNS = 6
MISTAKE = 1e-6
SOURCE = """
import random
import numpy as np

RNG = np.random.default_rng(2024)
PLAIN = random.Random(5)
STATE = {"calls": 0}


def noisy(dataset, rng):
    return dataset.sum() + RNG.laplace()


def inner(dataset):
    return [dataset.sum() + RNG.laplace() for _ in range(1)][0]


def through_another(dataset, rng):
    return inner(dataset)


def plain(dataset, rng):
    return dataset.sum() + PLAIN.expovariate(1.0) - PLAIN.expovariate(1.0)


def legacy(dataset, rng):
    return dataset.sum() + np.random.laplace()


def rare(dataset, rng):
    return dataset.sum() + (RNG.laplace() if rng.random() < 1e-9 else rng.laplace())


def honest(dataset, rng):
    return dataset.sum() + rng.laplace()
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A module of the user's, as the command line loads it."""
    file = Path(tmp_path_factory.mktemp("user")) / "module_with_generator.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("module_with_generator", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def workers() -> Iterator[Processes]:
    engine = Processes(2)
    yield engine
    engine.close()


@pytest.mark.parametrize("name", ["noisy", "through_another", "plain", "legacy", "rare"])
def test_releases_of_a_generator_of_the_module_are_never_repeated(
    name: str, user: ModuleType, workers: Processes
) -> None:
    mechanism = getattr(user, name)
    with running_on(workers):
        sampler = Sampler.prepare(mechanism, PAIR[0], where="the dataset", seed=1)
        assert sampler.one_stream
        outputs = np.concatenate([sampler.collect(stream, 5000) for stream in ("a", "b")])
    assert len(np.unique(outputs)) == len(outputs)
    assert holds_generator(mechanism) == (name != "legacy")
    assert not Sampler.prepare(mechanism, PAIR[0], where="the dataset", seed=1).one_stream  # no copies, no question


def test_a_mechanism_that_uses_the_generator_it_is_given_runs_on_workers(user: ModuleType, workers: Processes) -> None:
    assert not holds_generator(user.honest)
    with running_on(workers):
        sampler = Sampler.prepare(user.honest, PAIR[0], where="the dataset", seed=1)
        assert not sampler.one_stream
        assert not distinguish(user.honest, PAIR, PureDP(1), error_probability=ERROR, samples=200, seed=1).one_stream


def test_a_correct_mechanism_is_refuted_at_most_nominally(user: ModuleType, workers: Processes, seed: int) -> None:
    with running_on(workers):
        tests = [
            distinguish(user.noisy, PAIR, PureDP(1), error_probability=ERROR, samples=300, seed=seed + i)
            for i in range(RUNS)
        ]
        assert distinguish_sequentially(
            user.noisy, PAIR, PureDP(1), error_probability=ERROR, most_samples=100, seed=seed
        ).one_stream
    assert all(test.one_stream for test in tests)
    refuted = sum(test.refuted for test in tests)
    # More refutations than this have a probability below MISTAKE if each has at most ERROR.
    assert refuted <= int(stats.binom.isf(MISTAKE, RUNS, ERROR)), f"{refuted} of {RUNS}"


def test_copies_of_a_generator_would_repeat_releases(
    user: ModuleType, workers: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that the check is for: without it the same noise decides that was explored."""
    monkeypatch.setattr(run, "holds_generator", lambda value: False)
    monkeypatch.setattr(Sampler, "repeats", lambda self: True)
    with running_on(workers):
        sampler = Sampler.prepare(user.noisy, PAIR[0], where="the dataset", seed=1)
        outputs = np.concatenate([sampler.collect(stream, 5000) for stream in ("a", "b")])
    assert len(np.unique(outputs)) < len(outputs)
