"""The other side of an audit of a function with a schema: what its process of its own does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dpverdict.audit.isolation.process import Limits, run_isolated
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import SEARCH_SECONDS, certify_function
from dpverdict.audit.trials.user_functions import load_callable
from dpverdict.errors import DpverdictError

ENTRY: Final = "dpverdict.audit.tracing.isolated:work"


class TracingFailed(DpverdictError):
    """A function could not be followed in a process of its own; the message is the one it had there."""


def audit_isolated(function: str, schema: str, claim: str, limits: Limits, *, search: bool = True) -> dict[str, Any]:
    """Decide the claim of a function that is named by its module, in a process of its own.

    Args:
        function: ``module:function`` or ``path/file.py:function``.
        schema: the path of its schema.
        claim: what it promises.
        limits: of the process.
        search: whether a pair is searched where the bound does not prove the claim.

    Returns:
        The verdict as JSON values, with its text and its certificate.

    Raises:
        DpverdictError: it cannot be carried out.
    """
    TableSchema.from_toml(schema)  # an error in it is told at once
    sent = {"function": function, "schema": schema, "claim": claim, "search": search}
    answer = run_isolated(ENTRY, sent, what=function, limits=limits)
    assert isinstance(answer, dict)
    if isinstance(answer.get("error"), str):
        raise TracingFailed(answer["error"])
    return answer


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """Follow one function; or the message of why that is not possible."""
    try:
        function = load_callable(request["function"], name="mechanism")
        verdict = certify_function(
            function,
            request["claim"],
            schema=request["schema"],
            name=request["function"],
            search=SEARCH_SECONDS if request["search"] else 0.0,
        )
    except DpverdictError as error:
        return {"error": " ".join(str(error).split())}
    except BaseException as error:  # the user's code may raise anything: SystemExit is no verdict
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return {"error": f"{request['function']} ended the audit with {' '.join(said.split())}"}
    return {
        "verdict": verdict.to_dict(),
        "text": verdict.text(),
        "summary": f"{verdict.heading}: {verdict.name} claims {verdict.claim}",
        "exit_code": verdict.exit_code,
        "certificate": None if verdict.certificate is None else dict(verdict.certificate),
    }
