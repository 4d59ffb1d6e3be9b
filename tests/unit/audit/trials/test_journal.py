"""A file is written whole or not at all; of a journal only whole entries are read."""

import hashlib
import hmac
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.trials.engines import (
    Engine,
    ThisProcess,
    running_on,
)
from dpverdict.audit.trials.journal import (
    KEY_VARIABLE,
    MARK,
    Journal,
    current_journal,
    journal_key,
    journalled_in,
    state_folder,
)
from dpverdict.audit.trials.run import Sampler, batched
from dpverdict.errors import InvalidValue

Array = NDArray[np.float64]
DATASET = np.ones((3, 2))
TRIALS = 20_000


@batched
def noisy(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return dataset.sum(axis=0) + rng.normal(size=(trials, 2))


def collect(engine: Engine) -> Array:
    with running_on(engine):
        return Sampler.prepare(noisy, DATASET, where="the dataset", seed=5).collect("confirm", TRIALS)


def test_what_the_journal_holds_is_not_run_again(tmp_path: Path) -> None:
    calls = []

    @batched
    def counted(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        calls.append(trials)
        return noisy(dataset, rng, trials)

    journal = Journal(tmp_path)
    with journalled_in(journal):
        sampler = Sampler.prepare(counted, DATASET, where="the dataset", seed=5)
        first = sampler.collect("confirm", TRIALS)
        entries = sorted(tmp_path.iterdir())
        assert len(entries) == 5
        ran = len(calls)
        again = sampler.collect("confirm", TRIALS)
        assert len(calls) == ran
        entries[1].write_bytes(entries[1].read_bytes()[:-1])  # cut short
        damaged = bytearray(entries[3].read_bytes())
        damaged[-1] ^= 1
        entries[3].write_bytes(bytes(damaged))
        third = sampler.collect("confirm", TRIALS)
        assert len(calls) == ran + 2
    assert np.array_equal(first, again)
    assert np.array_equal(first, third)
    assert np.array_equal(first, collect(ThisProcess()))


def test_a_temporary_file_is_not_an_entry(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write("a", b"content")
    (entry,) = tmp_path.iterdir()
    (tmp_path / f".{entry.name}.x.tmp").write_bytes(b"half")
    assert journal.read("a") == b"content"
    assert journal.read("b") is None
    (tmp_path / "other.entry").write_bytes(entry.read_bytes())
    entry.rename(journal._path("b"))  # an entry under another entry's name
    assert journal.read("b") is None


def test_an_entry_that_another_run_removed_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.store("a", np.arange(3.0))
    assert journal.load("a").tolist() == [0.0, 1.0, 2.0]
    (tmp_path / "journal" / "kept.txt").write_text("of a user")
    journal.clear()
    assert not journal.holds("a")
    assert (tmp_path / "journal" / "kept.txt").exists()
    with pytest.raises(InvalidValue, match="start the run again"):
        journal.load("a")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValue, match="journal"):
        Journal(tmp_path / "file")


def test_the_journal_is_that_of_the_innermost_block(tmp_path: Path) -> None:
    outer = Journal(tmp_path)
    assert current_journal() is None
    with journalled_in(outer):
        with journalled_in(None):
            assert current_journal() is None
        assert current_journal() is outer
    assert current_journal() is None


def forged(journal: Journal, name: str, content: bytes, digest: bytes) -> None:
    head = MARK + hashlib.sha256(name.encode()).digest()
    journal._path(name).write_bytes(head + digest + content)


def test_an_edited_entry_with_a_new_digest_is_not_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path, b"k" * 32)
    journal.write("verdict", b"REFUTED")
    assert journal.read("verdict") == b"REFUTED"
    content = b"CERTIFIED"
    head = MARK + hashlib.sha256(b"verdict").digest()
    for key in (b"", b"l" * 32, head):
        for digest in (hashlib.sha256(content).digest(), hmac.digest(key, head + content, "sha256")):
            forged(journal, "verdict", content, digest)
            assert journal.read("verdict") is None
    forged(journal, "verdict", content, hmac.digest(b"k" * 32, head + content, "sha256"))
    assert journal.read("verdict") == content  # whoever has the key writes entries


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_an_entry_that_is_no_file_is_absent_and_not_waited_for(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", b"k" * 32)
    journal.write("a", b"content")
    (entry,) = (tmp_path / "journal").iterdir()
    entry.unlink()
    os.mkfifo(entry)
    assert journal.read("a") is None
    entry.unlink()
    entry.symlink_to("/dev/zero")
    assert journal.read("a") is None
    journal.write("a", b"content")
    assert journal.read("a") == b"content"


def test_an_entry_that_is_too_long_is_neither_kept_nor_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "journal", b"k" * 32)
    journal.write("a", bytes(1000))
    monkeypatch.setattr("dpverdict.audit.trials.journal.LARGEST_ENTRY", 1000)
    assert journal.read("a") is None
    journal.write("b", bytes(1000))
    assert not journal.holds("b")
    journal.write("c", bytes(900))
    assert journal.holds("c")


def test_an_entry_under_another_name_or_key_is_not_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path, b"k" * 32)
    journal.write("one", b"content")
    whole = journal._path("one").read_bytes()
    other = MARK + hashlib.sha256(b"two").digest() + whole[len(MARK) + 32 :]
    journal._path("two").write_bytes(other)
    assert journal.read("two") is None
    assert Journal(tmp_path, b"l" * 32).read("one") is None


def test_the_key_is_made_once_and_for_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    key = journal_key()
    file = state_folder() / "journal.key"
    assert file == tmp_path / "state" / "dpverdict" / "journal.key"
    assert (journal_key(), file.read_bytes(), len(key)) == (key, key, 32)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["journal.key"]
    file.write_bytes(b"")
    assert journal_key() != key
    (tmp_path / "none").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "none"))
    assert len(journal_key()) == 32  # of this process alone


def test_the_key_of_a_ci_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a" * 64)
    Journal(tmp_path).write("one", b"content")
    assert Journal(tmp_path).read("one") == b"content"
    monkeypatch.setenv(KEY_VARIABLE, "b" * 64)
    assert Journal(tmp_path).read("one") is None
    monkeypatch.setenv(KEY_VARIABLE, "short")
    with pytest.raises(InvalidValue) as found:
        Journal(tmp_path)
    assert "short" not in str(found.value)


def test_only_what_a_journal_wrote_is_removed(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    journal, outside = Journal(folder), Journal(elsewhere)
    outside.write("of another", b"content")
    kept = {
        folder / "mine.entry": b"of the user",
        folder / f"{'0' * 32}.entry": b"of the user, with a name like ours",
        folder / f"{'1' * 32}.entry": MARK + b"and with our mark",
        folder / ".mine.entry.x.tmp": b"of the user",
        folder / f".{'2' * 32}.entry.x.tmp": b"of the user",
        folder / "notes" / "mine.entry": b"in a folder",
        folder / ("3" * 32) / "mine.txt": b"in a folder with a name like ours",
    }
    for path, content in kept.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    (folder / ("4" * 32)).symlink_to(elsewhere)
    (folder / f"{'5' * 32}.entry").symlink_to(next(elsewhere.iterdir()))
    journal.write("one", b"content")
    journal.part("trials").write("two", b"content")
    (folder / f".{'6' * 32}.entry.x.tmp").write_bytes(MARK[:5])
    before = len(list(folder.rglob("*")))
    journal.clear_all()
    assert before - len(list(folder.rglob("*"))) == 4  # two entries, the folder of one, and a half one
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert outside.read("of another") == b"content"
    Journal(folder / ("4" * 32)).clear()
    assert outside.read("of another") == b"content"
