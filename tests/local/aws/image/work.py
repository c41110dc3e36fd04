"""A task that tells the listening test what it got, then does as it is told."""

import json
import os
import signal
import socket
import subprocess
import sys


def tell(what: object) -> socket.socket:
    test = socket.create_connection(("127.0.0.1", int(os.environ["TEST_PORT"])))
    test.sendall(json.dumps(what).encode())
    test.shutdown(socket.SHUT_WR)
    return test


def terminated(number: int, frame: object) -> None:
    tell({"from": "task", "signal": number})
    if os.environ.get("DO") != "ignore":
        sys.exit(143)


signal.signal(signal.SIGTERM, terminated)
sys.stdout.write("printed by the task\n")
child = subprocess.Popen(["sleep", "600"]).pid if os.environ.get("DO") == "ignore" else None
test = tell(
    {
        "from": "task",
        "pid": os.getpid(),
        "child": child,
        "arguments": sys.argv[1:],
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
)
if "SAY" in os.environ:
    sys.stdout.write(f"{os.environ['SAY']}\n")
if os.environ.get("DO") in ("wait", "ignore"):
    while True:
        signal.pause()
sys.exit(int(os.environ.get("EXIT", "0")))
