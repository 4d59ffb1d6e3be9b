"""Every result that a public function returns is a card in a notebook, with what to do next."""

import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import logistic

from dpverdict import audit
from dpverdict.audit import (
    Column,
    Odometer,
    additive_noise_loss,
    calibrate,
    find_float_leak,
    held_to,
    read_witness,
    search_records,
    shuffled_batches,
    worst_case,
)
from dpverdict.audit.batches.claim import read_claim
from dpverdict.audit.batches.drawn import draw_batches
from dpverdict.audit.batches.sampler_audit import audit_batches
from dpverdict.audit.comparisons.at_one_claim import compare_mechanisms
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.runs.replay import Replay
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.scales import needed_noise
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, CorrelatedGaussian, GaussianMechanism, PureDP

NO_CARDS = {
    "Enclosure": "a number, which its text shows",
    "PldPair": "two objects of dp_accounting",
    "GreyBoxFinding": "one of a tuple, in a line",
    "NoneType": "nothing is returned",
    "dict": "a witness as it is written",
}
FURTHER = (compare_mechanisms, audit_batches, needed_noise, Odometer.account)
"""What is called by its room."""


def classes() -> dict[str, Any]:
    """Every class of the package that is loaded, by name."""
    modules = [module for name, module in sys.modules.items() if name.startswith("dpverdict.")]
    return {kind.__name__: kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}


def returned(function: Callable[..., Any]) -> set[type]:
    """The classes that a function says it returns, those of a union and of a tuple too."""
    said = inspect.unwrap(function).__annotations__["return"]
    found: set[type] = set()
    todo = [eval(said, {**classes(), "Any": Any}) if isinstance(said, str) else said]
    while todo:
        one = todo.pop()
        if typing.get_origin(one) in (types.UnionType, typing.Union, tuple):
            todo += [part for part in typing.get_args(one) if part is not ...]
        else:
            found.add(type(None) if one is None else typing.get_origin(one) or one)
    return found


PUBLIC = [getattr(audit, name) for name in audit.__all__]
FUNCTIONS = [one for one in PUBLIC if inspect.isfunction(one)]
RESULTS = set().union(*map(returned, [*FUNCTIONS, *FURTHER]))


@pytest.mark.parametrize("kind", sorted(RESULTS, key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def test_every_result_is_a_card(kind: type) -> None:
    assert hasattr(kind, "_repr_html_") != (kind.__name__ in NO_CARDS)


def test_the_results_are_those_of_the_public_functions() -> None:
    names = {kind.__name__ for kind in RESULTS}
    assert len(RESULTS) > 20
    assert {"Verdict", "TracedVerdict", "Report", "Calibration", "SamplerAudit", "MechanismComparison"} <= names
    assert set(NO_CARDS) <= names


def batches(rate: str) -> Any:
    rng = np.random.default_rng(1)
    drawn = draw_batches(
        lambda: [np.flatnonzero(rng.random(50) < 0.2) for _ in range(300)], batches=300, records=50, seed=1
    )
    return audit_batches(drawn, read_claim("poisson", rate, None), error_probability=1e-9)


def needed() -> Any:
    schema = TableSchema.from_toml(
        'relation = "add-or-remove-one"\ntable = "pandas"\n[columns.age]\ntype = "int"\nlow = 0\nhigh = 120\n'
    )

    def ages(people: Any, rng: np.random.Generator) -> Any:
        return people.age.sum() + rng.laplace(scale=60)

    return needed_noise(ages, "eps=1", schema=schema, name="<ages>")


def replayed() -> Replay:
    return Replay(
        refuted=True, kind="event", claim=PureDP(1), mechanism="<m>", p_value=1e-9, level=1e-6, trials=100, seed=1,
        found="x > 3", same_source=True,
    )  # fmt: skip


def noisy(dataset: Any, rng: np.random.Generator) -> Any:
    return dataset.sum(axis=0) + rng.laplace(size=2)


CARDS: list[tuple[str, Callable[[], Any], str]] = [
    ("worst case", lambda: worst_case(CorrelatedGaussian(dim=4, mu=1)), "worst neighbours differ in"),
    (
        "calibration",
        lambda: calibrate(lambda sigma: GaussianMechanism(sigma=sigma, sensitivity=1), "eps=1, delta=1e-6"),
        "sigma 4.224678889326836 keeps",
    ),
    (
        "shuffled batches",
        lambda: shuffled_batches(noise_multiplier="1", batches=10, epochs=1, relation="zero_out", shuffle="fresh"),
        "10 shuffled batches, noise 1",
    ),
    ("custom loss", lambda: additive_noise_loss(logistic(), 1.0, relative_error=1e-13), "not certified"),
    ("account", lambda: held_to(GaussianLoss(1), "mu=2"), "CERTIFIED: mu=2"),
    (
        "comparison",
        lambda: compare_mechanisms(["laplace", "gaussian"], {"dim": "1"}, "eps=1, delta=1e-6"),
        "smallest error is that of laplace",
    ),
    ("loader as claimed", lambda: batches("0.2"), "No deviation was found"),
    ("loader not as claimed", lambda: batches("0.4"), "REFUTED"),
    ("needed noise", needed, "&lt;ages&gt; keeps eps=1"),
    ("replay", replayed, "eps=1 refuted again for &lt;m&gt;"),
    (
        "search",
        lambda: search_records(
            noisy, "eps=1", columns=[Column()] * 2, adjacency=ADD_OR_REMOVE_ONE, samples=20000, seed=1
        ),
        "no evidence",
    ),
    (
        "float leak",
        lambda: find_float_leak(
            noisy, (np.ones((2, 2)), np.ones((1, 2))), "eps=1", error_probability=1e-6, samples=2000, seed=1, delta=0
        ),
        "float64 outputs refute eps=1",
    ),
]


@pytest.mark.parametrize(("make", "said"), [pytest.param(*case, id=name) for name, *case in CARDS])
def test_a_card_has_the_answer_and_the_next_step(make: Callable[[], Any], said: str) -> None:
    text = make()._repr_html_()
    assert said in text
    assert text.count("Next: ") == 1
    assert "<ages>" not in text
    assert "<m>" not in text


def test_a_result_without_a_card_is_found() -> None:
    def plain(x: int) -> dict[str, Any]:
        return {}

    assert returned(plain) == {dict}
    assert not hasattr(dict, "_repr_html_")
    assert dict in returned(read_witness)
