"""Runs a program as an agent's sandbox does on Linux: a seccomp filter answers connect(2) with EPERM.

``python sandboxed.py program argument…``. Nothing is imitated: the kernel refuses. Works without privileges,
because the process gives up gaining any (PR_SET_NO_NEW_PRIVS).
"""

import ctypes
import errno
import os
import platform
import struct
import sys

CONNECT = {"x86_64": 42, "aarch64": 203}
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM
LOAD_WORD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse_connect() -> None:
    """From here on no socket of this process or its children connects."""
    instructions = [
        struct.pack("HBBI", LOAD_WORD, 0, 0, 0),  # the number of the system call
        struct.pack("HBBI", JUMP_EQUAL, 0, 1, CONNECT[platform.machine()]),
        struct.pack("HBBI", RETURN, 0, 0, REFUSE),
        struct.pack("HBBI", RETURN, 0, 0, ALLOW),
    ]
    program = Program(len(instructions), b"".join(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value, pointer in (
        (PR_SET_NO_NEW_PRIVS, 1, None),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)),
    ):
        if libc.prctl(option, value, pointer, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse_connect()
    os.execv(sys.argv[1], sys.argv[1:])
