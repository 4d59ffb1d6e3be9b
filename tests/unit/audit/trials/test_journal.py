"""A file is written whole or not at all; of a journal only whole entries are read."""

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
from dpverdict.audit.trials.journal import Journal, current_journal, hold, journalled_in, write_atomically
from dpverdict.audit.trials.run import Sampler
from dpverdict.errors import InvalidValue

Array = NDArray[np.float64]
DATASET = np.ones((3, 2))
TRIALS = 20_000


def noisy(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return dataset.sum(axis=0) + rng.normal(size=(trials, 2))


def collect(engine: Engine) -> Array:
    with running_on(engine):
        return Sampler.prepare(noisy, DATASET, where="the dataset", seed=5).collect("confirm", TRIALS)


def test_what_the_journal_holds_is_not_run_again(tmp_path: Path) -> None:
    calls = []

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


def test_a_written_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)


def test_what_is_not_a_file_is_not_replaced(tmp_path: Path) -> None:
    write_atomically(os.devnull, "gone")
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError, match="give the path of a file"):
        write_atomically(tmp_path, "text")
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "report", "text")


def test_half_of_a_surrogate_pair_is_written_as_an_escape(tmp_path: Path) -> None:
    write_atomically(tmp_path / "text", "a\udc80")
    assert (tmp_path / "text").read_text() == "a\\udc80"


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


def test_a_file_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        hold(first)
        with pytest.raises(BlockingIOError):
            hold(second)
