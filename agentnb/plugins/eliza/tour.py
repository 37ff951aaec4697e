"""The tour: answers to the prompts that an empty conversation suggests, in real cells, plots and edits.

It has no model: each prompt has one answer, made from what came with the prompt.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client_tools import call_tool
from agentnb.plugins.acp_agent.mcp import McpTrouble, reached
from agentnb.plugins.eliza.commands.registry import counted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from agentnb.plugins.eliza.session import Reply

_HEAD = r"(?:In \[\d+\]|\w+ cell(?:, not run)?):\n"
_CELL = re.compile(rf"^{_HEAD}(?P<source>.*?)(?=\n\n{_HEAD}|\nOut\[|\Z)", re.MULTILINE | re.DOTALL)
_SOURCE = re.compile(
    r"In \[(?P<count>\d+)\](?: \(cell id (?P<id>[^)]+)\))? as it (?:was run|reads now):"
    r"\n```[^\n]*\n(?P<source>.*?)\n```",
    re.DOTALL,
)
_DIVIDED = re.compile(r"/\s*(?P<by>[A-Za-z_]\w*)(?!\w|\s*if\b|[.(\[])")
_UNDEFINED = re.compile(r"^NameError: name '(?P<name>\w+)' is not defined", re.MULTILINE)
_MOST_LISTED = 12
_SINE = {
    True: """import math

import matplotlib.pyplot as plt

x = [step / 20 for step in range(126)]
plt.plot(x, [math.sin(each) for each in x])
plt.title("A sine wave")
plt.show()""",
    False: """import math

from IPython.display import SVG

points = " ".join(f"{step * 3},{60 - 50 * math.sin(step / 20):.1f}" for step in range(126))
SVG(f'<svg xmlns="http://www.w3.org/2000/svg" width="378" height="120"><polyline points="{points}" '
    'fill="none" stroke="#1976d2" stroke-width="2"/></svg>')""",
}
_LOAD = """import io

import pandas as pd

# The tour's own table. For a file: pd.read_csv("name.csv")
planets = pd.read_csv(io.StringIO("name,moons\\nEarth,1\\nMars,2\\nJupiter,95\\nSaturn,146\\n"))
planets"""
_ABOUT = """I am the tour: I have no model, and answer what is suggested here. Try one of these:

- *Plot a sine wave in a new cell*: I write a cell and run it; you decide each time.
- *Write a cell that loads a CSV file into a DataFrame*: then *Explain @cell:1*, or *Plot @planets by name*.
- Run `1 / 0` in a cell and click **Fix with agent** on its error.
- `/help` lists everything else that I can show.

Choose another agent at the message box for real work."""


def answer_of(text: str) -> Callable[[Reply], Awaitable[None]] | None:
    """Returns what answers a suggested prompt; None for any other."""
    words = text.split("\n\n", 1)[0].strip()
    for pattern, answer in _ANSWERS:
        if (match := re.fullmatch(pattern, words)) is not None:
            return lambda reply: answer(reply, **match.groupdict())
    return None


async def _sine(reply: Reply) -> None:
    if await _insert(reply, _SINE[_has("matplotlib")], run=True):
        await reply.say("A new cell plots a sine wave.")


async def _load(reply: Reply) -> None:
    if not _has("pandas"):
        await reply.say("pandas is not installed here: `%pip install pandas` in a cell, then ask again.")
    elif await _insert(reply, _LOAD):
        await reply.say("A new cell loads a table from CSV. Run it, then ask me to plot `@planets by name`.")


async def _plot(reply: Reply, name: str, by: str | None) -> None:
    if not _has("matplotlib"):
        await reply.say("matplotlib is not installed here: `%pip install matplotlib` in a cell, then ask again.")
        return
    counts = f'{name}["{by}"].value_counts().plot.bar(title="{by}");' if by else f"{name}.plot();"
    if await _insert(reply, counts, run=True):
        await reply.say(f"A new cell plots `{name}`{f' by `{by}`' if by else ''}.")


async def _explain(reply: Reply, count: str) -> None:
    source = next((match["source"] for match in _cells(reply)), "")
    await reply.say(described(source, f"`In [{count}]`") if source else f"`In [{count}]` came without its text.")


async def _summarize(reply: Reply) -> None:
    sources = [match["source"].strip() for match in _cells(reply)]
    listed = [f"{number}. `{source.splitlines()[0][:80]}`" for number, source in enumerate(sources, 1) if source]
    more = [f"… and {len(listed) - _MOST_LISTED} more."] if len(listed) > _MOST_LISTED else []
    await reply.say(f"{counted(len(sources), 'cell')}, by their first lines:\n\n")
    await reply.say("\n".join([*listed[:_MOST_LISTED], *more]) + "\n")


async def _fix(reply: Reply) -> None:
    text = "\n".join(item.text or "" for item in reply.attachments)
    failed = [*_SOURCE.finditer(text)]
    if not failed:
        await reply.say("The error came without its cell: run the cell again, then ask me once more.")
        return
    fixed, words = fixed_cell(failed[-1]["source"], text)
    cell = failed[-1]["id"] or failed[-1]["count"]
    if await _change(reply, "replace_cell", {"cell": cell, "source": fixed}, fixed):
        await reply.say(words)


async def _explain_error(reply: Reply) -> None:
    text = "\n".join(item.text or "" for item in reply.attachments)
    first = text.strip().splitlines()[0] if text.strip() else "The error came without its text."
    await reply.say(f"`{first[:200]}` is what Python said. I have no model to tell you more; another agent does.")


async def _about(reply: Reply) -> None:
    await reply.say(_ABOUT)


_ANSWERS: tuple[tuple[str, Callable[..., Awaitable[None]]], ...] = (
    (r"Plot a sine wave in a new cell", _sine),
    (r"Write a cell that loads a CSV file into a DataFrame", _load),
    (r"Plot @(?P<name>[A-Za-z_]\w*)(?: by (?P<by>[^\"\\]+))?", _plot),
    (r"Explain @cell:(?P<count>\d+)", _explain),
    (r"Summarize the \d+ cells of this notebook: @cells", _summarize),
    (r"Fix the (?:last )?error(?: in .+)?: @error\S*", _fix),
    (r"Explain the error(?: in .+)?: @error\S*", _explain_error),
    (r"What can you do in this notebook\?", _about),
)


def _cells(reply: Reply) -> Iterator[re.Match[str]]:
    return (match for item in reply.attachments for match in _CELL.finditer(item.text or ""))


def fixed_cell(source: str, error: str) -> tuple[str, str]:
    """Returns a cell that no longer fails in this way, and what was done to it."""
    divided = _DIVIDED.search(source)
    if "ZeroDivisionError" in error and divided is not None:
        by = divided["by"]
        guarded = _DIVIDED.sub(lambda match: f'{match[0]} if {match["by"]} else float("nan")', source, count=1)
        return guarded, f"`{by}` was 0: where it is, the result is now `nan`."
    undefined = _UNDEFINED.search(error)
    if undefined is not None:
        name = undefined["name"]
        return (
            f"{name} = 0  # the tour's guess: your value\n{source}",
            f"`{name}` had no value: it has one now, a guess.",
        )
    tried = "\n".join(f"    {line}" if line else line for line in source.splitlines())
    words = "I have no model to find the cause: the cell now says its error in a line and goes on."
    return f'try:\n{tried}\nexcept Exception as error:\n    print(f"{{type(error).__name__}}: {{error}}")', words


def described(source: str, name: str) -> str:
    """Describe what a cell does, as far as its syntax shows."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return f"{name} has {counted(len(source.splitlines()), 'line')}; it is not plain Python."
    imports = [each.name for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names]
    made = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assigned = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    called = sorted({ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)})
    parts = {"imports": imports, "defines": made, "assigns": assigned, "calls": called}
    lines = [f"- {verb} {', '.join(f'`{each}`' for each in names[:8])}" for verb, names in parts.items() if names]
    return (
        f"{name} has {counted(len(source.splitlines()), 'line')}. It\n\n"
        + "\n".join(lines or ["- computes a value"])
        + "\n"
    )


async def _insert(reply: Reply, source: str, *, run: bool = False) -> bool:
    """Insert a cell at the notebook's end, and run it with *run*; True if it was inserted."""
    inserted = await _change(reply, "insert_cell", {"source": source}, source)
    cell = re.search(r"\bid ([\w-]+)", inserted or "")
    if run and cell is not None:
        await _change(reply, "run_cell", {"cell": cell[1]}, source)
    return inserted is not None


async def _change(reply: Reply, tool: str, arguments: dict[str, Any], source: str) -> str | None:
    """Call a kernel tool, or show the code to copy by hand if that is impossible; None if it was not done."""
    server = next((each for each in reply.session.mcp_servers if each.name.endswith("kernel")), None)
    why = "I may not use this notebook's kernel in this conversation"
    if server is not None:
        try:
            async with reached(server, reply.session.cwd, reply.client) as client:
                call = await reply.start_tool(f"{server.name}: {tool}", "execute", raw_input=arguments)
                blocks, failed = await call_tool(call, client, tool, arguments)
        except McpTrouble as trouble:
            blocks, failed = [str(trouble)], True
        output = "\n".join(block for block in blocks if isinstance(block, str))
        if not failed:
            return output
        why = output.splitlines()[0].rstrip(".") if output else "That did not work"
    if tool != "run_cell":
        await reply.say(f"{why}. Insert it yourself, by the button at the code:\n\n```python\n{source}\n```\n")
    return None


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
