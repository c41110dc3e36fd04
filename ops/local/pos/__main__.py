"""`python -m ops.local.pos`: the POS as a process of its own. It says where it is, and ends with its standard input.

Whoever starts it keeps the other end of a pipe, so it ends when its parent does; on a terminal Ctrl-C does it.
"""

import argparse
import math
import signal
import sys

from handlers.runtime.stop import Stop
from ops.local.platform.load import RESTAURANTS, SEED
from ops.local.pos.server import pos


def main() -> int:
    """Serve until the end; 1 and one line on stderr when the port is not free."""
    parser = argparse.ArgumentParser(prog="python -m ops.local.pos", description="a POS on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--restaurants", type=int, default=RESTAURANTS)
    parser.add_argument("--seed", default=SEED, help="of the platform's data")
    given = parser.parse_args()
    stop = Stop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.request())
    stop.request_at_end_of(sys.stdin.fileno())
    try:
        with pos(given.restaurants, seed=given.seed, port=given.port) as url:
            print(url, flush=True)
            stop.wait(math.inf)
    except (OSError, OverflowError) as error:
        print(f"pos: port {given.port} of 127.0.0.1: {error}; choose another", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
