"""Starts a kernel and speaks with it (Jupyter's messaging protocol, over ZeroMQ); for the program that runs notebooks.

It needs only pyzmq, which every kernel has, and starts in a tenth of the time that `jupyter_client` takes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DELIMITER = b"<IDS|MSG>"
_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
HOST = "127.0.0.1"
STEP = 0.05
START_SECONDS = 60.0
GRACE_SECONDS = 2.0


class KernelMessage(NamedTuple):
    kind: str
    parent: str
    content: dict[str, Any]


class KernelLost(Exception):
    """The kernel ended, or never started; the text says how."""


class Kernel:
    def __init__(
        self, command: Sequence[str], folder: str, environment: Mapping[str, str], limits: Mapping[str, int]
    ) -> None:
        self._key = uuid4().hex.encode()
        self._session = uuid4().hex
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the kernel runs
        self._ports = _free_ports()
        self._file = self._connection_file()
        self._limits = limits
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [each.replace("{connection_file}", self._file) for each in command],
            cwd=folder,
            env={**environment, "JPY_PARENT_PID": str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=self._printed,
            preexec_fn=self._limit,  # noqa: PLW1509 - this program has one thread
            start_new_session=True,
        )
        import zmq  # imported here, while the kernel starts

        self._zmq = zmq
        self._context = zmq.Context()
        self._shell = self._connected(zmq.DEALER, "shell")
        self._iopub = self._connected(zmq.SUB, "iopub")
        self._iopub.setsockopt(zmq.SUBSCRIBE, b"")
        self._poller = zmq.Poller()
        for each in (self._shell, self._iopub):
            self._poller.register(each, zmq.POLLIN)

    def _limit(self) -> None:
        for name, value in self._limits.items():
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (wanted, hard))

    def _connection_file(self) -> str:
        descriptor, path = tempfile.mkstemp(prefix="agentnb-verify-", suffix=".json")
        ports = {f"{name}_port": port for name, port in zip(_CHANNELS, self._ports, strict=True)}
        about = {"ip": HOST, "transport": "tcp", "key": self._key.decode(), "signature_scheme": "hmac-sha256", **ports}
        with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - a descriptor
            json.dump(about, file)
        return path

    def _connected(self, kind: int, channel: str) -> Any:
        link = self._context.socket(kind)
        link.linger = 0
        link.setsockopt(self._zmq.RCVHWM, 0)
        if kind == self._zmq.DEALER:
            link.identity = self._session.encode()
        link.connect(f"tcp://{HOST}:{self._ports[_CHANNELS.index(channel)]}")
        return link

    def send(self, kind: str, content: Mapping[str, Any]) -> str:
        """Send a request on the shell channel; returns its id."""
        message_id = uuid4().hex
        date = datetime.now(timezone.utc).isoformat()
        header = {"msg_id": message_id, "session": self._session, "username": "agentnb", "date": date, "version": "5.3"}
        parts = [json.dumps(each).encode() for each in ({**header, "msg_type": kind}, {}, {}, content)]
        self._shell.send_multipart([_DELIMITER, self._sign(parts), *parts])
        return message_id

    def receive(self, seconds: float) -> list[KernelMessage]:
        """Returns the messages that arrive within *seconds*; an empty list if none does."""
        ready = dict(self._poller.poll(int(max(0.0, seconds) * 1000)))
        messages = []
        for link in (self._iopub, self._shell):
            while link in ready:
                try:
                    frames = link.recv_multipart(self._zmq.NOBLOCK)
                except self._zmq.Again:
                    break
                if (message := self._read(frames)) is not None:
                    messages.append(message)
                if len(messages) > 1000:  # noqa: PLR2004 - what prints without end must not keep this from looking up
                    break
        return messages

    def _read(self, frames: list[bytes]) -> KernelMessage | None:
        try:
            at = frames.index(_DELIMITER)
            signature, *parts = frames[at + 1 : at + 6]
            if not hmac.compare_digest(signature, self._sign(parts)):
                return None
            header, parent, _, content = (read_json(each) for each in parts)
        except ValueError:
            return None
        return KernelMessage(header["msg_type"], parent.get("msg_id", ""), content)

    def _sign(self, parts: Sequence[bytes]) -> bytes:
        return hmac.new(self._key, b"".join(parts), hashlib.sha256).hexdigest().encode()

    def wait_until_ready(self) -> dict[str, Any]:
        """Wait until the kernel answers on both channels; returns its description of itself. Raises KernelLost."""
        until = time.monotonic() + START_SECONDS
        about: dict[str, Any] | None = None
        is_heard = False
        while time.monotonic() < until:
            self.send("kernel_info_request", {})
            again = time.monotonic() + 0.5
            while time.monotonic() < again and not (about and is_heard):
                if self.process.poll() is not None:
                    raise KernelLost(self.last_words)
                for message in self.receive(STEP):
                    is_heard = is_heard or message.kind == "status"
                    about = message.content if message.kind == "kernel_info_reply" else about
            if about and is_heard:
                return about
        raise KernelLost(f"it did not answer within {START_SECONDS:g} s. {self.last_words}")

    @property
    def last_words(self) -> str:
        self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, self._printed.tell() - 2000))
        lines = self._printed.read().decode("utf-8", "replace").strip().splitlines()
        return "\n".join(each for each in lines if "without encryption" not in each)[-1000:]

    def interrupt(self) -> None:
        with suppress(OSError):
            os.kill(self.process.pid, signal.SIGINT)

    def end(self) -> None:
        """End the kernel and the processes of its group."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_SECONDS)
        with suppress(OSError):
            os.unlink(self._file)  # noqa: PTH108 - plain text


def _free_ports() -> list[int]:
    links = [socket.socket() for _ in _CHANNELS]
    for each in links:
        each.bind((HOST, 0))
    ports = [each.getsockname()[1] for each in links]
    for each in links:
        each.close()
    return ports
