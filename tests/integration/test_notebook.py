"""In the kernel of a notebook: cards are shown, work can be interrupted, and nothing is left behind.

It runs where nbclient and ipykernel are installed, which no extra of this package asks for.
"""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

BEGIN = """
import os, pathlib, time
import numpy as np
from dpverdict.audit import certify, distinguish_sequentially
from dpverdict.mechanisms import CorrelatedGaussian
pair = np.ones((10, 1)), np.ones((9, 1))
def slow(dataset, rng):
    time.sleep(0.002)
    return len(dataset) + rng.laplace(scale=1.0, size=1)
certify(CorrelatedGaussian(dim=3, mu=1))
"""
INTERRUPTED = """
pathlib.Path({began!r}).touch()
test = distinguish_sequentially(slow, pair, "eps=1", error_probability=1e-6, most_samples=10**6, seed=1)
test
"""
GONE_ON = """
more = distinguish_sequentially(
    slow, pair, "eps=1", error_probability=1e-6, most_samples=test.samples + 100, seed=1, state=test.state
)
of_this = lambda stat: stat.read_text().rpartition(")")[2].split()[1] == str(os.getpid())
left = [one for one in pathlib.Path("/proc").glob("[0-9]*/stat") if one.exists() and of_this(one)]
print(test.samples, test.refuted, more.samples > test.samples, len(left))
"""


def html_of(cell: Any) -> str:
    return "".join(one["data"].get("text/html", "") for one in cell.outputs if "data" in one)


@pytest.mark.skipif(not Path("/proc").exists(), reason="the processes of a kernel are looked for in /proc")
def test_an_interrupted_test_says_what_it_found_and_leaves_no_process(tmp_path: Path) -> None:
    began = tmp_path / "began"
    sources = BEGIN, INTERRUPTED.format(began=str(began)), GONE_ON
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    client = nbclient.NotebookClient(notebook, timeout=120)

    def interrupt() -> None:
        for _ in range(1200):
            if began.exists():
                time.sleep(3)
                os.kill(client.km.provisioner.pid, signal.SIGINT)
                return
            time.sleep(0.1)

    thread = threading.Thread(target=interrupt)
    thread.start()
    client.execute()
    thread.join()
    first, interrupted, after = notebook.cells
    assert "CERTIFIED: release" in html_of(first)
    assert "data:image/svg+xml" in html_of(first)
    assert "Interrupted after" in html_of(interrupted)
    assert "INCONCLUSIVE" in html_of(interrupted)
    assert "<progress" not in html_of(interrupted)  # it went with the work
    printed = "".join(one["text"] for one in after.outputs if one["output_type"] == "stream")
    samples, *said = printed.split()
    assert 8 <= int(samples) < 10**6
    assert said == ["False", "True", "0"]


OWN_FUNCTION = """
import IPython.display
from dpverdict.audit import certify
from dpverdict.audit.tables.schema import TableSchema
shown, display = [], IPython.display.display
def noted(one, *args, **given):
    shown.append(str(getattr(one, "data", "")))
    return display(one, *args, **given)
IPython.display.display = noted
schema = TableSchema.from_toml('''
relation = "add-or-remove-one"
table = "numpy"
[columns.age]
type = "float"
low = 0
high = 100
''')
def slow_sum(x, rng):
    for _ in range(3):
        sum(range(3 * 10**7))
    return x.sum() + rng.laplace(scale=100)
certify(slow_sum, "eps=1", schema=schema)
"""
SEEN = """
print(any("following the function" in one for one in shown))
"""


def test_work_without_stages_shows_that_it_goes_on() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in (OWN_FUNCTION, SEEN)])
    nbclient.NotebookClient(notebook, timeout=120).execute()
    certified, seen = notebook.cells
    assert "CERTIFIED: release" in html_of(certified)
    assert "following the function" not in html_of(certified)  # it went with the work
    assert "".join(one["text"] for one in seen.outputs).split() == ["True"]
