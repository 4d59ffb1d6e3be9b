"""The parameters that a head states, read by name: each once, all of them, in one way of writing."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, NoReturn, final

from dpverdict.proofs.verdicts.laws import NotDerived

ADD_REMOVE: Final = "add-or-remove-one"
REPLACE: Final = "replace-one"
MOST_COORDINATES: Final = 1 << 24


@final
class Parameters:
    """The parameters of a head, read by name: each once, and all of them."""

    def __init__(self, values: Mapping[str, Any], relation: str) -> None:
        if not isinstance(values, dict):
            raise NotDerived("parameters is no object")
        self._left = dict(values)
        self.relation: str = relation

    def refuse(self, name: str, reason: str) -> NoReturn:
        """Refuse one of them."""
        raise NotDerived(f"parameters.{name}: {reason}")

    def _text(self, name: str) -> Any:
        if name not in self._left:
            self.refuse(name, "it is missing")
        return self._left.pop(name)

    def fraction(self, name: str, *, positive: bool = True) -> Fraction:
        """An exact number, written in lowest terms; > 0, or >= 0."""
        return self._fraction(name, self._text(name), positive)

    def _fraction(self, name: str, text: object, positive: bool) -> Fraction:
        found = exact(text)
        if found is None:
            self.refuse(name, f"{text!r} is no fraction in lowest terms")
        if found < 0 or (positive and found == 0):
            self.refuse(name, f"{text} is not {'positive' if positive else 'at least 0'}")
        return found

    def signed(self, name: str) -> Fraction:
        """An exact number of either sign."""
        text = self._text(name)
        found = exact(text)
        return self.refuse(name, f"{text!r} is no fraction in lowest terms") if found is None else found

    def whole(self, name: str, least: int = 1) -> int:
        """A whole number from ``least`` on."""
        found = self.fraction(name, positive=False)
        if found.denominator != 1 or not least <= found <= MOST_COORDINATES:
            self.refuse(name, f"{found} is no whole number from {least} to {MOST_COORDINATES}")
        return int(found)

    def word(self, name: str, *allowed: str) -> str:
        """One of some words."""
        text = self._text(name)
        if text not in allowed:
            self.refuse(name, f"{text!r} is none of {', '.join(allowed)}")
        return str(text)

    def table(self, name: str, columns: int) -> list[tuple[Fraction, ...]]:
        """Rows of exact numbers >= 0."""
        rows = self._text(name)
        if not isinstance(rows, list) or not rows or any(not isinstance(r, list) or len(r) != columns for r in rows):
            self.refuse(name, f"it is no list of rows of {columns} numbers")
        return [tuple(self._fraction(name, text, False) for text in row) for row in rows]

    def under(self, *relations: str) -> str:
        """The relation, if it is one that the mechanism is defined for."""
        if self.relation not in relations:
            raise NotDerived(f"relation: {self.relation!r} is not {' or '.join(relations)}")
        return self.relation

    def end(self) -> None:
        """Refuse what was not asked for."""
        for name in self._left:
            self.refuse(name, "there is no such parameter")


def exact(text: object) -> Fraction | None:
    """A fraction in lowest terms, as text; None for anything else, "2/4" and "1.0" included."""
    if not isinstance(text, str) or not text.isascii() or not all(c.isdigit() or c in "-/" for c in text):
        return None
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
    return found if str(found) == text else None
