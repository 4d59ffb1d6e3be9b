"""Values written as text on the command line: whole numbers, lists of bounds, paths of outputs."""

from __future__ import annotations

import os
from pathlib import Path

from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue


def whole_number(text: str, name: str, *, at_least: int) -> int:
    """A whole number, also in the form ``1e6``.

    Raises:
        InvalidValue: not a number, not whole, or too small.

    >>> whole_number("1e6", "samples", at_least=1)
    1000000
    """
    number = exactly(text, name=name)
    if number.denominator != 1 or number < at_least:
        raise InvalidValue(name, text, f"a whole number >= {at_least}", f"give for example {max(at_least, 100)}")
    return int(number)


def probability(text: str, name: str) -> float:
    """A number strictly between 0 and 1, also in the form ``1e-6``.

    Raises:
        InvalidValue: not a number, or not strictly between 0 and 1, also as a float64.
    """
    number = exactly(text, name=name)
    if not 0 < number < 1 or not 0.0 < float(number) < 1.0:
        raise InvalidValue(name, text, "strictly between 0 and 1", "give for example 1e-6")
    return float(number)


def bounds(text: str) -> tuple[str, ...]:
    """Numbers separated by commas or white space, or ``@file`` for a file that holds them.

    Raises:
        InvalidValue: a file that cannot be read, or no numbers.

    >>> bounds("1, 2,0.5")
    ('1', '2', '0.5')
    """
    found = text
    if text.startswith("@"):
        try:
            found = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            remedy = f"reading it fails with {type(error).__name__}"
            raise InvalidValue("bounds", text, "a readable text file after the @", remedy) from None
    numbers = tuple(found.replace(",", " ").split())
    if not numbers:
        remedy = "separate them by commas, or name a file as @bounds.txt"
        raise InvalidValue("bounds", text, "one or more numbers", remedy)
    for number in numbers:
        if exactly(number, name="bounds") < 0:
            raise InvalidValue("bounds", number, "a number >= 0", "give the sensitivity of each coordinate")
    return numbers


def output_file(path: Path, name: str) -> Path:
    """A path at which a file can be written, found out before the work is done.

    Raises:
        InvalidValue: a folder, a path in a folder that does not exist, or one that must not be written.
    """
    if path.is_dir():
        raise InvalidValue(name, str(path), "a file, not a folder", "add a file name")
    if not path.parent.is_dir():
        raise InvalidValue(name, str(path), "in a folder that exists", f"make the folder {path.parent} first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        remedy = "choose another path, or change the permissions"
        raise InvalidValue(name, str(path), "a path that may be written", remedy)
    return path
