"""Research without a model: eliza searches the package's source for the words of the question."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client_tools import call_tool, can_read, read_file
from agentnb.plugins.acp_agent.reply import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.plugins.acp_agent.client_requests import McpServer
    from agentnb.plugins.acp_agent.mcp import McpClient
    from agentnb.plugins.eliza.session import Reply

SERVER = "package_source"
MOST_FILES = 2_000
LARGEST = 1_000_000
MOST_FOUND = 5
_PACKAGE, _QUESTION = re.compile(r'package="([^"]+)"'), re.compile(r"^Question: (.+)$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")


def research_server(reply: Reply) -> McpServer | None:
    """Returns the MCP server for research; None if this session is not a research."""
    return next((each for each in reply.session.mcp_servers if each.name == SERVER), None)


async def research(reply: Reply, server: McpServer, text: str) -> None:
    """Answer a question about a package: find the lines that define, else mention, its longest word."""
    package, question = _PACKAGE.search(text), _QUESTION.search(text)
    if package is None or question is None:
        raise Trouble("There is no question about a package.")
    async with reply.connected(server) as client:
        source = await _call(reply, client, "get_package_source", {"package": package[1]})
        places = [Path(line[2:]) for line in source.splitlines() if line.startswith("- ")]
        words = sorted({*_NAME.findall(question[1])}, key=lambda word: (-len(word), word))
        hits = await asyncio.to_thread(_search, places, words)
        if hits and can_read(reply):  # an agent with a model would also read the lines around it
            path, line, _ = hits[0]
            await read_file(reply, path, path.name, line=line, limit=10)
        findings = [{"text": f"`{excerpt}`", "file": str(path), "line": line} for path, line, excerpt in hits]
        nothing = [{"text": f"None of these words occur in it: {', '.join(words)}."}]
        await _call(reply, client, "return_response", {"findings": findings or nothing})


async def _call(reply: Reply, client: McpClient, tool: str, arguments: dict[str, Any]) -> str:
    call = await reply.start_tool(f"{SERVER}: {tool}", "other", raw_input=arguments)
    blocks, failed = await call_tool(call, client, tool, arguments)
    text = "\n".join(block for block in blocks if isinstance(block, str))
    if failed:
        raise Trouble(text)
    return text


def _search(places: list[Path], words: list[str]) -> list[tuple[Path, int, str]]:
    """Returns lines that define the first of *words* defined anywhere; else lines with the first word found."""
    files = [*_python_files(places)]
    for pattern in (r"^\s*(?:async\s+)?(?:def|class)\s+{}\b.*", r"^\s*{}\s*[:=].*", r".*\b{}\b.*"):
        for word in words:
            matches = [*_matching(files, re.compile(pattern.format(re.escape(word))))]
            if matches:
                return matches[:MOST_FOUND]
    return []


def _matching(files: list[tuple[Path, list[str]]], pattern: re.Pattern[str]) -> Iterator[tuple[Path, int, str]]:
    for path, lines in files:
        for number, line in enumerate(lines, 1):
            if pattern.match(line):
                yield path, number, line.strip()[:200]


def _python_files(places: list[Path]) -> Iterator[tuple[Path, list[str]]]:
    seen = 0
    for place in places:
        paths = [place] if place.is_file() else sorted(_below(place))
        for path in paths:
            if path.suffix not in {".py", ".pyi"} or path.stat().st_size > LARGEST or seen >= MOST_FILES:
                continue
            seen += 1
            yield path, path.read_text("utf-8", "replace").splitlines()


def _below(folder: Path) -> Iterator[Path]:
    for base, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(base, file) for file in files)
