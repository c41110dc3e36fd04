"""A disk that is full for the processes below this one: what would make a file larger fails with ENOSPC.

Needs no privilege: a seccomp filter hands over the system calls that write at a place of their own to a thread of this
process, which lets them pass or answers them itself (seccomp_unotify(2)). Writes into what a file has already are not
touched, as on a real disk, and PostgreSQL sees the error that it knows.
"""

import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread


@dataclass(frozen=True, slots=True)
class Calls:
    """The numbers of system calls on one kind of processor, and the kind's own (linux/audit.h)."""

    audit: int
    seccomp: int
    pwrite: int
    pwritev: int
    pwritev2: int
    fallocate: int


CALLS: Mapping[str, Calls] = {
    "x86_64": Calls(0xC000003E, 317, 18, 296, 328, 285),
    "aarch64": Calls(0xC00000B7, 277, 68, 70, 287, 47),
}
PR_SET_NO_NEW_PRIVS = 38
SET_MODE_FILTER, NEW_LISTENER = 1, 8
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # of the filter's machine
NUMBER, ARCHITECTURE = 0, 4  # where in what it looks at
ALLOW, NOTIFY = 0x7FFF0000, 0x7FC00000
RECEIVE, ANSWER = 0xC0502100, 0xC0182101
QUESTION = struct.Struct("=QIIiIQ6Q")  # id, process, flags, call, architecture, instruction, arguments
REPLY = struct.Struct("=QqiI")  # id, value, error, flags
GO_ON = 1
PAGE = 8192  # bytes: what PostgreSQL writes in one piece of a pwritev

libc = ctypes.CDLL(None, use_errno=True)


class Disk:
    """For the processes that the thread that made it starts from now on.

    left: bytes by which files may still grow; None for no bound. Raises OSError where the system has no such thing.
    """

    def __init__(self) -> None:
        self.left: int | None = None
        if sys.platform != "linux" or platform.machine() not in CALLS:
            raise OSError(errno.ENOSYS, f"no filter is known for {platform.machine()} with {sys.platform}")
        self._calls = CALLS[platform.machine()]
        listeners: SimpleQueue[int] = SimpleQueue()
        # A thread that is there before the filter is not under it, and can answer the others.
        Thread(target=lambda: self._decide(listeners.get()), name="disk", daemon=True).start()
        listeners.put(_listen(self._calls))

    def _decide(self, listener: int) -> None:
        while True:
            question = bytearray(QUESTION.size)
            # Whoever asked may have been killed meanwhile.
            with suppress(FileNotFoundError):
                fcntl.ioctl(listener, RECEIVE, question)
                key, process, _, call, _, _, *arguments = QUESTION.unpack(question)
                fits = self._fits(process, call, arguments)
                reply = (key, 0, 0, GO_ON) if fits else (key, 0, -errno.ENOSPC, 0)
                fcntl.ioctl(listener, ANSWER, bytearray(REPLY.pack(*reply)))

    def _fits(self, process: int, call: int, arguments: list[int]) -> bool:
        if self.left is None:
            return True
        file = arguments[0] & 0xFFFFFFFF
        calls = self._calls
        if call == calls.fallocate:
            end = arguments[2] + arguments[3]
        elif call == calls.pwrite:
            end = arguments[3] + arguments[2]
        else:
            end = arguments[3] + arguments[2] * PAGE
        try:
            grows = end - os.stat(f"/proc/{process}/fd/{file}").st_size
        except FileNotFoundError:  # no such file is open, as the system itself will say
            return True
        if grows <= 0:
            return True
        if grows > self.left:
            return False
        self.left -= grows
        return True


def _listen(calls: Calls) -> int:
    """Put this thread and all that it starts under the filter, and return the descriptor that hears of the calls."""
    watched = (calls.pwrite, calls.pwritev, calls.pwritev2, calls.fallocate)
    program = [
        (LOAD_WORD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 0, len(watched) + 1, calls.audit),
        (LOAD_WORD, 0, 0, NUMBER),
        *((JUMP_IF_EQUAL, len(watched) - place, 0, number) for place, number in enumerate(watched)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, NOTIFY),
    ]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    text = ctypes.create_string_buffer(code, len(code))
    filter_ = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(text)))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "may not give up new privileges")
    listener: int = libc.syscall(calls.seccomp, SET_MODE_FILTER, NEW_LISTENER, filter_)
    if listener < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return listener
