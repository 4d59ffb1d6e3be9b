"""Numbers of any size on the command line: decided, or refused in one line, in a few seconds and little memory."""

import itertools
import math
import subprocess
import sys

import pytest

from dpverdict.cli.application import main

FAR = ("1e-9000", "1e9000", "1e-400", "1e400", "1." + "1234567890" * 40, "0." + "0" * 400 + "1")
MANY = ("1e9", "1e18", "1e400", "1e9000")

OPTIONS = {  # every numeric option of a mechanism, with the others it needs
    "standard-gaussian --dim 3 --mu {}": FAR,
    "standard-gaussian --dim 3 --epsilon {} --delta 1e-6 --calibration analytic": FAR,
    "standard-gaussian --dim 3 --epsilon 1 --delta {} --calibration classic": FAR,
    "correlated-gaussian --dim 3 --mu 1 --c {}": FAR,
    "correlated-gaussian --dim 3 --mu 1 --count estimated --size-estimate {}": FAR,
    "discrete-correlated-gaussian --dim 3 --rho {}": FAR,
    "discrete-correlated-gaussian --dim 3 --rho 1 --s {}": FAR,
    "elliptical-gaussian --mu 1 --bounds {}": (*FAR, "1e10001", "1,1e9000"),
    "laplace --dim 3 --epsilon {}": FAR,
    "laplace --dim 3 --epsilon 1 --radius {}": FAR,
    "laplace --dim 3 --epsilon 1 --scale {}": FAR,
    "rank1-gaussian --dim 3 --epsilon {} --delta 1e-3": FAR,
    "rank1-gaussian --dim 3 --epsilon 1 --delta {}": FAR,
    "rank1-gaussian --dim 3 --epsilon 1 --delta 1e-3 --radius {}": FAR,
    "tree-counter --horizon 20 --arity 5 --epsilon {}": FAR,
    "factorization-counter --horizon 15 --kind binary --noise gaussian --mu {}": FAR,
    "factorization-counter --horizon 15 --kind binary --noise laplace --rho {}": FAR,
    "standard-gaussian --mu 1 --dim {}": MANY,
    "grouped-gaussian --mu 1 --dim 10 --groups {}": MANY,
    "count-ellipse --mu 1 --dim 10 --k {}": MANY,
    "count-ellipse --mu 1 --k 3 --dim {}": MANY,
    "tree-counter --epsilon 1 --arity 5 --horizon {}": MANY,
    "tree-counter --epsilon 1 --horizon 20 --arity {}": MANY,
    "broken:T1 --epsilon 1 --arity 5 --horizon {}": MANY,
    "standard-gaussian --dim 3 --mu 1 --claim mu={}": FAR,
    "standard-gaussian --dim 3 --mu 1 --claim eps={}": FAR,
    "standard-gaussian --dim 3 --mu 1 --claim eps=1,delta={}": FAR,
    "standard-gaussian --dim 3 --mu 1 --claim rho={}": FAR,
}
SAMPLED = {
    "--samples {}": MANY[1:],
    "--samples 100 --error-probability {}": FAR,
    "--samples 100 --test-delta {}": FAR,
    "--samples 100 --seed {}": (*FAR, *MANY),
    "--samples 100 --jobs {}": FAR,
}
LINES = [
    *(f"audit {line.format(value)} --no-test" for line, values in OPTIONS.items() for value in values),
    *(f"audit standard-gaussian --dim 3 --mu 1 {line.format(v)}" for line, vs in SAMPLED.items() for v in vs),
    *(f"curve standard-gaussian --dim 3 --mu 1 --points {value}" for value in MANY),
    *(f"curve {name} --dim {value}" for name, value in itertools.product(("ellipses", "constants"), MANY[1:])),
]


@pytest.mark.few(60)
@pytest.mark.parametrize("line", LINES, ids=lambda line: line if len(line) < 90 else line[:90])
def test_a_number_of_any_size_is_decided_or_refused_in_one_line(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*line.split(), *(["--quiet"] if line.startswith("audit") else [])])
    printed = capsys.readouterr()
    assert code in (0, 1, 2, 3), printed.err
    if code == 2:
        assert printed.out == ""
        assert printed.err.startswith("error: ")
        assert printed.err.count("\n") == 1
        assert len(printed.err) < 400
    else:
        assert printed.err == ""


@pytest.mark.parametrize(
    "line",
    [
        "standard-gaussian --dim 3 --mu 1 --claim mu=1e-9000",
        "discrete-correlated-gaussian --dim 3 --rho 1e-20",
        pytest.param("discrete-correlated-gaussian --dim 3 --rho 1e-60", marks=pytest.mark.slow),
        pytest.param("discrete-correlated-gaussian --dim 3 --rho 1e-200", marks=pytest.mark.slow),  # 15 s
    ],
)
def test_what_is_shown_of_them_is_shown(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *line.split(), "--no-test"]) in (0, 1)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    ["audit standard-gaussian --mu 1 --dim 1e9", "curve tree-counter --epsilon 1 --horizon 1e18"],
)
def test_the_memory_is_bounded(line: str) -> None:
    script = (  # of this process alone: what getrusage says begins with the memory of the one that started it
        "import re, sys; from dpverdict.cli.application import main; code = main(sys.argv[1:]); "
        "print(code, 1024 * int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]))"
    )
    found = subprocess.run([sys.executable, "-c", script, *line.split()], capture_output=True, text=True, check=True)
    code, most = map(int, found.stdout.split())
    assert code == 2
    assert math.log2(most) < 29
