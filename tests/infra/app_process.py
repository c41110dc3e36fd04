"""`python app.py`, as a person or the CDK command line starts it."""

import os
import subprocess
import sys

from infra.packages import ROOT

DEAD = "http://127.0.0.1:9"
OFFLINE = {"UV_OFFLINE": "1", "HTTPS_PROXY": DEAD, "HTTP_PROXY": DEAD, "ALL_PROXY": DEAD}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run app.py with PATH, HOME and what is given as its whole environment."""
    bare = {"PATH": os.defpath, "HOME": os.environ["HOME"]}
    command = [sys.executable, str(ROOT / "app.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, env=bare | environment, capture_output=True, text=True, check=False)
