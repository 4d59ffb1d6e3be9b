"""A mechanism that states its bounds is one file: known by a bound and one pair (`alarm.py`), or exactly (`coin.py`).

Verdicts, reports, calibration, compositions, plans, curves and odometers take them as they are; what they state wrongly
is found where it contradicts itself or what it releases.
"""

import importlib.util
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from dpverdict.audit.comparisons.curves import certified_curves
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.calibrate import calibrate
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.spending import Odometer
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.runs.audits import Sampling, audit_mechanism
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import AttainedLoss, Bounds, Dominating, MuBound, WorstPair
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.numerics.arrays import Array

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"stated_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Alarm, Coin = load("alarm").Alarm, load("coin").Coin
RATE = 0.5
ATTAINED = (1 - math.exp(-RATE)) / 2  # delta(0) of the pair of an alarm of scale 2
BOUND = 1 - math.exp(-RATE / 2)  # and of the noisy count


# from one side, and from both -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        (None, Status.CERTIFIED),
        ("eps=0.5", Status.CERTIFIED),
        ("eps=0.4", Status.REFUTED),
        (f"eps=0, delta={BOUND + 1e-9}", Status.CERTIFIED),
        (f"eps=0, delta={BOUND - 1e-9}", Status.INCONCLUSIVE),
        (f"eps=0, delta={ATTAINED + 1e-9}", Status.INCONCLUSIVE),
        (f"eps=0, delta={ATTAINED - 1e-9}", Status.REFUTED),
        ("order=2, eps=0.5", Status.CERTIFIED),
        ("order=2, eps=0.001", Status.REFUTED),
        ("rho=0.001", Status.REFUTED),
        ("mu=0.1", Status.REFUTED),
    ],
)
def test_a_bound_certifies_an_attained_pair_refutes_and_between_them_nothing_is_said(
    claim: Any, status: Status
) -> None:
    verdict = certify(Alarm(scale=2), claim)
    assert verdict.status is status
    if status is Status.CERTIFIED:
        assert verdict.certificate is not None
        assert verdict.certificate.worst_case.startswith("the alarm is a function of the noisy count")
        assert "that what it states from above holds" in verdict.trust
    if status is Status.REFUTED:
        assert verdict.witness is not None
        assert verdict.witness.event.startswith("the outcome is one of: it ")
        assert (len(verdict.witness.pair.dataset), len(verdict.witness.pair.neighbour)) == (3, 2)
        assert "attains what it states" in verdict.trust


def test_what_is_undecided_is_told_from_both_sides() -> None:
    verdict = certify(Alarm(scale=2), "eps=0.305, delta=0.09")
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason is not None
    said = [float(part.split(",")[0]) for part in verdict.reason.split("; from above")[0].split("= ")[2:]]
    assert said == pytest.approx([0.5 + 2 * math.log(0.91), math.log(0.82 * math.exp(0.5))], abs=2e-4)
    assert "and between them undecided; from above: " in verdict.reason
    assert "; from below: " in verdict.reason


def test_an_exact_pair_decides_every_claim() -> None:
    coin = Coin(show="0.25")
    assert certify(coin).status is Status.CERTIFIED
    assert certify(coin, "eps=0, delta=0.2499999").status is Status.REFUTED
    largest = math.log(1.25 / 0.75)
    assert certify(coin, f"eps={largest + 1e-9}").status is Status.CERTIFIED
    assert certify(coin, f"eps={largest - 1e-9}").status is Status.REFUTED
    worst = worst_case(coin)
    assert worst.exact
    assert worst.loss.delta(0) == pytest.approx(0.25)
    assert not worst_case(Alarm(scale=2)).exact


@pytest.mark.parametrize("mechanism", [Alarm(scale=2), Coin(show="0.25")], ids=["alarm", "coin"])
def test_reports_curves_and_tests_take_it_as_it_is(mechanism: StructuredMechanism, seed: int) -> None:
    sampling = Sampling(samples=2_000, error_probability=1e-9, seed=seed)
    report = audit_mechanism(mechanism, sampling=sampling)
    assert report.status is Status.CERTIFIED
    assert report.test is not None
    assert not report.test.refuted
    curves = certified_curves(mechanism, points=3)
    assert curves is not None
    pair = worst_case(mechanism).pair
    found = distinguish(mechanism, pair, "eps=0.01", error_probability=1e-6, samples=4_000, seed=seed)
    assert found.refuted
    with pytest.raises(InvalidValue, match="loss of every pair"):
        neighbour_loss(mechanism, [1.0], [0.0] if mechanism.name == "coin" else None)


# calibration and composition ------------------------------------------------------------------------------------------


def test_the_least_scale_is_that_of_the_bound_and_said_to_be_one() -> None:
    found = calibrate(lambda scale: Alarm(scale=scale), "eps=0.1, delta=0.1")
    assert 1 / found.scale == pytest.approx(0.1 - 2 * math.log(0.9))
    assert not found.attained
    assert found.broken.status is Status.INCONCLUSIVE
    assert "of a bound on what any neighbours attain" in found.summary()
    tight = calibrate(lambda scale: Alarm(scale=scale), "eps=0.5", releases=2)
    assert (tight.scale, tight.attained, tight.broken.status) == (4, True, Status.REFUTED)


def test_an_odometer_never_reports_a_bound_as_attained() -> None:
    def status(claim: str, count: int) -> Status:
        year = Odometer(claim)
        year.spend(Alarm(scale=2), count)
        return year.account().status

    assert status("eps=1", 2) is Status.CERTIFIED
    assert status("eps=0.99", 2) is Status.REFUTED
    assert status("eps=0, delta=0.242", 2) is Status.CERTIFIED
    assert status("eps=0, delta=0.24", 2) is Status.INCONCLUSIVE  # bounded by 0.2418, and 0.2354 is attained
    assert status("eps=0, delta=0.235", 2) is Status.REFUTED
    year = Odometer("eps=3")
    assert year.remaining(Alarm(scale=2)) == 6


def test_both_kinds_compose_with_other_losses() -> None:
    year = Odometer("eps=4, delta=0.3")
    year.spend(Alarm(scale=2), 3)
    year.spend(Coin(show="0.25"))
    year.spend(LaplaceLoss([1]))
    assert year.account().status is Status.CERTIFIED
    year.spend(GaussianLoss(3))
    assert year.account().status is not Status.CERTIFIED


# from the command line ------------------------------------------------------------------------------------------------


def test_a_file_is_audited_calibrated_composed_and_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = HERE / "alarm.py"
    plan = f'[[audit]]\nmechanism = "{file}:Alarm"\nscale = "2"\nexact_only = true\n'
    (tmp_path / "plan.toml").write_text(plan)
    for line, code, words in (
        (["audit", f"{file}:alarm", "--no-test", "--json", "out.json"], 0, "CERTIFIED"),
        (["audit", f"{file}:Alarm", "--scale", "2", "--claim", "eps=0.4", "--no-test"], 1, "REFUTED"),
        (["audit", f"{HERE / 'coin.py'}:coin", "--claim", "eps=0, delta=0.2", "--no-test"], 1, "REFUTED"),
        (["calibrate", f"{file}:Alarm", "--claim", "eps=0.5"], 0, "scale = 2.0"),
        (["compose", f"2 x {file}:Alarm scale=2", "--claim", "eps=1"], 0, "remaining: 0 more of it"),
        (["run", "plan.toml"], 0, ""),
    ):
        assert main(line) == code, line
        assert words in " ".join(capsys.readouterr().out.split())  # lines are broken at 80 columns
    assert json.loads((tmp_path / "out.json").read_text())["status"] == "CERTIFIED"


# planted faults -------------------------------------------------------------------------------------------------------


class TooLow(Alarm):  # type: ignore[misc, valid-type]
    """The bound of a scale twice as large."""

    def above(self) -> Sequence[Dominating]:
        return [Dominating(loss=LaplaceLoss([1 / (2 * self.scale)]), description="", justification="a slip")]


class Unattained(Alarm):  # type: ignore[misc, valid-type]
    """A pair that both sides of the level do not see: its releases are the same."""

    def below(self) -> Sequence[AttainedLoss]:
        (stated,) = super().below()
        return [replace(stated, pair=self.neighbours(np.ones((401, 1)), np.ones((400, 1))))]


class Refused(Alarm):  # type: ignore[misc, valid-type]
    """A pair of records that the mechanism does not take."""

    def below(self) -> Sequence[AttainedLoss]:
        (stated,) = super().below()
        return [replace(stated, pair=self.neighbours(np.full((2, 1), 7.0), np.full((1, 1), 7.0)))]


class Twice(Alarm):  # type: ignore[misc, valid-type]
    """A single release of another law than many."""

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        return 1 - super().release(dataset, rng)


def test_a_worst_pair_that_is_worse_in_the_other_order_is_found() -> None:
    class OneOrder(Coin):  # type: ignore[misc, valid-type]
        def above(self) -> Sequence[WorstPair]:
            (stated,) = super().above()
            return [replace(stated, loss=FiniteLoss(["0.1", "0.9"], ["0", "1"]).reversed())]

        below = above

    verdict = certify(OneOrder(show="0.25"), "eps=0.2, delta=0.05")
    assert verdict.status is Status.INCONCLUSIVE
    assert "and its bound for every pair is" in str(verdict.reason)


@pytest.mark.parametrize(
    ("kind", "claim", "words"),
    [
        (TooLow, "eps=0.3", "a pair attains delta(0) >= 0.196735, and its bound for every pair is 0.117503"),
        (Unattained, "eps=0.1", "are the same on both sides, for each of 95 seeds"),
        (Refused, "eps=0.5", "it refuses neighbours that it states"),
        (Twice, "eps=0.5", "release and release_many differ"),
    ],
)
def test_what_is_stated_wrongly_is_found(kind: Any, claim: str, words: str) -> None:
    verdict = certify(kind(scale=2), claim)
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason is not None
    assert words in verdict.reason


def test_a_pair_that_attains_its_loss_is_not_mistaken_for_one_that_does_not() -> None:
    for level in (1, 2, 5, 40):
        for scale in (1, 4, 16):
            assert certify(Alarm(scale=scale, level=level)).status is Status.CERTIFIED


def test_a_bound_that_is_wrong_is_refuted_by_the_releases(seed: int) -> None:
    class Wrong(TooLow):
        def below(self) -> Sequence[AttainedLoss]:
            (stated,) = super().below()
            return [replace(stated, loss=GaussianLoss(0))]

    wrong = Wrong(scale=2)
    wrong.claim = wrong.claim.__class__("0.25")
    assert certify(wrong).status is Status.CERTIFIED  # on trust
    report = audit_mechanism(wrong, sampling=Sampling(samples=20_000, error_probability=1e-6, seed=seed))
    assert report.status is Status.REFUTED


def test_a_mechanism_may_state_one_list_alone() -> None:
    class Above(Alarm):  # type: ignore[misc, valid-type]
        def below(self) -> Sequence[AttainedLoss]:
            return []

    class Below(Alarm):  # type: ignore[misc, valid-type]
        def above(self) -> Sequence[Dominating]:
            return []

    assert certify(Above(scale=2)).status is Status.CERTIFIED
    assert certify(Above(scale=2), "eps=0.4").status is Status.INCONCLUSIVE
    assert certify(Below(scale=2), "eps=0.4").status is Status.REFUTED
    nothing = certify(Below(scale=2), "eps=0.6")
    assert nothing.status is Status.INCONCLUSIVE
    assert nothing.reason == "nothing is stated of the mechanism that speaks of eps=0.6"
    assert worst_case(Below(scale=2)).loss.delta(3) == 1
    with pytest.raises(InvalidValue, match="what some pair attains"):
        worst_case(Above(scale=2))


def test_the_lists_are_walked_cheapest_first_and_a_worst_pair_once() -> None:
    (dominating,), (attained,) = Alarm(scale=2).above(), Alarm(scale=2).below()
    quick = MuBound(mu_squared=Fraction(1), source="by a test", because="it is tested")
    assert list(Bounds(above=(dominating, quick), below=(attained,)).by_cost()) == [dominating, quick, attained]
    assert list(Bounds(above=(quick, dominating), below=(attained,)).by_cost()) == [quick, dominating, attained]
    (worst,) = Coin(show="0.5").above()
    assert list(Bounds(above=(worst,), below=(worst,)).by_cost()) == [worst]
