"""Squared GDP parameters made by other software are reproduced: by the formulas in balls, and by the mechanisms."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray

from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.balls import Enclosure, Real, ball, precision, sqrt_up
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    Cube,
    EllipticalGaussian,
    GroupedGaussian,
    SharedNoise,
    StandardGaussian,
    broken,
)
from dpverdict.mechanisms.broken import correlated as correlated
from dpverdict.mechanisms.broken import queries as others
from dpverdict.mechanisms.broken.mutant import Mutant
from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.noise import GroupedNoise, SymmetricForm, queries_only_form, shared_noise_form
from dpverdict.mechanisms.core.sensitivity import SensitivitySpace
from dpverdict.mechanisms.queries.grouped import GroupedCube

HERE = Path(__file__).parent
ACCURACY = Fraction(1, 10**12)
BITS = 200
Array = NDArray[np.float64]
Case = dict[str, Any]  # a case of a JSON file


def cases(name: str) -> list[Case]:
    listed: list[Case] = json.loads((HERE / name).read_text(encoding="utf-8"))["cases"]
    return listed


def label(case: Case) -> str:
    return ",".join(f"{k}={v}" for k, v in case["params"].items() if k not in ("x", "x2") or isinstance(v, str))[:90]


CORRELATED = cases("correlated_mu.json")
MUTANTS = cases("mutants_mu.json")
ELLIPTICAL = cases("elliptical.json")


def agrees(value: Real | None, case: Case) -> bool:
    """Within 1e-12 of the oracle, relative; decided in balls."""
    if case["lower"] == "inf":
        return value is None
    assert value is not None
    with precision(BITS):
        off = abs(value.ball() - ball(Fraction(case["lower"])))
        return bool(off <= ball(ACCURACY) * abs(ball(Fraction(case["lower"]))))


# the formulas, with the ideal variances -------------------------------------------------------------------------------


def number(text: str) -> arb:
    return ball(Fraction(text))


def record_of(p: Case, key: str = "x") -> list[Fraction]:
    return [Fraction(0)] * p["d"] if p[key] == "zero" else [Fraction(e) for e in p[key]]


def moments_of(p: Case) -> tuple[Fraction, Fraction]:
    if "s1" in p:
        return Fraction(p["s1"]), Fraction(p["s2"])
    x = record_of(p)
    return sum(x, Fraction(0)), sum((e * e for e in x), Fraction(0))


def layer_maximum(form: SymmetricForm, d: int, t: int, shift: Fraction = Fraction(0)) -> arb:
    """The largest value over binary records, less ``shift`` in every entry: all layers, or those near the vertex."""
    near = int((d + d**0.5) / 2)
    layers = range(d + 1) if d <= 2000 else [0, *range(near - 3, near + 4), d]
    best = arb(0)
    for j in layers:
        s1, s2 = j - shift * d, j - 2 * shift * j + shift**2 * d
        best = best.max(arb(0) + form.at(ball(Fraction(s1)), ball(Fraction(s2)), t))
    return best


def ideal_form(p: Case) -> tuple[SymmetricForm, int, Fraction]:
    """(form, count difference, what is subtracted from every entry) of a correlated variant, over balls."""
    variant, d = p["variant"], p["d"]
    if variant.startswith("generic"):
        vz, ve = number(p["vz"]), number(p["ve"])
        if variant == "generic_with_n":
            return shared_noise_form(dim=d, vz=vz, ve=ve, loading=2, vw=0 * vz), 1, Fraction(0)
        return queries_only_form(dim=d, vz=vz, ve=ve), 1, Fraction(0)
    if variant == "ellipse":
        vz = 1 / number(p["w"])
        return queries_only_form(dim=d, vz=vz, ve=(1 / number(p["u"]) - vz) / d), 1, Fraction(0)
    mu = number(p["mu"])
    if variant == "standard":
        return queries_only_form(dim=d, vz=d / (mu * mu), ve=arb(0)), 1, Fraction(0)
    if variant.startswith("public_n"):
        vz, half = d / (4 * mu * mu), Fraction(1, 2)
        if variant == "public_n":
            return queries_only_form(dim=d, vz=vz, ve=arb(0)), 1, half
        ve = number(p["tau2"]) / 4  # f + (ntilde - n)/2: the error of the estimate is shared noise
        if variant == "public_n_joint":
            return shared_noise_form(dim=d, vz=vz, ve=ve, loading=2, vw=0 * vz), 1, Fraction(0)
        return queries_only_form(dim=d, vz=vz, ve=ve), 1, Fraction(0)
    c_squared = ball(d).sqrt() if p["C"] == "default" else number(p["C"]) ** 2
    vz, ve = family_variances(ball(d), c_squared, mu)
    if variant == "without_n":
        return queries_only_form(dim=d, vz=vz, ve=ve), 1, Fraction(0)
    return shared_noise_form(dim=d, vz=vz, ve=ve, loading=2, vw=0 * vz), int(variant == "with_n"), Fraction(0)


def ideal_value(p: Case) -> arb:
    if p["variant"].startswith("alg2"):
        return ideal_groups(p)
    form, t, shift = ideal_form(p)
    d = p["d"]
    if p["variant"] == "with_n_replace":
        if p.get("x") == "worst":
            return arb(0) + form.at(ball(d % 2), ball(d), 0)
        x, other = record_of(p), record_of(p, "x2")
        v = [a - b for a, b in zip(x, other, strict=True)]
        return arb(0) + form.at(ball(sum(v)), ball(sum(e * e for e in v)), 0)
    if p.get("x") == "worst":
        return layer_maximum(form, d, t, shift)
    s1, s2 = moments_of(p)
    return arb(0) + form.at(ball(s1 - shift * d), ball(s2 - 2 * shift * s1 + shift**2 * d), t)


def ideal_groups(p: Case) -> arb:
    d, replaced = p["d"], p["variant"] == "alg2_replace"
    if "vz" in p:
        vz, ve = number(p["vz"]), number(p["ve"])
    else:
        mu, root = number(p["mu"]), ball(d).sqrt()
        vz = d / mu**2 if replaced else (d + root) / (4 * mu**2)
        ve = 1 / mu**2 if replaced else (root + 1) / (4 * mu**2)
    form = shared_noise_form(dim=d, vz=vz, ve=ve, loading=2, vw=0 * vz)

    def row(x: list[Fraction], t: int = 1) -> arb:
        return arb(0) + form.at(ball(sum(x, Fraction(0))), ball(sum((e * e for e in x), Fraction(0))), t)

    if p["x"] == "worst":
        ones, alternating = [Fraction(1)] * d, [Fraction((-1) ** i) for i in range(d)]
        return row(alternating, 0).max(2 * row(ones)) if replaced else row(ones)
    parts = [p[k] for k in ("x", "x2") if k in p and p[k] != "zero"]
    rows = [[Fraction(e) for e in part] for part in parts]
    if p.get("same_group"):
        return row([a - b for a, b in zip(*rows, strict=True)], 0)
    return sum((row(x) for x in rows), arb(0))


@pytest.mark.parametrize("case", CORRELATED, ids=label)
def test_the_formulas_in_balls_enclose_the_oracle(case: Case) -> None:
    with precision(BITS):
        value = ideal_value(case["params"])
    assert value.rel_accuracy_bits() > 100 or value.contains(0)
    enclosure = Enclosure.of_ball(value)
    assert enclosure.contains(Fraction(case["lower"]))
    assert enclosure.contains(Fraction(case["upper"]))


# the mechanisms, with the float64 scales they use ---------------------------------------------------------------------


def float_record(p: Case, key: str = "x") -> Array:
    """The record itself, or one of the moments given: 4 (s1 - s2) halves, and ones."""
    if key in p:
        return np.array([float(e) for e in record_of(p, key)])
    s1, s2 = moments_of(p)
    halves = int(4 * (s1 - s2))
    ones = int(s1 - Fraction(halves, 2))
    return np.repeat([1.0, 0.5, 0.0], [ones, halves, p["d"] - ones - halves])


def mechanism_of(p: Case) -> GaussianMechanism | None:
    """The mechanism of a variant; None where it is a noise law of its own."""
    d, variant = p["d"], p["variant"]
    c = {"C": p["C"]} if p.get("C", "default") != "default" else {}
    if variant in ("with_n", "without_n"):
        count: Any = "released" if variant == "with_n" else "withheld"  # a Literal
        return CorrelatedGaussian(dim=d, mu=p["mu"], count=count, **c)
    if variant == "standard":
        return StandardGaussian(dim=d, mu=p["mu"], adjacency=ADD_OR_REMOVE_ONE)
    if variant == "public_n":
        return CorrelatedGaussian(dim=d, mu=p["mu"], count="estimated", size_estimate=0)
    if variant == "with_n_replace":
        squared = None if p["C"] == "default" else Fraction(p["C"]) ** 2
        return correlated.used_under_replacement(squared).make(d, p["mu"])
    if variant.startswith("alg2") and "mu" in p:
        relation = REPLACE_ONE if variant == "alg2_replace" else ADD_OR_REMOVE_ONE
        return GroupedGaussian(groups=2, dim=d, mu=p["mu"], adjacency=relation)
    return None


def law_of(p: Case) -> tuple[SensitivitySpace, SharedNoise | GroupedNoise]:
    """The sensitivity space and the noise of the variants that are not mechanisms here."""
    d, variant = p["d"], p["variant"]
    if variant == "ellipse":
        vz = 1 / Fraction(p["w"])
        ve = (1 / Fraction(p["u"]) - vz) / d
    elif variant.startswith("public_n"):
        vz, ve = d / (4 * Fraction(p["mu"]) ** 2), Fraction(p["tau2"]) / 4
    else:
        vz, ve = Fraction(p["vz"]), Fraction(p["ve"])
    counted = variant in ("generic_with_n", "public_n_joint") or variant.startswith("alg2")
    noise = SharedNoise(
        dim=d,
        independent_scale=sqrt_up(Real.of(vz)),
        shared_scale=sqrt_up(Real.of(ve)) if ve else 0.0,
        count_loading=2 if counted else None,
    )
    if variant.startswith("alg2"):
        relation = REPLACE_ONE if variant == "alg2_replace" else ADD_OR_REMOVE_ONE
        return GroupedCube(groups=2, dim=d, adjacency=relation), GroupedNoise(groups=2, row=noise)
    return Cube(dim=d), noise


def records_of(p: Case) -> tuple[Array, Array | None]:
    """(record, replacement); in the first group, or the replacement in the second unless the case says the same."""
    record = float_record(p)
    other = float_record(p, "x2") if "x2" in p else None
    if p["variant"].startswith("alg2"):
        nothing = np.zeros(p["d"])
        record = np.stack([record, nothing])
        if other is not None:
            other = np.stack([other, nothing] if p["same_group"] else [nothing, other])
    return record, other


@pytest.mark.parametrize("case", CORRELATED, ids=label)
def test_the_mechanisms_attain_the_oracle(case: Case) -> None:
    p = case["params"]
    mechanism = mechanism_of(p)
    value: Real | None
    if mechanism is None:
        space, noise = law_of(p)
        value = space.maximise(noise).mu_squared if p["x"] == "worst" else space.mu_squared(noise, *records_of(p))
    else:
        loss = worst_case(mechanism).loss if p.get("x") == "worst" else neighbour_loss(mechanism, *records_of(p))
        value = getattr(loss, "mu_squared", None)
    assert agrees(value, case)


# the zoo --------------------------------------------------------------------------------------------------------------

FACTORIES: dict[str, Callable[[Case], Mutant]] = {
    "M2": lambda p: correlated.scaled_shared_variance(Fraction(p["factor"])),
    "M4": lambda p: correlated.scaled_independent_variance(None if p["factor"] == "d/4" else Fraction(p["factor"])),
    "M5": lambda p: correlated.used_under_replacement(None if p["C"] == "default" else Fraction(p["C"]) ** 2),
    "M7ab": lambda p: correlated.unclipped(Fraction(p["a"]), Fraction(p["b"]), name="M7ab"),
    "M9": lambda p: others.one_eta_for_all_groups(p["m"]),
    "M10": lambda p: others.replacement_shared_variance(Fraction(p["s"]), p["m"]),
    "M11": lambda p: others.grouped_under_replacement(p["m"]),
    "M14": lambda p: others.ellipse_for_sparser_data(p["k"], p["k2"]),
    "M15": lambda p: others.ellipse_beyond_its_range(p["k"]),
    "M17": lambda p: correlated.several_records_per_user(p["q"]),
}


def mutant_of(p: Case) -> Mutant:
    return FACTORIES.get(p["mutant"], lambda p: broken.by_name(p["mutant"]))(p)


@pytest.mark.parametrize("case", [c for c in MUTANTS if c["params"]["mutant"] != "M0"], ids=label)
def test_the_closed_form_of_a_wrong_variant_encloses_the_oracle(case: Case) -> None:
    p = case["params"]
    mutant, mu = mutant_of(p), p.get("mu", "1")
    value = mutant.true_mu_squared(p["d"], mu)
    if case["lower"] == "inf":
        assert value is None
    else:
        assert value is not None
        enclosure = Enclosure.of(value)
        assert enclosure.contains(Fraction(case["lower"]))
        assert enclosure.contains(Fraction(case["upper"]))
        assert value.rational is None or value.rational == Fraction(case.get("exact", case["lower"]))
    assert agrees(getattr(worst_case(mutant.make(p["d"], mu)).loss, "mu_squared", None), case)


@pytest.mark.parametrize("case", [c for c in MUTANTS if c["params"]["mutant"] == "M0"], ids=label)
def test_the_correct_mechanism_of_the_zoo_attains_the_oracle(case: Case) -> None:
    assert agrees(worst_case(CorrelatedGaussian(dim=case["params"]["d"], mu=1)).loss.mu_squared, case)  # type: ignore[union-attr]


# the ellipse ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ELLIPTICAL, ids=label)
def test_the_elliptical_mechanism_reproduces_the_oracle(case: Case) -> None:
    p = case["params"]
    mechanism = EllipticalGaussian(bounds=p["Delta"], mu=1 / Fraction(p["s"]))
    expected, output = Fraction(case["lower"]), p["output"]
    variances = [Fraction(scale) ** 2 for scale in mechanism.scales.tolist()]
    if output in ("sigma2", "total_variance"):
        value = variances[p["index"]] if output == "sigma2" else sum(variances, Fraction(0))
        assert expected <= value <= expected * (1 + ACCURACY)  # rounded up, never down
    elif output == "isotropic_total_variance":  # what the ellipse saves on
        kept = [Fraction(b) for b in p["Delta"] if Fraction(b)]
        standard = len(kept) * sum(b * b for b in kept) * Fraction(p["s"]) ** 2
        assert standard == Fraction(case.get("exact", case["lower"]))
        assert sum(variances, Fraction(0)) <= standard * (1 + ACCURACY)
    else:
        half = np.array([float(Fraction(w)) for w in p["shift"]]) / 2
        loss = neighbour_loss(mechanism, half, -half)
        squared = loss.mu_squared  # type: ignore[union-attr]
        if output == "mu2":
            assert agrees(squared, case)
        else:
            assert abs(Fraction(loss.mu) - expected) <= ACCURACY * expected
            enclosure = Enclosure.of(squared.sqrt())
            assert enclosure.lower <= float(expected) * (1 + 1e-12)
            assert enclosure.upper >= float(expected) * (1 - 1e-12)
