"""Stages are told to the innermost watcher, and to nobody outside."""

import re
import sys
import time
import types

import pytest

from dpverdict.audit import calibrate, certify, worst_case
from dpverdict.mechanisms import GaussianMechanism
from dpverdict.mechanisms.core.bounds import Bounds
from dpverdict.numerics import stages
from dpverdict.numerics.stages import begin_stage, shown_in_a_notebook, tell_progress, watched_by


def test_the_innermost_watcher_is_told_and_nobody_afterwards() -> None:
    outer: list[str] = []
    inner: list[str] = []
    begin_stage("unseen")
    with watched_by(outer.append):
        begin_stage("one")
        with watched_by(inner.append):
            begin_stage("two")
        begin_stage("three")
    begin_stage("unseen")
    assert (outer, inner) == (["one", "three"], ["two"])


class FakeHandle:
    def __init__(self, shown: list[str]) -> None:
        self._shown = shown

    def update(self, markup: str) -> None:
        self._shown.append(markup)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook displays, of a fake one in which this process is a kernel."""
    shown: list[str] = []

    def display(markup: str, *, display_id: bool = False) -> FakeHandle:
        shown.append(markup)
        return FakeHandle(shown)

    kernel = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(HTML=str, display=display))
    return shown


@shown_in_a_notebook("work & more")
def work(seconds: float) -> int:
    for done in range(4):
        time.sleep(seconds / 4)
        tell_progress(done + 1, 4)
    return 7


def test_a_notebook_shows_long_work_and_nothing_of_it_afterwards(
    notebook: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert work(0.0) == 7
    assert notebook == []  # what is done at once needs no bar
    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    monkeypatch.setattr(stages, "_EVERY", 0.0)
    assert work(0.01) == 7
    assert [re.findall(r"\d+ %", one) for one in notebook] == [["25 %"], ["50 %"], ["75 %"], ["100 %"], []]
    assert "work &amp; more" in notebook[0]
    assert notebook[-1] == ""


def test_the_bar_goes_when_the_work_fails(notebook: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    @shown_in_a_notebook("work")
    def failing() -> None:
        begin_stage("a stage")
        raise KeyboardInterrupt

    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    with pytest.raises(KeyboardInterrupt):
        failing()
    assert "a stage" in notebook[0]
    assert notebook[-1] == ""


def test_nothing_is_shown_where_somebody_else_watches_or_there_is_no_notebook(
    notebook: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    with watched_by(lambda stage: None):
        assert work(0.0) == 7
    assert notebook == []
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert work(0.0) == 7
    assert notebook == []


def test_work_that_tells_nothing_shows_a_bar_too(notebook: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PATIENCE", 0.01)
    monkeypatch.setattr(stages, "_TICK", 0.02)

    @shown_in_a_notebook("silent work")
    def silent() -> None:
        wait_for(notebook)

    silent()
    assert "silent work" in notebook[0]
    assert notebook[-1] == ""
    drawn = len(notebook)
    time.sleep(0.1)
    assert len(notebook) == drawn  # nothing is drawn after the end


def wait_for(shown: list[str]) -> None:
    until = time.monotonic() + 10
    while not shown and time.monotonic() < until:
        time.sleep(0.01)


SLOW = {
    "exact verdict": lambda make: certify(make(1.0), "mu=1"),
    "worst neighbours": lambda make: worst_case(make(1.0)),
    "least noise": lambda make: calibrate(make, "mu=1"),
}


@pytest.mark.parametrize("what", SLOW)
def test_what_takes_long_shows_a_bar_in_a_notebook(
    what: str, notebook: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bounds of the mechanism wait until something is shown."""
    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    monkeypatch.setattr(stages, "_TICK", 0.01)
    stated = GaussianMechanism.privacy_bounds

    def slow(mechanism: GaussianMechanism) -> Bounds:
        wait_for(notebook)
        return stated(mechanism)

    monkeypatch.setattr(GaussianMechanism, "privacy_bounds", slow)
    SLOW[what](lambda sigma: GaussianMechanism(sigma=sigma, sensitivity=1))
    assert what in notebook[0]
    assert notebook[-1] == ""
