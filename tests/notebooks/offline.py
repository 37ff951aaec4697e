"""Runs a program in a separate network with loopback only: ``unshare -rn python offline.py PROGRAM …``."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys

SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41

if __name__ == "__main__":
    with socket.socket() as control:
        fcntl.ioctl(control, SET_FLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - becoming another program is its job
