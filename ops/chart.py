"""A day in the terminal, a line per hour and a column per minute, so that the eye finds the crowd."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
HEIGHTS, NOTHING = "▁▂▃▄▅▆▇█", "·"
PLAIN_HEIGHTS, PLAIN_NOTHING = "12345678", "."  # where the terminal has no other characters
LABEL = 7
RULER = "".join(f":{minute:02}".ljust(15) for minute in range(0, 60, 15)).rstrip()


@dataclass(frozen=True, slots=True)
class DayChart:
    """A renderable of Rich: how much there is in each minute (aware UTC) from `begin` up to `end`.

    A column is as high as its minute has starts; eight and more are full, and a minute with more sets the scale.
    """

    counts: Mapping[datetime, int]
    begin: datetime
    end: datetime

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the ruler, then one line per hour with its sum."""
        yield Text(" " * LABEL + RULER, style="dim")
        heights, nothing = (PLAIN_HEIGHTS, PLAIN_NOTHING) if options.ascii_only else (HEIGHTS, NOTHING)
        scale = max(len(heights), *self.counts.values(), 0)
        hour = self.begin.replace(minute=0, second=0, microsecond=0)
        while hour < self.end:
            line, starts = Text(f"{hour:%H:%M}".ljust(LABEL), no_wrap=True), 0
            for minute in (hour + place * MINUTE for place in range(60)):
                count = self.counts.get(minute, 0)
                starts += count
                if count:
                    line.append(heights[-(-count * len(heights) // scale) - 1], "cyan" if count == 1 else "yellow")
                else:
                    line.append(nothing if self.begin <= minute < self.end else " ", "dim")
            yield line.append(f"{starts:>6}", "dim")
            hour += HOUR
