"""A random number for each record, of which a comparison with a public rate makes a Poisson sample."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Final, NoReturn, final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import FollowedArray, applied
from dpverdict.audit.tracing.handles.released import Followed
from dpverdict.audit.tracing.handles.tape import RunTape

_REMEDY: Final = "make a sample of it, x[rng.random(len(x)) < 0.1], and nothing else"


@final
class Coins(Followed):
    """Uniform random numbers between 0 and 1, one for each record."""

    __slots__ = ("_dpv_of", "_dpv_tape", "_dpv_used", "_dpv_value")
    __array_priority__: float = 1000.0
    __array_ufunc__ = None
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, of: FollowedArray, value: Any) -> None:
        self._dpv_of, self._dpv_value, self._dpv_used = of, value, False
        self._dpv_tape: RunTape = of._dpv_tape

    def _below(self, rate: Any, value: Any, *, complement: bool = False) -> Any:
        if self._dpv_used:
            self._dpv_tape.refuse("random numbers of records that make a second sample", "draw again for it")
        if isinstance(rate, Followed) or np.ndim(rate) != 0 or not isinstance(rate, int | float | np.number):
            self._dpv_tape.refuse("a sample with a rate that is no public number", _REMEDY)
        self._dpv_used = True
        exact = Fraction(float(rate))
        exact = 1 - exact if complement else exact
        drawn = self._dpv_tape.draw("uniform", None, 1.0, ())
        return applied("sampled", [self._dpv_of], value, rate=str(exact), draws=int(drawn.numbers))

    def __lt__(self, rate: Any) -> Any:
        return self._below(rate, self._dpv_value < rate)

    def __le__(self, rate: Any) -> Any:
        return self._below(rate, self._dpv_value <= rate)

    def __gt__(self, rate: Any) -> Any:
        return self._below(rate, self._dpv_value > rate, complement=True)

    def __ge__(self, rate: Any) -> Any:
        return self._below(rate, self._dpv_value >= rate, complement=True)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> NoReturn:
        self._dpv_tape.refuse(f"np.{function.__name__} of random numbers of records", _REMEDY)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._dpv_tape.refuse("random numbers of records that leave the trace", _REMEDY)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._dpv_tape.refuse(f".{name} of random numbers of records", _REMEDY)

    def _refused(self, *args: Any) -> NoReturn:
        self._dpv_tape.refuse("random numbers of records that are computed with", _REMEDY)

    __add__ = _refused
    __radd__ = _refused
    __sub__ = _refused
    __rsub__ = _refused
    __mul__ = _refused
    __rmul__ = _refused
    __truediv__ = _refused
    __rtruediv__ = _refused
    __neg__ = _refused
    __getitem__ = _refused
    __iter__ = _refused
    __len__ = _refused
    __bool__ = _refused
    __float__ = _refused
    __int__ = _refused

    def __eq__(self, other: object) -> bool:
        self._refused(other)

    def __ne__(self, other: object) -> bool:
        self._refused(other)

    def __repr__(self) -> str:
        self._refused()

    __str__ = __repr__


def coins_for(size: Any) -> Coins | None:
    """Random numbers for as many records as are counted; None of anything that is no such count."""
    size = size[0] if isinstance(size, tuple) and len(size) == 1 else size
    if not isinstance(size, FollowedArray) or size._dpv_number is None:
        return None
    step = size._dpv_tape.setting.steps[size._dpv_number]
    if step.name != "count" or step.parameters["each"] or step.parameters["present"]:
        return None
    number, count = step.operands[0].number, int(size._dpv_value)
    of = FollowedArray(size._dpv_tape, number, np.zeros(count))
    return Coins(of, _FRESH.random(count))


_FRESH: Final[np.random.Generator] = np.random.default_rng()
