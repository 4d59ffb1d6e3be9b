"""The standard Gaussian: its scale, under every calibration."""

import math

from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    StandardGaussian,
)


def test_calibrations_of_the_standard_mechanism_are_scaled_by_the_sensitivity() -> None:
    classic = StandardGaussian.classic(dim=4, epsilon=1, delta="1e-5", adjacency=ADD_OR_REMOVE_ONE)
    assert math.isclose(classic.scale, 2 * math.sqrt(2 * math.log(1.25e5)), rel_tol=1e-14)
    analytic = StandardGaussian.analytic(dim=4, epsilon=1, delta="1e-5", adjacency=REPLACE_ONE)
    assert math.isclose(analytic.scale, 2 * 3.730631634816464, rel_tol=1e-9)
    assert analytic.adjacency is REPLACE_ONE
