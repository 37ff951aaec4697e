"""The tools for agents, among the kernel tools: they look up code, read skills and research packages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.kernel.tools import CELL, NOTEBOOK
from agentnb.plugins.knowledge.code.records import QUESTIONS
from agentnb.policy.request import PolicyRequest
from agentnb.ports import Tool

if TYPE_CHECKING:
    from agentnb.plugins.knowledge.code_tool import CodeTool
    from agentnb.plugins.knowledge.research.findings import Research
    from agentnb.plugins.knowledge.skills.library import SkillLibrary
    from agentnb.ports import ToolSession
    from agentnb.state import ToolCallDetails

LOOK_SECONDS = 20.0
"""Seconds that reading a notebook may take."""


async def look_up_code(session: ToolSession, arguments: dict[str, Any]) -> str:
    code = _code_tool(session)
    notebook = await asyncio.wait_for(asyncio.to_thread(code.notebook, arguments.get("notebook")), LOOK_SECONDS)
    path = str(code.service(notebook).file(arguments["file"])) if "file" in arguments else notebook.path
    about = f": {arguments['symbol']}" if "symbol" in arguments else ""
    await session.ask(PolicyRequest(kind="read", title=f"Look up code{about}"[:200], path=path))
    return await asyncio.to_thread(code.answer, arguments, notebook)


async def change_code(session: ToolSession, arguments: dict[str, Any]) -> dict[str, Any]:
    """Rename, format or apply a language server's action; each cell and file is authorized like any other edit."""
    from agentnb.kernel.content import text_result
    from agentnb.plugins.knowledge.code_changes import change
    from agentnb.plugins.knowledge.code_tool import cell_names

    code = _code_tool(session)
    notebook = await asyncio.wait_for(asyncio.to_thread(code.notebook, arguments.get("notebook")), LOOK_SECONDS)
    path = str(code.service(notebook).file(arguments["file"])) if "file" in arguments else notebook.path
    await session.ask(PolicyRequest(kind="read", title=f"Look for what to {arguments['change']}", path=path))
    title, changes = await asyncio.to_thread(code.changes, arguments, notebook)
    done, failed = await change(
        session, changes, cell_names(notebook), lambda: code.notebook(arguments.get("notebook"))
    )
    lines = [f"{title}: changed {', '.join(done)}." if done else f"{title}: nothing was changed.", *failed]
    return text_result("\n".join(lines), failed=bool(failed))


async def read_skill(session: ToolSession, arguments: dict[str, Any]) -> str:
    """List the skills that the user trusts, or read one."""
    await session.ask(PolicyRequest(kind="read", title=f"Read a skill: {arguments.get('skill', 'list')}"[:200]))
    can_run = session.kernel_tool is not None
    return await asyncio.to_thread(_library(session).answer, arguments, can_run=can_run)


async def use_package_tool(session: ToolSession, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool of a package that the user trusts, or run a script of a skill."""
    from agentnb.plugins.knowledge.package_tools.calls import call_tool

    return await call_tool(session, _library(session), arguments)


async def research(session: ToolSession, arguments: dict[str, Any]) -> str:
    """Answer a question about a package in a separate conversation with the same agent."""
    from agentnb.plugins.knowledge.researches.researches import researches_of

    title = f"Research {arguments['package']}: {arguments['question']}"
    await session.ask(PolicyRequest(kind="read", title=title[:200]))
    if session.host is None or session.configuration is None:
        message = "This program cannot have a conversation of its own, so it cannot do research."
        raise UsageError(message, hint="Read the source yourself: look_up_code says where a name is defined.")
    researches = researches_of(session.host)
    answer = await researches.research(
        arguments["question"],
        arguments["package"],
        arguments.get("version"),
        configuration=session.configuration,
        authorize=session.ask if session.session else None,
        on_findings=lambda latest: session.show(_card(latest, researches.session_of(latest))),
    )
    session.show(_card(answer, researches.session_of(answer)))
    return "\n\n".join(each for each in (f"{answer.package} {answer.version}", answer.note, answer.text) if each)


def _card(answer: Research, conversation: str | None) -> ToolCallDetails:
    """Returns what the call's card shows: the findings, even while more are still coming."""
    from agentnb.state import ToolCallCitation, ToolCallDetails, ToolCallResearch

    names = ("text", "place", "path", "line", "excerpt", "lines", "first_line")
    fields: list[dict[str, Any]] = [{name: getattr(each, name) or None for name in names} for each in answer.findings]
    citations = tuple(ToolCallCitation(**each) for each in fields)
    card = ToolCallResearch(package=answer.package, version=answer.version, citations=citations, session=conversation)
    return ToolCallDetails(research=card)


def _code_tool(session: ToolSession) -> CodeTool:
    from agentnb.plugins.knowledge.code_tool import CodeTool

    if "knowledge code" not in session.memory:
        server = lambda: str(session.setting("language_server"))  # noqa: E731
        session.memory["knowledge code"] = CodeTool(session.code_runner(), Path(session.folder), server)
    tool: CodeTool = session.memory["knowledge code"]
    return tool


def _library(session: ToolSession) -> SkillLibrary:
    from agentnb.plugins.knowledge.skills.library import SkillLibrary, shared_scan
    from agentnb.policy.store import PolicyFiles

    if "knowledge skills" not in session.memory:
        folder = Path(session.folder)
        session.memory["knowledge skills"] = SkillLibrary(
            folder, scan=shared_scan(), trusts_workspace=PolicyFiles().trusts
        )
    library: SkillLibrary = session.memory["knowledge skills"]
    return library


_PLACE = {
    "symbol": {
        "type": "string",
        "description": "A name, as df.merge. Without cell and file: as if typed below the last cell.",
    },
    "cell": {**CELL, "description": "The cell that contains it: its id, or the n of its In [n]."},
    "file": {"type": "string", "description": "Instead of a cell: a Python file."},
    "line": {"type": "integer", "description": "The line, from 1.", "minimum": 1},
    "column": {"type": "integer", "description": "Instead of symbol: the column, from 0.", "minimum": 0},
    "new_name": {"type": "string", "description": "For rename: the new name."},
    "notebook": NOTEBOOK,
}


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TOOLS = (
    Tool(
        "look_up_code",
        "Answers a question about the Python code of the user's notebook, of the files in the workspace and of the "
        "installed packages: where a name is defined, where it is used, its signature and documentation, what can "
        "follow it, syntax errors, or what renaming it would change. Where the user runs a language server also: the "
        "symbols of the notebook, a file or the workspace, implementations, where a type is defined, the code actions "
        "at a place, and what formatting would change. The cells are one module in the order in "
        "which they ran. Nothing is run or changed.",
        _schema(
            {
                "question": {"type": "string", "enum": [*QUESTIONS], "description": "What to look up."},
                **_PLACE,
            },
            "question",
        ),
        look_up_code,
        title="Look up code",
        reads_only=True,
        with_kernel=True,
    ),
    Tool(
        "change_code",
        "Changes the code of the notebook and the workspace: renames what a name means everywhere, or does what the "
        "user's language server offers, a code action or formatting. look_up_code shows first what would change. The "
        "user may be asked about each cell and file, and can undo it.",
        _schema(
            {
                "change": {"type": "string", "enum": ["rename", "action", "format"], "description": "What to do."},
                "action": {"type": "string", "description": "For action: its title, as look_up_code gives it."},
                **_PLACE,
            },
            "change",
        ),
        change_code,
        title="Change code",
        with_kernel=True,
    ),
    Tool(
        "read_skill",
        "Lists or reads skills: instructions for agents that installed packages and the workspace bring and that "
        "the user trusts. Without arguments: each skill's name and description. They are advice on how to use a "
        "package; the user's words come first.",
        _schema(
            {
                "skill": {"type": "string", "description": "Its name, as package/name: gives all of its text."},
                "file": {"type": "string", "description": "Another file of it, by its path in the skill."},
            }
        ),
        read_skill,
        title="Read a skill",
        reads_only=True,
        with_kernel=True,
    ),
    Tool(
        "use_package_tool",
        "Calls a tool of an installed package that the user trusts, in the user's kernel, or runs a script of a skill. "
        "read_skill without arguments lists the tools and what they take. The user may be asked first.",
        _schema(
            {
                "tool": {
                    "type": "string",
                    "description": "Its name, as package/name; a script as package/skill/scripts/name.py.",
                },
                "arguments": {
                    "type": "object",
                    "description": 'The arguments by their names; of a script {"args": ["…"]}.',
                },
                "seconds": {"type": "number", "description": "How long it may take.", "minimum": 1, "maximum": 600},
            },
            "tool",
        ),
        use_package_tool,
        title="Use a package's tool",
        with_kernel=True,
    ),
    Tool(
        "research",
        "Answers a question about an installed Python package from its source: another conversation with you reads "
        "it and returns findings with file and line. Use it where documentation is missing or may be outdated; it "
        "takes a minute or more.",
        _schema(
            {
                "question": {"type": "string", "description": "The question, in a sentence or two."},
                "package": {"type": "string", "description": "The distribution's or the module's name."},
                "version": {"type": "string", "description": "A version other than the installed one."},
            },
            "question",
            "package",
        ),
        research,
        title="Research a package",
        reads_only=True,
        with_kernel=True,
    ),
)
