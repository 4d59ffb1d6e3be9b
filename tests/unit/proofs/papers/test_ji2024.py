"""The ledger of R1SMG: every dimension is covered by an event, also one by one; the numbers a reader recomputes."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverdict.audit.losses.spherical.events import apollonius_event, ball_event
from dpverdict.cli.application import main
from dpverdict.proofs.checks.outcome import condition_alone
from dpverdict.proofs.checks.registry import registered
from dpverdict.proofs.ji2024 import claim as ji2024_claim
from dpverdict.proofs.ji2024.claim import CLOSEST, EVENTS, uncovered
from dpverdict.proofs.ji2024.notation import GRID, printed_variance, true_delta


def radius_at(dim: int, cell: tuple[Fraction, Fraction]) -> str:
    """The radius listed for the dimension."""
    for (level, failure), events in EVENTS.items():
        if (Fraction(level), Fraction(failure)) == cell:
            for first, last, radius in events:
                if first <= dim and (last is None or dim <= last):
                    return radius
    raise AssertionError(f"no event for {dim}, {cell}")


def refuted_alone(dim: int) -> bool:
    """Every cell is refuted in this dimension by an event of its own, without the argument over ranges."""
    for cell in GRID:
        scale = printed_variance(dim, *cell).sqrt()
        if (dim, cell) == (4, CLOSEST):
            event = apollonius_event(dim, scale, cell[0])
        else:
            event = ball_event(dim, scale, radius_at(dim, cell))
        if not event.delta_lower(cell[0]) > cell[1]:
            return False
    return True


def test_small_dimensions_and_a_sample_are_refuted_one_by_one() -> None:
    dims = [*range(4, 60), *range(60, 10_000, 397), 10_000]
    assert [dim for dim in dims if not refuted_alone(dim)] == []


@pytest.mark.slow
def test_every_dimension_up_to_ten_thousand_is_refuted_one_by_one() -> None:
    assert [dim for dim in range(4, 10_001) if not refuted_alone(dim)] == []


def test_a_gap_in_the_events_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds() -> bool | None:
        claim = registered("ji2024", "claim.M4")
        assert claim.corrected is not None
        with condition_alone(claim.planted[0].condition):
            findings = claim.findings(claim.corrected.claim)
        return next(one.holds for one in findings if one.name == claim.planted[0].condition)

    assert uncovered() == ""
    assert holds() is True
    holes = {
        "M = 17, eps = 2, delta = 1e-10": {**EVENTS, ("2", "1e-10"): EVENTS["2", "1e-10"][:1]},
        "M = 4, eps = 1, delta = 0.001": {key: value for key, value in EVENTS.items() if key != ("1", "1e-3")},
        "M = 9, eps = 0.1, delta = 0.001": {**EVENTS, ("1/10", "1e-3"): ((4, 8, "9/25"), (10, None, "18/25"))},
    }
    for gap, events in holes.items():
        monkeypatch.setattr(ji2024_claim, "EVENTS", events)
        assert uncovered() == gap
        assert holds() is not True


def test_a_reader_can_recompute_the_counterexample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "ji2024", "--statement", "claim.M100", "--explain"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for step in (
        "C(98,49)/2^98 = 0.080393",
        "psi^49 = 8.0393e-07",
        "sigma^2 = 2/psi < 2.6667",
        "P(S) >= 71/75, Q(S) <= 4/75",
        "71/75 - 2.71829 x 4/75 >= 0.8016",
        "[0.970991344",
    ):
        assert step in out
    ratio = math.gamma(49.5) / (math.sqrt(math.pi) * math.gamma(50))  # as a calculator does it
    assert round(ratio, 6) == 0.080393
    psi = (1e-5 * ratio) ** (2 / 98)
    missed = 2 * (2 / psi) / 100
    assert 0.75 < psi < 0.752
    assert missed <= 4 / 75
    assert 1 - missed - math.e * missed > 0.8016


@pytest.mark.parametrize(
    ("level", "failure", "degree"),
    [
        (1, "1e-3", 3),
        *(pytest.param(*cell, 5, marks=pytest.mark.slow) for cell in ((1, "1e-3"), (2, "1e-5"), (10, "1e-3"))),
    ],
)
def test_dimension_three_by_a_second_library(level: int, failure: str, degree: int) -> None:
    """mpmath integrates (p - e^eps q)_+ over the sphere and the radius; it shares nothing with the enclosures."""
    sigma = mpmath.pi / (mpmath.mpf(failure) * mpmath.sqrt(2 * level))

    def excess(r: mpmath.mpf) -> mpmath.mpf:
        def loss(t: mpmath.mpf) -> mpmath.mpf:
            u = 1 - 2 * r * t
            return u / (2 * sigma**2) + mpmath.log1p(u / r**2)

        if loss(mpmath.mpf(-1)) <= level:
            return mpmath.mpf(0)
        edge = mpmath.mpf(1)
        if loss(edge * (1 - mpmath.mpf(10) ** -15)) < level:
            edge = mpmath.findroot(lambda t: loss(t) - level, (-1, 1 - mpmath.mpf(10) ** -15), solver="anderson")
        inside = mpmath.quad(lambda t: -mpmath.expm1(level - loss(t)) / 2, [-1, edge])
        return inside * mpmath.sqrt(2 / mpmath.pi) / sigma * mpmath.exp(-(r**2) / (2 * sigma**2))

    stretch = mpmath.exp(mpmath.mpf(level) / 2)
    breaks = [mpmath.mpf(10) ** -9, 1 / (stretch + 1), 1 / (stretch - 1) + mpmath.mpf(10) ** -5]
    value = mpmath.quad(excess, breaks, maxdegree=degree)
    found = true_delta(printed_variance, 3, (Fraction(level), Fraction(failure)))
    assert abs(value / mpmath.mpf(found.lower) - 1) < 1e-4


def test_the_angle_at_the_output_by_simulation() -> None:
    """proof.errorA at M = 10: 200 000 draws against .513; a wrong formula would be off by more than 0.01 (9 sigma)."""
    rng, dim, size = np.random.default_rng(2306), 10, 200_000
    scale = printed_variance(dim, Fraction(1), Fraction(1, 100_000)).sqrt().nearest()
    direction = rng.standard_normal((size, dim))
    t = direction[:, 0] / np.linalg.norm(direction, axis=1)
    r = np.abs(scale * rng.standard_normal(size))
    sine_squared = (1 - t**2) / (1 + r**2 - 2 * r * t)
    assert abs(np.mean(sine_squared <= 2 / scale**2) - 0.5132) < 0.01
