"""Whether what a mechanism declares of itself is code of this library, and what is tried of code that is not."""

from __future__ import annotations

import sys
from typing import Any, Final

from dpverdict.errors import MechanismFailure
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, StatisticMechanism, StructuredMechanism

SEED: Final = 20260101
"""Of everything tried for a verdict: the same mechanism always gets the same one."""
ROUNDING: Final = 1e-9
"""Relative: a statistic computed in float64 may seem to move this much further than it does."""
LAW_ERROR: Final = 1e-9
"""The probability that a sampler of the declared law is taken for another."""
LAW_METHODS: Final = ("add", "sample", "solve", "mu_squared", "loss")
"""Of a noise."""

_RUN = ("check_records", "statistic", "embed", "decode", "release", "release_many", "__call__")
_STATED = ("above", "below", "privacy_bounds")
_SPACE = ("maximise", "mu_squared", "loss", "at")


def declared_here(mechanism: StructuredMechanism) -> bool:
    """Whether the mechanism, its noise and its sensitivity space are of this library: classes, methods and values."""
    if mechanism.replaced:
        return False
    parts: list[tuple[object, tuple[str, ...]]] = [(mechanism, (*_RUN, *_STATED))]
    if isinstance(mechanism, StatisticMechanism):
        noise: Any = mechanism.noise
        parts += [(noise, LAW_METHODS), *([(noise.row, LAW_METHODS)] if hasattr(noise, "row") else [])]
    if isinstance(mechanism, AdditiveMechanism):
        parts.append((mechanism.sensitivity, _SPACE))
    return all(is_ours(part, names) for part, names in parts)


def is_ours(part: object, names: tuple[str, ...]) -> bool:
    kind = type(part)
    module = sys.modules.get(kind.__module__)
    if not _is_of_this_library(kind.__module__) or getattr(module, kind.__name__, None) is not kind:
        return False
    held = vars(part) if hasattr(part, "__dict__") else {}
    return not any(name in held for name in names) and all(method_is_ours(part, name) for name in names)


def method_is_ours(part: object, name: str) -> bool:
    if hasattr(part, "__dict__") and name in vars(part):
        return False
    method = getattr(type(part), name, None)
    return method is None or _is_of_this_library(str(getattr(method, "__module__", "")))


def _is_of_this_library(module: str) -> bool:
    return module.startswith("dpverdict.mechanisms.")


def class_is_ours(kind: type) -> bool:
    return _is_of_this_library(kind.__module__) and "add" in vars(kind) and not getattr(kind, "_is_protocol", False)


def failure_of(said: str) -> MechanismFailure:
    return MechanismFailure("", f"raised {said}", "call it yourself on that dataset")
