"""Carries out calls of packages' tools: a function as code in the kernel, a script of a skill as a command."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.agent.child import inherited
from agentnb.credentials import Credentials
from agentnb.errors import UsageError
from agentnb.kernel.content import text_result
from agentnb.kernel.tools import check_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentnb.plugins.knowledge.package_tools.declared import DeclaredTool
    from agentnb.plugins.knowledge.skills.library import SkillLibrary, SkillScript
    from agentnb.plugins.knowledge.skills.scan import FoundSkill
    from agentnb.ports import ToolSession

SECONDS = 60.0
"""Seconds that a call may take if the agent sets no limit."""
MOST_OUTPUT = 100_000
"""Characters of a script's output that the agent gets: the last ones."""


async def call_tool(session: ToolSession, library: SkillLibrary, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool of a package that the user trusts, or run a script of a skill, after asking the policy."""
    named, tool_arguments = arguments["tool"], arguments.get("arguments") or {}
    seconds = float(arguments.get("seconds", SECONDS))
    if "/scripts/" in named:
        return await _run_script(session, lambda: library.script(named), tool_arguments, seconds)
    skill = await asyncio.to_thread(library.tool, named)
    if session.kernel_tool is None or skill.tool is None:
        raise UsageError("Tools of packages run in the kernel, and this agent has no access to it.")
    await asyncio.to_thread(_check_import, skill, skill.tool)
    code = code_of(skill.tool, tool_arguments)
    return await session.kernel_tool("run_code", {"code": code, "timeout": seconds})


def code_of(tool: DeclaredTool, arguments: Mapping[str, Any]) -> str:
    """Returns the code that calls *tool*, as shown to the user; raises UsageError if *arguments* break its schema."""
    name, properties = tool.entry.name, tool.parameters["properties"]
    values = {key: value for key, value in arguments.items() if value is not None}
    missing = [key for key in tool.parameters["required"] if key not in values]
    unknown = [key for key in values if key not in properties]
    if missing or unknown:
        what = f"wants {missing[0]!r}" if missing else f"has no argument {unknown[0]!r}"
        raise UsageError(f"{name} {what}.", hint=f"It is {tool.signature}.")
    for key, value in values.items():
        check_argument(f"{key!r} of {name}", value, properties[key])
    words = ", ".join(f"{key}={value!r}" for key, value in values.items())
    waits = "await " if tool.is_async else ""
    return f"{waits}__import__('importlib').import_module({tool.entry.module!r}).{tool.entry.function}({words})"


def _check_import(skill: FoundSkill, tool: DeclaredTool) -> None:
    """Raise UsageError unless an import gives the package that the user trusts, in that version."""
    top = tool.entry.module.split(".")[0]
    loaded = sys.modules.get(top)
    try:
        spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    if not any(
        each and (Path(each) in tool.path.parents or Path(each).resolve() == tool.path.resolve()) for each in places
    ):
        message = f"`import {top}` gives another package than {skill.package} {skill.version}, which the user trusts."
        raise UsageError(message, hint="Nothing was run.")
    version = getattr(loaded, "__version__", skill.version)
    if isinstance(version, str) and version != skill.version:
        message = f"The kernel has imported {top} {version}, and {skill.version} is installed and trusted."
        raise UsageError(message, hint="Ask the user to restart the kernel. Nothing was run.")


async def _run_script(
    session: ToolSession, find: Callable[[], SkillScript], arguments: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    words = arguments.get("args", [])
    if set(arguments) - {"args"} or not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        raise UsageError("A script takes one argument: 'args', a list of strings.")
    script = await asyncio.to_thread(find)
    command = [*script.program, str(script.path), *words]
    await session.authorize(f"Run {script.name}, a script of a skill", shlex.join(command))
    if await asyncio.to_thread(find) != script:
        raise UsageError(f"{script.name} has changed since the user was asked. Nothing was run.")
    status, printed = await _output(command, session.folder, seconds)
    text = Credentials(os.environ).hidden(printed)[-MOST_OUTPUT:]
    end = f"It took more than {seconds:g} s and was stopped." if status is None else f"Exit code {status}."
    return text_result("\n".join(each for each in (text.rstrip(), end) if each), failed=status != 0)


async def _output(command: list[str], folder: str, seconds: float) -> tuple[int | None, str]:
    """Returns the exit code of *command*, None if it timed out, and the end of what it printed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=inherited({}),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    kept = bytearray()

    async def read() -> int:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        while data := await process.stdout.read(65_536):
            kept.extend(data)
            del kept[: -4 * MOST_OUTPUT]
        return await process.wait()

    status: int | None = None
    try:
        status = await asyncio.wait_for(read(), seconds)
    except asyncio.TimeoutError:
        pass
    finally:
        with suppress(ProcessLookupError):  # also ends its child processes
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return status, kept.decode("utf-8", "replace")
