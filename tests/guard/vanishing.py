"""Make the peer of a TCP connection vanish as a machine does that loses its power: it does not even say goodbye."""

import ctypes
import os
import socket
import struct
import sys

SO_ATTACH_FILTER = 26  # Linux, socket(7); Python has no name for it
RETURN_NOTHING = struct.pack("HBBI", 0x06, 0, 0, 0)  # one instruction, BPF_RET: keep 0 bytes of every packet


def vanish(descriptor: int) -> None:
    """From now on the kernel drops whatever arrives at this socket, before it could be acknowledged.

    Nor does this end send anything by itself. What is left is what the other end sees of a machine that is gone: each
    packet, keepalives included, stays without an answer. Raises PermissionError where `may_vanish` is false.
    """
    with socket.socket(fileno=os.dup(descriptor)) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        _drop_what_arrives(link)


def may_vanish() -> bool:
    """Whether this machine lets this process do so: a Linux, of which newer ones ask for the right CAP_NET_ADMIN."""
    if sys.platform != "linux":
        return False
    with socket.socket() as link:
        try:
            _drop_what_arrives(link)
        except PermissionError:
            return False
    return True


def _drop_what_arrives(link: socket.socket) -> None:
    program = ctypes.create_string_buffer(RETURN_NOTHING, len(RETURN_NOTHING))
    link.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))
