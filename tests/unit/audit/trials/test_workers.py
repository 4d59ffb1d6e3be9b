"""What a worker does with a task, and what it does in a process of an audit on a machine that others use too."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from dpverdict.audit.trials import engines, workers
from dpverdict.audit.trials.workers import Audit, carry_out, carry_out_in_subprocess, end_processes, unpacked
from dpverdict.errors import MechanismFailure

PACKED = engines._packed_function  # the functions of this file travel by value


@pytest.fixture
def audit() -> Iterator[Audit]:
    made = Audit(token=os.urandom(8).hex(), what="mine", deadline=time.time() + 300, memory=None)
    yield made
    end_processes(made.token)
    assert not [place for place in workers._KEPT if place[0] == made.token]


def where(task: int) -> tuple[int, int]:
    return task, os.getpid()


def exits(task: int) -> int:
    sys.exit(0)


def ends(task: int) -> None:
    os._exit(0)


def raises(task: int) -> None:
    raise ValueError(task)


def gives_a_lock(task: int) -> object:
    import threading

    return threading.Lock()


def replaces(task: int) -> int:
    np.exp = None  # type: ignore[assignment]
    return task


def replaces_and_raises(task: int) -> int:
    np.exp = None  # type: ignore[assignment]
    raise ValueError(task)


def replaces_late(task: int) -> int:
    """Replaces a function of a module that this process may not have needed so far."""
    if task == 30:
        from dpverdict.numerics import text

        vars(text)["decimal"] = lambda number, digits=12: "1"
    return task


def test_a_task_is_carried_out_here() -> None:
    assert carry_out(PACKED(where), PACKED(3)) == (3, os.getpid())
    with pytest.raises(MechanismFailure, match="SystemExit"):
        carry_out(PACKED(exits), PACKED(3))


def test_a_task_of_an_audit_runs_elsewhere_and_its_process_is_kept(audit: Audit) -> None:
    first, second = (unpacked(carry_out_in_subprocess(audit, PACKED(where), PACKED(i))) for i in (1, 2))
    assert (first[0], second[0]) == (1, 2)
    assert first[1] == second[1] != os.getpid()
    with pytest.raises(ValueError, match="7"):
        unpacked(carry_out_in_subprocess(audit, PACKED(raises), PACKED(7)))
    with pytest.raises(MechanismFailure, match="SystemExit"):
        unpacked(carry_out_in_subprocess(audit, PACKED(exits), PACKED(7)))
    with pytest.raises(MechanismFailure, match="cannot be sent"):
        unpacked(carry_out_in_subprocess(audit, PACKED(gives_a_lock), PACKED(7)))
    assert unpacked(carry_out_in_subprocess(audit, PACKED(where), PACKED(8)))[1] == first[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("raising", [True, False])
def test_what_a_task_replaces_is_named_whatever_the_task_ends_in(audit: Audit, raising: bool) -> None:
    replacing = replaces_and_raises if raising else replaces
    with pytest.raises(MechanismFailure, match=rf"{replacing.__name__} replaced numpy\.exp, on which"):
        unpacked(carry_out_in_subprocess(audit, PACKED(replacing), PACKED(5)))
    with pytest.raises(MechanismFailure, match=r"replaced numpy\.exp"):  # it stays replaced there
        unpacked(carry_out_in_subprocess(audit, PACKED(where), PACKED(6)))
    assert np.exp(0.0) == 1.0


def test_a_worker_process_compares_too() -> None:
    engine = engines.Processes(2)
    try:
        assert sum(engine.map(replaces_late, range(20))) == 190
        with pytest.raises(MechanismFailure, match=r"replaces_late replaced dpverdict\.numerics\.text\.decimal"):
            list(engine.map(replaces_late, range(20, 60)))
    finally:
        engine.close()


def test_a_process_that_ends_is_named_and_the_next_task_has_a_new_one(audit: Audit) -> None:
    with pytest.raises(MechanismFailure, match="mine ended its process"):
        carry_out_in_subprocess(audit, PACKED(ends), PACKED(1))
    assert unpacked(carry_out_in_subprocess(audit, PACKED(where), PACKED(2)))[0] == 2


SCRIPT = """
import time
from dpverdict.audit.trials.engines import Processes
import os

def pid(task):
    return os.getpid()

if __name__ == "__main__":
    engine = Processes(2)
    print(*set(engine.map(pid, range(40))), flush=True)
    time.sleep(100)
"""


def test_a_worker_ends_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, encoding="ascii")
    assert parent.stdout is not None
    found = [int(one) for one in parent.stdout.readline().split()]
    assert found
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{one}") for one in found):
        assert time.monotonic() < deadline
        time.sleep(0.1)
