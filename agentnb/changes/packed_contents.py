"""Reads contents that git has packed: one run of git for many, where whoever reads says that more will follow."""

from __future__ import annotations

import contextlib
import threading
from typing import IO, TYPE_CHECKING

from agentnb.changes.coverage import TooSlow
from agentnb.changes.git_program import killed_after

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from agentnb.changes.git_program import GitProgram


class PackedContents:
    """Contents that are no files of their own, by name.

    Several threads may read; they take turns.
    """

    def __init__(self, git: GitProgram, *, seconds: float) -> None:
        self._git = git
        self._seconds = seconds
        self._lock = threading.Lock()
        self._readers = 0
        self._process: subprocess.Popen[bytes] | None = None

    @contextlib.contextmanager
    def many(self) -> Iterator[None]:
        """Let git run on from the first read to the end of this."""
        with self._lock:
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if not self._readers:
                    self._end()

    def read(self, name: str) -> bytes | None:
        """The content *name*; None where git has none, or a damaged one."""
        with self.many(), self._lock:
            if self._process is None:
                self._process = self._git.start("cat-file", "--batch")
            content = self._answer(self._process, name)
            if content is None and self._process.poll() is not None:
                self._end()
            return content

    def _answer(self, process: subprocess.Popen[bytes], name: str) -> bytes | None:
        given, printed = process.stdin, process.stdout
        assert given is not None and printed is not None  # noqa: S101, PT018 - both are pipes
        content = None
        with killed_after(process, self._seconds) as is_slow:
            try:
                content = _content(given, printed, name)
            except OSError:  # git has ended
                process.wait()
        if is_slow.is_set():
            self._end()
            raise TooSlow(self._seconds)
        return content

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # it only reads
            with process:
                pass


def _content(given: IO[bytes], printed: IO[bytes], name: str) -> bytes | None:
    """Ask for one content; git answers ``NAME blob SIZE``, the content and a line's end, or ``NAME missing``."""
    given.write(f"{name}\n".encode())
    given.flush()
    head = printed.readline().split()
    if len(head) != 3:  # noqa: PLR2004 - name, kind, size; nothing where git has ended
        if not head:
            raise BrokenPipeError
        return None
    size = int(head[2])
    content = printed.read(size + 1)
    if len(content) != size + 1:
        raise BrokenPipeError
    return content[:-1]
