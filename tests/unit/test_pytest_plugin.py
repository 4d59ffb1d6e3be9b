"""The plugin in real sessions of pytest: what passes, what fails and says why, and how the budget is shared."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.pytest_plugin import PrivacyAudit
from dpverdict.testing import PrivacyViolation, as_pair, assert_private, assert_private_at

PAIR = (np.ones((2, 1)), np.ones((1, 1)))
SUITE = """
import json
import numpy as np
import pytest
from dpverdict.mechanisms import CorrelatedGaussian
from dpverdict.mechanisms.broken import by_name

PAIR = (np.ones((2, 1)), np.ones((1, 1)))

def noisy(scale):
    return lambda dataset, rng, trials: dataset.sum(axis=0) + rng.laplace(scale=scale, size=(trials, 1))

def test_right(privacy_audit):
    privacy_audit(noisy(1.0), "eps=1", neighbours=PAIR)

def test_wrong(privacy_audit):
    privacy_audit(noisy(0.5), "eps=1", neighbours=PAIR)

def test_known_right(privacy_audit):
    assert privacy_audit(CorrelatedGaussian(dim=3, mu=1), samples=2000).status.name == "CERTIFIED"

def test_known_wrong(privacy_audit):
    privacy_audit(by_name("M2").make(3, 1), samples=2000)

@pytest.mark.slow_audit
def test_slow(privacy_audit):
    privacy_audit(noisy(1.0), "eps=1", neighbours=PAIR, samples=100_000)

def test_settings(privacy_audit):
    privacy_audit.at([0.5, 1], lambda eps: (noisy(eps), f"eps={eps}"), neighbours=PAIR)

def test_budget(privacy_audit):
    with open("shares.txt", "a") as file:
        file.write(json.dumps([privacy_audit.share, privacy_audit.seed]) + "\\n")
"""


def session(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_suite.py").write_text(SUITE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_suite_of_another_library(tmp_path: Path) -> None:
    run = session(tmp_path, "--dpverdict-seed=5")
    assert "3 failed, 3 passed, 1 skipped" in run.stdout, run.stdout + run.stderr
    assert "error probability 1e-06 for all privacy audits together, --dpverdict-seed=5" in run.stdout
    assert "FAILED test_suite.py::test_wrong" in run.stdout
    assert "FAILED test_suite.py::test_known_wrong" in run.stdout
    assert "FAILED test_suite.py::test_settings" in run.stdout
    assert "at the setting 0.5" in run.stdout
    assert "refuted after" in run.stdout
    assert "REFUTED" in run.stdout
    assert re.search(r"To see it again: seed=\d+", run.stdout)


def test_the_error_probability_is_shared_and_the_seed_repeats_the_run(tmp_path: Path) -> None:
    chosen = ("-k", "budget or right", "--dpverdict-error-probability=1e-4")
    for seed in ("5", "5", "6"):
        assert session(tmp_path, *chosen, f"--dpverdict-seed={seed}").returncode == 0
    shares = [json.loads(line) for line in (tmp_path / "shares.txt").read_text().splitlines()]
    assert shares[0] == shares[1]
    assert shares[2][1] != shares[0][1]
    assert shares[0][0] == pytest.approx(1e-4 / 3, rel=1e-12)  # two that are named right, and the budget itself


def test_workers_of_xdist_share_seed_and_budget(tmp_path: Path) -> None:
    run = session(tmp_path, "-n", "2", "-k", "budget or right")
    assert run.returncode == 0, run.stdout
    seed = re.search(r"--dpverdict-seed=(\d+)", run.stdout)
    assert seed is not None
    assert session(tmp_path, "-k", "budget or right", f"--dpverdict-seed={seed[1]}").returncode == 0
    first, second = (tmp_path / "shares.txt").read_text().splitlines()
    assert first == second


@pytest.mark.parametrize("option", ["--dpverdict-error-probability=2", "--dpverdict-seed=x"])
def test_a_wrong_option_is_a_usage_error(tmp_path: Path, option: str) -> None:
    run = session(tmp_path, option)
    assert run.returncode == 4
    assert "dpverdict_" in run.stderr


def test_the_audits_of_one_test_stay_within_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []
    seeds: list[int] = []

    def watched(mechanism: object, claim: object, *, error_probability: float, seed: int) -> None:
        spent.append(2 * error_probability)
        seeds.append(seed)

    monkeypatch.setattr("dpverdict.testing.assert_private", watched)
    audit = PrivacyAudit(1e-6, 3)
    for _ in range(1000):
        audit(None)
    assert sum(spent) <= 1e-6
    assert spent[0] == pytest.approx(5e-7)
    assert len(set(seeds)) == 1000


def test_a_violation_carries_its_report() -> None:
    def exact(dataset: np.ndarray, rng: np.random.Generator) -> object:
        return float(dataset.sum())

    with pytest.raises(PrivacyViolation, match="REFUTED") as caught:
        assert_private(exact, "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, samples=500)
    assert caught.value.report.status is Status.REFUTED
    mechanism = CorrelatedGaussian(dim=2, mu=1)
    with pytest.raises(PrivacyViolation):
        assert_private(mechanism, GaussianDP("0.5"), error_probability=1e-6, seed=1, samples=500)


def test_a_callable_needs_a_claim_and_neighbours() -> None:
    with pytest.raises(InvalidValue, match="claim"):
        assert_private(print, neighbours=PAIR, error_probability=1e-6, seed=1)
    with pytest.raises(InvalidValue, match="neighbours"):
        assert_private(print, "eps=1", error_probability=1e-6, seed=1)
    with pytest.raises(InvalidValue, match="neighbours"):
        as_pair((np.zeros((2, 1)), np.ones((2, 1))))


def noisy(scale: float) -> Callable[..., np.ndarray]:
    return lambda dataset, rng, trials: dataset.sum(axis=0) + rng.laplace(scale=scale, size=(trials, 1))


def test_a_callable_is_run_pair_by_pair_until_its_claim_falls() -> None:
    with pytest.raises(PrivacyViolation, match="refuted after") as caught:
        assert_private(noisy(0.3), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1)
    found = caught.value.report.sequential
    assert found is not None
    assert found.stopped_at is not None
    assert found.samples < 2000
    kept = assert_private(noisy(1), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, samples=2000)
    assert kept.status is Status.INCONCLUSIVE
    assert kept.sequential is not None
    assert kept.test is not None
    assert kept.sequential.samples + kept.test.samples == 2000
    assert kept.sequential.error_probability + kept.test.error_probability <= 1e-6
    few = assert_private(noisy(1), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, samples=100)
    assert few.test is None
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(noisy(0.3), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, sequential=False)
    assert caught.value.report.test is not None
    assert caught.value.report.sequential is None


def test_what_no_pair_of_scores_shows_an_event_does() -> None:
    """One bit, 9/10 against 1/2: the curve of 1-GDP as a whole is not exceeded, one point of it is."""

    def bit(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return (rng.random((trials, 1)) < (0.9 if len(dataset) == 2 else 0.5)).astype(float)

    with pytest.raises(PrivacyViolation) as caught:
        assert_private(bit, "mu=1", neighbours=PAIR, error_probability=1e-6, seed=1)
    assert caught.value.report.sequential is not None
    assert not caught.value.report.sequential.refuted
    assert caught.value.report.test is not None
    assert caught.value.report.test.refuted


def test_a_mistake_that_one_setting_hides_shows_at_another() -> None:
    """The scale is epsilon, where it ought to be 1/epsilon."""
    common = {"neighbours": PAIR, "error_probability": 1e-6, "seed": 1}
    assert_private(noisy(1), "eps=1", **common)
    with pytest.raises(PrivacyViolation) as caught:
        assert_private_at([1, "1/2"], lambda eps: (noisy(float(Fraction(eps))), f"eps={eps}"), **common)
    assert caught.value.__notes__ == ["at the setting '1/2'"]
    right = assert_private_at([1, 0.5], lambda eps: (noisy(1 / eps), f"eps={eps}"), samples=2000, **common)
    assert [report.claim.describe() for report in right] == ["eps=1", "eps=0.5"]
    for wrong in ([1], [1, 1.0]):
        with pytest.raises(InvalidValue, match="at least two"):
            assert_private_at(wrong, lambda eps: (noisy(1 / eps), f"eps={eps}"), **common)
