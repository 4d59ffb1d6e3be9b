"""The guard: frames only the runner can sign, pipes that are waited for, and copies that a fork makes and that end."""

import os
import subprocess
import sys
import time

import pytest

from dpverdict.audit.isolation import guard
from dpverdict.audit.isolation.guard import digest, readable

COPIES = """
import os
from dpverdict.audit.isolation.guard import end_forked_copies

def of_the_user():
    if os.fork() == 0:
        return "the copy comes back"
    os.wait()
    return "the first comes back"

end_forked_copies() if {guarded} else None
call = {{"__name__": "dpverdict.pretended", "of_the_user": of_the_user}}
exec("def package():\\n    print(of_the_user(), flush=True)", call)
call["package"]()
"""


def test_only_who_knows_the_nonce_signs_a_frame() -> None:
    assert digest(b"nonce", b"text") == digest(b"nonce", b"text")
    assert len({digest(b"nonce", b"text"), digest(b"other", b"text"), digest(b"nonce", b"test")}) == 3
    assert len(digest(b"nonce", b"")) == 32


def test_a_pipe_is_waited_for_no_longer_than_said() -> None:
    receive, send = os.pipe()
    try:
        with readable(receive) as ready:
            started = time.monotonic()
            assert not ready(0.05)
            assert time.monotonic() - started < 5
            os.write(send, b"x")
            assert ready(5)
    finally:
        os.close(receive)
        os.close(send)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize("guarded", [True, False])
def test_a_forked_copy_of_the_audit_ends_when_it_comes_back(guarded: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COPIES.format(guarded=guarded)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.count("the first comes back") == 1, done.stderr
    assert ("the copy comes back" in done.stdout) is not guarded


def test_the_guard_imports_nothing_but_the_standard_library() -> None:
    loaded = f"import runpy, sys; runpy.run_path({guard.__file__!r}, run_name='guard'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert not {"numpy", "flint", "dpverdict"} & set(done.stdout.split())
    assert "selectors" in done.stdout.split()
