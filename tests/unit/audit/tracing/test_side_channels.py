"""Data that go another way than the outcome: kept by other code, in messages, or by an exception that is caught."""

import atexit
import contextlib
import contextvars
import copy
import functools
import json
import logging
import math
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function

SCHEMA = TableSchema.from_toml(
    'relation = "add-or-remove-one"\ntable = "pandas"\n[columns.age]\ntype = "int"\nlow = 0\nhigh = 120\n'
)
HELD = contextvars.ContextVar[Any]("HELD")


def noisy(df: Any) -> Any:
    return df.age.sum() + np.random.default_rng().laplace(scale=120)


def on_the_function(df: Any) -> Any:
    on_the_function.last = df.age.sum()  # type: ignore[attr-defined]
    return noisy(df)


def on_a_module(df: Any) -> Any:
    json.last = df.age.sum()  # type: ignore[attr-defined]
    return noisy(df)


def on_a_class(df: Any) -> Any:
    class Kept:
        last = df.age.sum()

    json.kept = Kept  # type: ignore[attr-defined]
    return noisy(df)


def in_a_context(df: Any) -> Any:
    HELD.set(df.age.sum())
    return noisy(df)


def for_the_end(df: Any) -> Any:
    atexit.register(functools.partial(len, df.age))
    return noisy(df)


def in_a_log(df: Any) -> Any:
    logging.getLogger("quiet").debug("the sum is %s", df.age.sum())
    return noisy(df)


def beside_a_log(df: Any) -> Any:
    logging.getLogger("quiet").debug("done", extra={"sum": df.age.sum()})
    return noisy(df)


def in_a_warning(df: Any) -> Any:
    warnings.warn(df.age.sum(), stacklevel=1)
    return noisy(df)


def where_noise_is_negative(df: Any) -> Any:
    try:
        return math.log(noisy(df))
    except ValueError:
        return df.age.sum()


def where_noise_is_large(df: Any) -> Any:
    value = noisy(df)
    with contextlib.suppress(OverflowError):
        return math.exp(value)
    return df.age.sum()


def after_all(df: Any) -> Any:
    for _ in range(2):
        try:
            return math.log(noisy(df))
        finally:
            break  # noqa: B012
    return df.age.sum()


def by_an_own_manager(df: Any) -> Any:
    class Quiet:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> bool:
            return True

    value = noisy(df)
    with Quiet():
        return math.log(value)
    return df.age.sum()


def by_the_same_bits(df: Any) -> Any:
    bits = np.random.PCG64()
    other = copy.deepcopy(bits)
    first, second = (np.random.Generator(one).laplace(scale=240) for one in (bits, other))
    return df.age.sum() + first - second


def with_a_rare_secret(df: Any) -> Any:
    import secrets

    return df.age.sum() if secrets.randbelow(10**6) == 0 else noisy(df)


class OfNothing(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        return 0


def in_json(df: Any) -> Any:
    """It is asked what stands for a sum in the trace alone: a sum of NumPy is a float, which it writes."""
    return json.dumps({"total": df.age.astype(float).sum()}, default=lambda one: 0), noisy(df)


def in_json_by_a_class(df: Any) -> Any:
    return OfNothing().encode(df.age.astype(float).sum()), noisy(df)


def in_json_of_a_counter(df: Any) -> Any:
    return json.dumps(Counter(df.age), default=lambda one: 0), noisy(df)


WRONG = [on_the_function, on_a_module, on_a_class, in_a_context, for_the_end, in_a_log, beside_a_log, in_a_warning,
         where_noise_is_negative, where_noise_is_large, after_all, by_an_own_manager, by_the_same_bits,
         with_a_rare_secret, in_json, in_json_by_a_class, in_json_of_a_counter]  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Any:
    yield
    for name in ("last", "kept"):
        vars(json).pop(name, None)
    vars(on_the_function).pop("last", None)
    HELD.set(None)


@pytest.mark.parametrize("function", WRONG, ids=lambda one: one.__name__)
def test_data_that_go_another_way_are_not_covered(function: Callable[..., Any]) -> None:
    verdict = certify_function(function, "eps=1", schema=SCHEMA, search=0)
    assert verdict.status is Status.INCONCLUSIVE, verdict.text()
    assert verdict.covered is False


def test_a_handler_in_code_without_a_text_is_not_covered() -> None:
    text = "try:\n        return math.log(noisy(df))\n    except ValueError:\n        return df.age.sum()"
    names: dict[str, Any] = {"math": math, "noisy": noisy, "__name__": "no_module"}
    exec(f"def hidden(df):\n    {text}\n", names)
    verdict = certify_function(names["hidden"], "eps=1", schema=SCHEMA, search=0)
    assert verdict.covered is False
    assert "no text" in verdict.text()


def says_what_is_released(df: Any) -> Any:
    value = noisy(df)
    logging.getLogger("quiet").debug("done")
    return value


def catches_nothing(df: Any) -> Any:
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        value = np.log(np.maximum(noisy(df), 1))
    try:
        return value / 2
    except ZeroDivisionError as error:
        raise ValueError("it cannot be divided") from error
    finally:
        logging.getLogger("quiet").debug("done")


@pytest.mark.parametrize("function", [noisy, says_what_is_released, catches_nothing], ids=lambda one: one.__name__)
def test_messages_without_data_and_handlers_that_raise_are_followed(function: Callable[..., Any]) -> None:
    assert certify_function(function, "eps=1", schema=SCHEMA, search=0).status is Status.CERTIFIED
    assert logging.Logger.isEnabledFor(logging.getLogger("quiet"), logging.DEBUG) is False
