"""Failures that a person orders with `jobs break`: the next start of a function or a task family fails, once.

An order is a file named after the function or family. Whoever takes the file away carries it out: so it happens once,
and a start that claims no run, such as a duplicate, leaves it for the next.
"""

import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from handlers.declaration.signals import Signal

logger = logging.getLogger("shiftlock.local.breaks")

# kill         the process gets SIGKILL once it has claimed its run
# oom          the same, and ECS says that the memory was too small
# never-start  it fails before there is a process
# timeout      the process freezes once it has claimed its run
How = Literal["kill", "oom", "never-start", "timeout"]
HOW: tuple[How, ...] = get_args(How)

SIGNALS = {"kill": "SIGKILL", "oom": "SIGKILL", "timeout": "SIGSTOP"}
# Python imports `sitecustomize` from here before anything of the process's own.
HOOK = Path(__file__).with_name("break_hook")


@dataclass(frozen=True, slots=True)
class Breaks:
    """The orders in one folder, which is there while the local AWS runs."""

    folder: Path

    def open(self) -> None:
        """Begins without orders: those of before were for an AWS that is gone. Raises OSError."""
        self.close()
        self.folder.mkdir(parents=True)

    def close(self) -> None:
        """Takes the folder away."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def order(self, name: str, how: How) -> None:
        """Orders the failure of the next start of `name`, in place of one ordered before. Raises OSError."""
        new = self.folder / f".{name}.{os.getpid()}"
        new.write_text(how)
        new.replace(self.folder / name)

    def ordered(self, name: str) -> How | None:
        """What is ordered for the next start of `name`; an order that nobody could carry out is dropped."""
        try:
            found = (self.folder / name).read_text().strip()
        except FileNotFoundError:
            return None
        if found in HOW:
            return found
        logger.error("the order to break %s by %r is dropped: allowed is %s", name, found, ", ".join(HOW))
        self.take(name)
        return None

    def take(self, name: str) -> bool:
        """Takes the order away; whether it was still there, and so is to be carried out."""
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return False
        return True

    def environment(self, name: str, how: How, python_path: str) -> dict[str, str]:
        """What makes a process of `name` carry the order out when it has claimed its run."""
        return {
            "PYTHONPATH": os.pathsep.join(filter(None, (str(HOOK), python_path))),
            "SHIFTLOCK_BREAK_ORDER": str(self.folder / name),
            "SHIFTLOCK_BREAK_SIGNAL": SIGNALS[how],
            # The first thing that a process says once it has claimed its run.
            "SHIFTLOCK_BREAK_AT": f'"{Signal.STARTED}"',
        }
