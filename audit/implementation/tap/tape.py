"""What one run of a function is seen to do: its draws, the noisy values made of them, and what library calls were told.

A run is recorded on one dataset. In a replay, on the same dataset or on its neighbour, every draw gives the recorded
one, and every noisy value the recorded one too: so later steps see what they saw then, and what still differs between
the runs did not pass through noise. The events of two runs are compared one by one, in order; where their kinds differ
the control flow has diverged, and a replay ends there.
"""

from __future__ import annotations

import os
import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.laws.base import Law
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.numerics.arrays import Array

THIS_ROOM: Final = __name__.rpartition(".")[0]
"""Where the modules of the tap are: their lines are no place of a draw."""

MOST_EVENTS: Final = 200_000
"""Of one run: beyond that a function is not followed."""

LIBRARIES_NOT_SHOWN: Final = (
    "numpy",
    "scipy",
    "random",
    "secrets",
    "dpverdict",
    "torch",
    "pandas",
    "sklearn",
    "functools",
)
"""Whose lines are not shown as the place of a draw, if another one called them."""


@final
@dataclass(frozen=True, slots=True)
class UnknownLaw:
    """The law of a draw that is replayed, but whose privacy loss is not known.

    Attributes:
        name: of the sampler.
    """

    name: str


@final
@dataclass(slots=True, eq=False)
class Draw:
    """One call of a sampler.

    Attributes:
        what: the name of the sampler, as the user wrote it.
        law: of a draw of unit scale; None where the draw only orders or picks, or comes from within a library.
        shape: of what was drawn.
        values: of unit scale, or what was returned.
        where: file and line of the caller.
        first: the number of its first value among all of the run.
        structural: whether it only orders or picks (a permutation, a whole number), and adds nothing by itself.
        fixed_arguments: arguments that have to be equal in both runs.
        seeds: whether it has started a generator.
    """

    what: str
    law: Law | UnknownLaw | None
    shape: tuple[int, ...]
    values: Any
    where: str
    first: int
    structural: bool = False
    fixed_arguments: tuple[object, ...] = ()
    seeds: bool = False

    @property
    def known_law(self) -> Law | None:
        """Its law, if that is one of the laws whose loss is known."""
        return self.law if isinstance(self.law, Law) else None

    @property
    def signature(self) -> tuple[object, ...]:
        """What has to be equal for the replay to go on."""
        return ("draw", self.what, self.shape, self.fixed_arguments if self.structural else ())

    def size(self) -> int:
        """How many values it has."""
        return int(np.prod(self.shape, dtype=np.int64))


@final
@dataclass(slots=True, eq=False)
class NoisyValue:
    """Numbers that data and noise were added up to: value = query + gains . draws, entry by entry.

    Attributes:
        query: what the noise was added to, shape (n,).
        ids: numbers of the draws of each entry, shape (n, r); -1 for none.
        gains: their factors, the same shape.
        value: as the rest of the program sees it, shape (n,).
        where: file and line.
        hidden: how it was used other than by linear steps: "compared", "selected", "transformed", "converted" to a
            plain number, which is not followed; None if it was not.
        hidden_at: how many events there were when it was transformed.
        carried: entries that went into another noisy value, a mask of shape (n,).
        selection: of an argmax over all entries: what was selected.
        fresh: whether data met draws alone in it.
        compared_values: of a comparison with a number: the numbers, among the events, of the noisy values compared.
    """

    query: Array
    ids: NDArray[np.int64]
    gains: Array
    value: Array
    where: str
    hidden: str | None = None
    hidden_at: int = 0
    carried: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    selection: int | None = None
    fresh: bool = False
    compared_values: tuple[int, ...] = ()

    @property
    def signature(self) -> tuple[object, ...]:
        """What has to be equal for the replay to go on."""
        return ("noisy", self.value.shape)


@final
@dataclass(slots=True, eq=False)
class Choice:
    """An outcome among finitely many, of known probabilities: a coin, or one of several.

    Attributes:
        what: the sampler or mechanism.
        p: the probabilities of the outcomes, shape (k,).
        outcome: which one came.
        where: file and line.
        open: why the probabilities of two runs cannot be compared; None if they can.
    """

    what: str
    p: Array
    outcome: Any
    where: str
    open: str | None = None
    fixed_arguments: tuple[object, ...] = ()

    @property
    def two_sided(self) -> bool:
        """Whether it is one coin, which may fall either way."""
        return self.what == "coin" and self.p.shape == (1, 2) and bool(np.all(self.p > 0))

    @property
    def signature(self) -> tuple[object, ...]:
        """What has to be equal for the replay to go on."""
        return ("choice", self.what)


@final
@dataclass(slots=True, eq=False)
class Call:
    """A call of a library's primitive: what it was told, what it was given, and what it gave.

    Attributes:
        what: its name, such as "diffprivlib Laplace".
        value: the query, numbers of shape (n,); None if they are none.
        fixed_arguments: parameters that must not depend on the data, by name.
        law: of its noise, of unit scale; None if it is not known.
        scale: the factor of the law; None if it is not known.
        sensitivity: as declared, with the norm; None if none is.
        epsilon: as declared; None if none is.
        loss_upper: a bound on the loss from the distance of two values, where the law is not known.
        joint_loss: the loss of two values, where the noise of all coordinates has a joint law; it gives None where
            nothing moves.
        result: what it gave, and gives again.
        where: file and line.
    """

    what: str
    value: Array | None
    fixed_arguments: Mapping[str, object]
    law: Law | None
    scale: float | None
    sensitivity: float | None
    norm: int
    epsilon: float | None
    loss_upper: Callable[[Array, Array], float] | None
    result: Any
    where: str
    open: str | None = None
    joint_loss: Callable[[Array, Array], PrivacyLoss | None] | None = None

    @property
    def signature(self) -> tuple[object, ...]:
        """What has to be equal for the replay to go on."""
        return ("call", self.what)


Event = Draw | NoisyValue | Choice | Call


class ReplayDiverged(BaseException):
    """A replay met another event than the recorded one. It passes ``except Exception`` of the function."""


class GeneratorWatch(Protocol):
    """Looks whether something has drawn past the tap."""

    def look(self) -> None:
        """Before a draw that is followed."""
        ...

    def forgive(self) -> None:
        """After it."""
        ...


@final
class Tape:
    """One run.

    Args:
        former: the run that is replayed; None to record.
        turned: the number of an event of a recorded run, a coin, that is to fall the other way.
        frozen: whether noisy values are as in the former run; otherwise the draws alone are.
    """

    drawn: int
    watched: GeneratorWatch | None

    def __init__(self, former: Tape | None = None, turned: int | None = None, *, frozen: bool = True) -> None:
        self.former: Final = former
        self._turned, self._frozen = turned, frozen
        self.watched = None
        self.events: list[Event] = []
        self.drawn = 0
        self.diverged: str | None = None
        self.notes: list[str] = []
        self.followed: set[int] = set()
        self.lost: dict[int, str] = {}
        self.silent = 0
        self._thread = threading.get_ident()
        self._draws: list[Draw] = []
        self._starts: list[int] = []
        self._by_values: dict[tuple[str, bytes], Draw] = {}

    # recording --------------------------------------------------------------------------------------------------------

    @property
    def replaying(self) -> bool:
        """Whether this run replays another."""
        return self.former is not None

    def note(self, text: str) -> None:
        """Keep a sentence about the run, once."""
        if text not in self.notes:
            self.notes.append(text)

    def expected(self, signature: tuple[object, ...], where: str) -> Event | None:
        """The recorded event at this place; None while recording.

        Raises:
            Parted: there is none, or it is of another kind.
        """
        if threading.get_ident() != self._thread:
            self.note("draws in another thread, whose order is not fixed")
        if len(self.events) >= MOST_EVENTS:
            self.diverged = f"more than {MOST_EVENTS} events"
            raise ReplayDiverged
        if self.former is None:
            return None
        at = len(self.events)
        if self.diverged is None and at < len(self.former.events) and self.former.events[at].signature == signature:
            return self.former.events[at]
        if self.diverged is None:
            if at >= len(self.former.events):
                met = "nothing more"
            else:
                met = _describe_signature(self.former.events[at].signature) + f" at {self.former.events[at].where}"
            self.diverged = f"{_describe_signature(signature)} at {where}, where the first run had {met}"
        raise ReplayDiverged

    def draw(
        self,
        what: str,
        law: Law | UnknownLaw | None,
        shape: tuple[int, ...],
        make: Callable[[], Any],
        *,
        structural: bool = False,
        fixed_arguments: tuple[object, ...] = (),
    ) -> Draw:
        """A draw: made by ``make`` while recording, the recorded one in a replay."""
        where = calling_line()
        made = Draw(what, law, shape, None, where, self.drawn, structural, fixed_arguments)
        former = self.expected(made.signature, where)
        if former is None:
            with self.silence():
                made.values = make()
        else:
            assert isinstance(former, Draw)
            made.values = former.values
        same = self._earlier_equal_draw(made)
        if same is not None:  # a generator that was copied, or started again, gives the same noise: it is one draw
            made.first = same.first
        else:
            self._draws.append(made)
            self._starts.append(self.drawn)
            self.drawn += made.size()
        self.events.append(made)
        return made

    def _earlier_equal_draw(self, made: Draw) -> Draw | None:
        """An earlier draw with the same values, of a real law: it gives a value twice once in 2^53 times or less."""
        values = np.asarray(made.values)
        law = made.known_law
        if law is None or law.on_whole_numbers or values.dtype != np.float64 or not values.size:
            return None
        found = self._by_values.setdefault((law.name, values.tobytes()), made)
        return None if found is made else found

    def noisy(self, query: Array, ids: NDArray[np.int64], gains: Array, value: Array) -> NoisyValue:
        """Note numbers made of data and noise; in a replay their value is the recorded one."""
        where = calling_line()
        made = NoisyValue(query, ids, gains, value, where, carried=np.zeros(value.shape, dtype=np.bool_))
        former = self.expected(made.signature, where)
        if former is not None:
            assert isinstance(former, NoisyValue)
            made.value = former.value if self._frozen else made.value
        self.events.append(made)
        return made

    def choice(self, made: Choice) -> Any:
        """Note an outcome, and give it: the recorded one in a replay."""
        former = self.expected(made.signature, made.where)
        if former is not None:
            assert isinstance(former, Choice)
            made.outcome = former.outcome
        elif self._turned == len(self.events):
            made.outcome = ~np.asarray(made.outcome)
        self.events.append(made)
        return made.outcome

    def call(self, made: Call, make: Callable[[], Any]) -> Any:
        """Note a call of a library, and give its result: the recorded one in a replay."""
        former = self.expected(made.signature, made.where)
        if former is None:
            with self.silence():
                made.result = make()
        else:
            assert isinstance(former, Call)
            made.result = former.result if self._frozen else _shifted_result(former, made)
        self.events.append(made)
        return made.result

    def silence(self) -> _WithinDraw:
        """Draws within an outer one are its own business."""
        return _WithinDraw(self)

    def note_lost(self, ids: NDArray[np.int64], how: str) -> None:
        """Note draws that went where they are not followed."""
        for one in np.unique(ids):
            if one >= 0:
                self.lost.setdefault(int(one), how)

    # looking ----------------------------------------------------------------------------------------------------------

    def draws(self) -> list[Draw]:
        """The draws, in order."""
        return self._draws

    def noisy_values(self) -> list[NoisyValue]:
        """The noisy values, in order."""
        return [event for event in self.events if isinstance(event, NoisyValue)]

    def draw_of(self, number: int) -> Draw:
        """The draw that a numbered value belongs to."""
        return self._draws[bisect_right(self._starts, number) - 1]


def _shifted_result(former: Call, made: Call) -> Any:
    """The result of a call that adds noise, had it been given another value."""
    adds_noise = former.law is not None or former.joint_loss is not None
    if not adds_noise or former.value is None or made.value is None or former.value.shape != made.value.shape:
        return former.result
    result = np.asarray(former.result, dtype=np.float64)
    moved = result + (made.value - former.value).reshape(result.shape)
    return moved if result.ndim else type(former.result)(moved)


@final
class _WithinDraw:
    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def __enter__(self) -> None:
        if self._tape.watched is not None and not self._tape.silent:
            self._tape.watched.look()
        self._tape.silent += 1

    def __exit__(self, *_: object) -> None:
        self._tape.silent -= 1
        if self._tape.watched is not None and not self._tape.silent:
            self._tape.watched.forgive()


_CURRENT: list[Tape] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_CURRENT.clear)  # what a process of the function's own draws is not followed


def current_tape() -> Tape | None:
    """The run that is being looked at; None outside of one, and within an outer draw."""
    return _CURRENT[-1] if _CURRENT and not _CURRENT[-1].silent else None


@final
class following:
    """Look at a run."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def __enter__(self) -> Tape:
        _CURRENT.append(self._tape)
        return self._tape

    def __exit__(self, *_: object) -> None:
        _CURRENT.pop()


def calling_line() -> str:
    """File and line of the nearest caller that is not of a library, or else the nearest that is not of the tap."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # the stack has no other name
    nearest = None
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not name.startswith(THIS_ROOM):
            line = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            if nearest is None:
                nearest = line
            if name == "__main__" and line.startswith("guard.py:"):
                break  # the runner of an audit
            if name.partition(".")[0] not in LIBRARIES_NOT_SHOWN:
                return line
        frame = frame.f_back
    return nearest or "unknown"


def calling_module() -> str:
    """The module of the nearest caller that is neither of the tap nor a library that samplers pass through."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # the stack has no other name
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not name.startswith(THIS_ROOM) and name.partition(".")[0] not in ("numpy", "scipy", "random", "secrets"):
            return name
        frame = frame.f_back
    return ""


def _describe_signature(signature: tuple[object, ...]) -> str:
    match signature:
        case ("draw", what, shape, _):
            return f"a draw of {what} with shape {shape}"
        case ("noisy", shape):
            return f"noise added to numbers of shape {shape}"
        case (kind, what):
            return f"a {kind} of {what}"
        case _:
            return "another event"
