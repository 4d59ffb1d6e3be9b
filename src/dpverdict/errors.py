"""The errors a caller can meet.

Every message says the name, the value, the requirement and the remedy, in that order, on one line; the parts are also
attributes, so that a program can read them. An error raised in a worker process arrives whole (``__reduce__``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import final


class DpverdictError(Exception):
    """Base of every error raised on purpose by dpverdict."""


class InvalidValue(DpverdictError, ValueError):
    """A value that the caller gave does not meet its requirement.

    Reads, for example: ``mu=-1 must be > 0: give the GDP parameter as a positive number``. What was to be given and was
    not has no value to show: ``mu must be given: add --mu``.
    """

    def __init__(self, name: str, value: object, requirement: str, remedy: str) -> None:
        self.name = name
        self.value = value
        self.requirement = requirement
        self.remedy = remedy
        missing = value is None and requirement.startswith("given")
        self.shown: str = "" if missing else _value_in_one_line(value)
        given = name if missing else f"{name}={self.shown}"
        super().__init__(f"{given} must be {requirement}: {remedy}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.name, _value_to_send(self.value), self.requirement, self.remedy)


def error_to_send(error: BaseException) -> dict[str, object]:
    """An error as data for another process: its message, and the parts of an `InvalidValue`.

    >>> error_to_send(InvalidValue("mu", -1, "> 0", "give a positive number"))["name"]
    'mu'
    """
    sent: dict[str, object] = {"error": " ".join(str(error).split()) or type(error).__name__}
    if isinstance(error, InvalidValue):
        value = _value_to_send(error.value)
        shown = value.text if isinstance(value, _Shown) else None
        sent |= {"name": error.name, "value": value if shown is None else None, "shown": shown}
        sent |= {"requirement": error.requirement, "remedy": error.remedy}
    return sent


def invalid_value_sent(sent: Mapping[str, object]) -> InvalidValue | None:
    """The `InvalidValue` of which `error_to_send` made data; None of another error.

    >>> sent = error_to_send(InvalidValue("mu", Fraction(1, 3), "a whole number", "round it"))
    >>> invalid_value_sent(sent), invalid_value_sent({"error": "mu=1/3 must be a whole number"})
    (InvalidValue('mu=1/3 must be a whole number: round it'), None)
    """
    name, requirement, remedy, shown = (sent.get(part) for part in ("name", "requirement", "remedy", "shown"))
    if not (isinstance(name, str) and isinstance(requirement, str) and isinstance(remedy, str)):
        return None
    return InvalidValue(name, _Shown(shown) if isinstance(shown, str) else sent.get("value"), requirement, remedy)


def raise_error_sent(answer: object, failed: Callable[[str], DpverdictError]) -> None:
    """Raise the error that another process sent in place of an answer; its cause is the `InvalidValue` of that process.

    Args:
        answer: of the process; of anything but an error nothing is raised.
        failed: makes what is raised from the message.
    """
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise failed(answer["error"]) from invalid_value_sent(answer)


class PrecisionExhausted(DpverdictError, ArithmeticError):
    """A ball stayed wider than was asked for at the largest precision allowed; no weak answer is returned instead."""

    def __init__(self, name: str, bits: int, remedy: str) -> None:
        self.name = name
        self.bits = bits
        self.remedy = remedy
        super().__init__(f"{name} is not determined at {bits} bits: {remedy}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.name, self.bits, self.remedy)


class ContradictoryBounds(DpverdictError, ArithmeticError):
    """Two computed bounds cannot both hold, or one of them is no possible value: an error of dpverdict.

    Nothing is answered from such bounds, on either side.
    """

    def __init__(self, name: str, lower: str, upper: str) -> None:
        self.name = name
        self.lower = lower
        self.upper = upper
        remedy = "no answer is given; please report the parameters, and use another interval or a certified method"
        super().__init__(f"bounds on {name} contradict each other, {lower} <= {name} <= {upper}: {remedy}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.name, self.lower, self.upper)


class MechanismFailure(DpverdictError):
    """A mechanism given by the caller raised, or returned something that is not an array of numbers of one shape."""

    def __init__(self, mechanism: str, problem: str, remedy: str) -> None:
        self.mechanism = mechanism
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"mechanism {mechanism} {problem}: {remedy}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.mechanism, self.problem, self.remedy)


class NotCertified(DpverdictError):
    """``Verdict.require()`` was called on a verdict that is not CERTIFIED."""


def printable(text: str, encoding: str | None = None) -> str:
    r"""The text with every character that is not printable, or not of the encoding, as an escape; line ends stay.

    A stream without an encoding of its own, as in a test, takes any text that UTF-8 can hold.

    A name cannot move the cursor, change colours, or show letters in another order.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    shown = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)
    return shown.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")


def in_one_line(error: BaseException) -> str:
    """The type and the message of an error, whoever made it: ``ValueError: not a number``."""
    try:
        message = str(error)
    except BaseException:  # a message that raises is no message
        message = "(its message cannot be shown)"
    return " ".join(f"{type(error).__name__}: {message}".split())


@final
class _Shown:
    """Stands in another process for a value that could not follow its error there: it is shown as it was."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _value_to_send(value: object) -> object:
    """The value, or its representation where it cannot be sent to another process."""
    return value if value is None or isinstance(value, bool | int | float | str) else _Shown(_representation(value))


_MOST_BITS = 8192
"""Of a whole number that is shown in full; a message shows 80 digits in any case."""

_READABLE_BITS = 40
"""Of the two parts of a fraction that is shown as one."""


def _representation(value: object) -> str:
    if isinstance(value, int | Fraction):
        bits = max(abs(value.numerator), value.denominator).bit_length()
        if bits > (_READABLE_BITS if isinstance(value, Fraction) else _MOST_BITS):
            return _to_six_digits(value)
        if isinstance(value, Fraction):
            return str(value)
    try:
        return repr(value)
    except BaseException:  # the user's object
        return f"<{type(value).__name__} whose representation cannot be shown>"


def _to_six_digits(value: Fraction | int) -> str:
    """A number of any size, also one of which Python refuses to write all digits, as ``1e+1000`` or ``0.333333``."""
    return str(Context(prec=6).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()).lower()


def _value_in_one_line(value: object, limit: int = 80) -> str:
    """The value as it is shown in a message: one line, at most ``limit`` characters."""
    text = " ".join(_representation(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
