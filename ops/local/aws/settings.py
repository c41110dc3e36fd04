"""What the parent tells the server process about itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ACCOUNT = "000000000000"


@dataclass(frozen=True, slots=True)
class Settings:
    """How one local AWS runs; travels to the server process as one JSON message.

    `injected` is the environment every Lambda and task gets; what a template declares wins over it.
    `database` is the host and port that every RDS endpoint of a template resolves to.
    `grace` is how long, in seconds, tasks get between SIGTERM and SIGKILL when the server stops.
    `rings` is whether schedules fire by themselves; else they do when `LocalAws.fire_due` says what time it is.
    """

    folder: Path
    region: str = "us-east-1"
    injected: Mapping[str, str] = field(default_factory=dict)
    database: tuple[str, int] | None = None
    grace: float = 5.0
    rings: bool = True

    @property
    def logs(self) -> Path:
        """Where the server's, each function's and each task family's output goes, one file each."""
        return self.folder / "logs"

    @property
    def scratch(self) -> Path:
        """The temporary folder of the server and all it starts; gone when the server has stopped."""
        return self.folder / "scratch"

    @property
    def breaks(self) -> Path:
        """The folder of what somebody has ordered to fail, see breaks.py; there while the server runs."""
        return self.folder / "breaks"

    def message(self) -> dict[str, object]:
        """The settings as a JSON object."""
        return {
            "folder": str(self.folder),
            "region": self.region,
            "injected": dict(self.injected),
            "database": self.database,
            "grace": self.grace,
            "rings": self.rings,
        }

    @classmethod
    def from_message(cls, message: Mapping[str, object]) -> "Settings":
        """The settings a parent sent with `message()`."""
        given = dict(message)
        host_and_port = given.pop("database")
        return cls(
            folder=Path(str(given.pop("folder"))),
            database=tuple(host_and_port) if isinstance(host_and_port, list) else None,
            **given,  # type: ignore[arg-type]  # the other side is message() of the same class
        )
