"""The synthesised stacks for the local AWS: the ones of an environment, with code built for this machine."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from infra.packages import ROOT

# Everything that a template can depend on.
SOURCES = ("app.py", "cdk.json", "uv.lock", "Dockerfile", "handlers", "infra")
STAMP = "synthesised-from"


class SynthFailed(Exception):
    """app.py wrote no assembly; the message is its own."""


def synthesised(environment: str, output: Path) -> bool:
    """Make `output` the cloud assembly of the environment; False when the one that is there is of today's sources.

    Raises SynthFailed.
    """
    stamp, now = output / STAMP, _fingerprint(environment)
    if stamp.is_file() and stamp.read_text() == now and _bundles_exist(output):
        return False
    result = subprocess.run(
        [sys.executable, "app.py", "-c", f"env={environment}", "-c", "platform=host", "--output", output],
        cwd=ROOT,
        # Rules are checked by `make synth` and by the tests; here they would double the time.
        env={**os.environ, "CDK_VALIDATION": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise SynthFailed(result.stderr.strip() or f"app.py exited with {result.returncode} and said nothing")
    stamp.write_text(now)
    return True


def _fingerprint(environment: str) -> str:
    digest = hashlib.sha256(f"{environment} {sys.version}".encode())
    for name in SOURCES:
        path = ROOT / name
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _bundles_exist(output: Path) -> bool:
    """An assembly names its assets by path, and those may have been cleaned away."""
    for manifest in output.glob("*.assets.json"):
        for kind in ("files", "dockerImages"):
            for asset in json.loads(manifest.read_text()).get(kind, {}).values():
                source = asset["source"]
                if not (output / (source.get("path") or source["directory"])).exists():
                    return False
    return True
