"""The exponential mechanism: its rate under both relations, and its profile, tighter than that of pure DP."""

import numpy as np

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, ExponentialMechanism, parse_guarantee


def test_the_rate_is_halved_where_scores_may_fall() -> None:
    replaced = ExponentialMechanism(options=2, epsilon=1, adjacency=REPLACE_ONE)
    added = ExponentialMechanism(options=2, epsilon=1, adjacency=ADD_OR_REMOVE_ONE)
    assert (replaced.noise.rate * 2, added.noise.rate) == (1, 1)
    np.testing.assert_allclose(added.probabilities([[1, 0]]), [np.e / (1 + np.e), 1 / (1 + np.e)], rtol=1e-15)


def test_bounded_range_certifies_what_pure_dp_does_not() -> None:
    mechanism = ExponentialMechanism(options=3, epsilon=1, adjacency=REPLACE_ONE)
    for claim, status in (
        ("eps=0.5, delta=0.0775", Status.CERTIFIED),
        ("eps=0.5, delta=0.0774", Status.REFUTED),
        ("rho=0.125", Status.CERTIFIED),
        ("rho=0.12", Status.REFUTED),
        ("eps=0.99", Status.REFUTED),
    ):
        assert certify(mechanism, parse_guarantee(claim)).status is status, claim


def test_it_is_described() -> None:
    said = ExponentialMechanism(options=3, epsilon=1, adjacency=REPLACE_ONE).describe()
    assert (said["options"], said["scale"], said["claim"]) == ("3", "2.0", "eps=1")
