"""Events of dp_accounting as exact losses: against its accountants where those are right, and where they are not."""

import json
import re
from typing import Any

import dp_accounting as dp
import pytest
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from dpverdict.audit import GaussianLoss, LaplaceLoss, compose, loss_from_event
from dpverdict.audit.exact.events import NEAREST, read_event
from dpverdict.audit.exact.exchange import loss_event
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.errors import InvalidValue

ADD, REPLACE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE, dp.NeighboringRelation.REPLACE_ONE
SAMPLED = dp.PoissonSampledDpEvent(0.25, dp.GaussianDpEvent(1.0))


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (dp.GaussianDpEvent(0.5), ADD),
        (dp.GaussianDpEvent(0.5), REPLACE),
        (dp.LaplaceDpEvent(0.5), ADD),
        (dp.SelfComposedDpEvent(dp.GaussianDpEvent(2.0), 9), ADD),
        (dp.ComposedDpEvent([dp.GaussianDpEvent(2.0), dp.LaplaceDpEvent(1.0), dp.NoOpDpEvent()]), ADD),
        (dp.dp_event.DiscreteLaplaceDpEvent(0.5, 1), ADD),
        (dp.RandomizedResponseDpEvent(0.5, 3), REPLACE),
        (SAMPLED, ADD),
        (dp.SelfComposedDpEvent(SAMPLED, 2), ADD),
    ],
    ids=str,
)
def test_the_profile_is_that_of_the_accountant_by_distributions(event: Any, relation: Any) -> None:
    books = PLDAccountant(relation)
    books.compose(event)
    for epsilon in (0.25, 1.0):
        theirs = books.get_delta(epsilon)
        assert loss_from_event(event, relation).delta(epsilon) == pytest.approx(theirs, rel=1e-3, abs=1e-9)


def test_the_renyi_accountants_number_under_replace_one_is_refuted() -> None:
    """google/differential-privacy, issue 378: what GaussianDpEvent(1) documents is 2-GDP under replace-one."""
    event = dp.GaussianDpEvent(1.0)
    books = RdpAccountant(neighboring_relation=REPLACE)
    books.compose(event)
    epsilon = books.get_epsilon(1e-5)
    if epsilon > 9.9:
        pytest.skip("issue 378 is fixed in this version of dp_accounting: drop it from the documentation")
    assert loss_from_event(event, REPLACE).certified_delta(epsilon).lower > 1e-5 * 1000
    assert loss_from_event(event, ADD).certified_delta(epsilon).upper <= 1e-5  # of a record added or removed it is true
    other = loss_from_event(event, REPLACE, noise_relative_to="difference")
    assert other.certified_delta(epsilon).upper <= 1e-5


def test_a_loss_goes_out_and_comes_back() -> None:
    for loss in (GaussianLoss("0.5"), LaplaceLoss(["0.5", "0.25"]), compose(GaussianLoss(1), LaplaceLoss([1]))):
        back = loss_from_event(loss_event(loss), ADD)
        assert repr(back) == repr(loss)


def test_json_says_the_same_and_is_read_exactly() -> None:
    text = json.dumps(
        {
            "class_name": "SelfComposedDpEvent",
            "count": 100,
            "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 0.1},
        }
    )
    loss = loss_from_event(text, "add-or-remove-one")
    assert repr(loss) == "GaussianLoss(mu=100)"
    assert repr(loss_from_event(json.loads(text), ADD)) != repr(loss)  # a float that is not quite one tenth
    assert read_event(json.dumps({"event": json.loads(text)})) == read_event(text)


def test_parts_of_one_sample_are_not_sampled_apart() -> None:
    parts = dp.ComposedDpEvent([dp.GaussianDpEvent(2.0)] * 4)
    together = loss_from_event(dp.PoissonSampledDpEvent(0.25, parts), ADD)
    apart = loss_from_event(dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.25, dp.GaussianDpEvent(2.0)), 4), ADD)
    assert together.delta(0.5) == pytest.approx(loss_from_event(SAMPLED, ADD).delta(0.5), rel=1e-12)
    assert apart.delta(0.5) < 0.9 * together.delta(0.5)


def test_nothing_and_everything() -> None:
    assert loss_from_event(dp.NoOpDpEvent(), ADD).delta(0) == 0
    assert loss_from_event(dp.SelfComposedDpEvent(dp.GaussianDpEvent(1), 0), ADD).delta(0) == 0
    assert loss_from_event(dp.NonPrivateDpEvent(), ADD).delta(5) == 1
    assert loss_from_event(dp.GaussianDpEvent(0), ADD).delta(5) == 1


@pytest.mark.parametrize(
    ("event", "relation", "where"),
    [
        (dp.ComposedDpEvent([dp.NoOpDpEvent(), dp.UnsupportedDpEvent()]), ADD, r"event.events\[1\]"),
        (SAMPLED, REPLACE, "event='PoissonSampledDpEvent"),
        (dp.RandomizedResponseDpEvent(0.5, 3), ADD, "RandomizedResponseDpEvent"),
        (dp.dp_event.DiscreteLaplaceDpEvent(0.5, 3), ADD, "DiscreteLaplaceDpEvent"),
        (dp.SampledWithoutReplacementDpEvent(10, 2, dp.GaussianDpEvent(1)), REPLACE, "SampledWithoutReplacement"),
        (dp.GaussianDpEvent(-1), ADD, "event.noise_multiplier"),
        (dp.SelfComposedDpEvent(dp.GaussianDpEvent(1), 2.5), ADD, "event.count"),
        ({"class_name": "GaussianDpEvent"}, ADD, "event.noise_multiplier"),
        ({"class_name": "ComposedDpEvent", "events": 3}, ADD, "event.events"),
        ({"noise_multiplier": 1}, ADD, "event"),
        (3, ADD, "event"),
        ("{", ADD, "event"),
        ("[1]", ADD, "event"),
        (dp.GaussianDpEvent(1), "neighbours", "relation"),
        (dp.GaussianDpEvent(1), 3, "relation"),
    ],
    ids=str,
)
def test_what_is_not_known_exactly_is_refused_with_its_place(event: Any, relation: Any, where: str) -> None:
    with pytest.raises(InvalidValue, match=where):
        loss_from_event(event, relation)


@pytest.mark.parametrize("name", NEAREST)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_an_event_without_a_pair_is_refused_with_what_is_nearest_to_it(name: str, relation: Any) -> None:
    assert hasattr(dp.dp_event, name)
    inside = {"class_name": "SelfComposedDpEvent", "count": 3, "event": {"class_name": name}}
    with pytest.raises(InvalidValue, match=re.escape(NEAREST[name])) as refused:
        loss_from_event(inside, relation)
    assert str(refused.value).startswith(f"event.event={name!r}")


def test_the_event_inside_bounds_a_batch_of_fixed_size() -> None:
    # one of the records 1, 0 is drawn, against one of 0, 0, and answered rightly with probability 3/4
    drawn, inside = (["1/2", "1/2"], ["1/4", "3/4"]), loss_from_event(dp.RandomizedResponseDpEvent(0.5, 2), REPLACE)
    for sampled in (FiniteLoss(*drawn), FiniteLoss(*drawn[::-1])):
        for epsilon in ("0", "0.3", "0.9"):
            assert sampled.certified_delta(epsilon).upper <= inside.certified_delta(epsilon).lower
