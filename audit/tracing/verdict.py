"""What is said of a user's function: CERTIFIED, REFUTED or INCONCLUSIVE, with a table of what it releases."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Self, final

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.base import curves_of
from dpverdict.cards import card
from dpverdict.errors import NotCertified

EXACTLY: Final = "the tap, exactly"
"""How the pair of a witness was measured, where that needed no samples."""
EXIT_CODES: Final = {Status.CERTIFIED: 0, Status.REFUTED: 1, Status.INCONCLUSIVE: 3}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One release, as it stands in the table.

    Attributes:
        line: of the user's code.
        statistic: what is released, as an expression of columns.
        moved: how far one record moves it.
        noise: the law and the scale.
        spent: the privacy loss of this release alone.
    """

    line: str
    statistic: str
    moved: str
    noise: str
    spent: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TracedVerdict:
    """The answer of `certify` on a function.

    Attributes:
        status: CERTIFIED for every neighbouring pair of the schema; REFUTED by the pair of the witness; or neither.
        name: of the function.
        claim: in words.
        relation: which tables are neighbours, in words.
        reason: why, in a sentence.
        lines: the table of what is released.
        covered: whether the function could be followed; if not, nothing is certified, and the reason says why.
        assumptions: what is taken for granted.
        certificate: the operations with their facts, for `check_certificate`; None unless certified.
        witness: the pair that breaks the claim, and how it was measured; None unless refuted.
        tables: the two tables of the witness, as the function takes them; None of a verdict that was read from a file.
        true_from: the least epsilon (mu, rho) that would be certified; None if it is not known.
        found_up_to: the largest epsilon that a pair was found to spend; None if none was measured.
        runs: of the function, to follow it.
    """

    status: Status
    name: str
    claim: str
    relation: str
    reason: str
    lines: tuple[Line, ...] = ()
    covered: bool = True
    assumptions: tuple[str, ...] = ()
    certificate: Mapping[str, Any] | None = field(default=None, repr=False)
    witness: Mapping[str, Any] | None = field(default=None, repr=False)
    tables: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)
    true_from: float | None = None
    found_up_to: float | None = None
    runs: int = 0

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict has three values; compare verdict.status, or call verdict.require()")

    def require(self) -> TracedVerdict:
        """This verdict, if it is CERTIFIED.

        Raises:
            NotCertified: with the text, otherwise.
        """
        if self.status is not Status.CERTIFIED:
            raise NotCertified(self.text())
        return self

    @property
    def exit_code(self) -> int:
        """0 certified, 1 refuted, 3 not decided or not covered."""
        return EXIT_CODES[self.status]

    @property
    def heading(self) -> str:
        """The answer in a word or two."""
        return self.status.name if self.covered or self.status is Status.REFUTED else "NOT COVERED"

    def summary(self) -> str:
        """One line."""
        return f"{self.heading}: {self.name} claims {self.claim}: {self.reason}"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = {f"{one.line}: {one.statistic}": f"moves by {one.moved}; {one.noise}; {one.spent}" for one in self.lines}
        pair = {} if self.witness is None else {"neighbours": "; ".join(map(str, self.witness["words"][:1]))}
        taken = {"taken for granted": "; ".join(self.assumptions)} if self.assumptions else {}
        follows = {
            Status.CERTIFIED: "Next: release it, and keep verdict.certificate, which dpverdict check reads again.",
            Status.INCONCLUSIVE: "Next: change the line that the reason names, or search a table with find_neighbours.",
        }
        return card(
            status=self.status.name,
            name=self.name,
            claim=self.claim,
            answer=f"{self.reason[:1].upper()}{self.reason[1:]}.",
            evidence={"what is released": rows, "what breaks the claim": pair, "what it rests on": taken},
            curves=[curves_of(self.claim, None)],
            next_step=follows.get(self.status, ""),
        )

    def text(self, width: int | None = None) -> str:
        """The answer and the table, for a terminal.

        Args:
            width: of a line, in characters; lines are as long as they are if it is not given.
        """
        found = _wrapped(self.summary(), width, "")
        if self.lines:
            rows = [("line", "statistic", "a record moves it by", "noise", "spent")]
            rows += [(one.line, one.statistic, one.moved, one.noise, one.spent) for one in self.lines]
            widths = [max(len(row[i]) for row in rows) for i in range(5)]
            if width is None or sum(widths) + 2 * 5 <= width:
                found += ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
                          for row in rows]  # fmt: skip
            else:
                for line, statistic, moved, noise, spent in rows[1:]:
                    found += _wrapped(f"{line}: {statistic}", width, "  ", "    ")
                    found += _wrapped(f"a record moves it by {moved}; {noise}; spends {spent}", width, "    ")
        if self.witness is not None:
            for one in self.witness.get("words", ()):
                found += _wrapped(one, width, "  ", "    ")
        if self.assumptions:
            found += _wrapped(f"taken for granted: {'; '.join(self.assumptions)}", width, "  ", "    ")
        return "\n".join(found)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "format": "dpverdict traced function",
            "version": 1,
            "status": self.status.name,
            "covered": self.covered,
            "function": self.name,
            "claim": self.claim,
            "relation": self.relation,
            "reason": self.reason,
            "lines": [
                {"line": one.line, "statistic": one.statistic, "moved": one.moved, "noise": one.noise,
                 "spent": one.spent}
                for one in self.lines
            ],
            "assumptions": list(self.assumptions),
            "true_from": self.true_from,
            "found_up_to": self.found_up_to,
            "witness": None if self.witness is None else dict(self.witness),
            "runs": self.runs,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """The verdict that `to_dict` gave, without its certificate."""
        return cls(
            status=Status[found["status"]],
            name=found["function"],
            lines=tuple(Line(**one) for one in found["lines"]),
            assumptions=tuple(found["assumptions"]),
            **{name: found[name] for name in ("claim", "relation", "reason", "covered", "witness", "true_from",
                                              "found_up_to", "runs")},
        )  # fmt: skip

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"


def _wrapped(text: str, width: int | None, indent: str, further: str | None = None) -> list[str]:
    """The lines of a sentence; a name that is longer than a line stays whole."""
    if width is None:
        return [indent + text]
    return textwrap.wrap(text, max(width, 40), initial_indent=indent, subsequent_indent=indent + "  "
                         if further is None else further, break_long_words=False, break_on_hyphens=False)  # fmt: skip
