"""The examples: a real table, and other people's mechanisms, through the command a user types.

Every audit here has the error probability ALARM, so a right use is reported as refuted with at most that probability.
The libraries draw their randomness from the operating system: no seed repeats these runs, but three right uses and
ALARM make a false alarm less likely than 1e-8. A wrong use must be refuted in one of at most TRIES runs: of 150
simulated runs at these sample sizes 3 (diffprivlib) and none (OpenDP) missed it, so TRIES together miss about once in
a million.
"""

import contextlib
import importlib
import importlib.util
import json
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpverdict.cli.application import main

pytestmark = pytest.mark.usefixtures("warm_copies")

ALARM = "1e-9"
TRIES = 4
EXAMPLES = Path(__file__).parents[2] / "examples"
ROSSI = ["--data", f"{EXAMPLES / 'rossi.py'}:records"]

needs_rossi = pytest.mark.skipif(importlib.util.find_spec("lifelines") is None, reason="lifelines is absent")


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is absent")


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    """They are imported here, once, and not in the copy of this process that runs an audit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("opendp.prelude", "diffprivlib", "lifelines.datasets"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The pair of datasets, written as the examples tell a user to."""
    path = tmp_path_factory.mktemp("examples") / "pair.npz"
    subprocess.run([sys.executable, str(EXAMPLES / "third_party.py"), str(path)], check=True)
    return str(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The real records in a file of their own."""
    path = tmp_path_factory.mktemp("rossi") / "rossi.npy"
    np.save(path, runpy.run_path(str(EXAMPLES / "rossi.py"))["records"]())
    return str(path)


Report = dict[str, object]


def audit(folder: Path, *arguments: str) -> tuple[int, Report]:
    """Exit code and JSON of an audit."""
    out = folder / "out.json"
    code = main(["audit", *arguments, "--error-probability", ALARM, "--json", str(out), "--quiet"])
    return code, json.loads(out.read_text())


def facts(report: Report) -> dict[str, str]:
    membership = report["membership"]
    assert isinstance(membership, dict)
    return {str(name): str(value) for name, value in membership.items()}


@needs_rossi
def test_the_rossi_table_is_real_and_binary() -> None:
    spec = importlib.util.spec_from_file_location("rossi_example", EXAMPLES / "rossi.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    records = module.records()
    assert records.shape == (432, 6)
    assert set(np.unique(records)) == {0.0, 1.0}
    assert int(records[:, module.COLUMNS.index("arrest")].sum()) == 114  # men arrested within the year (Rossi et al.)


@needs_rossi
def test_with_the_count_released_every_man_is_exposed_alike(tmp_path: Path, table: str) -> None:
    code, report = audit(tmp_path, "correlated-gaussian", *ROSSI, "--mu", "1", "--samples", "5000")
    assert (code, report["status"]) == (0, "CERTIFIED")
    most = facts(report)["exact mu of this record"]
    for index in ("0", "100", "431"):
        ask = ["correlated-gaussian", "--data", table, "--mu", "1", "--record", index]
        code, report = audit(tmp_path, *ask, "--samples", "100")
        assert code == 0
        assert facts(report)["exact mu of this record"][:14] == most[:14] == "[0.99999999999"


@needs_rossi
def test_with_the_count_withheld_the_exposure_depends_on_the_man(tmp_path: Path, table: str) -> None:
    ask = ["correlated-gaussian", "--data", table, "--mu", "1", "--count", "withheld"]
    code, report = audit(tmp_path, *ask, "--samples", "5000")
    assert (code, report["status"]) == (0, "CERTIFIED")
    # j = 4 of d = 6 answers are yes: mu^2 = 1 - ((j - j*)/j*)^2 with j* = (d + sqrt d)/2, the largest over whole j.
    middle = (6 + 6**0.5) / 2
    assert facts(report)["its values"].count("1") == 4
    expected = (1 - ((4 - middle) / middle) ** 2) ** 0.5
    assert facts(report)["exact mu of this record"].startswith(f"[{expected:.15f}"[:13])
    code, report = audit(tmp_path, *ask, "--record", "0", "--samples", "100")
    assert code == 0
    assert facts(report)["its values"].count("1") == 3
    lower = (1 - ((3 - middle) / middle) ** 2) ** 0.5
    assert facts(report)["exact mu of this record"].startswith(f"[{lower:.15f}"[:13])


@pytest.mark.few(2)
@needs_rossi
@pytest.mark.parametrize(
    ("function", "claim", "samples"),
    [
        pytest.param("opendp_gaussian", "rho=0.5", "1000", marks=needs("opendp")),
        pytest.param("diffprivlib_analytic", "eps=1, delta=1e-3", "1000", marks=needs("diffprivlib")),
        pytest.param("diffprivlib_classic", "eps=1, delta=1e-3", "1000", marks=needs("diffprivlib")),
    ],
)
def test_a_right_use_of_a_library_is_not_refuted(
    tmp_path: Path, pair: str, function: str, claim: str, samples: str
) -> None:
    mechanism = f"{EXAMPLES / 'third_party.py'}:{function}"
    code, report = audit(tmp_path, mechanism, "--neighbours", pair, "--claim", claim, "--samples", samples)
    assert (code, report["status"]) == (3, "INCONCLUSIVE")
    assert any("the seed does not govern" in str(text) for text in np.atleast_1d(np.array(report["assumptions"])))


@needs_rossi
@pytest.mark.parametrize(
    ("function", "claim", "samples"),
    [
        pytest.param("opendp_gaussian_understated", "rho=0.5", "5000", marks=needs("opendp")),
        pytest.param(
            "diffprivlib_analytic_understated",
            "eps=1, delta=1e-3",
            "30000",
            marks=[needs("diffprivlib"), pytest.mark.slow],
        ),
    ],
)
def test_half_of_the_sensitivity_is_refuted(tmp_path: Path, pair: str, function: str, claim: str, samples: str) -> None:
    mechanism = f"{EXAMPLES / 'third_party.py'}:{function}"
    ask = [mechanism, "--neighbours", pair, "--claim", claim, "--samples", samples]
    assert any(audit(tmp_path, *ask)[0] == 1 for _ in range(TRIES))
