"""Every numeric option of every mechanism at extreme values, and every other command: decided or refused in time.

Each line runs in a process of its own, with the limits of `fuzzing`: a minute of processor time, 2 GB, exit code 2 with
one line. A few lines in the default run, another choice for each seed; all with ``pytest -m slow``.
"""

import importlib.util
import random
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpverdict.audit.trials.catalogue import mechanism_classes

_SPEC = importlib.util.spec_from_file_location("fuzzing", Path(__file__).with_name("fuzzing.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
fuzzing = importlib.util.module_from_spec(_SPEC)
sys.modules.setdefault("fuzzing", fuzzing)  # where its dataclasses look for their module
_SPEC.loader.exec_module(fuzzing)

FAR = ("1e-9000", "1e9000", "1e-400", "1e400", "1e-30", "1e30", "1e18", "0." + "1234567890" * 40)
MORE = {  # options that the examples leave out
    "gaussian": "--sigma 4 --sensitivity 1 --dim 2",
    "dp-sgd": "--noise-multiplier 1 --rate 1/4 --steps 8 --sampling shuffle --clipping-norm 1",
    "above-threshold": "--queries 9 --positives 2 --epsilon 1 --adjacency replace-one --threshold 1 --sensitivity 1",
    "exponential": "--options 3 --rate 1 --epsilon 1 --sensitivity 1 --adjacency replace-one",
    "geometric": "--rate 1 --epsilon 1 --sensitivity 1 --low 0 --high 5 --outputs truncated --adjacency replace-one",
    "report-noisy-max": "--options 3 --epsilon 1 --scale 2 --noise gumbel --sensitivity 1 --adjacency replace-one",
}
OTHERS = [
    *(
        "calibrate gaussian --sensitivity 1 --claim mu={}",
        "calibrate gaussian --sensitivity {} --claim eps=1,delta=1e-6",
    ),
    *("calibrate laplace --dim 2 --claim eps={}", "calibrate laplace --dim {} --claim eps=1,delta=1e-6"),
    "calibrate gaussian --sensitivity 1 --releases {} --claim eps=1,delta=1e-6",
    "calibrate gaussian --sensitivity 1 --claim eps=1,delta={}",
    'compose "30 x gaussian sigma={} sensitivity=1" --claim eps=2,delta=1e-6',
    'compose "{} x gaussian sigma=20 sensitivity=1" --claim eps=2,delta=1e-6',
    'compose "30 x laplace epsilon={} dim=1" --claim eps=2,delta=1e-6',
    'compose "3 x laplace epsilon=1 dim=1" --claim eps={},delta=1e-6',
    'compose "3 x laplace epsilon=1 dim=1" --claim eps=1,delta={}',
    *("curve counters --horizon {}", "curve ellipses --dim {}", "curve constants --dim {}"),
    "curve standard-gaussian --dim 3 --mu {} --points 3",
    "curve laplace --dim 3 --epsilon {} --points 3",
    "curve dp-sgd --noise-multiplier {} --rate 0.01 --steps 9 --sampling poisson --points 3",
    *(f"scores --in in.npy --out out.npy --claim {claim}" for claim in ("eps={}", "mu={}", "eps=1,delta={}", "rho={}")),
    "scores --in in.npy --out out.npy --claim eps=1 --error-probability {}",
    "scores --in in.npy --out out.npy --claim eps=1 --delta {}",
    *(
        "run many.toml --timeout {}",
        "run many.toml --memory {}",
        "run many.toml --jobs {}",
        "replay x.json --samples {}",
    ),
    "prove lebeda2024 --statement 3.4 --jobs {}",
]
PLAN = '[[audit]]\nname = "many"\nmechanism = "standard-gaussian"\ndim = 3\nmu = 1\nsamples = "1e18"\n'


def lines() -> Iterator[str]:
    """Every line, as a shell would read it."""
    for name, kind in mechanism_classes().items():
        for example in dict.fromkeys((kind.example, MORE.get(name, kind.example))):
            words = example.split()
            for place in range(1, len(words), 2):
                if re.fullmatch(r"[\d./]+", words[place]):
                    for value in FAR:
                        yield " ".join(["audit", name, *words[:place], value, *words[place + 1 :], "--no-test --quiet"])
    for line in OTHERS:
        for value in FAR:
            yield line.format(value)


def found_by(line: str, folder: Path) -> str | None:
    """What is wrong with how a line ends; None if nothing is."""
    scores = fuzzing.an_array(array=[0.0, 1.0, 2.0, 5.0] * 20)
    files = {"in.npy": scores, "out.npy": scores, "many.toml": PLAN.encode()}
    ended = fuzzing.run(
        fuzzing.Case(tuple(shlex.split(line)), files), folder, seconds=10 * fuzzing.SECONDS, fresh=False
    )
    finding: str | None = ended.finding
    return None if finding is None else f"{line[:120]}: {finding}"


def test_there_are_lines_of_every_mechanism_and_command() -> None:
    whole = list(lines())
    assert {line.split()[1] for line in whole if line.startswith("audit")} == set(mechanism_classes())
    commands = {"audit", "calibrate", "compose", "curve", "scores", "run", "replay", "prove"}
    assert {line.split()[0] for line in whole} == commands


def test_some_extreme_options_are_decided_or_refused_in_time(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed).sample(list(lines()), 8)
    assert [found for line in chosen if (found := found_by(line, tmp_path)) is not None] == []


@pytest.mark.slow
@pytest.mark.parametrize("line", list(lines()), ids=lambda line: line if len(line) < 90 else line[:90])
def test_extreme_options_are_decided_or_refused_in_time(line: str, tmp_path: Path) -> None:
    assert found_by(line, tmp_path) is None
