"""`python -m ops.local.pos`: the POS as a process of its own. It says where it is, and ends with its standard input.

Whoever starts it keeps the other end of a pipe, so it ends when its parent does; on a terminal Ctrl-C does it.
"""

import argparse
import os
import select
import signal
import socket
import sys
from types import FrameType

from ops.local.platform.load import RESTAURANTS, SEED
from ops.local.pos.server import pos


def main() -> int:
    """Serve until the end; 1 and one line on stderr when the port is not free."""
    parser = argparse.ArgumentParser(prog="python -m ops.local.pos", description="a POS on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--restaurants", type=int, default=RESTAURANTS)
    parser.add_argument("--seed", default=SEED, help="of the platform's data")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    try:
        with pos(given.restaurants, seed=given.seed, port=given.port) as url:
            print(url, flush=True)
            _wait_for_the_end_of_input()
    except KeyboardInterrupt:
        return 0
    except (OSError, OverflowError) as error:
        print(f"pos: port {given.port} of 127.0.0.1: {error}; choose another", file=sys.stderr)
        return 1
    return 0


def _wait_for_the_end_of_input() -> None:
    # A plain read would sleep through a signal that comes a moment before it: Python handles it only after the read.
    heard, rung = socket.socketpair()
    os.set_blocking(rung.fileno(), False)
    signal.set_wakeup_fd(rung.fileno())
    while True:
        ready, _, _ = select.select([sys.stdin, heard], [], [])
        if sys.stdin in ready and not os.read(sys.stdin.fileno(), 4096):
            return


def _end(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
