"""Every mechanism of the list on the command line: its options, its verdict, its reports, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.trials.catalogue import find_white_box, mechanism_classes
from dpverdict.cli.application import main
from dpverdict.mechanisms import Rank1Gaussian, broken
from dpverdict.mechanisms.broken.mutant import Mutant

# Exit codes: 0 certified, 1 refuted, 3 inconclusive.
AUDITS: list[tuple[str, int]] = [
    ("count-ellipse --dim 10 --k 3 --mu 1", 0),
    ("count-ellipse --dim 9 --k 9 --mu 1 --count released", 0),
    ("count-ellipse --dim 10 --k 3 --mu 1 --claim mu=0.99", 1),
    ("correlated-gaussian --dim 4 --mu 1", 0),
    ("discrete-correlated-gaussian --dim 4 --rho 0.5", 0),
    ("discrete-correlated-gaussian --dim 3 --rho 0.5 --s 9/4", 0),
    ("discrete-correlated-gaussian --dim 4 --rho 0.5 --claim rho=0.49", 1),
    ("discrete-correlated-gaussian --dim 4 --rho 0.5 --claim mu=1", 1),
    ("elliptical-gaussian --dim 3 --mu 1", 0),
    ("factorization-counter --horizon 15 --kind binary --noise laplace --epsilon 1", 0),
    ("factorization-counter --horizon 15 --kind binary --noise laplace --epsilon 1 --delta 1e-6", 0),
    ("factorization-counter --horizon 15 --kind honaker --noise gaussian --mu 1", 0),
    ("factorization-counter --horizon 15 --kind honaker --noise gaussian --mu 1 --claim mu=0.9", 3),
    ("factorization-counter --horizon 15 --kind smooth-binary --noise laplace --rho 0.5", 0),
    ("factorization-counter --horizon 15 --kind sqrt-toeplitz --noise gaussian --epsilon 1 --delta 1e-6", 0),
    ("factorization-counter --horizon 15 --kind sqrt-toeplitz --noise gaussian --rho 0.5 --claim rho=0.4", 1),
    ("grouped-gaussian --dim 3 --mu 1", 0),
    ("dp-sgd --noise-multiplier 1 --rate 0.25 --steps 100 --sampling poisson --clipping-norm 2 --dim 3", 0),
    ("dp-sgd --noise-multiplier 1 --rate 0.25 --steps 100 --sampling shuffle --adjacency replace-one", 0),
    ("dp-sgd --noise-multiplier 1 --rate 0.01 --steps 1000 --sampling shuffle-once --claim mu=1", 1),
    ("dp-ftrl --noise-multiplier 3 --steps 12 --epochs 3 --kind binary --participation fresh --clipping-norm 2", 0),
    ("dp-ftrl --noise-multiplier 3 --steps 6 --epochs 2 --kind sqrt-toeplitz --participation fixed --claim mu=0.1", 1),
    ("matrix-mechanism --noise-multiplier 2 --steps 8 --kind bisr --band 3 --participation cyclic --separation 4", 0),
    ("matrix-mechanism --noise-multiplier 2 --steps 8 --kind bandmf --band 3 --participation single --claim mu=.1", 1),
    (
        "matrix-mechanism --noise-multiplier 2 --steps 8 --kind blt --decays .9 --weights .3 --participation single",
        0,
    ),
    ("above-threshold --queries 3 --epsilon 1 --adjacency replace-one --threshold 2", 0),
    ("above-threshold --queries 13 --epsilon 1 --adjacency replace-one --threshold 20 --claim eps=0.9", 1),
    ("above-threshold --queries 4 --positives 2 --epsilon 1 --adjacency add-or-remove-one --threshold 0", 0),
    ("exponential --options 4 --epsilon 1 --adjacency replace-one", 0),
    ("exponential --options 4 --epsilon 1 --adjacency add-or-remove-one --claim eps=0.5,delta=0.0775", 0),
    ("exponential --options 4 --epsilon 1 --adjacency add-or-remove-one --claim eps=0.5,delta=0.0774", 1),
    ("exponential --options 3 --epsilon 1 --adjacency replace-one --rate 1 --claim eps=1", 1),
    ("geometric --epsilon 1 --adjacency replace-one", 0),
    ("geometric --epsilon 1 --adjacency replace-one --sensitivity 3 --outputs truncated --low 0 --high 9", 0),
    ("geometric --epsilon 1 --adjacency add-or-remove-one --outputs bounded --low -2 --high 9", 0),
    ("permute-and-flip --options 3 --epsilon 1 --adjacency replace-one", 0),
    ("permute-and-flip --options 3 --epsilon 1 --adjacency replace-one --claim eps=0.999", 1),
    ("randomized-response --options 5 --epsilon 1", 0),
    ("randomized-response --options 5 --epsilon 1 --claim eps=0.999999", 1),
    ("report-noisy-max --options 3 --epsilon 1 --adjacency replace-one --noise laplace --sensitivity 2", 0),
    ("report-noisy-max --options 3 --epsilon 1 --adjacency replace-one --noise gumbel --scale 1 --claim eps=1", 1),
    ("laplace --dim 3 --epsilon 1", 0),
    ("laplace --dim 3 --epsilon 1 --scale 2.9", 1),
    ("laplace --dim 3 --epsilon 1 --scale 3.1 --claim rho=0.5", 0),
    ("laplace --dim 3 --epsilon 1 --norm l1 --radius 2 --adjacency replace-one", 0),
    ("laplace --dim 3 --epsilon 1 --norm l2 --radius 0.5 --adjacency add-or-remove-one", 0),
    ("laplace --dim 50 --epsilon 1 --delta 1e-6 --calibration theorem", 0),
    ("laplace --dim 50 --epsilon 1 --delta 1e-6 --calibration concentrated --norm l2 --adjacency replace-one", 0),
    (
        "sampled-matrix --noise-multiplier 4 --steps 20 --kind banded-sqrt --band 2 --sampling balls-in-bins "
        "--separation 10",
        0,
    ),
    (
        "sampled-matrix --noise-multiplier 2 --steps 20 --kind bandmf --band 3 --sampling cyclic-poisson "
        "--separation 5 --rate 0.1 --claim eps=0.1,delta=1e-5",
        1,
    ),
    (
        "sampled-matrix --noise-multiplier 4 --steps 100 --kind toeplitz --coefficients 1,1/2 --sampling "
        "min-separation --separation 5 --rate 0.01 --claim eps=1,delta=1e-5",
        0,
    ),
    ("optimal-grouped-gaussian --groups 3 --dim 4 --mu 1", 0),
    ("optimal-grouped-gaussian --groups 3 --dim 4 --mu 1 --claim mu=0.99", 1),
    ("rank1-gaussian --dim 3 --epsilon 1 --delta 1e-3", 0),
    ("rank1-gaussian --dim 4 --epsilon 1 --delta 1e-3 --radius 2 --scale 100", 1),
    ("standard-gaussian --dim 3 --mu 1", 0),
    ("tree-counter --horizon 100 --epsilon 1", 0),
    ("tree-counter --horizon 62 --epsilon 1 --arity 5 --noise continuous", 0),
    ("tree-counter --horizon 40 --epsilon 1 --arity 5 --claim eps=0.99", 1),
    ("tree-counter --horizon 20 --epsilon 1 --arity 5 --claim eps=0.99", 3),
    ("tree-counter --horizon 20 --epsilon 1 --arity 3 --digits ordinary --claim eps=0.99", 1),
    ("vote-ellipse --dim 5 --mu 1", 0),
    ("vote-ellipse --dim 5 --mu 1 --claim eps=1", 1),
]

AUDITS += [
    (f"{name} {mechanism.example}", 0)
    for name, mechanism in mechanism_classes().items()
    if name not in {command.split()[0] for command, _ in AUDITS}
]


def words(text: str) -> list[str]:
    return text.split()


def test_every_mechanism_of_the_list_is_audited_here() -> None:
    assert {words(command)[0] for command, _ in AUDITS} == set(mechanism_classes())


BOUNDS = (
    *("honaker", "smooth-binary", "--norm l2"),
    *("exponential", "quantile", "permute-and-flip", "report-noisy-max", "above-threshold", "--outputs bounded"),
    *("--sampling shuffle", "sampled-matrix", "thresholded-counts", "partition-selection", "secure-sum"),
    *("shuffled-reports", "best-of-runs"),
)
HEAVY = (
    *("rank1", "discrete", "--noise laplace", "--noise continuous", "--scale", "--norm", "--dim 50"),
    "--sampling poisson",
)
"""Parts of commands whose reports take long, for their many certified numbers of heavy losses."""
HEAVIEST = "rank1-gaussian --dim 4 --epsilon 1 --delta 1e-3 --radius 2 --scale 100"
FIRST = {words(command)[0]: command for command, _ in reversed(AUDITS)}


def heavy(command: str) -> bool:
    return any(part in command for part in HEAVY)


REPORTED = [(command, code) for command, code in AUDITS if "--claim" not in command]
VERDICTS = [(command, code) for command, code in AUDITS if "--claim" in command or heavy(command)]


def slow_if(slow: bool, *values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow if slow else (), id=" ".join(str(value) for value in values))


@pytest.mark.few(17)
@pytest.mark.parametrize(("command", "code"), [slow_if(case[0] == HEAVIEST, *case) for case in VERDICTS])
def test_every_option_reaches_its_mechanism(command: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands that are not here by default have all their reports read by the next test."""
    assert main(["audit", *words(command), "--no-test", "--quiet"]) == code
    assert capsys.readouterr() == ("", "")


def test_the_options_of_the_heaviest_audit_reach_its_mechanism() -> None:
    name, *given = words(HEAVIEST)
    options = {option.removeprefix("--"): value for option, value in zip(given[::2], given[1::2], strict=True)}
    mechanism, _ = find_white_box(name, options)
    assert isinstance(mechanism, Rank1Gaussian)
    assert (mechanism.dim, mechanism.radius, mechanism.scale) == (4, 2, 100)


@pytest.mark.few(12)
@pytest.mark.parametrize(("command", "code"), [slow_if(heavy(case[0]), *case) for case in REPORTED])
def test_every_mechanism_has_all_faces_of_a_report_and_releases_that_agree(
    command: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Error probability 1e-9 for every test of this file: less than 1e-7 in all.
    sampled = ["--samples", "200", "--seed", "5", "--error-probability", "1e-9"]
    page = tmp_path / "out.html"
    faces = ["--json", str(tmp_path / "out.json")]
    if command == FIRST[words(command)[0]]:  # it differs by mechanism, not by option
        faces += ["--report", str(page)]
    assert main(["audit", *words(command), *sampled, *faces, "--details"]) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Worst neighbours" in printed.out
    if code == 0:
        assert "Agrees with the exact audit" in " ".join(printed.out.split())
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["exit_code"] == code
    assert written["exact"]["worst_case"]["attained"] is not any(bound in command for bound in BOUNDS)
    assert ("No worst pair is known" in printed.out) is any(bound in command for bound in BOUNDS)
    if "--report" in faces:
        assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    "command",
    ["laplace --dim 1 --epsilon 1", "tree-counter --horizon 12 --epsilon 1 --arity 5", "vote-ellipse --dim 3 --mu 1"],
)
def test_curves_of_any_mechanism_are_tabulated(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curve", *words(command), "--points", "2"]) == 0
    assert "Trade-off function, certified" in capsys.readouterr().out


@pytest.mark.few(20)
@pytest.mark.parametrize("wrong", broken.ALL, ids=lambda wrong: wrong.name)
def test_every_known_wrong_variant_is_refuted_by_name(wrong: broken.Wrong, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"dim": "5", "mu": "1", "epsilon": "1", "delta": "0.01", "horizon": "25", "arity": "5"}
    if wrong.name == "M8b":
        given["mu"] = "0.5"
    if wrong.name == "M8":
        given["mu"] = "2"
    if wrong.name == "D1":  # its sums are over a lattice
        given["dim"] = "3"
    if wrong.name == "H3":  # it is wrong of few people
        given["dim"] = "2"
    parts = [text for name in wrong.parameters for text in (f"--{name}", given[name])]
    assert main(["audit", f"broken:{wrong.name}", *parts, "--no-test", "--details"]) == (0 if wrong.name == "T9" else 1)
    assert wrong.title in " ".join(capsys.readouterr().out.split()) or isinstance(wrong, Mutant)


REFUSED: list[tuple[str, str, str]] = [
    ("count-ellipse --dim 5 --k 6 --mu 1", "k", "6"),
    ("count-ellipse --dim 5 --k 0 --mu 1", "k", "0"),
    ("count-ellipse --dim 5 --mu 1", "k", "None"),
    ("discrete-correlated-gaussian --dim 5 --rho 0", "rho", "0"),
    ("discrete-correlated-gaussian --dim 5 --rho 1 --s -1", "s", "-1"),
    ("discrete-correlated-gaussian --dim 5 --mu 1", "mu", "1"),
    ("factorization-counter --horizon 15 --kind haar --noise laplace --epsilon 1", "kind", "haar"),
    ("factorization-counter --horizon 15 --kind binary --noise cauchy --epsilon 1", "noise", "cauchy"),
    ("factorization-counter --horizon 15 --kind binary --noise laplace --mu 1", "claim", "mu=1"),
    ("factorization-counter --horizon 15 --kind binary --noise laplace", "budget", "None"),
    ("factorization-counter --horizon 15 --kind binary --noise laplace --delta 1e-6", "budget", "--delta"),
    ("factorization-counter --horizon 15 --noise laplace --epsilon 1", "kind", "None"),
    ("laplace --dim 3 --epsilon 1 --norm l3 --adjacency replace-one", "norm", "l3"),
    ("laplace --dim 3 --epsilon 1 --norm l1", "adjacency", "None"),
    ("laplace --dim 3 --epsilon 1 --radius 0", "radius", "0"),
    ("laplace --dim 3 --epsilon 1 --scale nan", "scale", "nan"),
    ("laplace --dim 3 --epsilon 1 --delta 1e-6", "calibration", "None"),
    ("laplace --dim 3 --epsilon 1 --delta 1e-6 --calibration classic", "calibration", "classic"),
    ("standard-gaussian --dim 3 --epsilon 1 --delta 1e-6 --calibration theorem", "calibration", "theorem"),
    ("rank1-gaussian --dim 2 --epsilon 1 --delta 1e-3", "dim", "2"),
    ("rank1-gaussian --dim 3 --epsilon 1 --delta 1e-3 --radius -1", "radius", "-1"),
    ("optimal-grouped-gaussian --dim 3 --mu 1 --groups 0", "groups", "0"),
    ("tree-counter --horizon 0 --epsilon 1", "horizon", "0"),
    ("tree-counter --horizon 10 --epsilon 1 --arity 1", "arity", "1"),
    ("tree-counter --horizon 10 --epsilon 1 --arity many", "arity", "many"),
    ("tree-counter --horizon 10 --epsilon 1 --arity 4 --digits symmetric", "arity", "4"),
    ("tree-counter --horizon 10 --epsilon 1 --digits roman", "digits", "roman"),
    ("tree-counter --horizon 10 --epsilon 1 --noise gaussian", "noise", "gaussian"),
    ("tree-counter --dim 10 --epsilon 1", "dim", "10"),
    ("vote-ellipse --dim 1 --mu 1", "dim", "1"),
    ("vote-ellipse --dim 3 --mu 1 --k 2", "k", "2"),
    ("broken:T1 --dim 3 --mu 1", "dim", "3"),
    ("broken:T1 --horizon 12 --epsilon 1", "arity", "None"),
    ("broken:L1 --dim 3 --mu 1", "mu", "1"),
    ("broken:V1 --dim 1 --mu 1", "dim", "1"),
]


@pytest.mark.parametrize(("command", "name", "value"), REFUSED, ids=lambda text: text)
def test_a_wrong_value_is_refused_with_name_value_requirement_and_remedy(
    command: str, name: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *words(command), "--no-test"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    line = printed.err.strip()
    assert "\n" not in line
    typed = name if name in ("budget", "claim") else "--" + name.replace("_", "-").lower()  # what nobody types
    shown = [typed] if value == "None" else [f"{typed}={value}", f"{typed}='{value}'"]
    assert line.startswith(tuple(f"error: {one} must be " for one in shown)), line
    requirement, _, remedy = line.partition(" must be ")[2].partition(": ")
    assert requirement
    assert remedy


def test_a_stream_from_a_table_is_audited_where_its_items_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "stream.npy", np.array([[1.0], [0.0], [0.0], [1.0]]))
    given = ["audit", "tree-counter", "--epsilon", "1", "--arity", "3", "--data", str(tmp_path / "stream.npy")]
    given.append("--details")
    assert main([*given, "--samples", "500", "--seed", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "index 0 (the first is 0), the most exposed" in text
    assert "horizon 4" in text
    assert main([*given, "--record", "1", "--samples", "500", "--seed", "1"]) == 0  # the middle child: one level less
    assert "index 1 (the first is 0), as asked" in " ".join(capsys.readouterr().out.split())
