"""Messages of the code that is followed, in logs and in warnings: each is written out, whatever the settings are.

Which messages somebody reads is decided by settings that are no part of the function. So in a trace each counts as
one that is read: data in it are data without noise.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

_OWN: Final = frozenset(vars(logging.makeLogRecord({})))
"""The attributes of every record of a log; others are what the code adds (``extra``)."""


@contextmanager
def messages_written(check: Callable[[Any], None]) -> Generator[None]:
    """Within it, the text of every message of ``logging`` and ``warnings`` is made, and nothing is shown.

    Args:
        check: is given what else goes into a log beside the text.
    """
    enabled, handle = logging.Logger.isEnabledFor, logging.Logger.handle

    def written(logger: logging.Logger, record: logging.LogRecord) -> None:
        record.getMessage()
        check([value for name, value in vars(record).items() if name not in _OWN])

    def shown(message: Warning | str, *args: Any, **given: Any) -> None:
        str(message)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = shown
        logging.Logger.isEnabledFor = lambda logger, level: True  # type: ignore[method-assign]
        logging.Logger.handle = written  # type: ignore[method-assign]
        try:
            yield
        finally:
            logging.Logger.isEnabledFor, logging.Logger.handle = enabled, handle  # type: ignore[method-assign]
