"""The other side of a run: one entry, one release, in a process of its own. It says what came out as JSON values.

The folder of the release comes first where modules are searched, before anything but the standard library is loaded, so
that the release is what the reproduction imports; that it was is checked afterwards.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

ERROR_PROBABILITY: Final = 1e-6
"""Of refuting a claim that holds, in each run that is decided by a test."""


class WrongRelease(Exception):
    """The reproduction ran another release than the one that was installed for it."""


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """What came out: ``status`` is REFUTED, FINDING, QUIET, NOT COVERED, NOT REFUTED or FAILED."""
    start = time.perf_counter()
    try:
        found = _carried_out(request)
    except BaseException as error:  # the code of a release may raise anything
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        found = {"status": "FAILED", "epsilon_lower": None, "detail": said}
    return {**found, "seconds": round(time.perf_counter() - start, 2)}


def _carried_out(request: Mapping[str, Any]) -> dict[str, object]:
    folder: str | None = request["folder"]
    if folder is not None:
        sys.path.insert(0, folder)
    warnings.simplefilter("ignore")
    names: dict[str, Any] = {"__name__": "reproduction", "control": bool(request["control"])}
    exec(compile(request["reproduction"], request["id"] + ".toml", "exec"), names)
    if request["kind"] == "numbers":
        true, claimed = (float(number) for number in names["number"]())
        found: dict[str, object] = {
            "status": "REFUTED" if true > claimed else "NOT REFUTED",
            "epsilon_lower": None,
            "detail": f"true {true:.6g}, the release says {claimed:.6g}",
        }
    else:
        found = _on_a_pair(request, names)
    for one in request["install"]:
        _check_release(one, folder)
    return found


def _check_release(requirement: str, folder: str | None) -> None:
    """Whether the release that was asked for is the one that Python finds, and what is loaded of it came from there."""
    import importlib.metadata

    name, _, version = requirement.partition("==")
    found = importlib.metadata.distribution(name)
    if found.version != version:
        raise WrongRelease(f"{name} {found.version} was found in place of {version}")
    if folder is None:
        return
    inside = os.path.realpath(folder) + os.sep
    tops = {str(file).partition("/")[0].removesuffix(".py") for file in found.files or () if str(file).endswith(".py")}
    for module_name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if module_name.partition(".")[0] in tops and path and not os.path.realpath(path).startswith(inside):
            raise WrongRelease(f"{module_name} was loaded from {path}, not from the folder of {requirement}")


def _on_a_pair(request: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, object]:
    from dpverdict.audit.distinguishing.fixed_size import distinguish
    from dpverdict.audit.distinguishing.low_bits import find_float_leak
    from dpverdict.audit.implementation.tap.tapped_runs import tap
    from dpverdict.numerics.text import at_least

    what = names["release"], names["pair"](), str(names.get("claim", request["claim"]))
    if request["kind"] == "tap":
        seen = tap(*what, seed=request["seed"])
        return {"status": seen.status.name.replace("_", " "), "epsilon_lower": None, "detail": seen.reason}
    numbers: dict[str, Any] = {
        "error_probability": ERROR_PROBABILITY,
        "samples": request["samples"],
        "seed": request["seed"],
    }
    lower: float | None
    if request["kind"] == "bits":
        leak = find_float_leak(*what, **numbers, delta=request["delta"])
        refuted, lower = leak.refuted, leak.epsilon_lower
    else:
        test = distinguish(*what, **numbers, delta=0 if "delta" not in what[2] else None)
        refuted, lower = test.refuted, test.epsilon_lower
    shown = "" if lower is None else f"eps >= {at_least(max(lower, 0.0), 4)}, "
    return {
        "status": "REFUTED" if refuted else "NOT REFUTED",
        "epsilon_lower": lower if lower is None or lower < float("inf") else None,
        "detail": f"claim {what[2]}: {shown}{request['samples']} releases on each dataset",
    }
