"""Mechanisms at one claim: each noise keeps it and less does not, errors are those of its noise, failures say why."""

import dataclasses
import html
import json
import math
import re

import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.audit.comparisons.at_one_claim import MechanismComparison, compare_mechanisms
from dpverdict.audit.exact.spending import held_to
from dpverdict.audit.exact.verdict import Status
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import StandardGaussian

NAMES = ["laplace", "gaussian", "standard-gaussian", "correlated-gaussian", "geometric"]
CLAIM = "eps=1, delta=1e-6"


@pytest.fixture(scope="module")
def found() -> MechanismComparison:
    return compare_mechanisms(NAMES, {"dim": "10"}, CLAIM, "0.001")


def test_every_noise_keeps_the_claim_and_a_little_less_does_not(found: MechanismComparison) -> None:
    assert {one.name for one in found.kept} == set(NAMES) - {"geometric"}
    for one in found.kept:
        assert held_to(one.loss, CLAIM).status is Status.CERTIFIED
    standard = next(one for one in found.kept if one.name == "standard-gaussian")
    assert standard.parameter == "mu"
    more = (
        StandardGaussian(dim=10, mu=standard.value * 1.001, adjacency=NeighboringRelation.ADD_OR_REMOVE_ONE)
        .privacy_bounds()
        .worst
    )
    assert more is not None
    assert held_to(more.loss, CLAIM).status is Status.REFUTED


def test_errors_are_those_of_the_noise(found: MechanismComparison) -> None:
    """Of a normal law E|x| is sd sqrt(2/pi), of a Laplace law of scale b the standard deviation is b sqrt 2."""
    by_name = {one.name: one for one in found.kept}
    laplace, gaussian = by_name["laplace"], by_name["gaussian"]
    assert laplace.standard_deviation == pytest.approx(laplace.value * math.sqrt(2), rel=0.02)
    assert laplace.errors[0] == pytest.approx(10 * laplace.value, rel=0.02)
    assert gaussian.standard_deviation == pytest.approx(gaussian.value, rel=0.02)
    assert gaussian.errors[0] == pytest.approx(10 * gaussian.value * math.sqrt(2 / math.pi), rel=0.02)
    deviations = [one.standard_deviation for one in found.kept]
    assert deviations == sorted(deviations)
    for one in found.kept:
        assert one.errors[2] <= one.errors[1] <= one.errors[0]


def test_the_table_is_short_and_narrow_and_says_why_one_is_left_out(found: MechanismComparison) -> None:
    lines = found.text().splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert "geometric: it does not release 10 numbers: it takes no --dim" in found.text()
    assert "right at most 1 time in" in found.text()
    fields = json.loads(found.json())
    assert [one["mechanism"] for one in fields["failed"]] == ["geometric"]


def test_the_page_has_both_curves_of_all_and_says_what_is_certified_of_each(found: MechanismComparison) -> None:
    page = found.page()
    drawings = re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) == 2
    assert "<script" not in page
    for one in found.kept:
        assert html.escape(one.statement).split(":")[0] in page
        for drawing in drawings:
            assert f">{one.name}" in drawing
            assert ">the claim<" in drawing
    assert '<body class="certified">' in dataclasses.replace(found, failed={}).page()
    none = dataclasses.replace(found, kept=(), failed={"gaussian": "it cannot"}, risks={}).page()
    assert '<body class="inconclusive">' in none
    assert "it cannot" in none
    assert "<svg" not in none


@pytest.mark.parametrize(
    ("names", "words", "name"),
    [
        ([], {}, "mechanisms"),
        (["nothing"], {}, "mechanism"),
        (["gaussian"], {"sigma": "1"}, "sigma"),
        (["gaussian"], {"horizon": "5"}, "horizon"),
    ],
)
def test_what_cannot_be_compared_is_refused(names: list[str], words: dict[str, str | None], name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        compare_mechanisms(names, words, CLAIM)


def test_a_claim_that_noise_cannot_keep_is_a_row_and_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "gaussian", "laplace", "--dim", "2", "--claim", "eps=1"]) == 3
    said = capsys.readouterr().out
    assert "gaussian: no amount of its noise keeps the claim" in said
    assert "laplace  scale 2" in said
