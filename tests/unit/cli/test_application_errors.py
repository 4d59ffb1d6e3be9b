"""Bad input ends with exit code 2 and one line that says what, what is required, and what to do; nothing is written."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpverdict.cli.application import main

pytestmark = pytest.mark.usefixtures("warm_copies")

SCRIPT = str(Path(sys.executable).with_name("dpverdict"))
DIM = ["--dim", "3"]
MU = ["--mu", "1"]
STANDARD = ["standard-gaussian", *DIM, *MU]
BOX = ["--neighbours", "pair.npz", "--claim", "mu=1", "--samples", "200", "--seed", "1"]

TABLE = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])

CALLABLES = """
import numpy as np

NUMBER = 3

def fine(dataset, rng):
    return rng.normal(size=2)

def raises(dataset, rng):
    raise RuntimeError("first line\\nsecond line")

def not_a_number(dataset, rng):
    return np.array([np.nan])

def words(dataset, rng):
    return ["a", "b"]

def nothing(dataset, rng):
    return None

def empty(dataset, rng):
    return np.array([])

def matrix(dataset, rng):
    return np.zeros((2, 2))

def ragged(dataset, rng):
    return [[1.0], [1.0, 2.0]]

def changing(dataset, rng):
    return np.zeros(rng.integers(1, 5))

def takes_nothing():
    return np.zeros(1)

def score_of_another_shape(outputs):
    return outputs

def score_raises(outputs):
    return 1 / 0
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "callables_that_fail.py").write_text(CALLABLES)
    (tmp_path / "fails_on_import.py").write_text("raise ValueError('planted')\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "corrupt.npz").write_bytes(b"PK\x03\x04 no archive")
    (tmp_path / "corrupt.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "words.csv").write_text("a,b,c\n0,1,yes\n")
    (tmp_path / "nan.csv").write_text("a,b,c\n0,1,nan\n")
    (tmp_path / "outside.csv").write_text("a,b,c\n0,1,1.5\n")
    (tmp_path / "bounds.txt").write_text("1, two\n")
    np.save(tmp_path / "table.npy", TABLE)
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 3)))
    np.savez(tmp_path / "pair.npz", dataset=TABLE, neighbour=TABLE[:2])
    np.savez(tmp_path / "replaced.npz", dataset=TABLE, neighbour=np.vstack([TABLE[:2], np.zeros((1, 3))]))
    np.savez(tmp_path / "strangers.npz", dataset=TABLE, neighbour=1 - TABLE)
    np.savez(tmp_path / "outside.npz", dataset=2 * TABLE, neighbour=2 * TABLE[:2])
    np.savez(tmp_path / "other_names.npz", before=TABLE, after=TABLE[:2])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("callables_that_fail", "fails_on_import"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if "__pycache__" not in path.parts}


CASES = [
    # the mechanism and its parameters
    (["no-such-mechanism", *DIM, *MU], ["mechanism='no-such-mechanism'", "dpverdict list"]),
    (["corelated-gaussian", *DIM, *MU], ["mechanism='corelated-gaussian'", "did you mean correlated-gaussian"]),
    (["broken:M99", *DIM, *MU], ["mechanism='broken:M99'", "did you mean broken:M9"]),
    ([*STANDARD, "--groups", "2"], ["groups='2'", "left out for standard-gaussian", "takes --dim"]),
    ([*STANDARD, "--c", "2"], ["--c='2'", "left out for standard-gaussian"]),
    (["correlated-gaussian", *DIM, *MU, "--adjacency", "replace-one"], ["adjacency='replace-one'", "left out"]),
    (["broken:M3", *DIM, *MU, "--count", "withheld"], ["count='withheld'", "left out for broken:M3"]),
    ([*STANDARD, "--dimension", "3"], ["No such option", "--dimension", "--dim"]),
    ([*STANDARD, "--adj", "replace-one"], ["No such option: --adj: did you mean --adjacency?"]),
    ([*STANDARD, "extra"], ["unexpected extra argument", "extra"]),
    ([], ["MECHANISM must be given", "dpverdict list"]),
    (["standard-gaussian", *MU], ["dim must be given", "add --dim"]),
    (["standard-gaussian", *DIM], ["mu must be given", "add --mu"]),
    (["rank1-gaussian"], ["dim, epsilon and delta must be given", "add --dim, --epsilon and --delta"]),
    (["laplace", "--dim", "1e7", "--epsilon", "1", "--no-test"], ["noisy coordinates=10000000", "a smaller dim"]),
    (["laplace", *DIM, "--epsilon", "1e7", "--no-test"], ["shift over scale=3.33333e+6", "another epsilon"]),
    (
        ["factorization-counter", "--horizon", "8", "--kind", "binary", "--noise", "gaussian", "--mu", "0"],
        ["mu=0", "> 0"],
    ),
    (["broken:M3"], ["dim and mu must be given", "add --dim and --mu"]),
    (["broken:M3", *DIM], ["mu must be given", "add --mu"]),
    (["elliptical-gaussian", *MU], ["bounds=", "one number per coordinate"]),
    (["standard-gaussian", "--dim", "0", *MU], ["dim='0'", "a whole number >= 1"]),
    (["correlated-gaussian", "--dim", "0", *MU], ["dim='0'", "a whole number >= 1"]),
    (["standard-gaussian", "--dim", "1e99", *MU], ["dim='1e99'", "<= 4611686018427387904"]),
    (["standard-gaussian", "--dim", "-3", *MU], ["dim='-3'", "a whole number >= 1"]),
    (["standard-gaussian", "--dim", "2.5", *MU], ["dim='2.5'", "a whole number >= 1"]),
    (["standard-gaussian", "--dim", "nan", *MU], ["dim='nan'", "finite"]),
    (["standard-gaussian", "--dim", "ten", *MU], ["dim='ten'", "finite real number"]),
    (["broken:M14", "--dim", "1", *MU], ["dim=1", ">= 3"]),
    ([*STANDARD[:3], "--mu", "-1"], ["mu=", "-1", "> 0"]),
    ([*STANDARD[:3], "--mu", "0"], ["mu=", "> 0"]),
    ([*STANDARD[:3], "--mu", "nan"], ["mu='nan'", "finite"]),
    ([*STANDARD[:3], "--mu", "inf"], ["mu='inf'", "finite"]),
    ([*STANDARD[:3], "--mu", "1e999999"], ["mu='1e999999'"]),
    ([*STANDARD[:3], "--mu", "1e-9999"], ["scale"]),
    (["correlated-gaussian", *DIM, *MU, "--c", "nan"], ["--c='nan'"]),
    (["correlated-gaussian", *DIM, *MU, "--c", "0"], ["--c=", "> 0"]),
    (["correlated-gaussian", *DIM, *MU, "--count", "kept"], ["--count='kept'", "one of released, withheld, estimated"]),
    (
        ["correlated-gaussian", *DIM, *MU, "--count", "estimated"],
        ["--size-estimate must be given", "--count estimated"],
    ),
    (["correlated-gaussian", *DIM, *MU, "--size-estimate", "10"], ["--size-estimate='10'", "--count estimated"]),
    (["correlated-gaussian", *DIM, *MU, "--count", "estimated", "--size-estimate", "inf"], ["--size-estimate='inf'"]),
    (["grouped-gaussian", *DIM, *MU, "--groups", "0"], ["groups='0'", "a whole number >= 1"]),
    ([*STANDARD, "--adjacency", "both"], ["adjacency='both'", "replace-one"]),
    (["elliptical-gaussian", *MU, "--bounds", "1,nan"], ["bounds='nan'", "finite"]),
    (["elliptical-gaussian", *MU, "--bounds", "1,inf"], ["bounds='inf'", "finite"]),
    (["elliptical-gaussian", *MU, "--bounds", "1,-2"], ["bounds='-2'", ">= 0"]),
    (["elliptical-gaussian", *MU, "--bounds", "0,0"], ["bounds=", "positive in at least one"]),
    (["elliptical-gaussian", *MU, "--bounds", ","], ["bounds=','", "one or more numbers"]),
    (["elliptical-gaussian", *MU, "--bounds", "@bounds.txt"], ["bounds='two'"]),
    (["elliptical-gaussian", *MU, "--bounds", "@no.txt"], ["bounds='no.txt'", "a file that exists"]),
    (["elliptical-gaussian", *MU, "--bounds", "1,2", *DIM], ["dim=3", "the number of bounds, 2"]),
    (["standard-gaussian", *DIM, "--epsilon", "1", "--delta", "1e-6"], ["calibration must be given", "classic"]),
    ([*STANDARD, "--calibration", "classic"], ["mu='1'", "left out"]),
    (["standard-gaussian", *DIM, "--epsilon", "1", "--calibration", "classic"], ["delta must be given", "add --delta"]),
    (["standard-gaussian", *DIM, "--epsilon", "1", "--delta", "2", "--calibration", "classic"], ["delta=", "1)"]),
    (
        ["standard-gaussian", *DIM, "--epsilon", "nan", "--delta", "1e-6", "--calibration", "analytic"],
        ["epsilon='nan'"],
    ),
    (["standard-gaussian", *DIM, "--epsilon", "1", "--delta", "1e-6", "--calibration", "best"], ["calibration='best'"]),
    (["correlated-gaussian", *DIM, *MU, "--calibration", "classic"], ["calibration='classic'", "takes none"]),
    # the claim
    ([*STANDARD, "--claim", "private"], ["'private'"]),
    ([*STANDARD, "--claim", ""], ["claim"]),
    ([*STANDARD, "--claim", "mu=nan"], ["nan"]),
    ([*STANDARD, "--claim", "mu=-1"], ["-1"]),
    ([*STANDARD, "--claim", "eps=inf, delta=1e-6"], ["inf"]),
    ([*STANDARD, "--claim", "eps=1, delta=2"], ["delta"]),
    # how it is tested
    ([*STANDARD, "--samples", "0"], ["samples='0'", "a whole number >= 1"]),
    ([*STANDARD, "--samples", "1"], ["samples=1"]),
    ([*STANDARD, "--samples", "-5"], ["samples='-5'"]),
    ([*STANDARD, "--samples", "1.5"], ["samples='1.5'"]),
    ([*STANDARD, "--samples", "many"], ["samples='many'"]),
    ([*STANDARD, "--error-probability", "0"], ["--error-probability='0'", "strictly between 0 and 1"]),
    ([*STANDARD, "--error-probability", "1"], ["--error-probability='1'", "strictly between 0 and 1"]),
    ([*STANDARD, "--error-probability", "nan"], ["--error-probability='nan'"]),
    ([*STANDARD, "--error-probability", "1e-400"], ["--error-probability='1e-400'"]),
    ([*STANDARD, "--seed", "-1"], ["seed='-1'", ">= 0"]),
    ([*STANDARD, "--seed", "x"], ["seed='x'"]),
    ([*STANDARD, "--test-delta", "0"], ["--test-delta='0'", "strictly between"]),
    ([*STANDARD, "--score", "callables_that_fail:missing"], ["score='callables_that_fail:missing'"]),
    ([*STANDARD, "--score", "callables_that_fail:score_of_another_shape"], ["score="]),
    ([*STANDARD, "--score", "callables_that_fail:score_raises"], ["score=", "ZeroDivisionError"]),
    ([*STANDARD, "--no-test", "--samples", "100"], ["samples='100'", "left out with --no-test"]),
    ([*STANDARD, "--no-test", "--neighbours", "pair.npz"], ["neighbours='pair.npz'", "left out with --no-test"]),
    # data
    (["standard-gaussian", *MU, "--data", "no.csv"], ["data='no.csv'", "a file that exists"]),
    (["standard-gaussian", *MU, "--data", "folder"], ["data='folder'", "not a folder"]),
    (["standard-gaussian", *MU, "--data", "corrupt.npz"], ["data='corrupt.npz'", "readable .npz"]),
    (["standard-gaussian", *MU, "--data", "corrupt.npy"], ["data='corrupt.npy'", "readable .npy"]),
    (["standard-gaussian", *MU, "--data", "bounds.txt"], ["data='bounds.txt'", ".csv, .npy or .npz"]),
    (["standard-gaussian", *MU, "--data", "pair.npz"], ["data='pair.npz'", "'records'"]),
    (["standard-gaussian", *MU, "--data", "words.csv"], ["data='yes'", "line 2, column c"]),
    (["standard-gaussian", *MU, "--data", "nan.csv"], ["data=", "nan", "a finite number"]),
    (["standard-gaussian", *MU, "--data", "outside.csv"], ["dataset entry=1.5", "[0.0, 1.0]", "clip"]),
    (["elliptical-gaussian", *MU, "--data", "table.npy"], ["dataset entry=1.0", "within its coordinate's bounds"]),
    (["standard-gaussian", *MU, "--data", "cube.npy"], ["data='array of shape (2, 2, 3)'", "(records, queries)"]),
    (["grouped-gaussian", *MU, "--data", "table.npy"], ["data='array of shape (3, 3)'", "(records, groups, queries)"]),
    ([*STANDARD[:1], "--dim", "4", *MU, "--data", "table.npy"], ["dim=4", "3, as the data have it"]),
    (["standard-gaussian", *MU, "--data", "table.npy", "--record", "3"], ["record=3", "0..2"]),
    (["standard-gaussian", *MU, "--data", "table.npy", "--record", "-1"], ["record='-1'", ">= 0"]),
    ([*STANDARD, "--record", "0"], ["record='0'", "left out without --data"]),
    (["standard-gaussian", *MU, "--data", "table.npy", "--neighbours", "pair.npz"], ["left out with --data"]),
    (["broken:M17", *MU, "--data", "table.npy"], ["data='a table'", "several records"]),
    (["standard-gaussian", *MU, "--data", "no_such_module:records"], ["data=", "module that can be found"]),
    # pairs
    (["standard-gaussian", *MU, "--neighbours", "no.npz"], ["neighbours='no.npz'", "a file that exists"]),
    (["standard-gaussian", *MU, "--neighbours", "corrupt.npz"], ["neighbours='corrupt.npz'", "readable .npz"]),
    (["standard-gaussian", *MU, "--neighbours", "table.npy"], ["neighbours='table.npy'", "named arrays"]),
    (["standard-gaussian", *MU, "--neighbours", "other_names.npz"], ["'dataset'", "it holds after, before"]),
    (["standard-gaussian", *MU, "--neighbours", "strangers.npz"], ["neighbours under replace-one", "one record only"]),
    (["standard-gaussian", *MU, "--neighbours", "outside.npz"], ["dataset entry=2.0", "clip"]),
    (["correlated-gaussian", *MU, "--neighbours", "replaced.npz"], ["neighbours='replace-one'", "add-or-remove-one"]),
    (
        ["standard-gaussian", *MU, "--neighbours", "replaced.npz", "--adjacency", "add-or-remove-one"],
        ["neighbours=", "use --adjacency replace-one"],
    ),
    # black boxes
    (["callables_that_fail:fine", "--claim", "mu=1"], ["neighbours must be given", "add --neighbours"]),
    (["callables_that_fail:fine"], ["neighbours and claim must be given", "add --neighbours", "and --claim"]),
    (["callables_that_fail:fine", "--neighbours", "pair.npz"], ["claim must be given", "add --claim"]),
    (["callables_that_fail:fine", *BOX, "--mu", "1"], ["mu='1'", "left out for callables_that_fail:fine"]),
    (["callables_that_fail:fine", *BOX[2:], "--data", "table.npy"], ["neighbours must be given"]),
    (["callables_that_fail:missing", *BOX], ["mechanism=", "the name of a function"]),
    (["callables_that_fail:fin", *BOX], ["mechanism=", "did you mean fine"]),
    (["callables_that_fail:NUMBER", *BOX], ["mechanism=", "a function, not int"]),
    (["no_such_module:fine", *BOX], ["mechanism=", "module that can be found"]),
    (["no_such_file.py:fine", *BOX], ["mechanism=", "in a file that exists"]),
    (["fails_on_import:fine", *BOX], ["mechanism=", "ValueError: planted"]),
    (["callables_that_fail:raises", *BOX], ["raised RuntimeError: first line second line"]),
    (["callables_that_fail:takes_nothing", *BOX], ["raised TypeError"]),
    # outputs
    ([*STANDARD, "--json", "folder"], ["json='folder'", "not a folder"]),
    ([*STANDARD, "--report", "missing/out.html"], ["report='missing/out.html'", "in a folder that exists"]),
    ([*STANDARD, "--report", "out.txt", "--json", "./out.txt"], ["a file of its own"]),
]


@pytest.mark.few(60)
@pytest.mark.parametrize(("arguments", "parts"), CASES, ids=[" ".join(case[0]) or "nothing" for case in CASES])
def test_bad_input_to_audit_is_refused_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], parts: list[str]
) -> None:
    before = files(here)
    outputs = [] if {"--json", "--report"} & set(arguments) else ["--json", "out.json", "--report", "out.html"]
    code = main(["audit", *arguments, *outputs])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    for part in parts:
        assert part in printed.err
    assert files(here) == before


@pytest.mark.few(3)
@pytest.mark.parametrize("function", ["not_a_number", "words", "nothing", "empty", "matrix", "ragged", "changing"])
def test_what_a_function_gives_is_no_error(here: Path, capsys: pytest.CaptureFixture[str], function: str) -> None:
    """The same on both data sets: an outcome as any other, which shows nothing."""
    assert main(["audit", f"callables_that_fail:{function}", *BOX]) == 3
    assert "INCONCLUSIVE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([*STANDARD, "--points", "1"], ["points='1'", ">= 2"]),
        ([*STANDARD, "--points", "many"], ["points='many'"]),
        ([*STANDARD, "--png", "folder"], ["png='folder'", "not a folder"]),
        ([*STANDARD, "--csv", "missing/out.csv"], ["csv='missing/out.csv'", "in a folder that exists"]),
        ([*STANDARD, "--csv", "out", "--png", "out"], ["a file of its own"]),
        (["standard-gaussian", "--dim", "0", "--mu", "1"], ["dim='0'"]),
        (["callables_that_fail:fine"], ["a mechanism of known structure"]),
    ],
)
def test_bad_input_to_curve_is_refused_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], parts: list[str]
) -> None:
    before = files(here)
    code = main(["curve", *arguments])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    for part in parts:
        assert part in printed.err
    assert files(here) == before


def test_an_unknown_command_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adit"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "No such command 'adit'" in printed.err


def test_a_line_that_ends_before_a_command_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--"]) == 2
    assert capsys.readouterr().err == "error: Missing command.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["scores", "--in", "loop", "--out", "loop", "--claim", "mu=1"],
        ["audit", "callables_that_fail.py:fine", *BOX, "--neighbours", "loop"],
    ],
)
def test_a_link_that_leads_to_itself_is_refused_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    Path("loop").symlink_to("loop")
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'loop'" in line
    assert "Symlink" not in line


def test_an_old_report_survives_a_refused_run(here: Path) -> None:
    (here / "out.json").write_text("an older report")
    assert main(["audit", *STANDARD, "--samples", "0", "--json", "out.json"]) == 2
    assert (here / "out.json").read_text() == "an older report"


def test_the_installed_script_refuses_in_one_line(here: Path) -> None:
    refused = subprocess.run([SCRIPT, "audit", "standard-gaussian", "--dim", "0"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.startswith("error: --dim='0' must be a whole number >= 1")
    assert refused.stderr.count("\n") == 1
