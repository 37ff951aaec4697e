"""Commands that act through the client or pretend to: tool calls, files, terminals, diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from agentnb.plugins.acp_agent.client_tools import can_read, can_write, read_file, run_command, text_before, write_file
from agentnb.plugins.acp_agent.content import fields
from agentnb.plugins.acp_agent.reply import Trouble
from agentnb.plugins.acp_agent.updates import ToolKind, shown_diff, shown_text
from agentnb.plugins.eliza.commands.registry import Misuse, command, counted, first_word, needed, whole

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.client import TerminalExit
    from agentnb.plugins.eliza.session import Reply

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


@command("tool", "KIND [failed]", group=GROUP, example="/tool search")
async def tool(reply: Reply, rest: str) -> None:
    """Makes a tool call of KIND and takes it through all its states, with input, output and a place; it does nothing.

    KIND is read, edit, delete, move, search, execute, think, fetch, switch_mode or other. With `failed` it fails in the
    end.
    """
    name, _, ending = rest.strip().partition(" ")
    kind = tool_kind(name)
    if ending.strip() not in {"", "failed"}:
        raise Misuse(f"KIND can be followed by `failed` or nothing, not by `{ending.strip()}`.")
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
        shown_diff(reply.path("fit.py"), OLD_FIT, NEW_FIT),
        shown_diff(reply.path("test_fit.py"), None, NEW_TEST),
    ]
    await call.update("in_progress", content=changes)
    await call.update("completed", content=changes)
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
    _demand(can_read(reply), "fs/read_text_file")
    text = await read_file(reply, path, name, raw_input={"path": name}, line=line, limit=limit)
    await reply.say(f"I read `{name}`: {_size(text)}.")


@command("write", "PATH TEXT", group=GROUP, example="/write notes.txt Remember the residuals.")
async def write(reply: Reply, rest: str) -> None:
    """Writes TEXT to a file through the client, and shows the change as a diff.

    A PATH with spaces stands in quotes. TEXT goes on to the end of the prompt, over as many lines as there are.
    """
    name, text = first_word(rest)
    path = reply.path(needed(name, "PATH"))
    text = needed(text, "TEXT").removesuffix("\n") + "\n"
    _demand(can_write(reply), "fs/write_text_file")
    call = await reply.start_tool(f"Write `{name}`", "edit", raw_input={"path": name}, path=path)
    await write_file(reply, call, path, await text_before(reply, path), text)
    await reply.say(f"I wrote `{name}`: {_size(text)}.")


@command("run", "COMMAND", group=GROUP, example="/run echo hello")
async def run(reply: Reply, rest: str) -> None:
    """Runs a shell command in a terminal of the client, and waits for its end."""
    line = needed(rest.strip(), "COMMAND")
    _demand(bool(reply.capabilities.terminal), "terminal/create")
    end, output = await run_command(reply, line, raw_output=_outcome)
    await reply.say(f"`{line}` ended with {end}; it printed {counted(len(output.splitlines()), 'line')}.")


def tool_kind(name: str) -> ToolKind:
    """Returns the tool kind that a user named.

    Raises:
        Misuse: If no kind has that name.
    """
    for kind in KINDS:
        if kind == name:
            return kind
    offered = ", ".join(f"`{kind}`" for kind in KINDS)
    raise Misuse(f"KIND must be one of {offered}, not `{name}`." if name else f"KIND is missing: {offered}.")


def _outcome(ended: TerminalExit, output: str) -> dict[str, object]:
    return fields(exit_code=ended.exit_code, signal=ended.signal, output=output)


def _size(text: str) -> str:
    return f"{counted(len(text.splitlines()), 'line')}, {counted(len(text), 'character')}"


def _demand(able: bool, method: str) -> None:
    if not able:
        raise Trouble(f"This client does not offer `{method}`.")
