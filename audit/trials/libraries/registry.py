"""The libraries that are known. To add one, write its file and name it here; nothing else changes."""

from __future__ import annotations

from typing import Final

from dpverdict.audit.trials.libraries import diffprivlib, opendp
from dpverdict.audit.trials.libraries.adapter import Library, Make

LIBRARIES: Final[tuple[Library, ...]] = (opendp.LIBRARY, diffprivlib.LIBRARY)


def adapter_for(thing: object) -> Make | None:
    """What makes a release of an object that states its own claim; None for any other object."""
    module = type(thing).__module__.partition(".")[0]
    for library in LIBRARIES:
        make = library.adapt(thing) if module == library.name else None
        if make is not None:
            return make
    return None
