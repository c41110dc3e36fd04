"""What functions and tasks print, one file per function or task family, beside their CloudWatch log group."""

from pathlib import Path
from threading import Lock


class LogFolder:
    """Appends lines to `<name>.log` files in one folder; safe to use from many threads."""

    def __init__(self, folder: Path) -> None:
        """The folder must exist."""
        self._folder = folder
        self._writing = Lock()

    def append(self, name: str, text: str) -> None:
        """Adds text, ended by a line end, to the file of a function or task family."""
        with self._writing, (self._folder / f"{name.replace('/', '-')}.log").open("a") as file:
            file.write(text if text.endswith("\n") else text + "\n")
