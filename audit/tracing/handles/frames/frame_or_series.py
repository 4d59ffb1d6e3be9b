"""What frames and series have in common, of either library: nothing of them leaves the trace."""

from __future__ import annotations

from typing import Any, ClassVar, Final, NoReturn

from dpverdict.audit.tracing.handles.released import Followed
from dpverdict.audit.tracing.handles.tape import Tape

SEE: Final = "what is covered is listed in docs/reference_tracing.md"


class FrameOrSeries(Followed):
    """Refuses, by name, whatever would make plain data of it.

    Attributes:
        _dpv_tape: of the run.
        _dpv_selection: what selects records in this library.
        _dpv_copy: what copies a frame in it.
    """

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    _dpv_tape: Tape
    _dpv_selection: ClassVar[str]
    _dpv_copy: ClassVar[str]

    def _no(self, what: str, remedy: str = SEE) -> NoReturn:
        self._dpv_tape.refuse(what, remedy)

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._no("a branch on data", f"put the test behind the noise, or use {self._dpv_selection}")

    def __float__(self) -> float:
        self._no("data that become a plain number", "add noise first")

    __int__ = __float__

    def __array__(self, *args: Any, **given: Any) -> Any:
        self._no("data that leave the trace as a plain array", "use functions that are covered")

    def __repr__(self) -> str:
        self._no("data that become text", "return or print noisy values only")

    def __format__(self, how: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._no("data that are pickled", f"use {self._dpv_copy}")
