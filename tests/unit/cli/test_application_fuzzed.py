"""Hostile words on the command line: a usage error in one line, or an answer; never a traceback, never a hang."""

import contextlib
import io
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpverdict.cli.application import INTERNAL_ERROR, USAGE_ERROR, main

pytestmark = pytest.mark.usefixtures("warm_copies")

COMMANDS = ["audit", "curve", "run", "list", "prove", "selftestt", "--version", "--bogus", ""]
MECHANISMS = [
    "standard-gaussian",
    "correlated-gaussian",
    "broken:M3",
    "broken:ZZ",
    "os:system",
    ":",
    "a:",
    ":b",
    "x.py:f",
]
OPTIONS = [
    *("--dim", "--mu", "--epsilon", "--delta", "--calibration", "--c", "--count", "--size-estimate", "--groups"),
    *("--bounds", "--adjacency", "--claim", "--data", "--record", "--neighbours", "--samples", "--seed", "--score"),
    *("--error-probability", "--test-delta", "--points", "--csv", "--jobs", "--dask", "--statement", "--journal"),
]
HOSTILE = [
    *("", " ", "0", "-1", "nan", "inf", "-inf", "1e400", "1e-400", "1/0", "0x10", "1_0", "1e5000000000", "--", "-"),
    *("None", "true", "[]", "{}", "../../etc/passwd", "/", "/dev/null", "/nonexistent/x", "\x00", "\x1b[31m", "٣"),
    *("é" * 50, "a" * 5000, "mu=", "mu=nan", "eps=1,delta=2", "eps=1, delta=1e-6, mu=1", "rho=-1", "@/dev/null"),
    *("tcp://256.0.0.1:99999", "<script>alert(1)</script>", "${HOME}", "$(reboot)", "%s%n", "'; DROP TABLE"),
]
WORDS = st.sampled_from(HOSTILE) | st.text(max_size=8)
PAIRS = st.tuples(st.sampled_from(OPTIONS), WORDS)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command with a few hostile options; nothing in it asks for real work."""
    words = [draw(st.sampled_from(COMMANDS))]
    words += draw(st.lists(st.sampled_from(MECHANISMS) | WORDS, max_size=2))
    for option, word in draw(st.lists(PAIRS, min_size=1, max_size=4)):
        words += [option, word]
    return words


def run(words: list[str]) -> tuple[int, str]:
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main(words)
    return code, errors.getvalue()


def check(words: list[str]) -> None:
    began = time.monotonic()
    code, errors = run(words)
    assert code in (0, 1, USAGE_ERROR, 3), (code, errors)
    assert code != INTERNAL_ERROR
    assert "Traceback" not in errors
    assert time.monotonic() - began < 60, "it hangs"
    if code == USAGE_ERROR:
        assert errors.startswith("error: ")
        assert errors.count("\n") == 1


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(command_lines())
@example(["audit", "standard-gaussian", "", "--dim", ""])
def test_hostile_words(words: list[str]) -> None:
    check(words)


@pytest.mark.slow
@settings(max_examples=1000, suppress_health_check=list(HealthCheck))
@given(command_lines())
def test_a_thousand_hostile_command_lines(words: list[str]) -> None:
    check(words)


@pytest.mark.parametrize("word", [word for word in HOSTILE if not any(c.isdecimal() for c in word)])
@pytest.mark.parametrize("option", ["--mu", "--claim", "--dim"])
def test_what_is_no_number_is_a_usage_error(option: str, word: str) -> None:
    words = {"--dim": "3", "--mu": "1", "--claim": "mu=1", option: word}
    code, errors = run(["audit", "standard-gaussian", "--no-test", *(part for pair in words.items() for part in pair)])
    assert code == USAGE_ERROR, errors
    assert errors.startswith("error: ")
