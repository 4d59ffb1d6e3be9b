"""A recorded run and its replay on the neighbour, event by event: what moved, by how much, and what noise it had."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.implementation.tap.likelihood_score import recorded_likelihood_ratio
from dpverdict.audit.implementation.tap.linear_forms import LinearForm, note_noisy_value
from dpverdict.audit.implementation.tap.pair_loss import (
    LARGEST_BLOCK,
    ROUNDING,
    NoisyValues,
    PairLoss,
    selection_probabilities,
)
from dpverdict.audit.implementation.tap.tagged_numbers import TaggedArray, TaggedFloat, TaggedInt, form_of, without_tags
from dpverdict.audit.implementation.tap.tape import Call, Choice, Draw, NoisyValue, Tape, UnknownLaw
from dpverdict.audit.laws.base import Law
from dpverdict.audit.scores.score import Score
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome

_FIRST_NUMBER_OF_CALLS: Final = 1 << 40
"""From here on numbers of draws stand for those within library calls."""
SHOWN: Final = 12
_TOLERANCE: Final = 1e-7


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TapFinding:
    """Something that a correct mechanism does not do.

    Attributes:
        what: in a few words.
        where: file and line.
        promised, measured: both sides, in words.
    """

    what: str
    where: str
    promised: str
    measured: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TapRow:
    """One place where noise was added, or an outcome was picked.

    Attributes:
        call: what drew the noise.
        where: file and line.
        promised: what the call says of itself: the law and its scale, a declared sensitivity and epsilon.
        measured: how far the query moved, and what that costs.
        wrong: whether a finding is about it.
    """

    call: str
    where: str
    promised: str
    measured: str
    wrong: bool = False


@final
@dataclass(slots=True)
class PairComparison:
    """What a pair of runs shows.

    Attributes:
        findings: see `TapFinding`.
        open: why something could not be decided, one sentence each.
        uncovered: what the tap could not follow, one sentence each.
        rows: the table.
        loss: of the transcript: of all noisy values that something may have been made of.
        shown: of the noisy values that stand in the output as they are.
        complete: whether all noisy values that moved stand in the output.
        notes: what may help to understand it.
        spent: the sum of the epsilons that library calls declare; None if none does.
        gaps: how far each noisy value moved, in the order of the values.
        drawless: whether no draw and no library call was seen.
        sampled: whether draws that pick or order were seen, or a choice whose probabilities are equal in both runs.
        answered: whether a comparison of a released value with a number was released as well.
        score: tells releases on the two datasets apart, by what was seen; None if it gives none.
    """

    findings: list[TapFinding] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    uncovered: list[str] = field(default_factory=list)
    rows: list[TapRow] = field(default_factory=list)
    loss: PairLoss = field(default_factory=PairLoss)
    shown: PairLoss = field(default_factory=PairLoss)
    complete: bool = False
    notes: list[str] = field(default_factory=list)
    spent: float | None = None
    gaps: list[tuple[float, ...]] = field(default_factory=list)
    drawless: bool = False
    sampled: bool = False
    answered: bool = False
    score: Score | None = None


@final
@dataclass(slots=True, eq=False)
class TappedRun:
    """One run: its tape, what is remembered of the numbers it returned, and the outcome."""

    tape: Tape
    shown: list[LinearForm]
    outcome: CanonicalOutcome


def describe_difference_of_runs(one: TappedRun, other: TappedRun) -> str | None:
    """How a second run on the same data differs, in words; None if it does not."""
    if other.tape.diverged is not None:
        return f"the same data led to other draws: {other.tape.diverged}"
    if len(one.tape.events) != len(other.tape.events):
        return f"{len(one.tape.events)} events, then {len(other.tape.events)} on the same data"
    for first, second in zip(one.tape.events, other.tape.events, strict=True):
        here, there = (
            one.query if isinstance(one, NoisyValue) else getattr(one, "value", None) for one in (first, second)
        )
        if here is not None and there is not None and not np.array_equal(here, there, equal_nan=True):
            return f"the value to which noise is added at {first.where} differs between two runs on the same data"
    if not one.outcome.same_as(other.outcome):
        return "the outcomes of two runs on the same data with the same draws differ"
    return None


def compare_runs(one: TappedRun, other: TappedRun) -> PairComparison:
    """Compare the run on a dataset with its replay on the neighbour."""
    return _Comparison(one, other).compared()


class _Comparison:
    def __init__(self, one: TappedRun, other: TappedRun) -> None:
        self._one, self._other = one, other
        self._found = PairComparison()
        self._laws: dict[int, Law] = {}
        self._numbers = _FIRST_NUMBER_OF_CALLS
        self._visible = visible_values(one)
        self._followed: set[int] = set(one.tape.followed)
        self._unused = ""
        self._conditioned: set[int] = set()
        self._stopped = False
        self._coins: dict[tuple[int, ...], list[tuple[Choice, Choice]]] = {}
        self._bent = _draws_changed_by_other_steps(one.tape)
        found = [event.structural for event in one.tape.draws()]
        self._found.drawless = not one.tape.events
        pairs = zip(one.tape.events, other.tape.events, strict=False)
        gates = [isinstance(a, Choice) and isinstance(b, Choice) and _equal_probabilities(a, b) for a, b in pairs]
        self._found.sampled = any(found) or any(gates)

    def compared(self) -> PairComparison:
        found, tape = self._found, self._one.tape
        found.notes += tape.notes
        if tape.notes:
            found.uncovered += tape.notes
        self._note_unknown_laws()
        if self._other.tape.diverged is not None or len(self._other.tape.events) != len(tape.events):
            why = self._other.tape.diverged or "the neighbour's run ended early"
            found.open.append(f"the control flow depends on the data: {why}")
            return found
        self._compare_events()
        self._note_lost_draws()
        self._compare_outcomes()
        found.score = recorded_likelihood_ratio((tape, self._other.tape), self._one.outcome, self._law_of)
        return found

    # noisy values, calls, choices ------------------------------------------------------------------------------------

    def _compare_events(self) -> None:
        found = self._found
        whole: list[NoisyValues] = []
        shown: list[NoisyValues] = []
        complete, spent = True, [0.0, False]
        for at, (here, there) in enumerate(zip(self._one.tape.events, self._other.tape.events, strict=True)):
            match here, there:
                case (NoisyValue(), NoisyValue()):
                    complete &= self._compare_noisy_values(at, here, there, whole, shown)
                case (Call(), Call()):
                    complete &= self._compare_calls(at, here, there, whole, shown)
                    if here.epsilon is not None:
                        spent = [spent[0] + here.epsilon, True]
                case (Choice(), Choice()):
                    complete &= self._compare_choices(here, there)
                case _:
                    pass
            if found.open and isinstance(here, Choice | NoisyValue) and self._stopped:
                break  # what comes after is no longer the same step of both runs
        for coins in self._coins.values():  # several answers about one noisy value: at least what one of them tells
            self._compare_choices(*max(coins, key=lambda pair: _largest_log_ratio(*pair)))
        found.loss.add_rows(NoisyValues.joined(whole), self._law_of)
        self._find_reused_noise()
        found.shown.add_rows(NoisyValues.joined(shown), self._law_of)
        found.loss.close()
        found.shown.close()
        for part in whole:
            used = part.ids[part.moved]
            if self._conditioned and np.isin(used, list(self._conditioned)).any():
                self._leave_open(
                    "noise was compared before data were added to it: the law of the noise that was kept is not known"
                )
        found.complete = complete
        found.spent = float(spent[0]) if spent[1] else None
        if found.loss.infinite is not None:
            what = "noise" if "share" in found.loss.infinite else "the noise"
            self._add_finding(
                what, self._where_values_moved(), "noise of its own on every value that moves", found.loss.infinite
            )

    @cached_property
    def _seen_of_neighbour(self) -> dict[int, NDArray[np.bool_]]:
        return visible_values(self._other)

    def _find_reused_noise(self) -> None:
        """Values to which data met fewer independent draws than there are values: differences have no noise."""
        tape = self._one.tape
        kept = [event for event in tape.noisy_values() if event.hidden not in ("compared", "selected")]
        met = [event for event in kept if event.fresh]
        rows = NoisyValues.joined([NoisyValues.of(e.query, e.query + 1.0, e.ids, e.gains) for e in met if len(e.value)])
        shown = [
            (e, self._visible[at])
            for at, e in enumerate(tape.events)
            if at in self._visible and isinstance(e, NoisyValue) and e.hidden not in ("compared", "selected")
        ]
        last = NoisyValues.joined(
            [NoisyValues.of(e.query, e.query + 1.0, e.ids, e.gains).some(mask) for e, mask in shown]
        )
        for block, fresh in [(one, True) for one in rows.blocks()] + [(one, False) for one in last.blocks()]:
            used = block.ids >= 0
            numbers, places = np.unique(block.ids[used], return_inverse=True)
            if (
                len(block.here) < 2
                or len(numbers) == int(used.sum())
                or max(len(numbers), len(block.here)) > LARGEST_BLOCK
            ):
                continue
            matrix = np.zeros((len(block.here), len(numbers)))
            np.add.at(matrix, (np.nonzero(used)[0], places), block.gains[used])
            rank = int(np.linalg.matrix_rank(matrix))
            made = not fresh and rank == int(
                np.linalg.matrix_rank(
                    np.column_stack([matrix, block.here]), tol=_TOLERANCE * max(1.0, float(np.abs(block.here).max()))
                )
            )
            if rank < len(matrix) and not made:  # what is made of noisy values has a query that is made of theirs
                where = next(e.where for e in kept if np.isin(e.ids, numbers).any())
                self._add_finding(
                    "noise is reused",
                    where,
                    f"a draw for each of {len(matrix)} values",
                    f"{rank} independent draws: some difference of the values has no noise",
                )

    def _where_values_moved(self) -> str:
        places = [
            here.where
            for here, there in zip(self._one.tape.events, self._other.tape.events, strict=True)
            if isinstance(here, NoisyValue)
            and isinstance(there, NoisyValue)
            and not np.array_equal(here.query, there.query)
        ]
        return places[0] if places else ""

    def _law_of(self, number: int) -> Law | None:
        if number >= _FIRST_NUMBER_OF_CALLS:
            return self._laws[number]
        return None if number in self._one.tape.lost else self._one.tape.draw_of(number).known_law

    def _compare_noisy_values(
        self, at: int, here: NoisyValue, there: NoisyValue, whole: list[NoisyValues], shown: list[NoisyValues]
    ) -> bool:
        found = self._found
        if here.ids.shape != there.ids.shape or not np.array_equal(here.ids, there.ids):
            self._leave_open(f"on the neighbour, other draws are added at {here.where}")
            self._stopped = True
            return False
        self._followed.update(int(i) for i in np.unique(here.ids) if i >= 0)
        if any(self._bent.get(int(i), at + 1) <= at for i in np.unique(here.ids)):
            self._leave_open(
                f"the noise added at {here.where} went through a step that is not linear: its law is not known"
            )
            return False
        rows = NoisyValues.of(here.query, there.query, here.ids, here.gains)
        seen = self._visible.get(at, np.zeros(here.value.shape, dtype=np.bool_))
        last = ~here.carried
        if not self._is_sum_of_its_parts(here):
            self._note_uncovered(f"the noise added at {here.where} was changed in a way that the tap cannot follow")
            return False
        wrong = False
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(here.gains - there.gains) > ROUNDING * np.maximum(np.abs(here.gains), np.abs(there.gains))
        if ratio.any():
            row, column = (int(i) for i in np.argwhere(ratio)[0])
            self._add_finding(
                "the scale of the noise depends on the data",
                here.where,
                f"scale {abs(here.gains[row, column]):.6g}",
                f"{abs(there.gains[row, column]):.6g} on the neighbour",
            )
            found.loss.add_certain_difference("the scale of the noise differs")
            found.shown.add_certain_difference("the scale of the noise differs") if (
                seen & ratio.any(axis=1)
            ).any() else None
            wrong = True
        if not (np.isfinite(here.query).all() and np.isfinite(there.query).all()):
            seen_there = _example_values(here.query[~np.isfinite(here.query)], there.query[~np.isfinite(there.query)])
            self._add_finding("noise is added to a value that is not finite", here.where, "a finite number", seen_there)
            wrong = True
        moved = rows.moved
        self._found.gaps.append(tuple(np.round(here.query - there.query, 9).tolist())[:64])
        if here.hidden in ("compared", "selected"):
            return self._compare_hidden_values(here, there, rows, moved)
        kept = (last & moved) | seen  # what is not seen in the outcome may be made of what moved, or left out
        if here.hidden == "converted":  # data may be added to the plain number: it is seen as it is where they are 0
            seen = seen & self._seen_of_neighbour.get(at, np.zeros_like(seen))
        if (last & ~seen & ~moved).any() and here.hidden != "compared":
            self._unused = self._unused or here.where
        if kept.any():
            whole.append(rows.some(kept))
            shown.append(rows.some(seen))
            if last.any() and (moved[last].any() or len(found.rows) < SHOWN):
                self._add_row(here, rows.some(last), wrong)
        return not bool((moved & last & ~seen).any())

    def _is_sum_of_its_parts(self, here: NoisyValue) -> bool:
        """Whether the value is what the query and the draws make: a change that is not seen shows here."""
        if not here.ids.size:
            return True
        drawn = self._unit_draws()
        terms = np.where(here.ids >= 0, here.gains * drawn[np.maximum(here.ids, 0)], 0.0)
        with np.errstate(invalid="ignore"):
            gap = np.abs(here.value - here.query - terms.sum(axis=1))
            size = np.abs(here.query) + np.abs(terms).sum(axis=1)
        rounding = 1e-5 if here.value.dtype == np.float32 else 1e-9
        return bool(np.all((gap <= rounding * size + 1e-300) | ~np.isfinite(here.query)))

    def _unit_draws(self) -> NDArray[np.float64]:
        if not hasattr(self, "_units"):
            parts = [
                np.zeros(draw.size())
                if draw.known_law is None
                else np.asarray(draw.values, dtype=np.float64).reshape(-1)
                for draw in self._one.tape.draws()
            ]
            self._units = np.concatenate(parts) if parts else np.zeros(0)
        return self._units

    def _compare_hidden_values(
        self, here: NoisyValue, there: NoisyValue, rows: NoisyValues, moved: NDArray[np.bool_]
    ) -> bool:
        """Noise that is compared or selected by: what is released is the answer, if its law is known."""
        if here.compared_values and all(
            source in self._visible and self._visible[source].all() for source in here.compared_values
        ):
            there_of = self._other.tape.events
            if all(self._moved_alike(here, there, source, there_of[source]) for source in here.compared_values):
                self._found.answered = True
                return True  # made of what is released anyway
        if self._is_drawn_again(here):
            self._leave_open(
                f"noise is drawn again until a condition holds at {here.where}: the law of what is kept is not known"
            )
            return False
        if not moved.any():
            self._conditioned.update(int(i) for i in np.unique(here.ids) if i >= 0)
            return True
        law = self._common_law(rows)
        scale = float(np.abs(rows.gains[rows.ids >= 0]).max(initial=0.0))
        if here.hidden == "selected" and law is not None and np.allclose(np.abs(rows.gains[rows.ids >= 0]), scale):
            sides = [selection_probabilities(law, side, scale) for side in (rows.here, rows.there)]
            if sides[0] is not None and sides[1] is not None:
                p, q = (np.asarray(side)[None] for side in sides)
                picked = [Choice("the largest noisy score", law_p, here.selection, here.where) for law_p in (p, q)]
                return self._compare_choices(picked[0], picked[1])
        followed = law is not None and law.symmetric and not law.on_whole_numbers
        if here.hidden == "compared" and law is not None and followed and np.all(rows.ids.max(axis=1) >= 0):
            gains = np.where(rows.ids >= 0, np.abs(rows.gains), 0.0).sum(axis=1)
            above = [law.survival(-side / gains) for side in (rows.here, rows.there)]  # P(side + gain z > 0)
            picked = [Choice("a comparison", np.stack([p, 1 - p], axis=1), None, here.where) for p in above]
            self._coins.setdefault(here.compared_values or (id(here),), []).append((picked[0], picked[1]))
            return False
        said = "compared" if here.hidden == "compared" else "picked by"
        self._leave_open(
            f"noisy values are {said} at {here.where}, and the privacy loss of that is not known in closed form"
        )
        return False

    def _is_drawn_again(self, here: NoisyValue) -> bool:
        """Whether what was compared was thrown away, and noise added at the same line once more."""
        events = self._one.tape.events
        for source in here.compared_values:
            event = events[source]
            if isinstance(event, NoisyValue) and source not in self._visible:
                later = (
                    one for one in events[source + 1 :] if isinstance(one, NoisyValue) and one.hidden != "compared"
                )
                if any(one.where == event.where and np.array_equal(one.query, event.query) for one in later):
                    return True
        return False

    def _moved_alike(self, here: NoisyValue, there: NoisyValue, source: int, other: object) -> bool:
        """Whether a comparison moved as the value that was compared did: then it was with the same number."""
        event = self._one.tape.events[source]
        if (
            not isinstance(event, NoisyValue)
            or not isinstance(other, NoisyValue)
            or len(event.query) != len(here.query)
        ):
            return False
        gap, own = here.query - there.query, event.query - other.query
        return bool(np.allclose(np.abs(gap), np.abs(own), rtol=ROUNDING, atol=0.0))

    def _common_law(self, rows: NoisyValues) -> Law | None:
        """The law of all values, if each has one draw of its own that no other value has."""
        used = rows.ids >= 0
        numbers = rows.ids[used]
        if not np.all(used.sum(axis=1) == 1) or len(np.unique(numbers)) != len(numbers):
            return None
        for at, event in enumerate(self._one.tape.events):
            if not isinstance(event, NoisyValue) or event.hidden == "compared" or at not in self._visible:
                continue
            if np.isin(event.ids[self._visible[at]], numbers).any():
                return None
        hidden = [event for event in self._one.tape.noisy_values() if event.hidden in ("compared", "selected")]
        sharing = [event for event in hidden if np.isin(event.ids, numbers).any()]
        if len(sharing) > 1 and not (
            sharing[0].compared_values and len({event.compared_values for event in sharing}) == 1
        ):
            return None
        laws = {self._law_of(int(number)) for number in numbers}
        return laws.pop() if len(laws) == 1 else None

    def _compare_calls(
        self, at: int, here: Call, there: Call, whole: list[NoisyValues], shown: list[NoisyValues]
    ) -> bool:
        found, wrong = self._found, False
        for name, value in here.fixed_arguments.items():
            other = there.fixed_arguments.get(name)
            if not _equal_values(value, other):
                self._add_finding(
                    f"the {name} of {here.what} depends on the data",
                    here.where,
                    f"{_short_text(value)}",
                    f"{_short_text(other)} on the neighbour",
                )
                wrong = True
        promised = _describe_declaration(here)
        if here.value is None or there.value is None or here.value.shape != there.value.shape:
            same = here.value is None and there.value is None
            if not same:
                self._leave_open(
                    f"{here.what} at {here.where} is given a function, or other shapes on the two datasets"
                )
                return False
            found.loss.unknown.append(f"the law of {here.what}, whose input is not made of numbers")
            found.rows.append(
                TapRow(call=here.what, where=here.where, promised=promised, measured="not seen: a function")
            )
            return False
        if not (np.isfinite(here.value).all() and np.isfinite(there.value).all()):
            given = _example_values(here.value[~np.isfinite(here.value)], there.value[~np.isfinite(there.value)])
            self._add_finding(f"the input of {here.what} is not finite", here.where, "a finite number", given)
            wrong = True
        with np.errstate(invalid="ignore"):
            gap = np.abs(here.value - there.value)
        distance = (
            float(gap.max(initial=0.0))
            if here.norm == 0
            else float(gap.sum())
            if here.norm == 1
            else float(np.sqrt((gap**2).sum()))
        )
        unmoved = not (distance > 1e-13 * float(np.abs(here.value).max(initial=1.0)))
        if not math.isfinite(distance):
            unmoved = False
        plain_norm = here.what.rpartition(" ")[2] not in _WITHOUT_KNOWN_NORM
        if here.sensitivity is not None and plain_norm and distance > here.sensitivity * (1 + ROUNDING) and not unmoved:
            self._add_finding(
                f"the sensitivity of {here.what}",
                here.where,
                f"moves by at most {here.sensitivity:.6g}",
                f"moved by {distance:.6g}",
            )
            wrong = True
        seen = self._visible.get(at)
        complete = True
        cost = "did not move"
        if not unmoved:
            cost = f"moved {distance:.6g}"
            complete = self._add_loss_of_call(here, there, distance, whole, shown, seen)
            if here.scale and here.law is not None:
                cost += f" = {distance / here.scale:.4g} scales"
        if not unmoved or len(found.rows) < SHOWN:
            found.rows.append(TapRow(call=here.what, where=here.where, promised=promised, measured=cost, wrong=wrong))
        return complete

    def _add_loss_of_call(
        self, here: Call, there: Call, distance: float, whole: list[NoisyValues], shown: list[NoisyValues], seen: Any
    ) -> bool:
        loss = self._found.loss
        assert here.value is not None
        assert there.value is not None
        if here.joint_loss is not None:
            moved = here.joint_loss(here.value, there.value)
            for one in (loss, self._found.shown):
                one.add_joint(moved)
            return True
        if here.law is not None:
            n = len(here.value)
            ids = np.arange(self._numbers, self._numbers + n, dtype=np.int64)[:, None]
            self._laws |= dict.fromkeys(range(self._numbers, self._numbers + n), here.law)
            self._numbers += n
            rows = NoisyValues(here.value, there.value, ids, np.full((n, 1), float(here.scale or 0.0)))
            whole.append(rows)
            if seen is not None:
                shown.append(rows.some(seen))
            return seen is not None and bool(seen.all())
        if here.loss_upper is not None:
            measure = str(here.fixed_arguments.get("measure", ""))
            try:
                value = here.loss_upper(here.value, there.value)
            except Exception as error:  # the map may refuse what it was not made for
                self._leave_open(f"the map of {here.what} at {here.where} fails: {type(error).__name__}")
                return False
            if measure.startswith("MaxDivergence") or not measure:
                loss.bounded += value
            elif measure.startswith("ZeroConcentrated"):
                loss.mu_squared += 2 * value
                loss.unknown.append("zCDP by the map of OpenDP, which is held to a claim of rho alone")
            else:
                loss.unknown.append(f"the measure {measure}")
            return False
        if here.epsilon is not None:
            reach = here.sensitivity or 0.0
            if not reach:
                loss.add_certain_difference("a value that moved was given no noise, its sensitivity being 0")
            elif here.what.rpartition(" ")[2] in _WITHOUT_KNOWN_NORM:
                loss.unknown.append(f"the law of {here.what}, which declares eps {here.epsilon:.6g}")
            elif here.what.endswith("PermuteAndFlip"):
                loss.bounded += here.epsilon * distance / reach
            else:
                loss.bounded += here.epsilon * max(1.0, math.ceil(distance / reach * (1 - ROUNDING)))
            return False
        loss.unknown.append(f"the law of {here.what}")
        return False

    def _compare_choices(self, here: Choice, there: Choice) -> bool:
        if here.p.shape != there.p.shape or here.fixed_arguments != there.fixed_arguments:
            self._leave_open(f"the candidates of {here.what} at {here.where} depend on the data")
            self._stopped = True
            return False
        if _equal_probabilities(here, there):
            return True
        if here.open is not None:
            self._leave_open(f"{here.open} at {here.where}")
            return False
        self._found.loss.add_choice(here, there)
        if len(here.p) == 1 or here.what in ("a comparison", "ResponseNoise"):
            self._found.shown.add_choice(here, there)
        cost = f"log ratio up to {_largest_log_ratio(here, there):.4g}"
        row = TapRow(call=here.what, where=here.where, promised="probabilities alike", measured=cost)
        self._found.rows.append(row)
        return False

    # draws and the output --------------------------------------------------------------------------------------------

    def _note_unknown_laws(self) -> None:
        """Draws that are replayed as bits, and of which nothing more is known."""
        drawn = [draw for draw in self._one.tape.draws() if not draw.seeds]
        unknown = {draw.what for draw in drawn if isinstance(draw.law, UnknownLaw)}
        bits = sorted(name for name in unknown if name.startswith(("secrets.", "os.")))
        rest = sorted(unknown - set(bits))
        if bits:
            self._note_uncovered(f"random bits of {', '.join(bits)}: the law of what is made of them is not known")
        if rest:
            self._note_uncovered(f"noise of {', '.join(rest)}: its privacy loss is not known")

    def _note_lost_draws(self) -> None:
        """Draws that were not followed into a noisy value."""
        tape = self._one.tape
        lost: dict[str, set[str]] = {}
        for draw in tape.draws():
            if draw.known_law is None:
                continue
            numbers = range(draw.first, draw.first + draw.size())
            ways = {tape.lost[i] for i in numbers if i in tape.lost}
            if ways or not self._followed.issuperset(numbers):
                lost.setdefault(f"{draw.what} at {draw.where}", set()).update(ways or {"used"})
        for name, ways in list(lost.items())[:4]:
            self._note_uncovered(f"{name} was {' and '.join(sorted(ways))} in a step that the tap cannot follow")

    def _compare_outcomes(self) -> None:
        found = self._found
        one, other = self._one.outcome, self._other.outcome
        if one.raised and other.raised:
            self._leave_open(f"it raises on both datasets ({one.describe()})")
            return
        if one.same_as(other) or (self._is_single_precision() and _equal_to_single_precision(one, other)):
            return
        events = self._one.tape.events
        passing = [e for e in events if isinstance(e, Choice) or (isinstance(e, Draw) and (e.structural or e.seeds))]
        if found.uncovered or found.open:
            self._leave_open("the outcomes differ although the noise is the same")
        elif any(isinstance(e, Choice) for e in passing) or passing:
            what = passing[0].what
            self._leave_open(
                f"the outcomes differ, and {what} at {passing[0].where} picks or orders what they are made of"
            )
        elif self._unused:
            self._leave_open(f"the outcomes differ, and the tap cannot follow the noisy value at {self._unused}")
        else:
            where = "no draw was seen: " if found.drawless else ""
            self._add_finding(
                "data bypass the noise and reach the outcome",
                "",
                "the same outcome for the same noisy values",
                f"{where}{_describe_outcome_gap(one, other)}",
            )

    def _is_single_precision(self) -> bool:
        """Whether noisy values were recorded as sums in single precision, which a replay makes up to the last bit."""
        return any(isinstance(event, Call) and event.what.startswith("opacus") for event in self._one.tape.events)

    # words -----------------------------------------------------------------------------------------------------------

    def _add_row(self, here: NoisyValue, rows: NoisyValues, wrong: bool) -> None:
        moved = rows.moved
        used = rows.ids >= 0
        kinds = dict.fromkeys(
            "unknown law" if law is None else law.name for law in (self._law_of(int(i)) for i in rows.ids[used][:64])
        )
        scales = np.unique(np.round(np.abs(rows.gains[used]), 12)) if used.any() else np.zeros(0)
        scale = (
            "" if not len(scales) else f", scale {scales[0]:.6g}" + (f" to {scales[-1]:.6g}" if len(scales) > 1 else "")
        )
        draws = dict.fromkeys(self._one.tape.draw_of(int(i)).what for i in rows.ids[used][:64]) if used.any() else {}
        n = int(moved.sum())
        measured = "did not move"
        if n:
            gap = np.abs(rows.here - rows.there)[moved]
            each = f"{gap.max():.6g}" if gap.max() == gap.min() else f"up to {gap.max():.6g}"
            measured = f"moved {each}" + (f" in {n} of {len(moved)} places" if len(moved) > 1 else "")
        promised = f"{' + '.join(kinds) or 'no noise'}{scale}"
        call = ", ".join(draws) or "nothing"
        row = TapRow(call=call, where=here.where, promised=promised, measured=measured, wrong=wrong)
        if row not in self._found.rows:
            self._found.rows.append(row)

    def _add_finding(self, what: str, where: str, promised: str, measured: str) -> None:
        made = TapFinding(what=what, where=where, promised=promised, measured=measured)
        if made not in self._found.findings:
            self._found.findings.append(made)

    def _leave_open(self, why: str) -> None:
        if why not in self._found.open:
            self._found.open.append(why)

    def _note_uncovered(self, why: str) -> None:
        if why not in self._found.uncovered:
            self._found.uncovered.append(why)


_WITHOUT_KNOWN_NORM: Final = ("Bingham", "Wishart", "Vector")
"""Mechanisms of diffprivlib that are given matrices or functions: neither their norm nor their law is known here."""


def _draws_changed_by_other_steps(tape: Tape) -> dict[int, int]:
    """The draws in noisy values that a step which is not linear has used, and how many events there were before it."""
    found: dict[int, int] = {}
    for event in tape.noisy_values():
        if event.hidden == "transformed":
            for number in np.unique(event.ids[event.ids >= 0]):
                found[int(number)] = min(event.hidden_at, found.get(int(number), event.hidden_at))
    return found


def _equal_probabilities(here: Choice, there: Choice) -> bool:
    return here.p.shape == there.p.shape and bool(np.allclose(here.p, there.p, rtol=ROUNDING, atol=0.0))


def _equal_to_single_precision(one: CanonicalOutcome, other: CanonicalOutcome) -> bool:
    """Whether two outcomes differ by rounding in single precision only."""
    if one.signature != other.signature or one.symbols != other.symbols or one.numbers.keys() != other.numbers.keys():
        return False
    pairs = [(np.asarray(block), np.asarray(other.numbers[path])) for path, block in one.numbers.items()]
    return all(a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in pairs)


def _largest_log_ratio(here: Choice, there: Choice) -> float:
    """The largest log ratio of two probabilities of one outcome."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log(here.p) - np.log(there.p))
    return float(ratio[~np.isnan(ratio)].max(initial=0.0))


@final
class OutcomeReader:
    """What a run returns, without any memory of draws: that is kept apart.

    Draws that are returned without data are noisy values as well: what is released of them is compared like the others.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.shown: list[LinearForm] = []

    def plain(self, value: Any, depth: int = 8) -> Any:
        """A returned value as plain numbers."""
        if isinstance(value, TaggedArray | TaggedFloat | TaggedInt) or isinstance(
            getattr(value, "tap_linear", None), LinearForm
        ):
            one = form_of(value)
            if not one.drawn:
                return without_tags(value)
            if not one.mixed:
                one = note_noisy_value(one, (one,), self._tape)
            self.shown.append(one)
            array = np.asarray(one.value)
            return array if isinstance(value, TaggedArray) else array[()]
        if depth and isinstance(value, dict):
            return {self.plain(key, depth - 1): self.plain(one, depth - 1) for key, one in value.items()}
        if depth and type(value) in (list, tuple):
            return type(value)(self.plain(one, depth - 1) for one in value)
        if depth and dataclasses.is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__dict__"):
            for name, one in vars(value).items():
                object.__setattr__(value, name, self.plain(one, depth - 1))
        return value


def visible_values(run: TappedRun) -> dict[int, NDArray[np.bool_]]:
    """Which noisy values of a run stand in its outcome as they are, by the number of the event."""
    found: dict[int, NDArray[np.bool_]] = {}
    events = run.tape.events

    def mark(at: int, entries: Any) -> None:
        event = events[at]
        size = len(event.value) if isinstance(event, NoisyValue) else 0
        found.setdefault(at, np.zeros(size, dtype=np.bool_))[entries] = True

    for one in run.shown:
        for source in np.unique(one.source):
            if source >= 0:
                mark(int(source), one.entry[one.source == source])
    blocks = [np.asarray(block, dtype=np.float64) for block in run.outcome.numbers.values()]
    given = np.unique(np.concatenate(blocks)) if blocks else np.zeros(0)
    given = given[given != np.round(given)]  # a whole number may come from anywhere
    for at, event in enumerate(events):
        if isinstance(event, NoisyValue) and event.value.dtype.kind == "f":
            seen = np.isin(event.value, given)
            if seen.any():
                mark(at, seen)
        if isinstance(event, Call) and event.value is not None:
            result = (
                np.asarray(without_tags(event.result), dtype=np.float64).reshape(-1)
                if _is_numeric(event.result)
                else None
            )
            if result is not None and len(result) == len(event.value) and np.isin(result, given).all():
                found[at] = np.ones(len(result), dtype=np.bool_)
    return found


def _is_numeric(value: Any) -> bool:
    try:
        return bool(np.asarray(without_tags(value)).dtype.kind in "fiu")
    except (TypeError, ValueError):
        return False


def _equal_values(one: object, other: object) -> bool:
    try:
        a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        return a.shape == b.shape and bool(np.allclose(a, b, rtol=ROUNDING, atol=0.0, equal_nan=True))
    except (TypeError, ValueError):
        return bool(one == other)


def _short_text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:60]


def _example_values(*sides: Any) -> str:
    return ", ".join(dict.fromkeys(str(float(one)) for side in sides for one in np.asarray(side)[:2]))


def _describe_declaration(call: Call) -> str:
    parts: list[str] = []
    if call.sensitivity is not None:
        parts.append(f"sensitivity {call.sensitivity:.6g}")
    if call.epsilon is not None:
        parts.append(f"eps {call.epsilon:.6g}")
    if call.law is not None and call.scale is not None and call.law.parameter is None:
        parts.append(f"{call.law.name} {call.scale:.6g}")
    return ", ".join(parts) or str(dict(list(call.fixed_arguments.items())[:2]))


def _describe_outcome_gap(one: CanonicalOutcome, other: CanonicalOutcome) -> str:
    if one.signature != other.signature:
        return f"{one.describe()} against {other.describe()}"
    for path, block in one.numbers.items():
        there = other.numbers.get(path)
        if there is not None and len(there) == len(block) and not np.array_equal(block, there):
            gap = np.abs(np.asarray(block) - np.asarray(there))
            return f"{int((gap > 0).sum())} of {len(gap)} numbers differ, by up to {float(np.nanmax(gap)):.6g}"
    return "the outcomes differ"
