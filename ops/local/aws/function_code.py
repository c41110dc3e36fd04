"""The code of functions, unpacked once for all processes that run it.

ministack unpacks it for each process: with ten of them at once, that is most of what a cold start takes.
"""

import hashlib
import io
import os
import tempfile
import threading
import zipfile
from functools import cache
from pathlib import Path

_unpacking = threading.Lock()


def nothing() -> bytes:
    """A zip with nothing in it."""
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    return buffer.getvalue()


def unpacked(code: bytes) -> Path:
    """The folder of a zip's files, in the server's scratch folder; not to be written to."""
    with _unpacking:
        return _unpacked(code)


@cache
def _unpacked(code: bytes) -> Path:
    folder = Path(tempfile.gettempdir()) / "code" / hashlib.sha256(code).hexdigest()
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        archive.extractall(folder)
    return folder


def with_path(variables: dict[str, str], folder: Path) -> dict[str, str]:
    """A function's variables, and its code where Python finds it: behind what they name themselves."""
    return {**variables, "PYTHONPATH": os.pathsep.join(filter(None, (variables.get("PYTHONPATH"), str(folder))))}
