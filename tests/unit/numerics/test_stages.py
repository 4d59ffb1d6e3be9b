"""Stages are told to the innermost watcher, and to nobody outside."""

from dpverdict.numerics.stages import begin_stage, watched_by


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
