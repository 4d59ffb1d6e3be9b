"""The least scale for a claim of any kind: certified at it, refuted one step below, and equal to published values."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpverdict.audit import Status, calibrate, certify, worst_case
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import GaussianMechanism, LaplaceMechanism
from dpverdict.mechanisms.core.calibration import analytic_scale
from dpverdict.mechanisms.training.dp_sgd import DPSGD

EPSILONS = json.loads((Path(__file__).parents[3] / "vectors/gaussian_epsilon.json").read_text(encoding="utf-8"))[
    "cases"
]


def gaussian(sigma: float) -> GaussianMechanism:
    return GaussianMechanism(sigma=sigma, sensitivity=1)


def laplace(scale: float) -> LaplaceMechanism:
    return LaplaceMechanism(scale=scale, sensitivity=1)


@pytest.mark.parametrize("claim", ["eps=1, delta=1e-6", "mu=0.3", "rho=0.01", "order=8, eps=1"])
@pytest.mark.parametrize("releases", [1, 30])
def test_gaussian_noise_is_the_least_float_that_keeps_the_claim(claim: str, releases: int) -> None:
    found = calibrate(gaussian, claim, releases=releases)
    assert found.kept.status is Status.CERTIFIED
    assert found.broken.status is Status.REFUTED
    assert found.width < 3e-16
    if releases == 1:
        assert certify(found.mechanism, claim).status is Status.CERTIFIED
        assert certify(gaussian(found.below), claim).status is Status.REFUTED


@pytest.mark.parametrize("claim", ["eps=0.3", "eps=1, delta=1e-6", "rho=0.1", "order=8, eps=1"])
def test_laplace_noise_is_the_least_within_the_width_that_is_stated(claim: str) -> None:
    found = calibrate(laplace, claim)
    assert found.kept.status is Status.CERTIFIED
    assert found.broken.status is Status.REFUTED
    assert found.width < 1e-11


@pytest.mark.slow
def test_laplace_noise_is_calibrated_by_mu() -> None:
    found = calibrate(laplace, "mu=1")
    assert found.broken.status is Status.REFUTED
    assert found.width < 1e-8


def test_it_agrees_with_the_analytic_calibration_and_the_oracle() -> None:
    assert calibrate(gaussian, "eps=1, delta=1e-6").scale == analytic_scale(1, "1e-6", 1)
    for case in EPSILONS[1:5]:  # sigma = 1/mu is what keeps the oracle's epsilon, just
        mu, delta = Fraction(case["params"]["mu"]), case["params"]["delta"]
        found = calibrate(gaussian, f"eps={case['upper']}, delta={delta}")
        assert abs(Fraction(found.scale) * mu - 1) < Fraction(1, 10**15)


def test_thirty_releases_need_the_square_root_of_thirty() -> None:
    one, many = (calibrate(gaussian, "mu=1", releases=n).scale for n in (1, 30))
    assert abs(many**2 - 30 * one**2) < 1e-12


def test_a_bound_on_the_worst_case_is_said_to_be_one() -> None:
    found = calibrate(lambda b: LaplaceMechanism(scale=b, sensitivity=1, dim=3, norm="l2"), "eps=1")
    assert not found.attained
    assert "of a bound" in found.summary()
    assert not worst_case(found.mechanism).exact


def test_a_claim_that_no_noise_keeps_is_refused() -> None:
    with pytest.raises(InvalidValue, match="claim"):
        calibrate(gaussian, "eps=1")
    with pytest.raises(InvalidValue, match="releases"):
        calibrate(gaussian, "mu=1", releases=0)


def test_a_mechanism_that_ignores_its_scale_is_not_calibrated() -> None:
    """Planted: noise that does not grow, and noise of which any amount keeps the claim."""
    with pytest.raises(InvalidValue, match="claim"):
        calibrate(lambda scale: gaussian(1.0), "mu=0.5")
    with pytest.raises(InvalidValue, match="claim"):
        calibrate(lambda scale: gaussian(1.0), "mu=2")


def training(sampling: str, steps: int = 100):
    def make(multiplier: float) -> DPSGD:
        return DPSGD(noise_multiplier=multiplier, rate="0.1", steps=steps, sampling=sampling)

    return make


def test_the_noise_of_draws_with_replacement_is_certified_and_a_millionth_less_is_refuted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--sampling", "with-replacement", "--records", "1000", "--size", "4", "--steps", "1"]
    claim = ["--claim", "eps=1, delta=1e-5"]
    assert main(["calibrate", "dp-sgd", *words, *claim]) == 0
    said = capsys.readouterr().out
    kept = re.search(r"noise multiplier (\S+) keeps eps=1, delta=1e-5; (\S+),", said)
    assert kept is not None
    multipliers = [float(number) for number in kept.groups()]
    assert 1 - 1e-6 < multipliers[1] / multipliers[0] < 1
    for multiplier, code in zip(multipliers, (0, 1), strict=True):
        assert main(["audit", "dp-sgd", "--noise-multiplier", repr(multiplier), *words, *claim, "--no-test"]) == code


@pytest.mark.few(2)
@pytest.mark.parametrize("claim", ["eps=3, delta=1e-5", "mu=2", "rho=4"])
def test_the_noise_of_sampled_training_is_certified_and_a_millionth_less_is_refuted(claim: str) -> None:
    found = calibrate(training("poisson"), claim)
    assert found.width < 1e-6
    assert certify(found.mechanism, claim).status is Status.CERTIFIED
    assert certify(training("poisson")(found.below), claim).status is Status.REFUTED
    assert found.attained


@pytest.mark.parametrize("sampling", ["balls-in-bins", "shuffle", "shuffle-once"])
def test_the_noise_of_other_batches_is_that_of_the_closest_bound(sampling: str) -> None:
    found = calibrate(training(sampling), "eps=3, delta=1e-5")
    assert certify(found.mechanism, "eps=3, delta=1e-5").status is Status.CERTIFIED
    assert certify(training(sampling)(found.scale / 3), "eps=3, delta=1e-5").status is Status.REFUTED
    exact = sampling == "balls-in-bins"
    assert found.attained is exact
    assert ("of a bound" in found.summary()) is not exact
    assert (found.scale < 2) is exact


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--sampling", "poisson"], 0, "noise multiplier = "),
        ([], 2, "sampling must be given for dp-sgd: add --sampling"),
        (["--sampling", "poisson", "--noise-multiplier", "1"], 2, "left out"),
        (["--sampling", "poisson", "--adjacency", "replace-one"], 0, "noise multiplier = 2.775"),
        (["--sampling", "balls-in-bins", "--adjacency", "replace-one"], 0, "noise multiplier = 2.858"),
    ],
)
def test_the_command_finds_a_noise_multiplier(words: list[str], code: int, said: str, capsys) -> None:
    given = ["calibrate", "dp-sgd", "--claim", "eps=3, delta=1e-5", "--rate", "0.1", "--steps", "100", *words]
    assert main(given) == code
    seen = capsys.readouterr()
    assert said in (seen.err if code else seen.out)


@pytest.mark.parametrize("name", ["correlated-gaussian", "standard-gaussian", "tree-counter"])
def test_a_mechanism_that_takes_no_scale_is_named_with_the_command_for_it(name: str, capsys) -> None:
    assert main(["calibrate", name, "--claim", "eps=1, delta=1e-6"]) == 2
    said = capsys.readouterr().err
    assert f"mechanism='{name}' must be one of best-of-runs, bounded-contributions, dp-ftrl, dp-sgd, gaussian" in said
    assert f"dpverdict compare {name} --claim" in said
    assert "sigma" not in said
