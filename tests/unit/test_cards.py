"""The card of a notebook: a badge, a sentence, a table for each kind of evidence, and no markup of a user's.

What `PrivacyLoss.plot` draws is what the loss and the claim say, on the caller's axes or on new ones.
"""

import html
import re

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverdict.audit import GaussianLoss, LaplaceLoss, SphericalLoss, certify, compose
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.cards import DECISIONS, MARKS, NEXT_STEPS, STATUS_COLORS, card
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import CorrelatedGaussian, GaussianDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.sources import reached


def shown(status: str = "CERTIFIED", **changes: object) -> str:
    evidence = {"exact": {"mu": "[0.9, 1]"}, "statistical": {}}
    return card(
        **{"status": status, "name": "m", "claim": "mu=1", "answer": "It holds.", "evidence": evidence, **changes}
    )


@pytest.mark.parametrize("status", sorted(MARKS))
def test_the_badge_says_the_status_in_words_and_colour(status: str) -> None:
    text = shown(status)
    assert f"{MARKS[status]} {status}: {DECISIONS[status]}</span>" in text
    assert STATUS_COLORS[status] in text
    assert not any(other in text for other in MARKS.keys() - {status})


@pytest.mark.parametrize("status", sorted(MARKS))
def test_a_card_says_the_next_step_of_its_status_alone(status: str) -> None:
    text = shown(status)
    assert [name for name, step in NEXT_STEPS.items() if html.escape(step) in text] == [status]
    assert "loss.risk(" in GaussianLoss(1)._repr_html_()


def test_a_kind_of_evidence_without_values_has_no_table() -> None:
    text = shown()
    assert re.findall(r"<caption[^>]*>([^<]*)</caption>", text) == ["exact"]
    assert shown(evidence={}).count("<table") == 0
    assert shown(evidence={"exact": {"a": "1"}, "statistical": {"b": "2"}}).count("<table") == 2


@pytest.mark.parametrize("place", ["name", "claim", "answer"])
def test_no_text_of_a_user_becomes_markup(place: str) -> None:
    text = shown(**{place: "<script>alert(1)</script>"})
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<b>" not in shown(evidence={"<b>": {"<b>": "<b>"}})


def test_the_words_stand_out_from_their_ground() -> None:
    """White on each colour, by the contrast ratio of WCAG 2: at least 4.5."""
    for ground in STATUS_COLORS.values():
        parts = [int(ground[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5


def lines(axes: Axes) -> dict[str, tuple[Array, Array]]:
    return {str(line.get_label()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines}


def test_the_curves_are_those_of_the_losses_and_of_the_claims() -> None:
    loss, other = LaplaceLoss(["1"]), GaussianLoss(2)
    trade_off, profile = loss.plot(other, "mu=3", GaussianDP(1), axes=list(Figure().subplots(1, 2)))
    drawn, profiles = lines(trade_off), lines(profile)
    assert list(drawn) == list(profiles) == [repr(loss), repr(other), "mu=3", "mu=1"]
    alphas, betas = drawn[repr(other)]
    assert np.array_equal(betas, other.beta(alphas))
    epsilons, deltas = profiles["mu=3"]
    assert np.array_equal(deltas, GaussianDP(3).delta_upper(epsilons))
    assert epsilons[-1] > 20  # as far as the widest of them reaches
    dashed = {str(line.get_label()): line.get_linestyle() == "--" for line in trade_off.lines}
    assert dashed == {repr(loss): False, repr(other): False, "mu=3": True, "mu=1": True}


def test_new_axes_are_made_and_labels_taken() -> None:
    trade_off, profile = GaussianLoss(1).plot(GaussianLoss(2), labels=["ours", "theirs"])
    assert list(lines(trade_off)) == ["ours", "theirs"]
    assert trade_off.figure is profile.figure
    pyplot.close(trade_off.figure)  # type: ignore[arg-type]  # a figure of pyplot


@pytest.mark.parametrize(
    ("others", "given"),
    [((3,), {}), (("mu",), {}), ((), {"labels": ["a", "b"]}), ((), {"axes": []})],
)
def test_what_cannot_be_drawn_is_refused(others: tuple[object, ...], given: dict[str, list[object]]) -> None:
    with pytest.raises(InvalidValue):
        GaussianLoss(1).plot(*others, **given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_slow_loss_goes_through_its_dots() -> None:
    loss = SphericalLoss(100, RandomDirectionGaussian("0.1"))
    trade_off, _ = loss.plot(axes=list(Figure().subplots(1, 2)))
    curve, dots = trade_off.lines
    assert "exact at the dots" in str(curve.get_label())
    points = loss.through_points(1e-12)
    assert points is not None
    assert np.array_equal(np.asarray(dots.get_xdata()), points.alphas)
    drawn = points.beta(points.alphas)
    inside = (points.betas > 1e-12) & (points.betas < 1 - 1e-12)
    assert np.allclose(drawn[inside], points.betas[inside], rtol=1e-6)
    assert np.isnan(points.beta(np.array([0.0, 1.0]))).all()


def test_a_loss_times_a_number_is_that_many_releases() -> None:
    loss = GaussianLoss("0.1")
    assert repr(loss * 100) == repr(100 * loss) == "GaussianLoss(mu=1)"
    assert repr(LaplaceLoss(["1"]) * 3) == repr(compose(*[LaplaceLoss(["1"])] * 3))
    assert repr(loss * 0) == "GaussianLoss(mu=0)"
    for times in (-1, 1.5, "2"):
        with pytest.raises(InvalidValue):
            loss * times  # type: ignore[operator]


def test_no_certificate_of_a_loss_rests_on_every_other_loss() -> None:
    """A method that named `compose` would tie the source hash of each statement to all of them."""
    found = reached(GaussianLoss(1), data=True)
    assert GaussianLoss in found
    assert compose_counted not in found
    assert LaplaceLoss not in found


def test_what_is_printed_is_a_line_and_what_a_notebook_shows_has_the_curves() -> None:
    loss = GaussianLoss(1)
    assert str(loss) == "GaussianLoss(mu=1): epsilon 4.89 at delta 1e-6"
    long = LaplaceLoss([f"0.{'1' * 50}{n}" for n in range(1, 4)])
    assert len(repr(long)) > 90 > len(str(long))
    verdict = certify(CorrelatedGaussian(dim=3, mu=1), "mu=2")
    assert str(verdict) == verdict.summary()
    for text in (loss._repr_html_(), verdict._repr_html_()):
        assert text.count("data:image/svg+xml;base64,") == 1
