"""Defects of published releases of other libraries, each found again from its releases alone.

What each of them is, who reported it and what it means is in docs/third_party_findings.md. Every function below is a
mechanism in the sense of dpverdict, ``(dataset, rng) -> array``: it hands the dataset to the library as its users do,
and returns what the library publishes. A library that is not installed, or not in the version named, is skipped.

    python third_party_findings.py                  # audit what is installed; exit code 1 if a claim is refuted
    python third_party_findings.py NAME pair.npz    # only write the pair of one of them, for the command line:
    dpverdict audit third_party_findings.py:NAME --neighbours pair.npz --claim CLAIM --samples N --witness witness.json
    dpverdict replay witness.json --trust-code      # it runs the code that the witness names: this file

Old releases need not be installed whole: ``pip install --no-deps --target old opendp==0.4.0``, then PYTHONPATH=old.
The libraries draw from generators of their own, so a seed does not repeat a run; each run decides anew, and is wrong
with the error probability that it states.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ERROR_PROBABILITY = 1e-6


def diffprivlib_linear_regression(dataset: Array, rng: np.random.Generator) -> Array:
    """diffprivlib's LinearRegression with x and y in [0, 1]: epsilon = 1 for one record (x, y) replaced."""
    from diffprivlib.models import LinearRegression

    model = LinearRegression(epsilon=1.0, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0), fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the optimiser, where a noisy sum of squares is 0
        model.fit(dataset[:, :1], dataset[:, 1])
    coefficients: Array = np.clip(model.coef_, -1e9, 1e9)
    return coefficients


def diffprivlib_wishart(dataset: Array, rng: np.random.Generator) -> Array:
    """diffprivlib's Wishart mechanism on X^T X, rows of norm at most 1: epsilon = 1 for one row added or removed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        mechanism = _old_diffprivlib().Wishart(epsilon=1.0, sensitivity=1.0)
        noisy: Array = mechanism.randomise(dataset.T @ dataset)
    return noisy[np.triu_indices(len(noisy))]


def opendp_randomized_response(dataset: Array, rng: np.random.Generator) -> Array:
    """OpenDP's randomised response on one bit, prob = 3/4: its check accepts epsilon = log 3 for the bit changed."""
    return np.array([float(_opendp_response()(bool(dataset[0])))])


def smartnoise_covariance(dataset: Array, rng: np.random.Generator) -> Array:
    """The covariance matrix of SmartNoise Synthesizers, columns in [0, 1]: epsilon = 1 for one record replaced."""
    import pandas as pd

    bounds = pd.DataFrame([[0.0, 0.0], [1.0, 1.0]])
    release = _smartnoise().DPcovariance(len(dataset), ["a", "b"], bounds, 1.0)
    noisy: list[float] = release.release(pd.DataFrame(dataset, columns=["a", "b"]))
    return np.asarray(noisy, dtype=np.float64)


def opacus_step(dataset: Array, rng: np.random.Generator) -> Array:
    """One step of DP-SGD by opacus from weights 0: batch size 64, noise multiplier 4, and what its accountant says."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    inputs = torch.tensor(dataset, dtype=torch.float32)
    loader = DataLoader(TensorDataset(inputs, torch.zeros(len(inputs), 1)), batch_size=64)
    model = torch.nn.Linear(inputs.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the generator is not the secure one
        engine = PrivacyEngine(accountant="rdp")
        trained, optimizer, batches = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=loader,
            noise_multiplier=4.0,
            max_grad_norm=1.0,
        )
        for features, targets in batches:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(trained(features), targets).backward()
            optimizer.step()
            break
    ((_, sample_rate, steps),) = engine.accountant.history
    assert _opacus_epsilon(sample_rate, steps) <= OPACUS_EPSILON
    weights: Array = model.weight.detach().numpy().ravel().astype(np.float64)
    return weights


def diffprivlib_laplace(dataset: Array, rng: np.random.Generator) -> Array:
    """diffprivlib's Laplace mechanism: epsilon = 1 for a number that moves by 1, read as a claim about float64."""
    from diffprivlib.mechanisms import Laplace

    return np.array([Laplace(epsilon=1.0, sensitivity=1.0).randomise(float(dataset[0]))])


def opacus_secure_noise(dataset: Array, rng: np.random.Generator) -> Array:
    """The noise of opacus in secure mode, on a sum of norm 1 or 0: mu = 1, read as a claim about float32."""
    import torch
    from opacus.optimizers.optimizer import _generate_noise

    value = torch.tensor(dataset, dtype=torch.float32)
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    noisy: Array = (value + _generate_noise(1.0, value, generator, secure_mode=True)).numpy().astype(np.float64)
    return noisy


OPACUS_EPSILON = 0.8
"""A little above what the accountant of opacus reports for that step at delta = 1e-5."""


@dataclass(frozen=True)
class Finding:
    """A defect: the distribution and its versions, the claim, and a pair of neighbours that shows it.

    ``numbers`` is what the claim is about: "real" ones, or "double" ones, bit for bit.
    """

    mechanism: Callable[[Array, np.random.Generator], Array]
    package: str
    versions: tuple[str, ...]
    claim: str
    pair: Callable[[], tuple[Array, Array]]
    samples: int
    numbers: str = "real"


def _one_of_ten(record: list[float], other: list[float], rest: list[float]) -> tuple[Array, Array]:
    """Ten records, one of which is replaced."""
    return np.array([record] + [rest] * 9), np.array([other] + [rest] * 9)


FINDINGS = {
    one.mechanism.__name__: one
    for one in (
        Finding(
            diffprivlib_linear_regression,
            "diffprivlib",
            ("0.6.6",),
            "eps=1",
            lambda: _one_of_ten([1.0, 0.0], [0.0, 0.0], [0.1, 0.0]),
            1000,
        ),
        Finding(
            diffprivlib_wishart,
            "diffprivlib",
            ("0.4.1", "0.4.0"),
            "eps=1",
            lambda: (np.array([[0.0], [1.0]]), np.array([[0.0]])),
            1000,
        ),
        Finding(
            opendp_randomized_response,
            "opendp",
            ("0.4.0",),
            "eps=1.0986122886681099",
            lambda: (np.array([1.0]), np.array([0.0])),
            1000,
        ),
        Finding(
            smartnoise_covariance,
            "smartnoise-synth",
            ("1.0.4", "1.0.5"),
            "eps=1",
            lambda: _one_of_ten([1000.0, 1000.0], [0.0, 0.0], [0.5, 0.5]),
            1000,
        ),
        Finding(
            opacus_step,
            "opacus",
            ("1.6.0",),
            f"eps={OPACUS_EPSILON}, delta=1e-5",
            lambda: (np.zeros((129, 8)), np.zeros((128, 8))),
            3000,
        ),
        Finding(
            diffprivlib_laplace,
            "diffprivlib",
            ("0.6.6",),
            "eps=1",
            lambda: (np.ones(1), np.zeros(1)),
            20_000,
            "double",
        ),
        Finding(
            opacus_secure_noise,
            "opacus",
            ("1.6.0",),
            "mu=1",
            lambda: (np.ones(1), np.zeros(1)),
            20_000,
            "double",
        ),
    )
}


def installed(finding: Finding) -> bool:
    """Whether the library is there, in a version that has the defect."""
    try:
        return importlib.metadata.version(finding.package) in finding.versions
    except importlib.metadata.PackageNotFoundError:
        return False


@cache
def _old_diffprivlib() -> Any:
    """The mechanisms of an old diffprivlib without its models, which need a scikit-learn of its time."""
    sys.modules.setdefault("diffprivlib.models", types.ModuleType("diffprivlib.models"))
    return importlib.import_module("diffprivlib.mechanisms")


@cache
def _opendp_response() -> Callable[[bool], bool]:
    importlib.import_module("opendp.mod").enable_features("contrib")
    measurement = importlib.import_module("opendp.meas").make_randomized_response_bool(prob=0.75)
    assert measurement.check(1, float(FINDINGS["opendp_randomized_response"].claim.removeprefix("eps=")))
    found: Callable[[bool], bool] = measurement
    return found


@cache
def _opacus_epsilon(sample_rate: float, steps: int) -> float:
    """What the accountant of opacus reports at delta = 1e-5."""
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(4.0, sample_rate, steps)]
    return float(accountant.get_epsilon(delta=1e-5))


@cache
def _smartnoise() -> Any:
    """The module of the covariance alone: its package imports torch and a query engine."""
    files = importlib.metadata.files("smartnoise-synth") or []
    (path,) = (file.locate() for file in files if str(file).endswith("models/dp_covariance.py"))
    spec = importlib.util.spec_from_file_location("dp_covariance", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def audit(finding: Finding, seed: int) -> tuple[bool, float | None]:
    """Whether the claim is refuted, and a lower bound on epsilon at its delta."""
    from dpverdict.audit import distinguish, find_float_leak
    from dpverdict.mechanisms import parse_guarantee

    what = finding.mechanism, finding.pair(), parse_guarantee(finding.claim)
    if finding.numbers == "real":
        test = distinguish(*what, error_probability=ERROR_PROBABILITY, samples=finding.samples, seed=seed)
        return test.refuted, test.epsilon_lower
    leak = find_float_leak(*what, error_probability=ERROR_PROBABILITY, samples=finding.samples, seed=seed, delta=0.0)
    return leak.refuted, leak.epsilon_lower


def main(arguments: list[str]) -> int:
    """Audit what is installed, or write the pair of one finding."""
    if arguments:
        name, path = arguments
        dataset, neighbour = FINDINGS[name].pair()
        np.savez(path, dataset=dataset, neighbour=neighbour)
        return 0
    any_refuted = False
    for name, finding in FINDINGS.items():
        if not installed(finding):
            print(f"{name}: skipped, {finding.package} {' or '.join(finding.versions)} is not installed")
            continue
        refuted, epsilon = audit(finding, seed=1)
        any_refuted |= refuted
        verdict = f"refuted, error probability {ERROR_PROBABILITY:g}" if refuted else "not refuted"
        bound = "" if epsilon is None else f"; epsilon >= {epsilon:.3f}"
        print(f"{name}: {finding.claim} is {verdict}; {finding.samples} releases per dataset{bound}")
    return int(any_refuted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
