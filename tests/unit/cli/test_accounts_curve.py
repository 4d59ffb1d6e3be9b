"""``dpverdict curve``: curves are printed, written and drawn."""

import sys
from pathlib import Path

import numpy as np
import pytest

from dpverdict.cli.application import main

TABLE = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
CALLABLES = """
import numpy as np

def honest(dataset, rng):
    return dataset.sum(axis=0) + rng.normal(scale=3.0**0.5, size=dataset.shape[1])

def leaky(dataset, rng):
    return dataset.sum(axis=0) + rng.normal(scale=0.1, size=dataset.shape[1])

def own_randomness(dataset, rng):
    return dataset.sum(axis=0) + np.random.default_rng().normal(scale=3.0, size=dataset.shape[1])

def first_output(outputs):
    return outputs[:, 0]
"""


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard output of a command that has nothing to say on standard error."""
    code = main(arguments)
    printed = capsys.readouterr()
    assert printed.err == ""
    return code, " ".join(printed.out.split())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of callables and a pair of datasets, which is the current one."""
    (tmp_path / "callables_of_a_user.py").write_text(CALLABLES)
    np.savez(tmp_path / "pair.npz", dataset=TABLE, neighbour=TABLE[:3])
    np.savez(tmp_path / "replaced.npz", dataset=TABLE, neighbour=np.vstack([TABLE[:3], np.zeros((1, 3))]))
    np.save(tmp_path / "table.npy", TABLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "callables_of_a_user", raising=False)
    return tmp_path


def test_curves_are_printed_written_and_drawn(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["curve", "correlated-gaussian", "--dim", "100", "--mu", "1", "--points", "5"]
    code, text = answer(capsys, *ask, "--csv", "curve.csv", "--png", "curve.png")
    assert code == 0
    assert "delta, certified" in text
    lines = (here / "curve.csv").read_text().splitlines()
    assert lines[0] == "curve,argument,lower,upper"
    assert len(lines) == 1 + 2 * 5
    lower, upper = (float(cell) for cell in lines[1].split(",")[2:])
    assert lower <= 0.3829249225480262 <= upper  # delta(0) = 2 Phi(1/2) - 1, of a mu that is 1 but for the rounding
    assert (here / "curve.png").read_bytes().startswith(b"\x89PNG")
