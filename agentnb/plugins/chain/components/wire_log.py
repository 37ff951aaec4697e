"""`log`: writes each message that goes through its place into a file, for debugging; credentials are masked."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from agentnb.credentials import Credentials
from agentnb.folders import data_folder
from agentnb.plugins.chain.components.component import Component

if TYPE_CHECKING:
    from typing import TextIO

VARIABLE = "AGENTNB_WIRE_LOG"
LARGEST = 64 * 1024 * 1024
"""How large the file grows, in characters; then it ends."""
LONGEST = 64 * 1024
"""How much of one message is written, in characters."""


class WireLog(Component):
    """Writes the wire down: a line for each message, with the time and where it goes.

    The file is ``AGENTNB_WIRE_LOG``, else a new one in the folder ``wire`` of agentnb's data; its owner alone may read
    it. What looks like a credential, and the values of secret environment variables, are written as ``***``. Not
    masked: what you and the agent write about otherwise.
    """

    name = "log"
    about = "Writes every message to a file for debugging; credentials are masked."

    def __init__(self) -> None:
        self.log_file = None
        self._credentials = Credentials(os.environ)
        self._file: TextIO | None = None
        self._written = 0

    def on_message(self, sender: str, receiver: str, line: bytes) -> None:
        """See :meth:`Component.on_message`."""
        if self._written > LARGEST:
            return
        text = line.decode("utf-8", "replace").rstrip("\n")
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]} … ({len(text)} characters)"
        written = f"{time.strftime('%H:%M:%S')} {sender} → {receiver} {self._credentials.hidden_in_command(text)}\n"
        if self._file is None:
            self._file = self._open()
        self._file.write(written)
        self._file.flush()
        self._written += len(written)

    def close(self) -> None:
        """See :meth:`Component.close`."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> TextIO:
        named = os.environ.get(VARIABLE, "")
        folder = data_folder() / "wire"
        self.log_file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        if named:
            self.log_file = type(folder)(named).expanduser()
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        opened = os.open(self.log_file, flags, 0o600)
        return os.fdopen(opened, "a", encoding="utf-8", errors="replace")
