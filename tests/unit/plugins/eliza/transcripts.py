"""Transcripts of conversations with eliza: lines that a client writes (``>``) and that eliza writes (``<``)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "tests/cases/eliza"
TRANSCRIPTS = {path.stem: path for path in sorted(FOLDER.glob("*.txt"))}
QUIET = 0.8
"""Seconds of silence after which eliza's output is complete; only for recording."""

_PLACES = {"{python}": sys.executable, "{root}": str(ROOT), "{version}": version("jupyter-agentnb")}
_CONTROLS = {0x0D: r"\r", 0x1B: r"\x1b"}
_VARYING = (
    (r'"updatedAt":"[^"]*"', '"updatedAt":"{time}"'),
    (r'"availableCommands":\[.*\]', '"availableCommands":[…]'),
)


def lines_of(name: str) -> list[str]:
    return TRANSCRIPTS[name].read_text(encoding="utf-8").splitlines()


class Process:
    """An eliza process, read and written line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout

    def write(self, line: str) -> None:
        for name, value in _PLACES.items():
            line = line.replace(name, value)
        self._stdin.write(line.encode() + b"\n")

    async def read(self) -> str | None:
        """Returns the next line with constants for varying parts; None after the end of stdout."""
        data = await self._stdout.readline()
        if not data:
            return None
        line = data.decode("utf-8", "backslashreplace").removesuffix("\n").translate(_CONTROLS)
        for name, value in _PLACES.items():
            line = line.replace(value, name)
        for pattern, replacement in _VARYING:
            line = re.sub(pattern, replacement, line)
        return line

    async def end(self) -> int:
        """Closes stdin and returns the exit code."""
        self._stdin.close()
        return await self._process.wait()


@asynccontextmanager
async def started(name: str) -> AsyncIterator[Process]:
    """Starts the eliza of a transcript; for `login`, one that requires a login."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentnb.plugins.eliza"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, "AGENTNB_ELIZA_LOGIN": "1" if name == "login" else ""},
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _recorded(name: str, lines: list[str]) -> list[str]:
    transcript = []
    async with started(name) as eliza:
        for line in lines:
            transcript.append(line)
            if not line.startswith("> "):
                continue
            eliza.write(line[2:])
            with contextlib.suppress(asyncio.TimeoutError):
                while (answer := await asyncio.wait_for(eliza.read(), QUIET)) is not None:
                    transcript.append(f"< {answer}")
    return transcript


if __name__ == "__main__":
    for transcript in TRANSCRIPTS.values():
        script = [line for line in lines_of(transcript.stem) if not line.startswith("< ")]
        recorded = asyncio.run(_recorded(transcript.stem, script))
        transcript.write_text("\n".join(recorded) + "\n", encoding="utf-8")
