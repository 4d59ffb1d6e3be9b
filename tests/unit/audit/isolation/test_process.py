"""A process of its own: what comes back is what was sent by it, and everything else that can happen is named."""

import hashlib
import json
import math
import os
import sys
import time
from pathlib import Path

import pytest

from dpverdict.audit.isolation.process import NO_LIMITS, Limits, parse_limits, parse_size, run_isolated, size_text
from dpverdict.errors import InvalidValue, MechanismFailure

WORK = '''
import ctypes, os, sys, threading, time

def answer(request, tell):
    tell(["half", 1, 2])
    return {"seen": request, "mine": os.getpid(), "folder": os.getcwd(), "path": sys.path}

def large(request, tell):
    return "x" * request["size"]

def signalled(request, tell):
    print("first"); print("the last words\\x1b[31m", flush=True)
    os.kill(os.getpid(), request["number"])

def hangs(request, tell):
    time.sleep(1000)

def forged(request, tell):
    """Whoever writes to every descriptor does not know the nonce."""
    for handle in range(3, 32):
        try:
            os.write(handle, (20).to_bytes(8, "big") + bytes(32) + b'["result", "forged"]')
        except OSError:
            pass
    return "true"

def allocates(request, tell):
    try:
        held = bytearray(request["size"])
    except MemoryError:
        return "refused"
    return "granted"

def no_json(request, tell):
    return {1, 2}

def forks_and_returns(request, tell):
    os.fork()
    return os.getpid()
'''


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"work_{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:8]}"
    (tmp_path / f"{name}.py").write_text(WORK)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return name


def run(entry: str, function: str, limits: Limits = NO_LIMITS, **request: object) -> object:
    return run_isolated(f"{entry}:{function}", request, what="the work", limits=limits)


def test_the_answer_and_what_was_told(entry: str) -> None:
    told: list[object] = []
    sent = {"number": 0.1, "text": "\ud800 \u20ac", "none": None}
    found = run_isolated(f"{entry}:answer", sent, what="the work", limits=NO_LIMITS, told=told.append)
    assert isinstance(found, dict)
    assert found["seen"] == sent
    assert told == [["half", 1, 2]]
    assert found["mine"] != os.getpid()
    assert found["folder"] == os.getcwd()


def test_the_current_folder_is_not_searched_for_modules(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", str(here), *sys.path])
    found = run(entry, "answer")
    assert isinstance(found, dict)
    assert not {"", str(here)} & set(found["path"])


def test_a_large_answer_arrives_whole(entry: str) -> None:
    assert run(entry, "large", size=10**7) == "x" * 10**7


def test_the_end_by_a_signal_is_named_with_the_last_words(entry: str) -> None:
    with pytest.raises(MechanismFailure, match="SIGSEGV") as found:
        run(entry, "signalled", number=11)
    assert "the last words" in str(found.value)
    assert "\x1b" not in str(found.value)


def test_the_time_is_limited(entry: str) -> None:
    began = time.monotonic()
    with pytest.raises(MechanismFailure, match="within 3 seconds"):
        run(entry, "hangs", Limits(seconds=3.0))
    assert time.monotonic() - began < 30


def test_a_frame_without_the_nonce_is_no_answer(entry: str) -> None:
    with pytest.raises(MechanismFailure, match="before the audit was finished"):
        run(entry, "forged")


def test_what_is_no_json_is_no_answer(entry: str) -> None:
    with pytest.raises(MechanismFailure, match=r"exit code 70.*not JSON serializable"):
        run(entry, "no_json")


def test_a_forked_copy_says_nothing(entry: str) -> None:
    assert isinstance(run(entry, "forks_and_returns"), int)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is kept on Linux")
def test_the_memory_is_limited(entry: str) -> None:
    limits = Limits(memory=2**29)
    assert run(entry, "allocates", limits, size=2**26) == "granted"
    assert run(entry, "allocates", limits, size=2**30) == "refused"


@pytest.mark.parametrize("text", ["", "0", "-1G", "2X", "nan", "1e30", "2 G G", "255M"])
def test_a_size_that_is_none(text: str) -> None:
    with pytest.raises(InvalidValue) as found:
        parse_size(text)
    assert found.value.name == "memory"


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e10", "soon"])
def test_a_time_that_is_none(text: str) -> None:
    with pytest.raises(InvalidValue) as found:
        parse_limits(text, None)
    assert found.value.name == "timeout"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is kept on Linux")
def test_limits_of_several_places() -> None:
    own = parse_limits("1.5", None)
    assert own == Limits(seconds=1.5)
    assert own.merge(parse_limits("9", "2G")) == Limits(seconds=1.5, memory=2**31)
    assert not NO_LIMITS
    assert own
    assert all(parse_size(size_text(size)) == size for size in (2**28, 2**31 + 1, 3 * 2**40))
    assert math.isclose(parse_size("0.3G"), 0.3 * 2**30, rel_tol=1e-8)
    assert json.dumps(parse_size("1e9")) == "1000000000"
