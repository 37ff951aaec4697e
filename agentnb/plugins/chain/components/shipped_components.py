"""The components that agentnb ships, by name."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import platform
import sys
import time
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.credentials import Credentials
from agentnb.errors import AgentnbError
from agentnb.folders import data_folder
from agentnb.host.agents.tools import allow_reading, tool_session
from agentnb.host.environment import Environment
from agentnb.kernel.tools import call_offer, checked, offered_tools
from agentnb.plugins.chain.components.component import Component, ComponentTool
from agentnb.plugins.chain.components.walkthrough import Walkthrough
from agentnb.policy.workspace import WorkspaceBoundary

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from agentnb.kernel.code_runner import CodeRunner, NotebookView
    from agentnb.ports import Tool as PluginTool
    from agentnb.ports import ToolSession

    Maker = Callable[[ToolSession | None], Component]

MOST_PACKAGES = 150
MOST_LINES = 200
LONGEST_LINE = 120


class ContextComponent(Component):
    """Offers one tool, ``surroundings``; nothing is sent unless the agent calls it."""

    name = "context"
    about = "A tool that tells the agent the date, the environment, the imported packages and the notebook's outline."

    def __init__(self, code_runner: Callable[[], CodeRunner | None] = lambda: None) -> None:
        self._code_runner = code_runner
        self.tools: tuple[ComponentTool, ...] = (
            ComponentTool(
                name="surroundings",
                description="Tells the date and time, the Python environment, the packages that the user's kernel has "
                "imported, with their versions, and the outline of the open notebook. It changes nothing.",
                run=self.surroundings,
            ),
        )

    def surroundings(self) -> str:
        """The date, environment, packages and notebook, as Markdown."""
        now = dt.datetime.now().astimezone()
        packages = imported_packages()
        listed = packages[:MOST_PACKAGES]
        more = f"\n… and {len(packages) - len(listed)} more" if len(packages) > len(listed) else ""
        return "\n".join(
            (
                f"Date: {now:%A, %Y-%m-%d %H:%M %Z}",
                f"Python: {platform.python_version()} on {platform.system()}, environment {sys.prefix}",
                "Imported packages:" + ("".join(f"\n- {each}" for each in listed) or " none") + more,
                self._outline(),
            )
        )

    def _outline(self) -> str:
        runner = self._code_runner()
        if runner is None:
            return "Notebook: none"
        try:
            notebook = runner.notebook(outputs=False)
        except AgentnbError as error:
            return f"Notebook: not known ({error.message})"
        return outline(notebook)


def outline(notebook: NotebookView) -> str:
    """Returns the headings of a notebook and the first line of each code cell, by cell."""
    lines = []
    for number, cell in enumerate(notebook.cells, notebook.start + 1):
        text = [line.strip() for line in cell.source.splitlines() if line.strip()]
        headings = [line for line in text if line.startswith("#")] if cell.kind == "markdown" else text[:1]
        mark = f"[{cell.count}]" if cell.kind == "code" and cell.count is not None else ""
        lines += [f"- cell {number} {cell.id} {cell.kind}{mark}: {line[:LONGEST_LINE]}" for line in headings]
    more = f"\n… and {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
    return f"Notebook: {notebook.name}, {len(notebook.cells)} cells\n" + "\n".join(lines[:MOST_LINES]) + more


def imported_packages() -> list[str]:
    """Returns the distributions that this process has imported, as ``name version``, sorted by name."""
    loaded = {name.partition(".")[0] for name in tuple(sys.modules)}
    versions: dict[str, str] = {}
    for module, names in metadata.packages_distributions().items():
        if module in loaded:
            for name in names:
                versions[name] = metadata.version(name)
    return [f"{name} {versions[name]}" for name in sorted(versions, key=str.lower)]


class ToolComponent(Component):
    """Offers the tool *tool* of *plugin*; nothing is run or changed."""

    def __init__(self, name: str, about: str, plugin: str, tool: PluginTool, session: ToolSession | None) -> None:
        self.name: str = name
        self.about: str = about
        self._plugin = plugin
        self._tool = tool
        self._session = session or tool_session(allow_reading, Environment(), session="", folder=str(Path.cwd()))
        self.tools: tuple[ComponentTool, ...] = (
            ComponentTool(
                name=tool.name,
                description=tool.description,
                run=self._run,
                parameters=tool.parameters["properties"],
                required=tuple(tool.parameters["required"]),
                read_only=tool.reads_only,
            ),
        )

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        del session_id
        if isinstance(cwd := params.get("cwd"), str) and cwd != self._session.folder:
            self._session = dataclasses.replace(self._session, folder=cwd, memory={})

    async def _run(self, **options: Any) -> dict[str, Any]:
        arguments = checked(self._tool.name, options)
        if self._tool.name == "look_up_code" and "file" in arguments:  # without a question: only workspace files
            arguments["file"] = str(WorkspaceBoundary(Path(self._session.folder)).resolve(arguments["file"]))
        return await call_offer(self._plugin, self._tool, self._session, arguments)


FILE = "AGENTS.md"
LONGEST = 32 * 1024
"""Characters of AGENTS.md that the agent gets."""
READERS = ("codex", "opencode", "copilot", "cursor", "goose", "kimi", "auggie")
"""Parts of the names of agents that read the file themselves."""


class RulesComponent(Component):
    """Puts AGENTS.md before the first prompt of each session."""

    name = "rules"
    about = "Gives the agent the workspace's AGENTS.md if the agent does not read it itself."

    def __init__(self) -> None:
        self._reads_itself = False
        self._folders: dict[str, Path] = {}

    async def on_initialize(self, answer: dict[str, Any]) -> dict[str, Any]:
        info = mapping(answer.get("agentInfo"))
        name = f"{info.get('name')} {info.get('title')}".lower()
        self._reads_itself = any(word in name for word in READERS)
        return answer

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        cwd = params.get("cwd")
        if isinstance(cwd, str) and not self._reads_itself:
            self._folders[session_id] = Path(cwd)

    async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
        folder = self._folders.pop(session_id, None)
        rules = read_rules(folder) if folder is not None else ""
        if not rules:
            return prompt
        return [{"type": "text", "text": f"The rules of this workspace, from its {FILE}:\n\n{rules}"}, *prompt]

    def tokens(self, folder: Path) -> tuple[int, int]:
        return 0, len(read_rules(folder)) // 4


def read_rules(folder: Path) -> str:
    """Returns the text of the folder's AGENTS.md, cut if it is too long; '' if there is none."""
    try:
        path = (folder / FILE).resolve(strict=True)
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            return ""
        with path.open("rb") as file:
            text = file.read(4 * LONGEST + 1).decode("utf-8", "replace").strip()
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return ""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n\n(The file goes on; it has {size} bytes.)"


VARIABLE = "AGENTNB_WIRE_LOG"
LARGEST = 64 * 1024 * 1024
"""Characters after which nothing more is written to the file."""
LONGEST_MESSAGE = 64 * 1024
"""Characters of one message that are written."""


class WireLog(Component):
    """Writes each message to a file, one per line, with the time, the sender and the receiver.

    The file is ``AGENTNB_WIRE_LOG``, else a new one in the folder ``wire`` of agentnb's data; only its owner may read
    it. Text that looks like a credential, and the values of secret environment variables, are written as ``***``. Not
    masked: any other text that you and the agent write.
    """

    name = "log"
    about = "Writes every message to a file for debugging; credentials are masked."

    def __init__(self) -> None:
        self.log_file = None
        self._credentials = Credentials(os.environ)
        self._file: TextIO | None = None
        self._written = 0

    def on_message(self, sender: str, receiver: str, line: bytes) -> None:
        if self._written > LARGEST:
            return
        text = line.decode("utf-8", "replace").rstrip("\n")
        if len(text) > LONGEST_MESSAGE:
            text = f"{text[:LONGEST_MESSAGE]} … ({len(text)} characters)"
        written = f"{time.strftime('%H:%M:%S')} {sender} → {receiver} {self._credentials.hidden_in_command(text)}\n"
        self._file = self._file or self._open()
        self._file.write(written)
        self._file.flush()
        self._written += len(written)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> TextIO:
        named = os.environ.get(VARIABLE)
        new = data_folder() / "wire" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        self.log_file = Path(named).expanduser() if named else new
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        opened = os.open(self.log_file, flags, 0o600)
        return os.fdopen(opened, "a", encoding="utf-8", errors="replace")


_OF_TOOLS = {
    "skills": ("read_skill", "A tool that lists and reads the skills of installed packages that you trust."),
    "research": (
        "research",
        "A tool that answers questions about installed packages from their source, with file and line.",
    ),
    "code": (
        "look_up_code",
        "A tool that answers questions about the notebook's and the workspace's code: definitions, uses, signatures.",
    ),
}
"""Components that give the agent one kernel tool of a plug-in without access to the kernel: the tool and a summary."""


def shipped_components() -> dict[str, Maker]:
    """Returns the makers of components, which take the chain's session, in the recommended order."""
    offers = offered_tools()
    of_tools = {
        name: partial(ToolComponent, name, about, *offers[tool])
        for name, (tool, about) in _OF_TOOLS.items()
        if tool in offers
    }
    return {
        RulesComponent.name: lambda _: RulesComponent(),
        ContextComponent.name: lambda session: ContextComponent(_code_runner(session)),
        **of_tools,
        Walkthrough.name: lambda session: Walkthrough(_code_runner(session)),
        WireLog.name: lambda _: WireLog(),
    }


def shipped() -> list[Component]:
    """Returns one of each shipped component, for inspection."""
    return [make(None) for make in shipped_components().values()]


def _code_runner(session: ToolSession | None) -> Callable[[], CodeRunner | None]:
    return (lambda: None) if session is None else session.code_runner
