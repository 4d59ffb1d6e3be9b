"""What else of a call belongs to its outcome, where it is asked for: a time-out, warnings, the bits of numbers.

And what does not, where that is asked for: what exceptions say, and what lies below masks. Time-outs, warnings and bits
are not watched by default. Python shows a warning once per place, so calls would differ from each other; how
long a call takes depends on the machine and its load. A function marked by `observed` is audited like any other.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import math
import time
import warnings
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.trials.outcomes.canonical import CallTimedOut, Watched
from dpverdict.audit.trials.user_code import RanTooLong, alarms_ring_here, limited
from dpverdict.errors import InvalidValue

CLEAR: Final = 0.1
"""Of the limit: a call that ends by itself has to end within this part, or the load of the machine decides which calls
are timed out."""
FEWEST_BY_DEFAULT: Final = 1000
"""Releases per dataset if none are named and calls may be timed out."""
SHORTEST: Final = 1e-3
LONGEST: Final = 3600.0
"""Seconds of a limit: a shorter one is over before an alarm can ring, a longer one is that of no call."""
_WORDS: Final = {
    "warnings": ("warnings", True),
    "bits": ("bits", True),
    "time": ("time", True),
    "no-messages": ("messages", False),
    "no-masked": ("masked", False),
}
"""What is written for each argument of `observed` that is not its default."""


@final
@dataclass(slots=True)
class Clock:
    """How long the calls of one stream of trials took.

    Attributes:
        slowest: seconds of the slowest call that ended by itself.
        timed_out: calls that did not.
    """

    slowest: float = 0.0
    timed_out: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class observed:
    """A callable (dataset, rng) or (dataset), marked as one of whose calls more than the value is looked at.

    Args:
        function: what is called.
        timeout: seconds after which a call is ended, by an alarm: a time-out is an outcome of its own. Trials then run
            one after another in this process, in its main thread. A call that is outside Python at that time is ended
            when it returns. In every audit a call that ends by itself has to end within a tenth of the limit, if any
            call is timed out; otherwise the audit ends with an error.
        warnings: whether the warnings of a call, their categories and texts, are part of its outcome.
        bits: whether -0.0 differs from 0.0, and NaNs of other payloads from each other.
        canonical: applied to the value of each call, where that has no form of its own, such as a model or a file: what
            it returns is the outcome, or the exception that it raises. It is post-processing, which no claim forbids.
        messages: whether what an exception says is part of the outcome: its message, arguments, attributes, notes and
            causes; and the text of a warning. Leave it out where nobody but the curator reads the log: the type of the
            exception and the function that raised it still count.
        masked: whether what lies below the mask of an array is part of the outcome. Leave it out where what is sent on
            is filled first.
        time: whether reports say if the time of a call tells the datasets apart. That is a finding about this machine
            under this load, and never refutes.

    Raises:
        InvalidValue: a limit out of [0.001, 3600], or a function that runs many trials at once.

    >>> import warnings
    >>> def careless(dataset, rng):
    ...     if len(dataset) > 1:
    ...         warnings.warn("more than one")
    ...     return 1.0
    >>> observed(careless, warnings=True)([1, 2], None)
    Watched(value=1.0, warned=('UserWarning',), bits=False, said=('more than one',), masked=True)
    """

    function: Callable[..., object]
    timeout: float | None = field(default=None, kw_only=True)
    warnings: bool = field(default=False, kw_only=True)
    bits: bool = field(default=False, kw_only=True)
    canonical: Callable[[Any], object] | None = field(default=None, kw_only=True)
    time: bool = field(default=False, kw_only=True)
    messages: bool = field(default=True, kw_only=True)
    masked: bool = field(default=True, kw_only=True)
    clock: Clock = field(default_factory=Clock, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.timeout is not None and not SHORTEST <= self.timeout <= LONGEST:
            remedy = "give seconds, ten times those of the slowest call that should end by itself"
            raise InvalidValue("timeout", self.timeout, f"in [{SHORTEST:g}, {LONGEST:g}]", remedy)
        if hasattr(self.function, "release_many") or not callable(self.function):
            remedy = "observe a function (dataset, rng): of many trials at once nobody knows which one it was"
            raise InvalidValue("observed", self.function, "a function that runs one trial", remedy)

    def __call__(self, dataset: Any, rng: np.random.Generator) -> object:
        """One outcome: the value as it is, or with what was seen beside it.

        Raises:
            CallTimedOut: the limit has passed.
        """
        warned, said = tuple[str, ...](), tuple[str, ...]()
        if self.warnings:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                value = self._timed(dataset, rng)
            warned = tuple(sorted({one.category.__qualname__ for one in told}))
            said = tuple(str(one.message) for one in told) if self.messages else ()
        else:
            value = self._timed(dataset, rng)
        if self.canonical is not None:
            value = self.canonical(value)
        if not (warned or self.bits or not self.masked):
            return value
        return Watched(value, warned, self.bits, said, self.masked)

    def _timed(self, dataset: Any, rng: np.random.Generator) -> object:
        if self.timeout is None:
            return self.function(dataset, rng)
        if not alarms_ring_here():
            requirement = "used in the main thread, of a system with interval timers"
            raise InvalidValue("timeout", self.timeout, requirement, "leave it out here")
        ended: tuple[object, BaseException | None] | None = None
        start = time.perf_counter()
        with contextlib.suppress(RanTooLong), limited(self.timeout):
            try:
                ended = self.function(dataset, rng), None
            except Exception as error:
                ended = None, error
        took = time.perf_counter() - start
        if ended is None or took >= self.timeout:
            self.clock.timed_out += 1
            raise CallTimedOut(f"a time-out after {self.timeout:g} s")
        self.clock.slowest = max(self.clock.slowest, took)
        value, raised = ended
        if raised is not None:
            raise raised
        return value

    def near_limit(self, *others: observed) -> str | None:
        """That a call was timed out while another one was slow too, in words; None if time-outs are clear."""
        clocks = [self.clock, *(other.clock for other in others)]
        slowest = max(clock.slowest for clock in clocks)
        if self.timeout is None or not any(clock.timed_out for clock in clocks) or slowest <= CLEAR * self.timeout:
            return None
        return f"took {slowest:.3g} s in a call that was not timed out, near the limit of {self.timeout:g} s"

    def describe(self) -> str:
        """What is observed, as `parse_observed` reads it."""
        words = [f"timeout={self.timeout!r}"] if self.timeout is not None else []
        words += [word for word, (name, given) in _WORDS.items() if getattr(self, name) is given]
        return ", ".join(
            [*words, *([] if self.canonical is None else [f"canonical={_name_of_function(self.canonical)}"])]
        )


def parse_observed(text: str) -> Mapping[str, Any]:
    """The arguments of `observed` of a text such as "timeout=0.5, warnings".

    Raises:
        InvalidValue: anything else.

    >>> parse_observed("timeout=0.5, warnings, no-messages")
    {'timeout': 0.5, 'warnings': True, 'messages': False}
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name == "canonical":
            remedy = "name a function of a module that is observed(..., canonical=...) there"
            raise InvalidValue("observe", text, "without a canonical form, which is code", remedy)
        number = _seconds(value) if name == "timeout" and equals else None
        argument, given = _WORDS.get(name, (name, None))
        if argument in found or (number is None if name == "timeout" else equals or name not in _WORDS):
            remedy = 'write for example "timeout=0.5", in seconds, or "timeout=0.5, warnings"'
            raise InvalidValue("observe", text, f"some of timeout=SECONDS, {', '.join(_WORDS)}, each once", remedy)
        found[argument] = given if number is None else number
    return found


def _name_of_function(function: Callable[..., object]) -> str:
    """The name of a function and, where it has a source, the first digits of its SHA-256."""
    name = f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return name
    return f"{name} (source {hashlib.sha256(source.encode()).hexdigest()[:16]})"


def _seconds(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        number = float(text)
        return number if math.isfinite(number) else None
    return None


@contextlib.contextmanager
def warnings_not_raised() -> Generator[None]:
    """Warnings of audited code are shown, and not raised as errors where the caller's filters say so: whether a call
    raises depends on the call alone, and not on the test suite around it."""
    if not any(one[0] == "error" for one in warnings.filters):
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield
