"""Tests that this machine has not the means for are not collected, and the last lines of the report say so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

NAME = "left out"  # of the plugin, and of what a process of xdist hands over


class LeftOut:
    """A plugin for pytest. lacking: files of tests, each with what it needs and this machine does not have.

    Where xdist spreads the tests, its processes collect them, and only the process that started those can report.
    """

    def __init__(self, lacking: Mapping[Path, str]) -> None:
        self._lacking = lacking
        self._lines: set[str] = set()

    def add(self, what: str, needs: str) -> None:
        """Note that something was left out."""
        self._lines.add(f"{what}, which needs {needs}")

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Leave the file out if it is one of those."""
        if collection_path not in self._lacking:
            return None
        if _is_asked_for(collection_path, config):
            self.add(str(collection_path.relative_to(config.rootpath)), self._lacking[collection_path])
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what was left out here, if this process is one of xdist's."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[NAME] = sorted(self._lines)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what one of xdist's processes has left out; one that crashed has nothing to say."""
        self._lines.update(getattr(node, "workeroutput", {}).get(NAME, ()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say it, if there is anything to say."""
        if self._lines:
            terminalreporter.section("left out", yellow=True)
            for line in sorted(self._lines):
                terminalreporter.line(line)


def _is_asked_for(path: Path, config: pytest.Config) -> bool:
    """Whether it is below what the command line names; pytest looks at the files beside that, too."""
    named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return any(path.is_relative_to(place.resolve()) for place in named)
