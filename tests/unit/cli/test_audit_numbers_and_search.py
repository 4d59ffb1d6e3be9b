"""On the command line: which numbers a claim is about, the search for neighbours, and the checks of the code."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from dpverdict.audit.reports.to_json import read_schema
from dpverdict.cli.application import main

pytestmark = pytest.mark.usefixtures("warm_copies")

MECHANISMS = """
import numpy as np
from dpverdict.audit import batched

@batched
def laplace(dataset, rng, trials):
    return dataset.sum() + rng.laplace(size=(trials, 1))

@batched
def five_ones(dataset, rng, trials):
    five = (dataset.sum(axis=1) == 5).any() if len(dataset) else False
    return dataset.mean(axis=1).sum() + 4.0 * five + rng.laplace(size=(trials, 1))

@batched
def fixed(dataset, rng, trials):
    return dataset.sum() + np.random.default_rng(0).laplace(size=(trials, 1))
"""
COMMON = ["--claim", "eps=1", "--seed", "3"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "code.py").write_text(MECHANISMS)
    np.savez(tmp_path / "pair.npz", dataset=np.ones((1, 1)), neighbour=np.zeros((0, 1)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finish_audit(*words: str) -> tuple[int, dict[str, object]]:
    code = main(["audit", *words, *COMMON, "--json", "out.json", "--quiet"])
    fields = json.loads(Path("out.json").read_text())
    jsonschema.validate(fields, read_schema())
    return code, fields


@pytest.mark.parametrize(("numbers", "code"), [(None, 3), ("real", 3), ("double", 1)])
def test_laplace_noise_in_float64_leaks_only_if_the_low_bits_are_asked_for(
    folder: Path, numbers: str | None, code: int
) -> None:
    asked = [] if numbers is None else ["--numbers", numbers]
    found, fields = finish_audit("code.py:laplace", "--neighbours", "pair.npz", "--samples", "6000", *asked)
    assert found == code
    statistical = fields["statistical"]
    assert isinstance(statistical, dict)
    assert (statistical["low_bits"] is not None) == (numbers == "double")
    assert statistical["test"]["mode"].startswith("real" if numbers == "real" else "double")


def test_a_certificate_about_real_numbers_does_not_survive_a_leak(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", "correlated-gaussian", "--dim", "3", "--mu", "1", "--samples", "20000", "--seed", "1"]
    assert main([*words, "--numbers", "double"]) == 1
    assert "low bits tell the data" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--numbers", "real"]) == 0


def test_the_search_finds_the_record_and_the_report_says_what_it_cost(folder: Path) -> None:
    words = ["--search", "binary:8", "--adjacency", "add-or-remove-one", "--samples", "24000"]
    code, fields = finish_audit("code.py:five_ones", *words)
    assert code == 1
    mechanism = fields["mechanism"]
    assert isinstance(mechanism, dict)
    assert "then thrown away" in mechanism["parameters"]["neighbours searched"]


def test_the_checks_of_the_code_are_reported(folder: Path) -> None:
    _, fields = finish_audit("code.py:fixed", "--neighbours", "pair.npz", "--samples", "500")
    implementation = fields["implementation"]
    assert isinstance(implementation, list)
    assert [found["name"] for found in implementation if found["holds"] is False] == [
        "another seed gives another output",
        "all randomness comes from the generator passed in",
        "the releases differ from each other",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["code.py:laplace", "--search", "binary:8", "--claim", "eps=1"],  # no relation
        ["code.py:laplace", "--search", "ternary:8", "--claim", "eps=1", "--adjacency", "replace-one"],
        ["code.py:laplace", "--search", "binary:0", "--claim", "eps=1", "--adjacency", "replace-one"],
        ["code.py:laplace", "--search", "binary", "--claim", "eps=1", "--adjacency", "replace-one"],
        ["code.py:laplace", "--search", "binary:8", "--adjacency", "replace-one"],  # no claim
        ["code.py:laplace", "--search", "binary:8", "--neighbours", "pair.npz", "--claim", "eps=1"],
        ["standard-gaussian", "--dim", "2", "--mu", "1", "--search", "binary:2"],
        ["standard-gaussian", "--dim", "2", "--mu", "1", "--no-test", "--numbers", "real"],
        ["standard-gaussian", "--dim", "2", "--mu", "1", "--numbers", "complex"],
    ],
)
def test_what_makes_no_sense_is_a_usage_error(folder: Path, words: list[str]) -> None:
    assert main(["audit", *words]) == 2
