"""Work in a copy of this process: its answer comes back, and nothing else."""

import os
import time

import pytest

from dpverdict.audit.isolation.child import ChildFailed, in_a_child

HELD: list[int] = []


def test_an_answer_comes_back_and_what_was_changed_does_not() -> None:
    def work() -> int:
        HELD.append(1)
        return len(HELD)

    assert in_a_child(work, kind=int, seconds=60) == 1
    assert HELD == []


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: os._exit(3), "ended its process"),
        (lambda: "text", "text"),
        (lambda: time.sleep(60), "did not finish"),
    ],
)
def test_no_answer_is_an_error(work, said) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ChildFailed, match=said):
        in_a_child(work, kind=int, seconds=1.0)


def test_an_answer_of_any_size_comes_back() -> None:
    assert in_a_child(lambda: bytes(3_000_000), kind=bytes, seconds=60) == bytes(3_000_000)
