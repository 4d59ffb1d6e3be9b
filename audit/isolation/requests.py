"""A request that a process of its own carries out: its answer, checked before it is believed, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from dpverdict.audit.isolation.process import Limits, run_isolated
from dpverdict.errors import DpverdictError, MechanismFailure, error_to_send, in_one_line, raise_error_sent


class Answer(Protocol):
    """What a request found, as data and with the exit code of the command line."""

    @property
    def exit_code(self) -> int:
        """Of the command line."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, with its exit code."""
        ...


Found = TypeVar("Found", bound=Answer)


def answer_of(
    entry: str,
    request: Mapping[str, object],
    read: Callable[[Mapping[str, Any]], Found],
    *,
    what: str,
    kind: str,
    failed: type[DpverdictError],
    limits: Limits,
) -> Found:
    """What the process of a request answers.

    Args:
        entry: of `run_isolated`: a function that returns `answered`.
        request: for it.
        read: the answer from its JSON values.
        what: is run, for errors.
        kind: of the answer, for errors: "a verdict".
        failed: raised where the process says why there is no answer; its cause is the `InvalidValue` of that process.
        limits: of the process.

    Raises:
        DpverdictError: it cannot be carried out, did not finish, or sent something else.
    """
    answer = run_isolated(entry, request, what=what, limits=limits)
    raise_error_sent(answer, failed)
    try:
        if not isinstance(answer, dict):
            raise ValueError(f"it is not {kind}")
        found = read(answer)
        if answer["exit_code"] != found.exit_code:
            raise ValueError("its exit code is not that of its evidence")
        return found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"sent something that is not {kind} ({in_one_line(error)})"
        raise MechanismFailure(what, problem, "look at what it replaces or writes to") from None


def answered(carry_out: Callable[[], Answer], work: str) -> dict[str, Any]:
    """The other side: the answer as data, or the message of why there is none.

    Args:
        carry_out: loads and runs the user's code.
        work: what that code may end too early: "tap".
    """
    try:
        return carry_out().to_dict()
    except (DpverdictError, OSError) as error:
        return error_to_send(error)
    except BaseException as error:  # the user's code may raise anything: SystemExit is not a verdict
        return {"error": f"the code that was run ended the {work} with {in_one_line(error)}, which is not a verdict"}
