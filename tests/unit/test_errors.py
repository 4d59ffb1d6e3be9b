"""Errors say name, value, requirement and remedy on one line, and arrive whole from another process."""

import json
import pickle
import threading
from fractions import Fraction

import pytest

from dpverdict.errors import (
    DpverdictError,
    InvalidValue,
    MechanismFailure,
    NotCertified,
    PrecisionExhausted,
    error_to_send,
    invalid_value_sent,
)


def test_the_message_has_the_four_parts_in_order() -> None:
    error = InvalidValue("mu", -1, "> 0", "give the GDP parameter as a positive number")
    assert str(error) == "mu=-1 must be > 0: give the GDP parameter as a positive number"
    assert (error.name, error.value, error.requirement) == ("mu", -1, "> 0")
    assert str(PrecisionExhausted("scale", 64, "change it")) == "scale is not determined at 64 bits: change it"


def test_a_value_of_many_lines_is_shown_on_one_and_cut() -> None:
    text = str(InvalidValue("table", ["row\n" * 50], "short", "cut it"))
    assert "\n" not in text
    assert len(text) < 120
    assert "..." in text


@pytest.mark.parametrize(
    ("value", "requirement", "shown"),
    [
        (None, "given for laplace", "scale must be given for laplace: give one"),
        (None, "> 0", "scale=None must be > 0: give one"),
        (Fraction(1, 3), "> 1", "scale=1/3 must be > 1: give one"),
        (Fraction(10**30 + 1, 3), "< 1", "scale=3.33333e+29 must be < 1: give one"),
        (Fraction(1, 10**3000), "> 1", "scale=1e-3000 must be > 1: give one"),
    ],
)
def test_a_value_is_shown_as_a_person_writes_it(value: object, requirement: str, shown: str) -> None:
    assert str(InvalidValue("scale", value, requirement, "give one")) == shown


def test_callers_catch_what_python_would_have_raised() -> None:
    for error, builtin in ((InvalidValue, ValueError), (PrecisionExhausted, ArithmeticError)):
        assert issubclass(error, builtin)
    for error in (InvalidValue, PrecisionExhausted, MechanismFailure, NotCertified):
        assert issubclass(error, DpverdictError)


@pytest.mark.parametrize(
    "error",
    [
        InvalidValue("rng", threading.Lock(), "a generator", "make one"),
        InvalidValue("mu", 0.5, "> 1", "raise it"),
        PrecisionExhausted("delta", 8192, "round it"),
        MechanismFailure("noisy", "raised KeyError", "see the traceback"),
        NotCertified("REFUTED"),
    ],
)
def test_an_error_arrives_whole_from_another_process(error: DpverdictError) -> None:
    """A lock cannot be sent: it arrives as the text that shows it."""
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert str(pickle.loads(pickle.dumps(arrived))) == str(error)


@pytest.mark.parametrize("value", [None, -1, 0.5, "1e5", Fraction(1, 3), threading.Lock()])
def test_an_error_that_is_sent_as_data_keeps_its_parts(value: object) -> None:
    error = InvalidValue("mu", value, "> 1", "raise it")
    sent = json.loads(json.dumps(error_to_send(error)))
    arrived = invalid_value_sent(sent)
    assert arrived is not None
    assert (str(arrived), arrived.name, arrived.requirement, arrived.remedy) == (str(error), "mu", "> 1", "raise it")
    assert sent["error"] == str(error)


def test_what_only_reads_like_an_invalid_value_is_none() -> None:
    assert invalid_value_sent(error_to_send(MechanismFailure("noisy", "raised mu=1 must be > 2", "see it"))) is None
    assert error_to_send(KeyError()) == {"error": "KeyError"}
