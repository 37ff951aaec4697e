"""Commands that act through the client or pretend to: tool calls, files, terminals, diffs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, get_args

import msgspec

from agentnb.plugins.acp_agent.updates import ShownDiff, ShownTerminal, ToolKind
from agentnb.plugins.eliza.commands.registry import Misuse, command, counted, first_word, needed, whole
from agentnb.plugins.eliza.reply import Trouble, shown_text
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.plugins.acp_agent.client import TerminalExit
    from agentnb.plugins.eliza.reply import Reply, Tool

GROUP = "Acting"
KINDS: tuple[ToolKind, ...] = get_args(ToolKind)
TITLES: dict[ToolKind, str] = {
    "read": "Read `data.csv`",
    "edit": "Edit `fit.py`",
    "delete": "Delete `old.csv`",
    "move": "Move `fit.py` to `lib/fit.py`",
    "search": "Search for `residual`",
    "execute": "`python fit.py`",
    "think": "Think about the residuals",
    "fetch": "Fetch `https://example.org/data.csv`",
    "switch_mode": "Switch to plan mode",
    "other": "Count to three",
}
OLD_FIT = "def fit(x, y):\n    step = 1.0\n    return descend(x, y, step)\n"
NEW_FIT = "def fit(x, y, step=0.5):\n    return descend(x, y, step)\n"
NEW_TEST = "def test_fit_converges():\n    assert fit([0, 1], [1, 3]).converged\n"
LONGEST_OUTPUT = 64 * 1024


@command("tool", "KIND [failed]", group=GROUP, example="/tool search")
async def tool(reply: Reply, rest: str) -> None:
    """Makes a tool call of KIND and takes it through all its states, with input, output and a place; it does nothing.

    KIND is read, edit, delete, move, search, execute, think, fetch, switch_mode or other. With `failed` it fails in the
    end.
    """
    name, _, ending = rest.strip().partition(" ")
    kind = tool_kind(name)
    if ending.strip() not in {"", "failed"}:
        raise Misuse(f"After KIND comes `failed` or nothing, not `{ending.strip()}`.")
    call = await reply.start_tool(
        TITLES[kind], kind, raw_input={"kind": kind, "question": "How many?"}, path=reply.path("fit.py"), line=2
    )
    await call.update("in_progress", content=[shown_text("Looking …")])
    if ending:
        await call.update("failed", content=[shown_text("Nothing found.")], raw_output={"error": "empty"})
        await reply.say(f"The `{kind}` tool failed, as it was told to.")
    else:
        await call.update("completed", content=[shown_text("Found **3**.")], raw_output={"found": 3})
        await reply.say(f"The `{kind}` tool found 3.")


@command("diff", group=GROUP)
async def diff(reply: Reply, _: str) -> None:
    """Shows what an edit of two files would change, one of them new, as diffs; no file is touched."""
    call = await reply.start_tool("Edit `fit.py` and `test_fit.py`", "other", path=reply.path("fit.py"), line=1)
    changes = [
        ShownDiff(path=str(reply.path("fit.py")), old_text=OLD_FIT, new_text=NEW_FIT),
        ShownDiff(path=str(reply.path("test_fit.py")), new_text=NEW_TEST),
    ]
    await call.update("in_progress", content=list(changes))
    await call.update("completed", content=list(changes))
    await reply.say("Two files would change. Nothing was written.")


@command("read", "PATH [LINE [COUNT]]", group=GROUP, example="/read README.md 1 5")
async def read(reply: Reply, rest: str) -> None:
    """Reads a text file through the client, whole or COUNT lines from LINE on.

    A PATH with spaces stands in quotes; it is taken from the session's working directory.
    """
    name, rest = first_word(rest)
    start, _, count = rest.strip().partition(" ")
    line = whole(start, "LINE", 1, 10**9) if start else None
    limit = whole(count.strip(), "COUNT", 1, 10**9) if count else None
    path = reply.path(needed(name, "PATH"))
    _demand(_can_read(reply), "fs/read_text_file")
    call = await reply.start_tool(f"Read `{name}`", "read", raw_input={"path": name}, path=path, line=line)
    await call.update("in_progress")
    async with reply.asking("fs/read_text_file", call):
        text = await reply.client.read_text_file(reply.session.session_id, str(path), line=line, limit=limit)
    await call.update("completed", content=[shown_text(text)])
    await reply.say(f"I read `{name}`: {_size(text)}.")


@command("write", "PATH TEXT", group=GROUP, example="/write notes.txt Remember the residuals.")
async def write(reply: Reply, rest: str) -> None:
    """Writes TEXT to a file through the client, and shows the change as a diff.

    A PATH with spaces stands in quotes. TEXT goes on to the end of the prompt, over as many lines as there are.
    """
    name, text = first_word(rest)
    path = reply.path(needed(name, "PATH"))
    text = needed(text, "TEXT").removesuffix("\n") + "\n"
    files = reply.capabilities.fs
    _demand(bool(files and files.write_text_file), "fs/write_text_file")
    call = await reply.start_tool(f"Write `{name}`", "edit", raw_input={"path": name}, path=path)
    change = ShownDiff(path=str(path), old_text=await _before(reply, path), new_text=text)
    await call.update("in_progress", content=[change])
    async with reply.asking("fs/write_text_file", call):
        await reply.client.write_text_file(reply.session.session_id, str(path), text)
    await call.update("completed")
    await reply.say(f"I wrote `{name}`: {_size(text)}.")


@command("run", "COMMAND", group=GROUP, example="/run echo hello")
async def run(reply: Reply, rest: str) -> None:
    """Runs a shell command in a terminal of the client, and waits for its end."""
    line = needed(rest.strip(), "COMMAND")
    _demand(bool(reply.capabilities.terminal), "terminal/create")
    call = await reply.start_tool(f"`{line}`", "execute", raw_input={"command": line})
    async with reply.asking("terminal/create", call):
        program, *args = _shell(line)
        terminal = await reply.client.create_terminal(
            reply.session.session_id,
            program,
            args,
            cwd=str(reply.session.cwd),
            output_byte_limit=LONGEST_OUTPUT,
        )
    await _watch(reply, call, line, terminal)


def tool_kind(name: str) -> ToolKind:
    """The tool kind that a user named.

    Raises:
        Misuse: There is none of that name.
    """
    for kind in KINDS:
        if kind == name:
            return kind
    offered = ", ".join(f"`{kind}`" for kind in KINDS)
    raise Misuse(f"KIND must be one of {offered}, not `{name}`." if name else f"KIND is missing: {offered}.")


async def _watch(reply: Reply, call: Tool, line: str, terminal_id: str) -> None:
    session_id = reply.session.session_id
    shown = ShownTerminal(terminal_id=terminal_id)
    try:
        await call.update("in_progress", content=[shown], kept=[])
        async with reply.asking("terminal/wait_for_exit", call):
            ended = await reply.client.wait_for_terminal_exit(session_id, terminal_id)
            output = await reply.client.terminal_output(session_id, terminal_id)
    except BaseException:
        reply.leave(_give_up(reply, terminal_id))
        raise
    await call.update(
        "completed" if ended.exit_code == 0 else "failed",
        content=[shown],
        kept=[shown_text(output)],
        raw_output=_outcome(ended, output),
    )
    async with reply.asking("terminal/release", call):
        await reply.client.release_terminal(session_id, terminal_id)
    end = f"signal {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
    await reply.say(f"`{line}` ended with {end}; it printed {counted(len(output.splitlines()), 'line')}.")


async def _give_up(reply: Reply, terminal_id: str) -> None:
    await reply.client.kill_terminal(reply.session.session_id, terminal_id)
    await reply.client.release_terminal(reply.session.session_id, terminal_id)


def _outcome(ended: TerminalExit, output: str) -> dict[str, object]:
    found = {"exitCode": ended.exit_code, "signal": ended.signal, "output": output}
    return {key: value for key, value in found.items() if value is not None}


async def _before(reply: Reply, path: Path) -> str | None:
    """What a file held, as far as the client lets us see: a file that is not there has no old text."""
    if not _can_read(reply):
        return None
    try:
        return await reply.client.read_text_file(reply.session.session_id, str(path))
    except (RpcError, msgspec.ValidationError):
        return None


def _size(text: str) -> str:
    return f"{counted(len(text.splitlines()), 'line')}, {counted(len(text), 'character')}"


def _can_read(reply: Reply) -> bool:
    files = reply.capabilities.fs
    return bool(files and files.read_text_file)


def _demand(able: bool, method: str) -> None:
    if not able:
        raise Trouble(f"This client does not offer `{method}`.")


def _shell(line: str) -> list[str]:
    return ["cmd", "/d", "/c", line] if sys.platform == "win32" else ["/bin/sh", "-c", line]
