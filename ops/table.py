"""Tables that lose nothing: as wide as need be in a pipe, folded to fit on a terminal.

Where the columns are too many for the terminal, some move below others, so that a row takes more lines; a note of any
length goes below its row. Nothing is cut off, and nothing is boxed in, so that what is shown can be copied.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

Cell = Text | str | None
# The places of the columns that stand above each other, stack by stack.
Stacks = list[list[int]]

GAP = 2
INDENT = 4
# More columns than any row has: a pipe has no edge.
EDGELESS = 100_000
STYLES = {
    "succeeded": "green",
    "running": "cyan",
    "failed": "red",
    "timed_out": "red",
    "lost": "red",
    "fenced": "red",
    "start_failed": "red",
    "unknown": "bold magenta",
    "interrupted": "yellow",
    "cancelled": "yellow",
    "skipped": "yellow",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under titles, a renderable of Rich. A cell that is None shows as a dash.

    folds: pairs of titles whose first column moves below the second; as many are made, in this order, as it takes.
    right: titles of columns that are set flush right. note: the title of the last column, whose cells may have any
    length: it stands beside the others only where everything fits into one line.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    folds: Sequence[tuple[str, str]] = ()
    right: frozenset[str] = frozenset()
    note: str | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the widest form that fits."""
        stacks, notes_below = self._layout(options.max_width)
        widths = self._widths(stacks)
        yield from self._lines([Text(title, style="bold") for title in self.titles], stacks, widths)
        for number, cells in enumerate(self.rows):
            if number and len(stacks[0]) > 1:  # else what is below the first cell is room enough
                yield Text()
            yield from self._lines(cells, stacks, widths)
            if notes_below and cells[-1] is not None:
                yield from hanging(
                    Text.assemble(f"{self.note}: ", cells[-1]), console, options.max_width, indent=INDENT
                )

    def _layout(self, width: int) -> tuple[Stacks, bool]:
        """The columns as they stand beside and above each other, and whether the notes go below their rows."""
        stacks = [[place] for place in range(len(self.titles))]
        if self._width(stacks) <= width:
            return stacks, False
        if self.note is not None:
            stacks.pop()
        for column, below in self.folds:
            if self._width(stacks) <= width:
                break
            stacks = _folded(stacks, self.titles.index(column), self.titles.index(below))
        return stacks, self.note is not None

    def _width(self, stacks: Stacks) -> int:
        return sum(self._widths(stacks)) + GAP * (len(stacks) - 1)

    def _widths(self, stacks: Stacks) -> list[int]:
        every = (self.titles, *self.rows)
        return [max(shown(cells[place]).cell_len for cells in every for place in stack) for stack in stacks]

    def _lines(self, cells: Sequence[Cell], stacks: Stacks, widths: list[int]) -> Iterator[Text]:
        for depth in range(max(map(len, stacks))):
            line = Text(overflow="fold")
            for stack, width in zip(stacks, widths, strict=True):
                cell = shown(cells[stack[depth]]) if depth < len(stack) else Text()
                if depth:
                    cell.stylize("dim")
                padding = " " * (width - cell.cell_len)
                line.append_text(Text(padding) + cell if self.titles[stack[0]] in self.right else cell + Text(padding))
                line.append(" " * GAP)
            line.rstrip()
            yield line


def hanging(text: Text, console: Console, width: int, *, indent: int) -> Iterator[Text]:
    """Yield the text in lines of at most `width` columns, each of them set in by `indent`."""
    for line in text.wrap(console, max(1, width - indent), overflow="fold"):
        line.rstrip()
        yield Text(" " * indent).append_text(line)


def status_text(status: str, reason: str | None = None) -> Text:
    """A status or outcome in its colour, with the reason of a skip: `skipped: overlap`."""
    return Text(status if reason is None else f"{status}: {reason}", style=STYLES.get(status, ""))


def open_console() -> Console:
    """A console on stdout that neither wraps nor colours what goes into a pipe or a file."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = EDGELESS
    return console


def shown(cell: Cell) -> Text:
    """The cell as text of its own, to be changed at will."""
    if cell is None:
        return Text("-", style="dim")
    return cell.copy() if isinstance(cell, Text) else Text(cell)


def _folded(stacks: Stacks, column: int, below: int) -> Stacks:
    """The stacks with the one that holds `column` moved below the one that holds `below`."""
    moving = next(stack for stack in stacks if column in stack)
    return [stack + moving if below in stack else stack for stack in stacks if stack is not moving]
