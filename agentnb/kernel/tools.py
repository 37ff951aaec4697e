"""The tools as they are told (MCP ``Tool``), and their arguments checked against that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentnb.errors import PermissionDenied, UsageError
from agentnb.kernel.content import text_result
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from agentnb.ports import Tool, ToolSession

TURN_IS_OVER = "The turn is over."  # the error of a call that was cancelled with its turn

PATIENCE_SECONDS = 10.0  # seconds that code waits for a busy kernel if the agent sets no limit
LONGEST_WAIT = 600.0

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_NEW_NAMES = {("insert_cell", "kind"): "cell_type", ("set_cell_type", "kind"): "cell_type"}
"""Renamed arguments: OpenHands' own fields have the name ``kind``. Old agents' skills use the old name."""
CELL: Schema = {"type": "string", "description": "The cell's id, or the n of its In [n]."}
NOTEBOOK: Schema = {
    "type": "string",
    "description": "Another notebook that is open, by its path or name; the one used last if absent.",
}


def tool(
    name: str, title: str, description: str, properties: dict[str, Schema], *required: str, reads: bool = False
) -> dict[str, Any]:
    """A tool of ours as MCP ``tools/list`` has it."""
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return described(name, title, description, schema, reads=reads)


def described(name: str, title: str, description: str, schema: Schema, *, reads: bool) -> dict[str, Any]:
    """A tool as MCP ``tools/list`` has it."""
    hints = {"title": title, "readOnlyHint": reads, "destructiveHint": not reads, "openWorldHint": not reads}
    return {"name": name, "title": title, "description": description, "inputSchema": schema, "annotations": hints}


TOOLS: dict[str, dict[str, Any]] = {
    each["name"]: each
    for each in (
        tool(
            "variables",
            "List variables",
            "Lists the variables in the user's Jupyter kernel: name, type, shape or length, size.",
            {"filter": {"type": "string", "description": "Only names that hold this; * and ? stand for anything."}},
            reads=True,
        ),
        tool(
            "inspect",
            "Inspect a variable",
            "Shows one variable, or what a path into it leads to: type, shape, columns and head of a frame, the source "
            "and docstring of a function, else the value. Reads only; nothing is called.",
            {"path": {"type": "string", "description": 'For example df, df.columns, runs[0]["loss"], x[:5].'}},
            "path",
            reads=True,
        ),
        tool(
            "run_code",
            "Run code in the kernel",
            "Runs Python code in the user's Jupyter kernel, as a notebook cell would: it sees and changes the user's "
            "variables; magics, `await` and plots work. Gives what was printed, the last expression's value, pictures, "
            "and the traceback of an error. The user may be asked first. The notebook's cells do not change.",
            {
                "code": {"type": "string", "description": "The code."},
                "timeout": {"type": "number", "description": "Seconds after which it is interrupted.", "minimum": 0.1},
                "wait": {
                    "type": "number",
                    "description": f"Seconds to wait for a kernel that is busy; {PATIENCE_SECONDS:g} if absent.",
                    "minimum": 0,
                    "maximum": LONGEST_WAIT,
                },
            },
            "code",
        ),
        tool(
            "notebooks",
            "List the open notebooks",
            "Lists the notebooks that the user has open with this kernel, the one used last first. The tools for cells "
            "take one of them as their argument notebook.",
            {},
            reads=True,
        ),
        tool(
            "cells",
            "Read the notebook",
            "Reads the cells of the user's notebook, as the open page shows them or, without a page, as last saved.",
            {
                "first": {**CELL, "description": "The first cell to read: its id, or the n of its In [n]."},
                "last": {**CELL, "description": "The last cell to read: its id, or the n of its In [n]."},
                "outputs": {"type": "boolean", "description": "Whether outputs are shown, too, as text."},
            },
            reads=True,
        ),
        tool(
            "insert_cell",
            "Insert a cell",
            "Puts a new cell into the notebook that the user has open; the user can undo it. It is not run.",
            {
                "source": {"type": "string", "description": "The cell's text."},
                "below": {
                    **CELL,
                    "description": "The cell above it: its id, or the n of its In [n]; the last one if absent.",
                },
                "cell_type": {"type": "string", "enum": ["code", "markdown"], "description": "code if absent."},
            },
            "source",
        ),
        tool(
            "replace_cell",
            "Replace a cell's text",
            "Replaces the text of a cell in the notebook that the user has open; the user can undo it.",
            {"cell": CELL, "source": {"type": "string", "description": "Its new text."}},
            "cell",
            "source",
        ),
        tool(
            "move_cell",
            "Move a cell",
            "Moves a cell of the notebook that the user has open below or above another; the user can undo it.",
            {
                "cell": CELL,
                "below": {**CELL, "description": "The cell that it is put below: its id, or the n of its In [n]."},
                "above": {**CELL, "description": "Instead of below: the cell that it is put above."},
            },
            "cell",
        ),
        tool(
            "delete_cell",
            "Delete a cell",
            "Deletes a cell of the notebook that the user has open; the user can undo it.",
            {"cell": CELL},
            "cell",
        ),
        tool(
            "split_cell",
            "Split a cell",
            "Splits a cell of the notebook that the user has open in two; the user can undo it.",
            {
                "cell": CELL,
                "line": {
                    "type": "integer",
                    "description": "The line, counted from 1, that the new cell below begins with.",
                    "minimum": 2,
                },
            },
            "cell",
            "line",
        ),
        tool(
            "merge_cells",
            "Merge cells",
            "Merges cells of one type that follow each other in the notebook that the user has open into the first of "
            "them, with a blank line between their texts; the user can undo it.",
            {
                "first": {**CELL, "description": "The first cell: its id, or the n of its In [n]."},
                "last": {**CELL, "description": "The last cell: its id, or the n of its In [n]."},
            },
            "first",
            "last",
        ),
        tool(
            "set_cell_type",
            "Change a cell's type",
            "Makes a cell of the notebook that the user has open a code, Markdown or raw cell; a code cell loses its "
            "output. The user can undo it.",
            {
                "cell": CELL,
                "cell_type": {"type": "string", "enum": ["code", "markdown", "raw"], "description": "The type."},
            },
            "cell",
            "cell_type",
        ),
        tool(
            "set_cell_tags",
            "Set a cell's tags",
            "Gives a cell of the notebook that the user has open these tags and no others; the user can undo it.",
            {
                "cell": CELL,
                "tags": {"type": "array", "items": {"type": "string"}, "description": "All its tags; none: []."},
            },
            "cell",
            "tags",
        ),
        tool(
            "clear_outputs",
            "Clear outputs",
            "Clears the outputs of a code cell of the notebook that the user has open, or of all that have run. Cells "
            "that ask agents are left out. The variables stay. The user can undo it until the page is closed.",
            {"cell": {**CELL, "description": "Its id, or the n of its In [n]; all cells if absent."}},
        ),
        tool(
            "run_cell",
            "Run a cell",
            "Runs a code cell of the notebook that the user has open, as if the user had. Its output is in the "
            "notebook and in the answer.",
            {"cell": CELL},
            "cell",
        ),
        tool(
            "run_cells",
            "Run several cells",
            "Runs the code cells of the notebook that the user has open in their order, all or from one to another, "
            "and stops at the first that fails. Variables of before are still there; verify_notebook runs in a fresh "
            "kernel. Cells that ask agents are left out.",
            {
                "first": {**CELL, "description": "The first cell: its id, or the n of its In [n]; the top if absent."},
                "last": {**CELL, "description": "The last cell: its id, or the n of its In [n]; the end if absent."},
            },
        ),
    )
}

OF_CELLS = (
    *("cells", "run_cell", "run_cells", "insert_cell", "replace_cell", "move_cell", "delete_cell", "split_cell"),
    *("merge_cells", "set_cell_type", "set_cell_tags", "clear_outputs"),
)
"""The tools that work on the cells of a notebook and take its name."""
for _name in OF_CELLS:
    TOOLS[_name]["inputSchema"]["properties"]["notebook"] = NOTEBOOK


def offered_tools() -> dict[str, tuple[str, Tool]]:
    """The kernel tools of plug-ins by their names, each with its plug-in's name."""
    offers = ((plugin.name, each) for plugin, each in plugins().offers("tools"))
    return {each.name: (plugin, each) for plugin, each in offers if each.with_kernel and each.name not in TOOLS}


def kernel_tools() -> dict[str, dict[str, Any]]:
    """Every kernel tool by its name, those of plug-ins last."""
    return {**TOOLS, **{name: described_offer(each) for name, (_, each) in offered_tools().items()}}


def described_offer(tool: Tool) -> dict[str, Any]:
    """A plug-in's tool as MCP ``tools/list`` has it."""
    schema = dict(tool.parameters)
    return described(tool.name, tool.title or tool.name, tool.description, schema, reads=tool.reads_only)


async def call_offer(plugin: str, tool: Tool, session: ToolSession, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a plug-in's tool; the result is an MCP ``CallToolResult``."""
    with plugins().guard(plugin, f"the tool {tool.name!r}"):
        result = await tool.call(session, arguments)
    return result if isinstance(result, dict) else text_result(str(result))


def call_words(name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """A call of the tool *name* with checked *arguments*, to be compared with another."""
    return name, json.dumps(arguments, sort_keys=True)


def demand_access(name: str, access: str) -> None:
    """Check that the user's choice of kernel access covers the tool *name*."""
    if access == "run" or (access == "look" and kernel_tools()[name]["annotations"]["readOnlyHint"]):
        return
    what = "The user has set the kernel access of this conversation to"
    if access == "look":
        how = "ask the user to choose another access (Custom… → Kernel)"
        hint = f"Use variables, inspect, cells and look_up_code, or {how}."
        raise PermissionDenied(f"{what} Look: {name} is not allowed.", hint=hint)
    raise PermissionDenied(f"{what} Off.", hint="Continue without the kernel, or ask the user to change the access.")


def checked(name: str, arguments: Any) -> dict[str, Any]:
    """*arguments* of the tool *name*, if they are what its schema says."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise UsageError(f"The arguments of {name} are an object.")
    schema = kernel_tools()[name]["inputSchema"]
    valid = {_NEW_NAMES.get((name, str(key)), str(key)): value for key, value in arguments.items() if value is not None}
    missing = [key for key in schema["required"] if key not in valid]
    unknown = [key for key in valid if key not in schema["properties"]]
    if missing or unknown:
        what = f"wants {missing[0]!r}" if missing else f"has no argument {unknown[0]!r}"
        raise UsageError(f"{name} {what}.", hint=f"It takes {', '.join(schema['properties'])}.")
    for key, value in valid.items():
        check_argument(f"{key!r} of {name}", value, schema["properties"][key])
    return valid


def check_argument(what: str, value: Any, schema: Schema) -> None:
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise UsageError(f"{what} is {'an' if kind[0] in 'ai' else 'a'} {kind}, not {value!r}.")
    for item in value if isinstance(value, list) else ():
        check_argument(f"An item of {what}", item, schema["items"])
    if "enum" in schema and value not in schema["enum"]:
        raise UsageError(f"{what} is one of {', '.join(schema['enum'])}, not {value!r}.")
    if kind != "object" and not (schema.get("minimum", value) <= value <= schema.get("maximum", value)):
        bounds = f"at least {schema['minimum']}" + (f", at most {schema['maximum']:g}" if "maximum" in schema else "")
        raise UsageError(f"{what} is {bounds}, not {value!r}.")
