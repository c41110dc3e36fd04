"""How much memory and time a large file takes, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

from tests.jobs.images.broken import BOMBS
from tests.jobs.images.pictures import gradient, saved

REPOSITORY = Path(__file__).parents[3]
MEASURED = """
import json, resource, sys, time
from pathlib import Path
from handlers.jobs.images.decode import largest
from handlers.jobs.images.encode import encoded
from handlers.jobs.images.unusable import Unusable

def peak():
    # Not getrusage: on Linux it counts what the parent had when it started this process.
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if "VmHWM" in line)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2

made = []
for file in sys.argv[1:]:
    try:
        picture, sizes = largest(Path(file).read_bytes(), (320, 640, 960, 1280, 1920))
    except Unusable:
        continue
    made += [encoded(picture, size).size for size in sizes]
print(json.dumps({"peak": peak(), "seconds": time.process_time(), "made": made}))
"""


def measured(folder: Path, files: list[bytes]) -> dict[str, object]:
    """What becomes of the files: `peak` in MiB, `seconds` of the processor's, and the sizes `made`."""
    places = [folder / str(number) for number in range(len(files))]
    for place, data in zip(places, files, strict=True):
        place.write_bytes(data)
    command = [sys.executable, "-c", MEASURED, *map(str, places)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=120)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_jpeg_of_50_million_pixels_takes_little_memory_and_seconds(tmp_path: Path) -> None:
    found = measured(tmp_path, [saved(gradient(8192, 6144), "JPEG", quality=75)])
    assert found["made"] == [[320, 240], [640, 480], [960, 720], [1280, 960], [1920, 1440]]
    assert isinstance(found["peak"], float)
    assert found["peak"] < 160  # MiB; decoded in full it would be 350
    assert isinstance(found["seconds"], float)
    assert found["seconds"] < 10


def test_bombs_are_refused_before_memory_is_taken_for_them(tmp_path: Path) -> None:
    found = measured(tmp_path, [bomb() for bomb in BOMBS.values()])
    assert found["made"] == []
    assert isinstance(found["peak"], float)
    assert found["peak"] < 100  # MiB
