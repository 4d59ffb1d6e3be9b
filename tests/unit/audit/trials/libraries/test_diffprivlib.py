"""What diffprivlib says of itself is the claim, and its own values are the pair; a planted fault breaks it."""

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.trials.libraries import registry
from dpverdict.audit.trials.libraries.adapter import Library, LibraryRelease
from dpverdict.audit.trials.libraries.diffprivlib import FittedModel, RandomisedValue
from dpverdict.audit.trials.libraries.registry import adapter_for
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ApproximateDP, PureDP
from dpverdict.testing import PrivacyViolation, assert_private

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("diffprivlib")
    from diffprivlib import mechanisms, models

SHARED = {"error_probability": 1e-6, "seed": 1}
PURE = {"epsilon": 1.0, "sensitivity": 2.0}
MADE: dict[str, Any] = {
    "Laplace": lambda: mechanisms.Laplace(**PURE),
    "LaplaceTruncated": lambda: mechanisms.LaplaceTruncated(**PURE, lower=0, upper=5),
    "LaplaceFolded": lambda: mechanisms.LaplaceFolded(**PURE, lower=0, upper=5),
    "LaplaceBoundedDomain": lambda: mechanisms.LaplaceBoundedDomain(**PURE, lower=0, upper=5),
    "LaplaceBoundedNoise": lambda: mechanisms.LaplaceBoundedNoise(**PURE, delta=0.1),
    "Geometric": lambda: mechanisms.Geometric(epsilon=1.0, sensitivity=2),
    "GeometricTruncated": lambda: mechanisms.GeometricTruncated(epsilon=1.0, sensitivity=2, lower=0, upper=5),
    "GeometricFolded": lambda: mechanisms.GeometricFolded(epsilon=1.0, sensitivity=2, lower=0, upper=5),
    "Gaussian": lambda: mechanisms.Gaussian(**PURE | {"epsilon": 0.9}, delta=1e-3),
    "GaussianAnalytic": lambda: mechanisms.GaussianAnalytic(**PURE, delta=1e-3),
    "GaussianDiscrete": lambda: mechanisms.GaussianDiscrete(epsilon=1.0, delta=1e-3, sensitivity=1),
    "Staircase": lambda: mechanisms.Staircase(**PURE),
    "Snapping": lambda: mechanisms.Snapping(**PURE, lower=0, upper=5),
    "Binary": lambda: mechanisms.Binary(epsilon=1.0, value0="no", value1="yes"),
    "ExponentialCategorical": lambda: mechanisms.ExponentialCategorical(
        epsilon=1.0, utility_list=[["a", "b", 1], ["a", "c", 2], ["b", "c", 1]]
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_the_claim_and_the_pair_of_a_mechanism_are_read(name: str) -> None:
    made = MADE[name]()
    make = adapter_for(made)
    assert make is not None
    found = make()
    assert isinstance(found, RandomisedValue)
    delta = getattr(made, "delta", 0.0)
    assert found.claim == (ApproximateDP(made.epsilon, delta) if delta else PureDP(made.epsilon))
    one, other = (side[0] for side in (found.pair.dataset, found.pair.neighbour))  # type: ignore[index]  # lists
    assert one != other
    if not isinstance(one, str):
        assert abs(one - other) == made.sensitivity
    assert found([one]) is not None
    assert "claim read" in found.describe()


@pytest.mark.parametrize("name", ["Laplace", "Binary", "GeometricTruncated"])
def test_a_mechanism_keeps_what_it_says(name: str) -> None:
    assert_private(MADE[name](), **SHARED, samples=400)


def test_one_that_says_less_than_it_spends_is_refuted() -> None:
    planted = mechanisms.Binary(epsilon=3.0, value0="no", value1="yes")
    planted.randomise = mechanisms.Binary(epsilon=6.0, value0="no", value1="yes").randomise
    planted.epsilon = 1.0
    with pytest.raises(PrivacyViolation):
        assert_private(planted, **SHARED, samples=800)


CHOOSING: dict[str, Any] = {
    "Exponential": lambda: mechanisms.Exponential(epsilon=1, sensitivity=1, utility=[1.0, 2.0, 0.0]),
    "Exponential, labels": lambda: mechanisms.Exponential(
        epsilon=1, sensitivity=1, utility=[1.0, 2.0], candidates=["a", "b"], measure=[1, 2], monotonic=True
    ),
    "PermuteAndFlip": lambda: mechanisms.PermuteAndFlip(epsilon=1, sensitivity=2, utility=[1.0, 5.0]),
    "ExponentialHierarchical": lambda: mechanisms.ExponentialHierarchical(epsilon=1, hierarchy=[["a", "b"], ["c"]]),
    "Bingham": lambda: mechanisms.Bingham(epsilon=1, sensitivity=2.0),
    "Uniform": lambda: mechanisms.Uniform(delta=0.1, sensitivity=1),
}


@pytest.mark.parametrize("name", CHOOSING)
def test_data_of_another_kind_make_a_pair_too(name: str) -> None:
    found = RandomisedValue(CHOOSING[name]())
    assert found.claim == (ApproximateDP(0, 0.1) if name == "Uniform" else PureDP(1))
    for side in (found.pair.dataset, found.pair.neighbour):
        assert found(side) is not None


def test_the_best_candidate_falls_and_all_others_rise() -> None:
    pair = RandomisedValue(CHOOSING["PermuteAndFlip"]()).pair
    assert (pair.dataset[0], pair.neighbour[0]) == ([3.0, 7.0], [5.0, 5.0])  # type: ignore[index]  # lists
    pair = RandomisedValue(CHOOSING["Exponential, labels"]()).pair
    assert (pair.dataset[0], pair.neighbour[0]) == ([2.0, 3.0], [2.0, 2.0])  # type: ignore[index]


def test_a_choice_is_private_and_one_of_half_the_sensitivity_is_not() -> None:
    made = CHOOSING["Exponential"]()
    assert_private(made, **SHARED, samples=400)
    planted = RandomisedValue(mechanisms.Exponential(epsilon=4, sensitivity=1, utility=[1.0, 2.0, 0.0]))
    with pytest.raises(PrivacyViolation):
        assert_private(planted, "eps=1", neighbours=planted.pair, **SHARED, samples=1000)


def test_a_mechanism_that_releases_a_function_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no function"):
        RandomisedValue(mechanisms.Vector(epsilon=1, function_sensitivity=1, dimension=2))


def test_another_pair_of_values_needs_a_claim() -> None:
    with pytest.raises(InvalidValue, match="claim"):
        RandomisedValue(MADE["Laplace"]()).read_claim("neighbours")


SOURCE = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from diffprivlib.models import GaussianNB, StandardScaler
from diffprivlib.mechanisms import Binary
bayes = GaussianNB(epsilon=1.0, bounds=(0, 1))
scaler = StandardScaler(epsilon=1.0, bounds=(0, 1))
coin = Binary(epsilon=1.0, value0="no", value1="yes")
def labels():
    table = np.array([[0.1, 0.0], [0.2, 0.0], [0.9, 1.0]])
    return table, table[:2]
def no_label():
    table = np.array([[0.1, 0.0], [0.2, 1.0], [0.9, 1.0]])
    return table, np.array([[0.1, 0.0], [0.2, 1.0], [0.3, 1.0]])
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("warm_copies")
def test_a_model_needs_no_claim_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models.py").write_text(SOURCE)
    told = ["--samples", "150", "--seed", "1", "--quiet"]
    assert main(["audit", "models.py:bayes", "--neighbours", "models.py:labels", *told]) == 1
    assert main(["audit", "models.py:bayes", *told]) == 2
    assert "says nothing about its data" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("warm_copies")
def test_its_control_and_a_mechanism_are_not_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models.py").write_text(SOURCE)
    told = ["--samples", "400", "--seed", "1", "--quiet"]
    assert main(["audit", "models.py:bayes", "--neighbours", "models.py:no_label", *told]) == 3
    assert main(["audit", "models.py:coin", *told]) == 3


@pytest.mark.filterwarnings("ignore")
def test_what_is_released_of_a_model_is_what_training_sets() -> None:
    found = FittedModel(models.GaussianNB(epsilon=1.0, bounds=(0, 1)))
    released = found(np.array([[0.1, 0.0], [0.2, 1.0], [0.9, 1.0]]))
    assert isinstance(released, dict)
    assert set(released) >= {"classes_", "theta_", "var_"}
    assert math.isclose(float(found.claim.delta_upper(1.0)), 0.0)
    trees = FittedModel(models.DecisionTreeClassifier(epsilon=1.0, bounds=(0, 1), classes=(0, 1)))
    assert isinstance(trees(np.array([[0.1, 0.0], [0.2, 1.0], [0.9, 1.0]])), dict)


def test_other_things_state_no_claim() -> None:
    assert adapter_for(len) is None
    assert adapter_for(object()) is None


def test_an_object_of_another_library_is_left_alone_and_a_new_library_is_one_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Planted(LibraryRelease):
        name, claim, pair = "planted", PureDP(1), None

        def __call__(self, dataset: Any) -> object:
            return 0.0

        def read_claim(self, other: str | None) -> PureDP:
            return PureDP(1)

        def describe(self) -> dict[str, str]:
            return {}

    planted = Library(name="fractions", adapt=lambda thing: Planted)
    assert adapter_for(Fraction(1)) is None
    monkeypatch.setattr(registry, "LIBRARIES", (*registry.LIBRARIES, planted))
    assert adapter_for(Fraction(1)) is Planted
    assert adapter_for(1) is None
