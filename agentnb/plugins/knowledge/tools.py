"""The tools for agents, among the kernel tools: they look up code, read skills and research packages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.kernel.tools import CELL, NOTEBOOK
from agentnb.policy.request import PolicyRequest
from agentnb.ports import Tool

if TYPE_CHECKING:
    from agentnb.plugins.knowledge.code_tool import CodeTool
    from agentnb.plugins.knowledge.skills.library import SkillLibrary
    from agentnb.ports import ToolSession

LOOK_SECONDS = 20.0
"""How long reading a notebook may take."""


async def look_up_code(session: ToolSession, arguments: dict[str, Any]) -> str:
    """Answer a question about code."""
    code = _code_tool(session)
    notebook = await asyncio.wait_for(asyncio.to_thread(code.notebook, arguments.get("notebook")), LOOK_SECONDS)
    path = str(code.service(notebook).file(arguments["file"])) if "file" in arguments else notebook.path
    about = f": {arguments['symbol']}" if "symbol" in arguments else ""
    await session.ask(PolicyRequest(kind="read", title=f"Look up code{about}"[:200], path=path))
    return await asyncio.to_thread(code.answer, arguments, notebook)


async def read_skill(session: ToolSession, arguments: dict[str, Any]) -> str:
    """List the skills that the user trusts, or read one."""
    await session.ask(PolicyRequest(kind="read", title=f"Read a skill: {arguments.get('skill', 'list')}"[:200]))
    return await asyncio.to_thread(_library(session).answer, arguments)


async def research(session: ToolSession, arguments: dict[str, Any]) -> str:
    """Answer a question about a package by a conversation of its own with the same agent."""
    from agentnb.plugins.knowledge.researches.researches import researches_of
    from agentnb.state import ToolCallCitation, ToolCallDetails, ToolCallResearch

    title = f"Research {arguments['package']}: {arguments['question']}"
    await session.ask(PolicyRequest(kind="read", title=title[:200]))
    if session.host is None or session.configuration is None:
        message = "This program cannot be asked in a conversation of its own, so it cannot research."
        raise UsageError(message, hint="Read the source yourself: look_up_code says where a name is defined.")
    researches = researches_of(session.host)
    answer = await researches.research(
        arguments["question"],
        arguments["package"],
        arguments.get("version"),
        configuration=session.configuration,
        authorize=session.ask if session.session else None,
    )
    names = ("text", "place", "path", "line", "excerpt", "lines", "first_line")
    fields: list[dict[str, Any]] = [{name: getattr(each, name) or None for name in names} for each in answer.findings]
    citations = tuple(ToolCallCitation(**each) for each in fields)
    card = ToolCallResearch(
        package=answer.package, version=answer.version, citations=citations, session=researches.session_of(answer)
    )
    session.show(ToolCallDetails(research=card))
    return f"{answer.package} {answer.version}\n\n{answer.text}"


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


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TOOLS = (
    Tool(
        "look_up_code",
        "Answers a question about the Python code of the user's notebook, of the files in the workspace and of the "
        "installed packages: where a name is defined, where it is used, its signature and documentation, what can "
        "follow it, syntax errors, or what renaming it would change. The cells are one module in the order in "
        "which they ran. Nothing is run or changed.",
        _schema(
            {
                "question": {
                    "type": "string",
                    "enum": ["definition", "references", "describe", "complete", "problems", "rename"],
                    "description": "What to look up.",
                },
                "symbol": {
                    "type": "string",
                    "description": "A name, as df.merge. Without cell and file: as if typed below the last cell.",
                },
                "cell": {**CELL, "description": "The cell it stands in: its id, or the n of its In [n]."},
                "file": {"type": "string", "description": "Instead of a cell: a Python file."},
                "line": {"type": "integer", "description": "The line, from 1.", "minimum": 1},
                "column": {"type": "integer", "description": "Instead of symbol: the column, from 0.", "minimum": 0},
                "new_name": {"type": "string", "description": "For rename: the new name."},
                "notebook": NOTEBOOK,
            },
            "question",
        ),
        look_up_code,
        title="Look up code",
        reads_only=True,
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
