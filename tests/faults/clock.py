"""A process whose wall clock is wrong. Its monotonic clock is right, as on a real machine."""

import datetime
import sys
import time
from typing import Any, Self


def skew(seconds: float) -> None:
    """Put this process's wall clock forward by so many seconds, for good."""
    if not seconds:
        return
    real_time, real_time_ns, real = time.time, time.time_ns, datetime.datetime
    off = datetime.timedelta(seconds=seconds)

    class Skewed(real):  # type: ignore[misc, valid-type]
        """The class that the modules of this process know as datetime."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Self:
            return cls._from(real.now(tz) + off)

        @classmethod
        def utcnow(cls) -> Self:
            return cls._from(real.now(datetime.UTC).replace(tzinfo=None) + off)

        @classmethod
        def today(cls) -> Self:
            return cls.now()

        @classmethod
        def _from(cls, at: Any) -> Self:
            return cls(*at.timetuple()[:6], at.microsecond, at.tzinfo, fold=at.fold)

    time.time = lambda: real_time() + seconds
    time.time_ns = lambda: real_time_ns() + int(seconds * 1e9)
    for module in list(sys.modules.values()):
        if module.__name__.startswith("handlers.") and vars(module).get("datetime") is real:
            vars(module)["datetime"] = Skewed
    datetime.datetime = Skewed  # type: ignore[misc]
