"""The parent of all workers: has imported everything, forks one in milliseconds, and takes all of them along when it
or the harness ends, however that happens and frozen ones too.

Reads commands from its standard input and writes news to its standard output, each a line of JSON of less than 512
bytes, so that lines of several processes never mix (POSIX, PIPE_BUF).
"""

import ctypes
import faulthandler
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from typing import NoReturn

from tests.faults.worker import Order, work

COMMANDS, NEWS = 0, 1
PR_SET_PDEATHSIG = 1  # Linux, prctl(2)

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve until the harness is gone or something goes wrong, then end the whole process group, this process too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        _serve()
    except BaseException:  # the SystemExit of a SIGTERM, too: what ended it is said before all of it goes
        traceback.print_exc()
        raise
    finally:
        os.killpg(0, signal.SIGKILL)


def _serve() -> None:
    gc.freeze()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    children: dict[int, int] = {}
    rest = b""
    while True:
        ready = select.select([COMMANDS, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            _reap(children)
        if COMMANDS not in ready:
            continue
        read = os.read(COMMANDS, 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        for line in lines:
            _obey(json.loads(line), children)


def _obey(command: dict[str, str], children: dict[int, int]) -> None:
    if "order" in command:
        order = Order.from_json(command["order"])
        nursery = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(order, nursery)
        children[pid] = order.number
        _tell(NEWS, order.number, "started", str(pid))
        return
    number, signal_number = int(command["number"]), int(command["signal"])
    # A child's process number is its own until it is reaped, and that happens only here.
    for pid in [pid for pid, of in children.items() if of == number]:
        os.kill(pid, signal_number)


def _become(order: Order, nursery: int) -> NoReturn:
    """The forked worker; never returns to the nursery's own loop."""
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _die_with(nursery)
        news = os.dup(NEWS)
        os.dup2(os.open(os.devnull, os.O_RDONLY), COMMANDS)
        os.dup2(2, NEWS)
        faulthandler.register(signal.SIGUSR2)  # says in the log where a worker is that does not end
        code = work(order, lambda kind, text: _tell(news, order.number, kind, text))
    except BaseException:  # an Interruption is none of Exception; nothing may leave but through the exit below
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os._exit(code)


def _die_with(nursery: int) -> None:
    """Let the kernel kill this process, frozen or not, when the nursery ends without a chance to do so itself."""
    if sys.platform == "linux":
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != nursery:  # it has ended already, and nothing will tell
            os.kill(os.getpid(), signal.SIGKILL)


def _reap(children: dict[int, int]) -> None:
    for pid, status in _changes():
        if os.WIFSTOPPED(status):
            _tell(NEWS, children[pid], "stopped", "")
        else:
            _tell(NEWS, children.pop(pid), "exited", str(os.waitstatus_to_exitcode(status)))


def _changes() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def _tell(to: int, number: int, kind: str, text: str) -> None:
    line = json.dumps({"number": number, "kind": kind, "text": text, "at": time.time()})
    os.write(to, line.encode() + b"\n")


if __name__ == "__main__":
    main()
