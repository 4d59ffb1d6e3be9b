"""The privacy curves of a mechanism: every face holds the same numbers."""

import json

import numpy as np

from dpverdict.audit.comparisons.counter_errors import error_rows, error_sheet
from dpverdict.audit.comparisons.curves import certified_curves, curves_csv, curves_json, curves_picture
from dpverdict.mechanisms.streams.tree_counter import TreeCounter


def test_the_privacy_curves_of_a_counter_have_every_face() -> None:
    counter = TreeCounter(horizon=100, epsilon=1, arity=3)
    curves, more = certified_curves(counter, points=3), error_rows(counter, points=3)
    content = json.loads(curves_json(curves, more))
    assert [curve["curve"] for curve in content["curves"]] == ["delta(epsilon)", "beta(alpha)"]
    assert content["errors"][-1]["argument"] == 100
    assert curves_csv(curves, more).endswith("\n")
    assert len(curves_csv(curves, more).splitlines()) == 1 + 6 + len(more)
    sheet = error_sheet(counter, points=3)
    assert sheet is not None
    assert curves_picture(curves, "svg", sheet.panels).startswith(b"<?xml")
    for curve in (curves.drawn[0], curves.drawn[1]):
        assert np.isfinite(curve.exact).all()
    assert np.all(curves.drawn[0].exact <= curves.drawn[0].claimed + 1e-12)
