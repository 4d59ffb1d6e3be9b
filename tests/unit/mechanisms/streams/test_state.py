"""Saved streams: a restored counter continues as if nothing had happened, and a damaged file is refused."""

import contextlib
import itertools
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams import state as tree_noise
from dpverdict.mechanisms.streams import state as tree_state
from dpverdict.mechanisms.streams.state import BLOCK, KeyChain, NoiseSource, read_state, write_state
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

COUNTERS: list[dict[str, Any]] = [
    {"horizon": 40, "epsilon": "1/3", "arity": 3},
    {"horizon": 30, "epsilon": "0.7", "arity": 4, "noise": "continuous"},
    {"horizon": 26, "epsilon": 2, "arity": 3, "digits": "ordinary"},
    {"horizon": 60, "epsilon": 1e-3, "arity": 5, "digits": "symmetric", "noise": "continuous"},
]


@pytest.mark.parametrize("options", COUNTERS, ids=str)
def test_a_restored_counter_continues_exactly_from_every_step(options: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    items = rng.integers(0, 2, options["horizon"]).tolist()
    whole = TreeCounter(**options, rng=np.random.default_rng(2))
    wanted = [whole.add(item) for item in items]
    counter, counts = TreeCounter(**options, rng=np.random.default_rng(2)), []
    for item in items:  # killed and restored before every item
        counter.save(tmp_path / "state")
        counter = TreeCounter.load(tmp_path / "state")
        counts.append(counter.add(item))
    assert counts == wanted
    assert [type(count) for count in counts] == [type(count) for count in wanted]
    counter.save(tmp_path / "state")
    end = TreeCounter.load(tmp_path / "state")
    assert end.time == options["horizon"]
    with pytest.raises(InvalidValue, match="time"):
        end.add(1)


def test_saving_does_not_change_what_follows(tmp_path: Path) -> None:
    saved, plain = (TreeCounter(horizon=3000, epsilon=1, arity=7, rng=np.random.default_rng(5)) for _ in range(2))
    for i in range(3000):
        if i % 250 == 0:
            saved.save(tmp_path / "state")
        assert saved.add(i % 2) == plain.add(i % 2)


def test_noise_is_neither_reused_nor_lost_across_restarts(tmp_path: Path) -> None:
    """The values handed out with restarts are those of one uninterrupted source, each once."""

    def sample(words: Any, size: int) -> list[float]:
        return [int(word) for word in words(size)]

    source = NoiseSource(sample, bytes(32))
    wanted = [source.draw() for _ in range(3 * BLOCK)]
    assert len(set(wanted)) == len(wanted)
    found, source = [], NoiseSource(sample, bytes(32))
    for i in range(3 * BLOCK):
        if i % 37 == 0:
            source = NoiseSource(sample, source.key, source.pending)
        found.append(source.draw())
    assert found == wanted


def test_a_key_is_replaced_when_it_is_used_and_does_not_come_back() -> None:
    chain = KeyChain(bytes(32))
    keys = []
    for _ in range(50):
        keys.append(chain.key)
        chain(3)
    assert len(set(keys)) == 50
    assert KeyChain(keys[7])(3).tolist() != KeyChain(keys[8])(3).tolist()


def test_a_state_holds_no_noise_that_is_past(tmp_path: Path) -> None:
    counter = TreeCounter(horizon=1000, epsilon=1, arity=3, noise="continuous", rng=np.random.default_rng(6))
    drawn: list[float] = []
    draw = counter._source.draw

    def spy() -> float:
        drawn.append(draw())
        return drawn[-1]

    counter._stream._draw = spy
    for _ in range(700):
        counter.add(1)
    counter.save(tmp_path / "state")
    state = json.loads((tmp_path / "state").read_text())["state"]
    sums = [float.fromhex(value) for value in state["sums"]]
    pending = {float.fromhex(value) for value in state["pending"]}
    assert len(sums) == counter.live
    assert not pending & set(drawn)  # noise to come is not noise that was
    known = {sums[0], *(b - a for a, b in itertools.pairwise(sums))}
    past = [value for value in drawn if not any(abs(value - other) < 1e-9 for other in known)]
    assert len(past) == len(drawn) - counter.live


def test_the_format_is_stable(tmp_path: Path) -> None:
    """A state of schema 1 written in full; a later version must read it, and give this count."""
    state = {
        "horizon": "13",
        "epsilon": "1/2",
        "arity": 3,
        "digits": "offset",
        "noise": "discrete",
        "time": "5",
        "count": "4",
        "sums": ["3", "-1", "2"],
        "pending": ["7", "-5"],
        "key": "00" * 32,
    }
    write_state(tmp_path / "state", "tree counter", state)
    assert json.loads((tmp_path / "state").read_text())["sha256"] == (
        "9991e0200c360769e122daca304c9950ed8424dff00bfa6f720687c8d865d5ba"
    )
    counter = TreeCounter.load(tmp_path / "state")
    assert [counter.add(1), counter.add(0)] == [5 - 1, 5 - 1 - 5]  # one subtraction ends, one value is drawn
    assert [counter.add(1), counter.add(1)] == [6 + 3 + 7, 7 + 3]  # a carry draws one more, which ends
    assert tree_noise._TAG == b"dpverdict noise, version 1:"
    assert KeyChain(bytes(32))(2).tolist() == [6087348941711918208, 5047482155016509349]


# damaged and foreign files --------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    counter = TreeCounter(horizon=40, epsilon=1, arity=3, rng=np.random.default_rng(0))
    for _ in range(17):
        counter.add(1)
    counter.save(tmp_path / "state")
    return tmp_path / "state"


def test_every_changed_byte_is_noticed_or_changes_nothing(saved: Path) -> None:
    good = saved.read_bytes()
    wanted = json.loads(good)
    rng = np.random.default_rng(3)
    for position in [*range(400), *rng.integers(0, len(good), 300).tolist()]:
        bad = bytearray(good)
        bad[position] ^= 1 << int(rng.integers(0, 7))
        saved.write_bytes(bytes(bad))
        with contextlib.suppress(InvalidValue):
            TreeCounter.load(saved)
            assert json.loads(bytes(bad)) == wanted  # read in spite of the change: only white space
    for length in range(0, len(good) - 2, 41):
        saved.write_bytes(good[:length])
        with pytest.raises(InvalidValue):
            TreeCounter.load(saved)


def forged(path: Path, **changes: Any) -> Path:
    """The state with some entries changed, and a checksum to match."""
    state = json.loads(path.read_text())["state"] | changes
    write_state(path, "tree counter", {name: value for name, value in state.items() if value is not ...})
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"time": "18"},
        {"time": "41"},
        {"time": "-1"},
        {"count": "18"},
        {"count": "-1"},
        {"count": None},
        {"sums": []},
        {"sums": ["x"] * 3},
        {"sums": [1, 2, 3]},
        {"sums": "123"},
        {"pending": ["0x1p+1"]},
        {"pending": ...},
        {"key": "00"},
        {"key": "zz" * 32},
        {"key": None},
        {"horizon": "0"},
        {"horizon": "many"},
        {"horizon": ...},
        {"epsilon": "0"},
        {"epsilon": "1/0"},
        {"epsilon": "nan"},
        {"arity": 1},
        {"arity": 5},
        {"arity": []},
        {"digits": "roman"},
        {"digits": []},
        {"noise": "gaussian"},
        {"noise": "continuous"},
    ],
    ids=str,
)
def test_entries_that_make_no_sense_are_refused_whatever_the_checksum(saved: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        TreeCounter.load(forged(saved, **changes))


def test_infinite_noise_is_refused(tmp_path: Path) -> None:
    counter = TreeCounter(horizon=40, epsilon=1, arity=3, noise="continuous")
    counter.add(0.5)
    counter.save(tmp_path / "state")
    for value in ("inf", "nan", "-inf", "0x1p99999"):
        with pytest.raises(InvalidValue):
            TreeCounter.load(forged(tmp_path / "state", sums=[value]))


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"format": "other"}', b"1" * 10_000]
)
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(InvalidValue, match="state"):
        TreeCounter.load(tmp_path / "state")


def test_the_state_of_another_kind_or_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_state(tmp_path / "state", "abacus", {"beads": 3})
    assert read_state(tmp_path / "state", "abacus") == {"beads": 3}
    with pytest.raises(InvalidValue, match="the state of a tree counter"):
        TreeCounter.load(tmp_path / "state")
    monkeypatch.setattr(tree_state, "SCHEMA", 2)
    write_state(tmp_path / "state", "tree counter", {})
    monkeypatch.undo()
    with pytest.raises(InvalidValue, match="state schema=2 must be 1"):
        TreeCounter.load(tmp_path / "state")


def test_the_state_of_a_counter_with_other_parameters_is_refused(saved: Path) -> None:
    assert TreeCounter.load(saved, horizon=40, epsilon="1", arity=3).time == 17
    for expected in ({"horizon": 41}, {"epsilon": "0.5"}, {"arity": 5}):
        with pytest.raises(InvalidValue, match="another counter"):
            TreeCounter.load(saved, **expected)  # type: ignore[arg-type]


def test_a_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TreeCounter.load(tmp_path / "nothing")


# writing --------------------------------------------------------------------------------------------------------------


def test_a_failed_save_leaves_the_old_file_and_the_counter(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    counter, other = TreeCounter.load(saved), TreeCounter.load(saved)
    counter.add(1), other.add(1)

    def fail(*arguments: object) -> None:
        raise OSError("disk full")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(tree_state.os, step, fail)
            with pytest.raises(OSError, match="disk full"):
                counter.save(saved)
        assert saved.read_bytes() == before
        assert [path.name for path in saved.parent.iterdir()] == ["state"]
    assert [counter.add(1) for _ in range(9)] == [other.add(1) for _ in range(9)]
    with pytest.raises(OSError, match="nowhere"):
        counter.save(saved.parent / "nowhere" / "state")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_state_is_readable_by_its_owner_only(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
