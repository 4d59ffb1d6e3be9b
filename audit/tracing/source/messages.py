"""Messages of the code that is followed, in logs and in warnings: each is written out, whatever the settings are.

Which messages somebody reads is decided by settings that are no part of the function. So in a trace each counts as
one that is read: data in it are data without noise.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, Final

_OWN: Final = frozenset(vars(logging.makeLogRecord({})))
"""The attributes of every record of a log; others are what the code adds (``extra``)."""


def messages_written(check: Callable[[Any], None]) -> list[tuple[Any, str, Any]]:
    """What is replaced so that the text of every message is made, and none is shown: where, by what name, with what.

    Warnings have to be asked for (``simplefilter("always")``): one that is ignored has no text.

    Args:
        check: is given what goes into a log beside the text.
    """

    def written(logger: logging.Logger, record: logging.LogRecord) -> None:
        record.getMessage()
        check([value for name, value in vars(record).items() if name not in _OWN])

    def enabled(logger: logging.Logger, level: int) -> bool:
        return True

    def shown(message: Warning | str, *args: Any, **given: Any) -> None:
        str(message)

    return [(logging.Logger, "isEnabledFor", enabled), (logging.Logger, "handle", written),
            (warnings, "showwarning", shown)]  # fmt: skip
