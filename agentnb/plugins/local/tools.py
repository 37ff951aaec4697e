"""The agent's own tools: files and commands."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent import client_tools
from agentnb.plugins.acp_agent.updates import shown_text
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.plugins.acp_agent.reply import AcpReply, AcpToolCall


MOST_NAMES = 1000
MOST_SEARCHED = 500
LARGEST_SEARCHED = 1024 * 1024
"""Bytes that a file may have to be searched."""

_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "dist", "build"})
_PRIVATE = ("*secret*", "*credential*", "*.pem", "*.key", "*.p12", "*.pfx", "id_*", "*.kdbx")


class OutsideFolder(ValueError):
    """The folder is outside the workspace, or is none."""


def names(root: Path, folder: str, pattern: str, *, searched: bool = False) -> tuple[list[str], bool]:
    """Returns the files below *folder*, relative to *root*, sorted; hidden ones and those of packages are left out."""
    whole = Path(os.path.realpath(root))
    start = Path(os.path.realpath(whole / Path(folder).expanduser()))
    if not start.is_relative_to(whole):
        raise OutsideFolder(f"{folder} is outside the working folder.")
    if not start.is_dir():
        raise OutsideFolder(f"{folder} is not a folder.")
    most = MOST_SEARCHED if searched else MOST_NAMES
    matches: list[str] = []
    for path, folders, files in os.walk(start):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(files):
            relative = Path(path, name).relative_to(whole).as_posix()
            if name.startswith(".") or not _fits(name, relative, pattern):
                continue
            if searched and not _is_searchable(Path(path, name)):
                continue
            if len(matches) >= most:
                return matches, True
            matches.append(relative)
    return matches, False


def _fits(name: str, relative: str, pattern: str) -> bool:
    return not pattern or fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(relative, pattern.removeprefix("./"))


def _is_searchable(path: Path) -> bool:
    if any(fnmatch.fnmatch(path.name.lower(), each) for each in _PRIVATE):
        return False
    try:
        return path.is_file() and path.stat().st_size <= LARGEST_SEARCHED
    except OSError:
        return False


MOST_HITS = 200

_PATH = {"type": "string", "description": "The file, relative to the working folder."}


class ToolFailed(Exception):
    """A tool call cannot be carried out; the message is for the model."""


@dataclass(frozen=True)
class OfferedTool:
    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[[AcpReply, dict[str, Any]], Awaitable[str]]


def own_tools(reply: AcpReply) -> list[OfferedTool]:
    """Returns the tools that the client's capabilities allow."""
    tools = [_tool("list_files", _LIST, list_files, {"folder": _FOLDER, "pattern": _PATTERN})]
    if client_tools.can_read(reply):
        tools += [
            _tool("read_file", _READ, read_file, {"path": _PATH, "first_line": _LINE, "lines": _LINES}, "path"),
            _tool("search", _SEARCH, search, {"text": _TEXT, "folder": _FOLDER, "pattern": _PATTERN}, "text"),
        ]
    if client_tools.can_read(reply) and client_tools.can_write(reply):
        changed = {"path": _PATH, "old_text": _OLD, "new_text": _NEW}
        tools += [
            _tool("edit_file", _EDIT, edit_file, changed, "path", "old_text", "new_text"),
            _tool("write_file", _WRITE, write_file, {"path": _PATH, "content": _CONTENT}, "path", "content"),
        ]
    if reply.capabilities.terminal:
        tools.append(_tool("run_command", _RUN, run_command, {"command": _COMMAND}, "command"))
    return tools


_LIST = "Lists the files of a folder and of the folders in it."
_READ = "Reads a text file, or some of its lines."
_SEARCH = "Finds the lines of text files that hold a text, whatever its case."
_EDIT = "Replaces a text that stands exactly once in a file."
_WRITE = "Writes a whole text file; one that is there is replaced."
_RUN = "Runs a shell command in the working folder, and waits for its end."
_FOLDER = {"type": "string", "description": "The folder; the working folder if absent."}
_PATTERN = {"type": "string", "description": "Only files whose name or path fits, as *.py."}
_LINE = {"type": "integer", "description": "The first line to read, counted from 1."}
_LINES = {"type": "integer", "description": "How many lines to read."}
_TEXT = {"type": "string", "description": "The text to look for; no regular expression."}
_OLD = {"type": "string", "description": "The text to replace, exactly as it appears in the file, with its whitespace."}
_NEW = {"type": "string", "description": "The text to put in its place."}
_CONTENT = {"type": "string", "description": "The whole text."}
_COMMAND = {"type": "string", "description": "The command line."}


def _tool(
    name: str,
    description: str,
    run: Callable[[AcpReply, dict[str, Any]], Awaitable[str]],
    properties: dict[str, Any],
    *required: str,
) -> OfferedTool:
    return OfferedTool(name, description, {"type": "object", "properties": properties, "required": [*required]}, run)


# -- files ------------------------------------------------------------------------------------------------------------


async def list_files(reply: AcpReply, args: dict[str, Any]) -> str:
    folder = _text(args, "folder")
    call = await reply.start_tool(f"List `{folder or '.'}`", "search", raw_input=args)
    await call.update("in_progress")
    names, more = await _listed(reply, call, folder, _text(args, "pattern"))
    text = "\n".join([*names, *(["… and more"] if more else [])]) or "No files."
    await call.update("completed", content=[shown_text(_fenced(text))])
    return text


async def search(reply: AcpReply, args: dict[str, Any]) -> str:
    text, folder = args["text"], _text(args, "folder")
    call = await reply.start_tool(f"Search for `{text[:60]}`", "search", raw_input=args)
    await call.update("in_progress")
    if not text.strip():
        await call.update("failed")
        raise ToolFailed("The text to look for is empty.")
    names, more = await _listed(reply, call, folder, _text(args, "pattern"), searched=True)
    hits: list[str] = []
    for name in names:
        with contextlib.suppress(RpcError, msgspec.ValidationError):  # not text, or not allowed: read the others
            content = await reply.client.read_text_file(reply.session.session_id, str(reply.path(name)))
            lines = enumerate(content.splitlines(), start=1)
            hits += [f"{name}:{number}: {line.strip()[:200]}" for number, line in lines if text.lower() in line.lower()]
        if len(hits) >= MOST_HITS:
            break
    left = ["… and more"] if more or len(hits) > MOST_HITS else []
    result = "\n".join([*hits[:MOST_HITS], *left]) or "Nothing found."
    await call.update("completed", content=[shown_text(_fenced(result))])
    return result


async def read_file(reply: AcpReply, args: dict[str, Any]) -> str:
    path, line, lines = reply.path(args["path"]), args.get("first_line"), args.get("lines")
    text = await client_tools.read_file(reply, path, args["path"], raw_input=args, line=line, limit=lines)
    return text or "The file is empty."


async def edit_file(reply: AcpReply, args: dict[str, Any]) -> str:
    path, old, new = reply.path(args["path"]), args["old_text"], args["new_text"]
    call = await reply.start_tool(f"Edit `{args['path']}`", "edit", raw_input={"path": args["path"]}, path=path)
    await call.update("in_progress")
    async with reply.asking("fs/read_text_file", call):
        before = await reply.client.read_text_file(reply.session.session_id, str(path))
    if "\r\n" in before and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    times = before.count(old) if old else 0
    if times != 1:
        why = f"old_text occurs {times} times in the file" if old else "old_text is empty"
        await call.update("failed", content=[shown_text(f"{why}.")])
        raise ToolFailed(f"{why}: it must occur exactly once. Read the file, and include more lines around it.")
    await client_tools.write_file(reply, call, path, before, before.replace(old, new))
    return "Done."


async def write_file(reply: AcpReply, args: dict[str, Any]) -> str:
    path = reply.path(args["path"])
    call = await reply.start_tool(f"Write `{args['path']}`", "edit", raw_input={"path": args["path"]}, path=path)
    await call.update("in_progress")
    await client_tools.write_file(reply, call, path, await client_tools.text_before(reply, path), args["content"])
    return "Done."


async def _listed(
    reply: AcpReply, call: AcpToolCall, folder: str, pattern: str, *, searched: bool = False
) -> tuple[list[str], bool]:
    try:
        return await asyncio.to_thread(names, reply.session.cwd, folder, pattern, searched=searched)
    except OutsideFolder as outside:
        await call.update("failed", content=[shown_text(str(outside))])
        raise ToolFailed(str(outside)) from None


# -- commands ---------------------------------------------------------------------------------------------------------


async def run_command(reply: AcpReply, args: dict[str, Any]) -> str:
    """Run a command in a terminal of the client."""
    end, output = await client_tools.run_command(reply, args["command"], kept=_fenced)
    return f"It ended with {end}.\n{output}"


def _fenced(text: str) -> str:
    return f"```text\n{text}\n```"


def _text(args: dict[str, Any], name: str) -> str:
    value = args.get(name)
    return value if isinstance(value, str) else ""
