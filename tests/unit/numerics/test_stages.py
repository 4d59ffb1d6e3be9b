"""Stages are told to the innermost watcher, and to nobody outside."""

import re
import sys
import time
import types

import pytest

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
