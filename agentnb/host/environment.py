"""The surroundings of the host in one port: front end, editors, shell, settings, cassette.

The layers above, and the shell, fill it in with :meth:`Environment.connect`; the host only reads it. Every part may be
missing: an agent can be used from a plain Python process.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import msgspec

from agentnb.configuration.sources import read_settings
from agentnb.configuration.table import SETTINGS
from agentnb.errors import UsageError
from agentnb.host.changes.location import are_off
from agentnb.kernel.data_checks import step_comparison
from agentnb.kernel.job_queue import JobQueue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from typing_extensions import Unpack

    from agentnb.acp.peer import Unsaved
    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.confinement import ConfinementChoice
    from agentnb.agent.mcp import McpServer
    from agentnb.cassette.switch import CassetteSwitch
    from agentnb.configuration.sources import Sources
    from agentnb.host.session_options import SessionOptions
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.policy.keys import CellReview, Mode
    from agentnb.ports import StepComparison
    from agentnb.state import MessageAttachment

LOOK_SECONDS = 3.0
"""Seconds that reading the user's objects may take, since their own code runs then."""


class Suggestion(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One thing that can be mentioned.

    Attributes:
        text: What to write after the ``@``.
        kind: ``"variable"``, ``"file"``, ``"folder"`` or ``"cell"``.
        detail: A short description: type and shape, or the first line.
    """

    text: str
    kind: str
    detail: str = ""


class MentionSource(Protocol):
    """Finds what a mention can name. Called on a thread of its own: the user's objects may be slow."""

    def suggest(self, start: str, cwd: Path) -> Sequence[Suggestion]:
        """Returns the things that can be mentioned whose names begin with *start*."""
        ...

    def attach(self, prompt: str, cwd: Path) -> tuple[MessageAttachment, ...]:
        """Returns what *prompt* mentions; unknown names are ignored."""
        ...

    def examples(self) -> tuple[str, ...]:
        """Returns example prompts that fit the user's data, for an empty conversation."""
        ...


class Editors(Protocol):
    """Knows which files are open in an editor, and their unsaved state there."""

    def unsaved(self, path: str) -> Unsaved | None:
        """Returns the file *path* (absolute, resolved) as an editor holds it; None if no unsaved changes are known.

        Called on the host's thread.
        """
        ...

    def was_saved(self, path: str, since: int, until: int) -> bool:
        """True if the file *path*, absolute, was saved between two moments (milliseconds since 1970)."""
        ...

    def was_autosaved(self, path: str, since: int, until: int) -> bool:
        """True if the file *path* was saved between the two moments, each time by the editor itself."""
        ...


class KernelSettings(Protocol):
    """The settings of this kernel. They are read when a session is opened, so a change counts from the next one on."""

    def sources(self) -> Sources:
        """Returns the current settings, and the source of each."""
        ...

    def choose(self, name: str, value: Any) -> None:
        """Set the setting *name* for this kernel only; None removes the kernel's value."""
        ...


class Shell(Protocol):
    """The IPython shell that runs here. Its parts are made at their first use."""

    @property
    def code_runner(self) -> CodeRunner:
        """Runs code in the kernel and knows its variables and its notebook."""
        ...

    @property
    def mentions(self) -> MentionSource:
        """Finds what a prompt mentions with ``@``."""
        ...


class EnvironmentParts(TypedDict, total=False):
    """The parts of an :class:`Environment` that can be connected."""

    attached: Callable[[], bool]
    arrival: Callable[[], Awaitable[bool]]
    editors: Editors | None
    shell: Shell | None
    settings: KernelSettings | None


class Environment:
    """The surroundings of a host.

    Attributes:
        attached: Returns True if a front end is attached; callable from any thread.
        arrival: Waits for a front end that is about to attach; returns True if one is attached then.
        editors: Knows unsaved changes of files.
        shell: Runs code, and finds what a prompt mentions.
        settings: The defaults of new sessions.
        job_queue: Does agents' work on the main thread when the user's own code leaves it free.
        changed: Called, on any thread, after a change of a setting that affects open sessions.
    """

    def __init__(self) -> None:
        self.attached: Callable[[], bool] = lambda: False
        self.arrival: Callable[[], Awaitable[bool]] = _nobody
        self.editors: Editors | None = None
        self.shell: Shell | None = None
        self.settings: KernelSettings | None = None
        self.job_queue: JobQueue = JobQueue()
        self.changed: Callable[[], None] = lambda: None
        self._cell_review: CellReview | None = None
        self._lock = threading.Lock()
        self._cassette: CassetteSwitch | None = None

    @property
    def cassette(self) -> CassetteSwitch:
        """Records what agents say, or replays it (:mod:`agentnb.cassette`); loaded on first use."""
        from agentnb.cassette.switch import CassetteSwitch

        with self._lock:
            if self._cassette is None:
                self._cassette = CassetteSwitch(os.environ)
            return self._cassette

    def connect(self, **parts: Unpack[EnvironmentParts]) -> None:
        """Set *parts*; the others stay as they are."""
        if "settings" in parts:
            self._cell_review = None  # the settings replace it
        for name, part in parts.items():
            setattr(self, name, part)

    def forget_front_end(self) -> None:
        """This process is a fork of the one with the front end, so no front end is attached."""
        self.connect(attached=lambda: False, arrival=_nobody, editors=None)

    async def attended(self) -> bool:
        """True if somebody can answer a question now, or in a moment, since a view may just have been shown."""
        return self.attached() or await self.arrival()

    def code_runner(self) -> CodeRunner | None:
        """The kernel and its notebook; None outside of IPython."""
        return None if self.shell is None else self.shell.code_runner

    def unsaved(self, path: str) -> Unsaved | None:
        return None if self.editors is None else self.editors.unsaved(path)

    def was_saved(self, path: str, since: int, until: int) -> bool:
        return self.editors is not None and self.editors.was_saved(path, since, until)

    def was_autosaved(self, path: str, since: int, until: int) -> bool:
        return self.editors is not None and self.editors.was_autosaved(path, since, until)

    def step_comparison(self, *, is_fork: bool = False) -> StepComparison | None:
        """Returns the comparison of the tables of a turn's steps; None if the settings turn it off."""
        return None if self.sources()["data_checks"].value == "off" else step_comparison(is_fork=is_fork)

    def default_changes(self) -> tuple[bool, bool]:
        """Returns whether the changes of turns are tracked, and whether contents of files with secrets are stored."""
        follows = bool(self._setting("changes")) and (self.sources()["changes"].is_locked or not are_off())
        return follows, bool(self._setting("store_sensitive"))

    def undo_memory(self) -> int:
        """Returns how many bytes the copies of variables may take in each conversation."""
        return int(self._setting("undo_memory") * 1_000_000)

    def default_mcp_servers(self) -> tuple[McpServer, ...]:
        from agentnb.agent.mcp import mcp_servers

        return mcp_servers(self._setting("mcp_servers") or ())

    def default_options(self, spec: AgentSpec, cwd: Path) -> SessionOptions:
        from agentnb.host.session_options import SessionOptions

        confinement = self.default_confinement(spec, cwd)
        return SessionOptions(
            spec=spec,
            cwd=cwd,
            env=self.default_variables(spec.name),
            mcp_servers=self.default_mcp_servers(),
            network=confinement.network,
            is_unasked=confinement.is_unasked,
            kernel_tools=self.default_kernel_access(),
            chain=self.default_components(),
        )

    def default_components(self) -> tuple[str, ...]:
        chain = tuple(self._setting("components"))
        if chain and self.cassette.path() is None:
            from agentnb.configuration.named_things import missing

            if (error := missing("components", chain)) is not None:
                raise type(error)(f"{self.sources()['components'].origin}: {error.message}", hint=error.hint)
        return chain

    def sources(self) -> Sources:
        return read_settings() if self.settings is None else self.settings.sources()

    def _setting(self, name: str) -> Any:
        """The current value of the setting *name*; its default if no settings are connected."""
        return SETTINGS[name].default if self.settings is None else self.settings.sources()[name].value

    def default_workspace(self) -> Path:
        from pathlib import Path

        named = str(self._setting("cwd"))
        if not named:
            return Path.cwd()
        folder = Path(named).expanduser().absolute()
        if not folder.is_dir():
            message = f"{self.sources()['cwd'].origin}: The working folder {named!r} is not a folder."
            raise UsageError(message, hint="Choose another one: `%config Agentnb.cwd`, or in the settings.")
        return folder.resolve()

    def default_mode(self) -> Mode:
        return "ask" if self.settings is None else self.settings.sources().mode

    def default_variables(self, agent: str) -> dict[str, str]:
        """The variables that *agent* gets by default: those set in this kernel."""
        if agent != "local" or self.settings is None:
            return {}
        own = (each for each in self.settings.sources().values.values() if each.setting.group == "local")
        return {each.setting.variable: each.value for each in own if each.is_of_kernel and each.value}

    def cell_review(self) -> CellReview | None:
        """Returns when changes of cells are reviewed; None if only the policy file decides."""
        if self.settings is None:
            return self._cell_review
        review = self.settings.sources()["cell_review"]
        return review.value if review.is_of_kernel else None

    def choose_cell_review(self, review: CellReview) -> None:
        """Set when changes of cells are reviewed; without connected settings, the value is kept for them."""
        if self.settings is None:
            self._cell_review = review
            self.changed()
        else:
            self.settings.choose("cell_review", review)

    def default_confinement(self, spec: AgentSpec, cwd: Path) -> ConfinementChoice:
        """Returns the confinement of an agent, and its network access, if the session itself does not choose.

        While a policy file is unreadable, the agent is confined where that is possible: the file could require it.
        """
        from agentnb.agent.confinement import (
            EVERY,
            checked_confining,
            confinement_choice,
            confining_of,
            is_confined_unasked,
            way_here,
        )
        from agentnb.policy.store import PolicyFiles

        files, setting = PolicyFiles(), str(self.sources().values["confine"].value)
        user, project = files.user, files.project(cwd)
        chosen = {"where possible": None, "on": True, "off": False}.get(setting, checked_confining("no network"))
        described = None if spec.confine is None else checked_confining(spec.confine)
        broken = True if (user.problem or project.problem) and way_here()[0] is not None else None
        choices = [user.confine.get(spec.name, user.confine.get(EVERY)), chosen, described, broken]
        narrowed = confining_of(spec.name, project.confine)
        narrowed = broken if narrowed is None else narrowed
        return confinement_choice(choices, narrowed, unasked=is_confined_unasked(spec.confinement))

    def default_kernel_access(self) -> bool:
        """True if agents have kernel access in sessions that do not choose; always False without IPython.

        With a cassette, True only if a setting says so: each session with access has its own process, but a recording
        of 0.2 has one process for all.
        """
        if self.shell is None or (self.cassette.stands_in and self.sources()["kernel_tools"].source == "default"):
            return False
        return bool(self._setting("kernel_tools"))


async def _nobody() -> bool:
    return False


_CURRENT = Environment()


def current_environment() -> Environment:
    return _CURRENT
