"""The bridge: what an agent starts as its MCP server on stdio. It joins stdin and stdout to the kernel's gate.

The environment names the gate's socket and the word that opens it. Only the standard library: it starts fast.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

SOCKET, TOKEN = "AGENTNB_KERNEL_SOCKET", "AGENTNB_KERNEL_TOKEN"
CHUNK = 65_536


def main() -> int:
    """Carry bytes both ways until one end closes.

    Returns:
        The exit status: 0, or 1 where the kernel is not there.
    """
    path, token = os.environ.pop(SOCKET, ""), os.environ.pop(TOKEN, "")
    if not path or not token:
        sys.stderr.write("agentnb's kernel bridge is started by an agent that agentnb lends a kernel to.\n")
        return 1
    gate = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        gate.connect(path)
        gate.sendall(token.encode() + b"\n")
    except OSError as error:
        sys.stderr.write(f"The kernel is not there any more: {error}.\n")
        return 1
    threading.Thread(target=_to_kernel, args=(gate,), daemon=True).start()
    return _to_agent(gate)


def _to_kernel(gate: socket.socket) -> None:
    try:
        while data := os.read(0, CHUNK):
            gate.sendall(data)
        gate.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other direction ends with it


def _to_agent(gate: socket.socket) -> int:
    try:
        while data := gate.recv(CHUNK):
            while data:
                data = data[os.write(1, data) :]
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
