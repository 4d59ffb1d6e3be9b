"""A file is written whole or not at all; of a journal only whole entries are read."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.trials.engines import (
    Engine,
    ThisProcess,
    running_on,
)
from dpverdict.audit.trials.journal import Journal, current_journal, journalled_in
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
