"""`certify`, of a mechanism of known structure or of a user's function with the schema of its table."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from dpverdict.audit.exact.decide import certify as certify_mechanism
from dpverdict.audit.exact.verdict import Verdict
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism

if TYPE_CHECKING:
    from dpverdict.audit.tables.schema import TableSchema
    from dpverdict.audit.tracing.verdict import TracedVerdict


@overload
def certify(mechanism: StructuredMechanism, claim: Guarantee | str | None = None) -> Verdict: ...
@overload
def certify(
    mechanism: Callable[..., Any], claim: Guarantee | str, *, schema: TableSchema | str | os.PathLike[str]
) -> TracedVerdict: ...
def certify(
    mechanism: StructuredMechanism | Callable[..., Any],
    claim: Guarantee | str | None = None,
    *,
    schema: TableSchema | str | os.PathLike[str] | None = None,
) -> Verdict | TracedVerdict:
    """Decide whether a mechanism keeps a claim, for every neighbouring pair.

    A mechanism of known structure: see `dpverdict.audit.exact.decide.certify`. A function of a user's, called with a
    table and a generator of NumPy or with a table alone, is followed with facts that hold for every pair of tables of
    the schema: see `dpverdict.audit.tracing.certify.certify_function`.

    Args:
        mechanism: a mechanism whose noise law is known, or a function.
        claim: the guarantee, also as text; the mechanism's own when not given.
        schema: of the table that a function takes, or the path of its file.

    Raises:
        InvalidValue: a claim, a mechanism or a schema of another type, or a function without a schema.
    """
    if schema is None:
        return certify_mechanism(mechanism, claim)  # type: ignore[arg-type]  # it says what it takes
    if claim is None:
        raise InvalidValue("claim", None, "given for a function", 'say what it promises, such as "eps=1"')
    if isinstance(mechanism, StructuredMechanism):
        raise InvalidValue("schema", schema, "left out of a mechanism of known structure", "leave it out")
    from dpverdict.audit.tracing.certify import certify_function  # it loads the tap and the tests of releases

    return certify_function(mechanism, claim, schema=schema)
