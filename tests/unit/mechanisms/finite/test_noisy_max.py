"""Report noisy max: its scales, and its three kinds of noise."""

import pytest

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, ExponentialMechanism, PermuteAndFlip, ReportNoisyMax


def test_the_scale_is_twice_that_of_scores_that_only_rise() -> None:
    scales = [
        ReportNoisyMax(options=3, epsilon="0.5", adjacency=adjacency, noise="laplace").scale
        for adjacency in (REPLACE_ONE, ADD_OR_REMOVE_ONE)
    ]
    assert scales == [4.0, 2.0]


def test_gumbel_and_exponential_noise_are_mechanisms_of_other_names() -> None:
    scores = [0, "1/2", 2]
    for noise, other in (("gumbel", ExponentialMechanism), ("exponential", PermuteAndFlip)):
        noisy = ReportNoisyMax(options=3, epsilon=1, adjacency=REPLACE_ONE, noise=noise)  # type: ignore[arg-type]
        named = other(options=3, epsilon=1, adjacency=REPLACE_ONE)
        assert noisy.weights(scores) == named.weights(scores)
        assert worst_case(noisy).loss.delta("0.3") == worst_case(named).loss.delta("0.3")
        assert noisy.describe()["noise"] == noise


def test_noise_of_another_name_is_refused() -> None:
    with pytest.raises(InvalidValue, match="noise='gauss' must be one of laplace, gumbel, exponential"):
        ReportNoisyMax(options=3, epsilon=1, adjacency=REPLACE_ONE, noise="gauss")  # type: ignore[arg-type]
