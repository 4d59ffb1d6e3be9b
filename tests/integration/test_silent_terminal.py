"""No command is silent on a terminal for more than 2 seconds: what it prints is watched through a pseudo-terminal.

A gap is measured in the processor time of the command and its processes, so that a machine with much else to do does
not make it longer. The stages that are shown are named in tests/unit/cli/test_session.
"""

import os
import select
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the times of processes are not in /proc")

LONGEST = 2.0
CLOCK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
COMMANDS = [
    "calibrate gaussian --claim eps=1,delta=1e-6 --sensitivity 1",
    *(
        pytest.param(line, marks=pytest.mark.slow)
        for line in (
            "audit correlated-gaussian --dim 1000000 --mu 1",
            "audit dp-sgd --noise-multiplier 1 --rate 0.01 --steps 10000 --sampling poisson --no-test",
            "audit rank1-gaussian --dim 100 --epsilon 1 --delta 1e-5 --no-test --report out.html",
            "audit discrete-correlated-gaussian --dim 40 --rho 0.5 --no-test --json out.json",
            "audit tree-counter --horizon 10000000 --epsilon 1 --arity best --no-test",
            "audit release.py:noisy --neighbours pair.npz --claim eps=1 --samples 20000",
            "curve counters --horizon 1048576 --epsilon 1 --delta 1e-6",
            "prove ji2024",
        )
    ),
]


def times(root: int) -> dict[int, float]:
    """Seconds of processor time of a process and of all below it, by their numbers."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
        seconds[int(path.parent.name)] = sum(map(int, fields[11:13])) / CLOCK
    found = {root}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return {one: seconds[one] for one in found if one in seconds}


def longest_silence(run: Callable[[], object]) -> tuple[float, int]:
    """Of what runs on a terminal of its own: the most processor time between two things printed, and its exit code."""
    process, terminal = pty.fork()
    if process == 0:  # it never returns
        run()
        os._exit(1)
    longest, silence, before = 0.0, 0.0, dict[int, float]()
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        now = times(process)
        silence += sum(seconds - before.get(one, 0.0) for one, seconds in now.items())
        longest, before = max(longest, silence), now
        if ready:
            try:
                printed = os.read(terminal, 1 << 16)
            except OSError:  # the other end is closed
                printed = b""
            if not printed:
                break
            silence = 0.0
    os.close(terminal)
    return longest, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_never_silent_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    np.savez("pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    Path("release.py").write_text("def noisy(data, rng):\n    return data.sum() + rng.laplace()\n")
    program = [sys.executable, "-m", "dpverdict.cli", *shlex.split(command)]
    silence, code = longest_silence(lambda: os.execv(sys.executable, program))
    assert code in (0, 1, 3)
    assert silence <= LONGEST


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_planted_silence_is_measured() -> None:
    busy = "import time\nprint('begun', flush=True)\nwhile time.process_time() < 0.5: pass"
    silence, code = longest_silence(lambda: os.execv(sys.executable, [sys.executable, "-S", "-c", busy]))
    assert code == 0
    assert silence > 0.3
