"""Names and their values, one below the other."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ops.table import GAP, Cell, hanging, shown


@dataclass(frozen=True, slots=True)
class Facts:
    """A renderable of Rich: each value beside its name, and set in below itself where it takes several lines."""

    values: Mapping[str, Cell]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one line per fact, more for one that is wider than the console."""
        indent = max(map(len, self.values)) + GAP
        for name, value in self.values.items():
            first, *more = hanging(shown(value), console, options.max_width, indent=indent)
            yield Text.assemble((name.ljust(indent), "bold"), first[indent:])
            yield from more
