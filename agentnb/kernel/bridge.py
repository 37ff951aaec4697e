"""The program that an agent starts as its MCP server on stdio."""

from __future__ import annotations

import os
import socket
import sys
import threading

SOCKET, TOKEN = "AGENTNB_KERNEL_SOCKET", "AGENTNB_KERNEL_TOKEN"
CHUNK = 65_536


def main() -> int:
    """Carry bytes both ways until one end closes."""
    path, token = os.environ.pop(SOCKET, ""), os.environ.pop(TOKEN, "")
    if not path or not token:
        sys.stderr.write("This program connects an agent to agentnb's kernel; the agent starts it, not a user.\n")
        return 1
    socket_server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        socket_server.connect(path)
        socket_server.sendall(token.encode() + b"\n")
    except OSError as error:
        sys.stderr.write(f"The kernel has ended or has closed this conversation: {error}.\n")
        return 1
    threading.Thread(target=_to_kernel, args=(socket_server,), daemon=True).start()
    return _to_agent(socket_server)


def _to_kernel(socket_server: socket.socket) -> None:
    try:
        while data := os.read(0, CHUNK):
            socket_server.sendall(data)
        socket_server.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other direction then ends, too


def _to_agent(socket_server: socket.socket) -> int:
    try:
        while data := socket_server.recv(CHUNK):
            while data:
                data = data[os.write(1, data) :]
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    os._exit(main())  # exit at once: there is nothing to clean up
