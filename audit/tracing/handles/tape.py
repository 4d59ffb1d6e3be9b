"""The record of one run: the operations on data with their facts, the releases, and why it cannot be followed.

A run is followed along one path. Where a noised value decides what is done next (``if noisy > 0``), the answer is
given by a script, so that both paths are run; after such a decision, and after a noised value has left the trace as a
plain number, no data may be used any more: what follows is computed from what was released, on every path.
"""

from __future__ import annotations

import math
import os
import sys
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType, FunctionType
from typing import Any, Final, NoReturn, final

import numpy as np

from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.rules.facts import Fact, NoiseFact, Total
from dpverdict.audit.tracing.rules.operations import NotCovered, Setting, Step, TracedOperand
from dpverdict.audit.tracing.source.beside import data_beside
from dpverdict.audit.tracing.source.reach import decides_later

RUNNER: Final = "dpverdict.audit.tracing.run"
"""The module that calls the function: what is above it in the stack is none of the function's."""
MOST_STEPS: Final = 100_000
HALVES: Final = ("exponential", "geometric")
"""One-sided laws, of which the difference of two draws is noise."""
CHOOSING: Final = ("laplace", "gumbel", "exponential")
"""Laws of noise on scores of which the largest is chosen."""
MOST_MIXED: Final = 4096
"""Gaussian draws at once, of which it is known where they are used."""
_SELECTIONS: Final = ("select", "drop missing")
_WITHOUT_ENTRIES: Final = (*_SELECTIONS, "is missing", "count", "sampled")
"""Operations that look at no entry, but at whether there is one."""
_LIBRARIES: Final = ("numpy", "scipy", "pandas", "polars", "dpverdict", "random", "functools", "contextlib", "math")


@final
@dataclass(slots=True, eq=False)
class Release:
    """A statistic with noise added, or a choice by scores.

    Attributes:
        statistic: the number of the operation that made it.
        noise: the draws; None for a choice.
        line: of the user's code.
        value: of the statistic on the table of this run; of a choice, the probabilities.
        exposed: whether more of the noisy values is used than which of them is the largest.
        chosen: whether the largest of them was taken.
        within: the release of several numbers together that it became a part of; None if it did not.
    """

    statistic: int
    noise: NoiseFact | None
    line: str
    value: Any
    exposed: bool = False
    chosen: bool = False
    within: Release | None = None

    def expose(self) -> None:
        """Note that more of its noisy values is used than which is the largest; of those that it is a part of, too."""
        self.exposed = True
        if self.within is not None:
            self.within.expose()


@final
class RunTape:
    """What one run did.

    Args:
        setting: what the rules may look at; the steps are added to it.
        files: of the user's code, whose lines are shown.
        script: the answers to decisions on noised values, in order; of those beyond it, the answer is 0, "no".
        before: what another run of the function did, in order, with its facts: where this one does the same, they hold.
    """

    def __init__(self, setting: Setting, files: frozenset[str], script: Sequence[int] = (),
                 before: Sequence[tuple[object, Fact]] = ()) -> None:  # fmt: skip
        self.setting: Final = setting
        self.files: Final = files
        self.releases: Final[list[Release]] = []
        self.refused: str | None = None
        self.left: str | None = None
        self.decided: Final[list[int]] = []
        self.decided_at: str = ""
        self._script: Final = tuple(script)
        self._known: Final[dict[object, int]] = {}
        self._before = before
        self._used: set[int] = set()
        self._mixable: set[int] = set()
        self.shared: set[int] = set()
        self.unread: Final[set[int]] = set()
        self.halves: Final[list[Release]] = []
        self._draws = 0
        self.followed: Final[list[weakref.ref[Any]]] = []
        self.library_calls: Final[set[str]] = set()

    # refusing ---------------------------------------------------------------------------------------------------------

    def refuse(self, what: str, remedy: str = "") -> NoReturn:
        """Note why the run is not covered, with the line, and stop it."""
        error = NotCovered(what, remedy)
        if self.refused is None:
            self.refused = f"{self.line()}: {error}"
        raise error

    def line(self) -> str:
        """The line of the user's code that is being run."""
        frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        other = None
        while frame is not None and frame.f_globals.get("__name__") != RUNNER:
            name = frame.f_code.co_filename
            if name in self.files:
                return (
                    f"line {frame.f_lineno}" if len(self.files) == 1 else f"{os.path.basename(name)}:{frame.f_lineno}"
                )
            module = str(frame.f_globals.get("__name__", ""))
            if other is None and module.partition(".")[0] not in _LIBRARIES:
                other = f"{os.path.basename(name)}:{frame.f_lineno}"
            frame = frame.f_back
        return other or "the function"

    # operations -------------------------------------------------------------------------------------------------------

    def apply(self, name: str, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> int:
        """Carry the facts on, and record the operation: its number.

        Raises:
            NotCovered: its rule does not cover it.
        """
        self.must_be_open()
        key = (name, *((one.number if one.number is not None else _key(one.value)) for one in operands), repr(given))
        if key in self._known:
            return self._known[key]
        if len(self.setting.steps) >= MOST_STEPS:
            self.refuse("more operations than are followed", "loop over fewer values")
        if name not in _WITHOUT_ENTRIES and any(one.number in self.unread for one in operands):
            self.refuse(
                "dates with a zone, or that are objects of Python, which may be equal to several texts",
                "hand over dates without a zone, df['day'].dt.tz_localize(None), and state that dtype",
            )
        fact = self._fact_before(key)
        try:
            fact = OPERATIONS[name].rule(self.setting, operands, given) if fact is None else fact
        except NotCovered as error:
            self.refuse(str(error))
        except (ValueError, TypeError, IndexError, KeyError, OverflowError) as error:
            self.refuse(f"{name}, of which the shapes or types are not covered ({type(error).__name__}: {error})"[:200])
        self.setting.steps.append(Step(name, tuple(operands), dict(given), fact, self.line()))
        self._known[key] = len(self.setting.steps) - 1
        if name in _SELECTIONS and operands[0].number in self.unread:
            self.unread.add(self._known[key])
        return self._known[key]

    def _fact_before(self, key: object) -> Fact | None:
        """What the rule said in the run before, if everything up to here was the same; None if it was not."""
        place = len(self.setting.steps)
        if place < len(self._before) and self._before[place][0] == key:
            return self._before[place][1]
        self._before = ()
        return None

    @property
    def done(self) -> list[tuple[object, Fact]]:
        """What this run did, in order, with its facts."""
        return [(key, self.setting.steps[number].fact) for key, number in self._known.items()]

    def fact(self, number: int) -> Fact:
        """What the rule of an operation said."""
        return self.setting.steps[number].fact

    def must_be_open(self) -> None:
        """Refuse the use of data after what was noised decided something, or left the trace."""
        if self.left is not None:
            self.refuse(f"data are used after {self.left}", "make all noisy values first, and look at them afterwards")

    # draws ------------------------------------------------------------------------------------------------------------

    def draw(self, law: str, parameter: float | None, scale: Any, shape: tuple[int, ...]) -> NoiseFact:
        """Fresh draws."""
        size = int(np.prod(shape, dtype=np.int64))
        numbers = np.arange(self._draws, self._draws + size, dtype=np.int64).reshape(shape)
        self._draws += size
        whole = np.broadcast_to(np.asarray(scale, np.float64), shape)
        terms = None
        if law == "gaussian" and size <= MOST_MIXED:
            pairs = zip(numbers.ravel().tolist(), whole.ravel().tolist(), strict=True)
            terms = tuple(((number, Fraction(float(factor))),) if factor else () for number, factor in pairs)
        return NoiseFact(law, parameter, numbers, np.abs(whole), terms)

    def use(self, noise: NoiseFact) -> None:
        """Note that draws are used by themselves, or once in a release; each may be once."""
        numbers = noise.draws
        if len(set(numbers)) < len(numbers) or not self._used.isdisjoint(numbers):
            self.refuse("noise that is used twice", "draw noise for each number: size=...")
        self._used.update(numbers)

    def _use_in_release(self, noise: NoiseFact) -> None:
        """The same; of Gaussian draws that stand in several numbers the loss is known, see `losses.mixed`."""
        if noise.terms is None:
            self.use(noise)
            return
        numbers = noise.draws
        unique = set(numbers)
        if not (self._used & unique) <= self._mixable:
            self.refuse("noise that is used twice, once by itself", "draw noise for each number: size=...")
        self.shared |= self._used & unique
        self.shared |= {number for number, times in Counter(numbers).items() if times > 1}
        self._used |= unique
        self._mixable |= unique

    def noise_of(self, release: Release) -> NoiseFact | None:
        """The noise of a release, as sums of draws where some are shared with other numbers."""
        noise = release.noise
        if noise is None or noise.terms is None:
            return noise
        alone = all(len(one) == 1 for one in noise.terms) and self.shared.isdisjoint(noise.draws)
        return noise if alone else noise.mixed()

    def release(self, statistic: int, noise: NoiseFact, value: Any) -> Release:
        """A statistic with noise added to each of its coordinates, and its value on the table of this run."""
        self.must_be_open()
        fact = self.fact(statistic)
        if not isinstance(fact, Total):
            self.refuse("noise added to each record", "sum first, and add noise to the sum")
        if noise.law not in ("laplace", "gaussian", "two-sided geometric", "gumbel", *HALVES):
            self.refuse(f"{noise.law} noise added to a statistic",
                        "subtract a second draw, in parentheses: statistic + (a - b)")  # fmt: skip
        if fact.weights or fact.up_to_a_shift:
            self.refuse("noise added to scores from which their largest was taken", "add it to the scores themselves")
        if noise.scale.size != 1 and np.broadcast_shapes(fact.shape, noise.shape) != fact.shape:
            self.refuse("a statistic released with several draws of noise", "give the noise the shape of the statistic")
        whole = noise.broadcast(fact.shape)
        scale = whole.scale
        if not (np.isfinite(scale) & (scale > 0)).all():
            self.refuse("noise of scale 0, or of one that is not finite", "give it a scale > 0")
        if noise.law in ("two-sided geometric", "geometric") and np.dtype(fact.dtype).kind not in "iu":
            self.refuse("noise on whole numbers, added to a statistic that is none", "round the records first")
        self._use_in_release(whole)
        made = Release(statistic, whole, self.line(), np.array(value, dtype=np.float64))
        self.releases.append(made)
        return made

    def made_two_sided(self, half: Release, noise: NoiseFact) -> Release | None:
        """A statistic with a one-sided draw, of which a second one is subtracted; None where it is no such."""
        own = half.noise
        if noise.law not in ("exponential", "geometric") or not any(one is half for one in self.releases):
            return None
        if own is None or own.law != noise.law or own.shape != noise.shape or half.exposed or half.chosen:
            return None
        if own.parameter != noise.parameter or not bool((own.scale == noise.scale).all()) or half.within is not None:
            return None
        self.use(noise)
        found = Release(half.statistic, two_sided(own), half.line, half.value)
        self.releases[self.releases.index(half)] = found
        self.halves.append(half)
        return found

    def together(self, parts: Sequence[Release], shape: tuple[int, ...]) -> Release | None:
        """Numbers that were released one by one, as one release of all of them; None where they have to stay apart.

        Of a list of noisy scores only the largest may be used, and then the choice is what is spent.
        """
        if self.left is not None or len(set(map(id, parts))) < len(parts):
            return None
        noises = [one.noise for one in parts]
        known = [one for one in noises if one is not None and one.parameter is None and one.scale.size == 1]
        if len(known) < len(parts) or len({one.law for one in known}) > 1 or known[0].law not in CHOOSING:
            return None
        if any(one.chosen or one.exposed or one.within is not None for one in parts):
            return None
        if not all(any(one is other for other in self.releases) for one in parts):
            return None
        facts = [self.fact(one.statistic) for one in parts]
        operands = [TracedOperand(one.statistic, fact) for one, fact in zip(parts, facts, strict=True)]
        places, kind = (
            list(range(len(parts))),
            str(np.result_type(*[getattr(fact, "dtype", "float64") for fact in facts])),
        )
        number = self.apply("stack", operands, {"places": places, "shape": list(shape), "dtype": kind})
        noise = NoiseFact(known[0].law, None, np.concatenate([one.numbers.ravel() for one in known]).reshape(shape),
                      np.concatenate([one.scale.ravel() for one in known]).reshape(shape))  # fmt: skip
        value = np.concatenate([np.ravel(one.value) for one in parts]).reshape(shape)
        made = Release(number, noise, parts[0].line, value)
        for one in parts:
            one.within = made
            self.releases.remove(one)
        self.releases.append(made)
        return made

    def choose(self, scores: int, value: Any) -> None:
        """A choice with probabilities in proportion to exp(score), and these on the table of this run."""
        self.must_be_open()
        held = np.array(value, dtype=np.float64)
        self.releases.append(Release(scores, None, self.line(), held, exposed=True, chosen=True))

    # what was noised --------------------------------------------------------------------------------------------------

    def decide(self, options: int = 2) -> int:
        """The answer to a decision on a noised value, of so many: 0, 1, ..."""
        self.left = self.left or f"a decision on a noisy value ({self.line()})"
        self.decided.append(options)
        self.decided_at = self.line()
        return self._script[len(self.decided) - 1] if len(self.decided) <= len(self._script) else 0

    def leave(self, how: str) -> None:
        """A noised value leaves the trace: what follows must not depend on it but by what is computed."""
        line = self.line()
        frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None and frame.f_globals.get("__name__") != RUNNER:
            module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if module == "numpy" and frame.f_code.co_qualname.startswith("vectorize."):
                self.refuse("np.vectorize of noisy values, whose function may decide on each",
                            "use functions of NumPy: np.where")  # fmt: skip
            if module not in _LIBRARIES and module not in sys.stdlib_module_names:
                later = decides_later(frame.f_code, frame.f_lasti, frame.f_globals, self.files)
                if later is not None:
                    self.refuse(
                        f"a noisy value that becomes {how}, and {later} after it",
                        "keep it as an array of NumPy until the end: np.maximum for max, np.where for if",
                    )
                beside = data_beside(frame, self._are_data, self._makes_noise)
                if beside is not None:
                    self.refuse(
                        f"a noisy value that becomes {how} while {beside}, which holds data, stands beside it",
                        "make all noisy values first, and leave the data behind: noisy = raw + noise",
                    )
            frame = frame.f_back
        self.left = self.left or f"a noisy value became {how} ({line})"

    def _are_data(self, value: Any) -> bool:
        """Whether a value is of the records, or a statistic."""
        return hasattr(type(value), "_dpv_tape") and not self._is_noise_or_noisy(value)

    @staticmethod
    def _is_noise_or_noisy(value: Any) -> bool:
        return hasattr(type(value), "_dpv_pending") or getattr(value, "_dpv_noise", None) is not None

    def _makes_noise(self, value: Any) -> bool:
        """Whether a value is noise, or a generator or a function of the code, which may add it."""
        own = type(value).__module__.startswith("dpverdict") and not self._are_data(value)
        return own or isinstance(value, FunctionType)


def two_sided(noise: NoiseFact) -> NoiseFact:
    """The law of the difference of two draws of a one-sided law."""
    if noise.law == "exponential":
        return NoiseFact("laplace", None, noise.numbers, noise.scale)
    assert noise.parameter is not None
    rate = math.nextafter(math.nextafter(-math.log1p(-noise.parameter), math.inf), math.inf)  # from above
    return NoiseFact("two-sided geometric", rate, noise.numbers, noise.scale)


def refuse_own_classes(tape: RunTape, *values: Any) -> None:
    """Refuse a value of a class that is written in Python and of no library, among public ones beside data or noise.

    Python asks such a class first how it is added to a number, and NumPy asks it for its number: what the run shows of
    an operation with an array that is followed says nothing of one with the number that stands there otherwise.
    """
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in (list, tuple):
            waiting += value
        elif kind is dict:
            waiting += value.values()
        elif issubclass(kind, type):  # a dtype
            continue
        elif kind.__flags__ & _WRITTEN_IN_PYTHON and not _of_a_library(kind):
            tape.refuse(f"a value of the class {kind.__name__}, which says itself what is done with data or noise",
                        "use plain numbers, texts, lists and arrays")  # fmt: skip


_WRITTEN_IN_PYTHON: Final = 1 << 9
"""The flag of classes that are made at run time (Py_TPFLAGS_HEAPTYPE)."""
_OF_NUMBERS: Final = ("numpy", "pandas", "polars", "dpverdict", "scipy", "datetime", "decimal", "fractions", "pyarrow")


def _of_a_library(kind: type) -> bool:
    """Whether a class is the one that its library has under its name."""
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind and kind.__module__.partition(".")[0] in _OF_NUMBERS


_CURRENT: Final[ContextVar[RunTape | None]] = ContextVar("tape", default=None)


def current() -> RunTape | None:
    """The tape of the run that is followed; None outside of one."""
    return _CURRENT.get()


def set_current(tape: RunTape | None) -> None:
    """Follow a run, or none."""
    _CURRENT.set(tape)


def _key(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes() if value.dtype != object else repr(value.tolist()))
    return (type(value).__name__, repr(value))
