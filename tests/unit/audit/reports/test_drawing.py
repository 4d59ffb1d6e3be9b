"""The figures of a report: deterministic, self-contained, without colours or state of their own."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import numpy as np
import pytest

from dpverdict.audit.reports.drawing import (
    BAD,
    ROLES,
    Mark,
    PlotBox,
    PlotLine,
    covariance_figure,
    profile_figure,
    trade_off_figure,
)

ALPHAS = np.linspace(0, 1, 11)
LINE = PlotLine(x=ALPHAS, y=1 - ALPHAS, label="claimed")
DOTTED = PlotLine(x=ALPHAS, y=1 - ALPHAS, label="exact at the dots", dots=(ALPHAS[:3], 1 - ALPHAS[:3]))
BOX = PlotBox(0.1, 0.2, 0.7, 0.9)
WORST = Mark(x=0.5, y=0.2, label="worst violation", role=BAD, promised=0.5)


ZERO = PlotLine(x=ALPHAS, y=0 * ALPHAS, label="exact: 0 everywhere")


def drawings(name: str = "drawing") -> list[str]:
    return [
        trade_off_figure(claimed=LINE, exact=DOTTED, boxes=[BOX], marks=[WORST], name=name),
        trade_off_figure(claimed=LINE, exact=None, boxes=[], marks=[], name=name),
        profile_figure(claimed=LINE, exact=DOTTED, measured=LINE, marks=[WORST], floor=1e-12, name=name),
        profile_figure(claimed=LINE, exact=ZERO, measured=None, marks=[], floor=1e-12, name=name),
        covariance_figure(("ab.", "ba.", "..c"), letters={"a": "own <&>", "b": "shared", "c": "count"}, name=name),
    ]


def test_the_same_numbers_give_the_same_bytes() -> None:
    assert drawings() == drawings()


def test_the_settings_of_a_user_neither_change_a_figure_nor_are_changed_by_it() -> None:
    before = drawings()
    with mpl.rc_context({"font.size": 30.0, "svg.fonttype": "path", "axes.facecolor": "red"}):
        settings = dict(mpl.rcParams)
        assert drawings() == before
        assert dict(mpl.rcParams) == settings


@pytest.mark.parametrize("drawing", drawings())
def test_a_figure_is_well_formed_has_an_alternative_text_and_loads_nothing(drawing: str) -> None:
    root = ElementTree.fromstring(drawing)
    identifiers = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(identifiers) == len(set(identifiers))
    assert all(identifier is not None and identifier.startswith("drawing-") for identifier in identifiers)
    title, description = root[0], root[1]
    assert title.tag.endswith("title")
    assert description.tag.endswith("desc")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    references = re.findall(r'(?:href="|url\()([^")]*)', drawing)
    assert all(reference.startswith("#drawing-") for reference in references)
    assert {reference[1:] for reference in references} <= set(identifiers)


@pytest.mark.parametrize("drawing", drawings())
def test_every_colour_is_a_role(drawing: str) -> None:
    assert re.findall(r"(?:fill|stroke): (?!none|var\(|currentColor)[^;\"]*", drawing) == []
    assert not any(stand_in in drawing for stand_in in ROLES)
    assert "<style" not in drawing


def test_a_curve_that_is_zero_is_said_to_be() -> None:
    assert "exact: 0 everywhere" in drawings()[3]


def test_two_figures_on_a_page_share_no_identifier() -> None:
    first, second = (set(re.findall(r' id="([^"]*)"', drawings(name)[0])) for name in ("one", "two"))
    assert not first & second


def test_importing_the_report_does_not_import_matplotlib_or_jinja() -> None:
    script = (
        "import sys, dpverdict.audit.reports.html, dpverdict.audit.reports.to_json; "
        "print({'matplotlib', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_drawing_leaves_no_global_figure() -> None:
    script = """if True:
        import sys
        import numpy as np
        from dpverdict.audit.reports.drawing import PlotLine, profile_figure
        x = np.linspace(0, 1, 5)
        profile_figure(
            claimed=PlotLine(x=x, y=1 - x, label="claimed"), exact=None, measured=None, marks=[], floor=1e-12, name="a"
        )
        print("matplotlib.pyplot" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
