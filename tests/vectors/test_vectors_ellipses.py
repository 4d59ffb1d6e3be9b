"""Oracle values of the ellipses, of R1SMG and of the lattice mechanism, made by other software, are reproduced."""

import json
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.balls import Enclosure, Real, ball, refine
from dpverdict.mechanisms.queries.count_ellipse import CountEllipse, ellipse_optimum, largest_optimal_k
from dpverdict.mechanisms.queries.discrete import DiscreteCorrelatedGaussian
from dpverdict.mechanisms.queries.rank1 import FalseClaimWarning, Rank1Gaussian, published_psi
from dpverdict.mechanisms.queries.rank1_scale import honest_scale
from dpverdict.mechanisms.queries.vote_ellipse import VoteEllipse, vote_optimum

HERE = Path(__file__).parent
DIGITS = 130  # bits of the oracle's 40 digits
Case = dict[str, Any]  # a case of a JSON file


def cases(name: str) -> list[Any]:  # pytest types its parameter sets privately
    content = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    assert content["schema"] == 1
    return [pytest.param(case, id=" ".join(map(str, case["params"].values()))) for case in content["cases"]]


def agrees(value: Real, case: Case) -> bool:
    """Whether the number lies between the ends of the case: exactly, or as far as 130 bits and 40 digits tell."""
    lower, upper = Fraction(case["lower"]), Fraction(case["upper"])
    if value.rational is not None:
        return lower <= value.rational <= upper
    found = refine(value.ball, bits=DIGITS)
    return bool(found.overlaps(ball(lower).union(ball(upper))))


@pytest.mark.parametrize("case", cases("count_opt"))
def test_the_optimum_for_counting_queries(case: Case) -> None:
    d, k, output = (case["params"][name] for name in ("d", "k", "output"))
    best = ellipse_optimum(d, k)
    outputs = {
        "opt": best.per_query_variance.real(),
        "vz": best.independent_variance.real(),
        "ve": best.shared_variance.real(),
        "layer_lo": Real.of(best.active_layers[0]),
        "layer_hi": Real.of(best.active_layers[-1]),
        "khat": Real.of(largest_optimal_k(d)),
        "gap": Real(lambda: (ball(d).sqrt() + 1) ** 2 / 4 - best.per_query_variance.real().ball()),
    }
    assert agrees(outputs[output], case)
    if output in ("opt", "vz", "ve") and d <= 1000:
        mechanism = CountEllipse(dim=d, k=k, mu=1)
        sampled = {"opt": mechanism.per_query_variance, "vz": mechanism.independent_variance}
        value = sampled.get(output, mechanism.shared_variance)
        assert Fraction(case["lower"]) <= value <= Fraction(case["upper"]) * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("case", cases("vote_ellipse"))
def test_the_vote_ellipse(case: Case) -> None:
    d, output = case["params"]["d"], case["params"]["output"]
    along, across = vote_optimum(d)
    outputs = {
        "a1_sq": along,
        "a2_sq": across,
        "vz": across,
        "ve": (along - across) / d,
        "variance": (along + (d - 1) * across) / d,
    }
    if output == "ball_variance":
        assert Fraction((d - 1) * d * (2 * d - 1), 6) == Fraction(case["lower"])
        return
    assert agrees(outputs[output].real(), case)
    if output == "variance":
        sampled = VoteEllipse(dim=d, mu=1).per_query_variance
        assert Fraction(case["lower"]) <= sampled <= Fraction(case["upper"]) * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("case", cases("r1smg"))
def test_the_published_calibration_and_the_actual_privacy_of_r1smg(case: Case) -> None:
    given = case["params"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FalseClaimWarning)
        mechanism = Rank1Gaussian(dim=given["M"], epsilon=given["epsilon"], delta=given["delta_claimed"])
    psi = published_psi(given["M"], Fraction(given["delta_claimed"]))
    if given["output"] == "psi":
        assert agrees(psi, case)
    elif given["output"] == "sigma2":
        assert agrees(Real(lambda: 2 / (ball(Fraction(given["epsilon"])) * psi.ball())), case)
        excess = mechanism.mean_squared_error / Fraction(case["lower"])
        assert 1 <= excess <= 1 + Fraction(1, 2**50)
    else:
        # at the scale that is sampled, rounded up: not above, and below by its rounding only
        loss = worst_case(mechanism).loss
        at = Fraction(given["epsilon"]) if given["output"] == "delta" else Fraction(0)
        enclosure = loss.certified_delta(at)
        assert Fraction(enclosure.lower) <= Fraction(case["upper"])
        assert Fraction(enclosure.upper) >= Fraction(case["lower"]) * (1 - Fraction(1, 10**13))


@pytest.mark.few(2)
@pytest.mark.parametrize("case", cases("spherical_honest"))
def test_the_honest_scale_of_r1smg(case: Case) -> None:
    given = case["params"]
    scale = honest_scale(dim=given["M"], epsilon=given["epsilon"], delta=given["delta"])
    assert Fraction(scale.lower) <= Fraction(case["upper"])
    assert Fraction(case["lower"]) <= Fraction(scale.upper) <= Fraction(case["upper"]) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("case", cases("disc_gauss_profile"))
def test_the_profile_of_the_lattice_mechanism(case: Case) -> None:
    given = case["params"]
    mechanism = DiscreteCorrelatedGaussian(dim=given["d"], rho=Fraction(given["mu"]) ** 2 / 2, s=given["s"])
    enclosure = worst_case(mechanism).loss.certified_delta(given["epsilon"])
    assert isinstance(enclosure, Enclosure)
    assert enclosure.contains(case["lower"]) or enclosure.contains(case["upper"])
