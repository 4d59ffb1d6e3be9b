"""Pictures: the same bytes each time, with every title and label."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from dpverdict.audit.comparisons.counters import counter_comparison
from dpverdict.audit.comparisons.ellipses import constant_sheet
from dpverdict.audit.comparisons.picture import draw_picture

COUNTERS = counter_comparison(horizon=2**20, epsilon=1, delta="1e-6", points=5)
CONSTANTS = constant_sheet(dim=10_000, points=5)


def test_pictures_are_the_same_bytes_each_time() -> None:
    for kind in ("png", "svg"):
        first, second = (draw_picture(CONSTANTS.title, CONSTANTS.panels[:1], kind=kind) for _ in range(2))  # type: ignore[arg-type]
        assert first == second
        assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[kind])
    root = ElementTree.fromstring(draw_picture("three", COUNTERS.panels[:3], kind="svg"))
    written = " ".join("".join(node.itertext()) for node in root.iter() if node.tag.endswith("text"))
    for panel in COUNTERS.panels[:3]:
        assert panel.title in written
        assert all(curve.label in written for curve in panel.curves)


def test_matplotlib_is_imported_for_a_picture_alone() -> None:
    script = (
        "import sys; from dpverdict.audit.comparisons.named_curves import find_comparison; "
        "from dpverdict.audit.comparisons import curves, counter_errors, picture; "
        "find_comparison('ellipses', {'dim': '5'}, points=3); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
