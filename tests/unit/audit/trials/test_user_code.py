"""Whatever ends user code is an error of ours; only Ctrl-C passes."""

import _thread
import contextlib
import signal
import threading
import time
from typing import NoReturn

import numpy as np
import pytest

from dpverdict.audit.trials.run import Sampler
from dpverdict.audit.trials.user_code import RanTooLong, guarded, in_own_error_state, limited, own_error_state
from dpverdict.errors import InvalidValue, MechanismFailure


def failure(said: str) -> MechanismFailure:
    return MechanismFailure("m", f"raised {said}", "mend it")


class Unspeakable(BaseException):
    def __str__(self) -> NoReturn:
        raise SystemExit(0)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (SystemExit(0), "SystemExit: 0"),
        (KeyboardInterrupt(), "KeyboardInterrupt:"),
        (ValueError("a\n b"), "ValueError: a b"),
        (Unspeakable(), "Unspeakable: .its message cannot be shown"),
    ],
)
@pytest.mark.parametrize("thread", [False, True])
def test_what_user_code_raises_is_told(raised: BaseException, said: str, thread: bool) -> None:
    def call() -> None:
        raise raised

    def audit() -> None:
        with pytest.raises(MechanismFailure, match=f"raised {said}"):
            guarded(call, failure)
        done.append(True)

    done: list[bool] = []
    if thread:
        worker = threading.Thread(target=audit)
        worker.start()
        worker.join()
    else:
        audit()
    assert done == [True]


def test_what_passes_is_left_as_it_is() -> None:
    own = InvalidValue("a", 1, "2", "mend it")

    def call() -> None:
        raise own

    with pytest.raises(InvalidValue) as caught:
        guarded(call, failure, passing=InvalidValue)
    assert caught.value is own
    assert guarded(lambda: 3, failure) == 3


def test_an_interrupt_by_the_user_is_no_error_of_the_code() -> None:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it

    def call() -> None:
        _thread.interrupt_main()  # what Ctrl-C does
        while True:
            pass

    try:
        with pytest.raises(KeyboardInterrupt):
            guarded(lambda: guarded(call, failure), failure)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, former)


def test_a_handler_that_user_code_sets_does_not_stay() -> None:
    former = signal.getsignal(signal.SIGINT)
    guarded(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), failure)
    assert signal.getsignal(signal.SIGINT) is former


def test_what_code_makes_of_floating_point_errors_holds_for_that_code_alone() -> None:
    ours = np.geterr()
    guarded(lambda: np.seterr(all="raise"), failure)
    assert np.geterr() == ours
    in_own_error_state(lambda: np.seterr(under="raise"))
    assert np.geterr() == ours
    with own_error_state():
        assert np.geterr()["under"] == "raise"  # from call to call
        np.seterr(**ours)
    seen: list[str] = []

    def strict(data: object, rng: np.random.Generator) -> float:
        seen.append(np.geterr()["under"])
        np.seterr(all="raise")
        return float(rng.laplace())

    sampler = Sampler.prepare(strict, np.ones((2, 1)), where="the dataset", seed=1)
    sampler.collect("a", 3)
    assert np.geterr() == ours
    assert set(seen[1:]) == {"raise"}
    in_own_error_state(lambda: np.seterr(**ours))


def never_ends() -> None:
    while True:
        with contextlib.suppress(Exception):  # the alarm is none
            time.sleep(0.01)


def test_a_call_that_does_not_end_is_ended_by_an_alarm() -> None:
    former = signal.getsignal(signal.SIGALRM)
    with pytest.raises(RanTooLong), limited(0.05):
        never_ends()
    assert signal.getsignal(signal.SIGALRM) is former
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_limit_around_another_counts_on() -> None:
    def others_first() -> None:
        with pytest.raises(RanTooLong), limited(0.05):
            never_ends()
        with limited(60):
            pass
        never_ends()

    with pytest.raises(RanTooLong), limited(0.3):
        others_first()


def test_no_alarm_rings_after_a_call_that_ended() -> None:
    with limited(0.02):
        pass
    time.sleep(0.05)


def test_in_another_thread_there_is_no_alarm() -> None:
    done = []

    def work() -> None:
        with limited(0.01):
            time.sleep(0.05)
        done.append(True)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert done == [True]
