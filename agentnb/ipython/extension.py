"""The IPython extension: what `%load_ext agentnb` adds, and who asked for a cell."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from IPython.core.completer import context_matcher

from agentnb.errors import AgentnbError
from agentnb.host.environment import current_environment
from agentnb.ipython.cell_outputs import is_running_cell
from agentnb.ipython.config import say, settings_of
from agentnb.ipython.connected_shell import connect_shell
from agentnb.ipython.magics import AgentMagics
from agentnb.ipython.rewrite import AWAITED_MAGIC, AgentMagicTransform, awaited
from agentnb.ipython.tabs import Tabs

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.completer import CompletionContext

    from agentnb.configuration.sources import Sources
    from agentnb.ipython.config import Agentnb


class CellRequest:
    """The request that a shell answers, for the cell that runs in each thread."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._requests: dict[int, list[tuple[Any, Any]]] = {}

    def cell_begins(self, _info: Any) -> None:
        kernel = self._shell.kernel
        request = (kernel._parent_ident["shell"], kernel.get_parent("shell"))  # noqa: SLF001 - no public way to it
        self._requests.setdefault(threading.get_ident(), []).append(request)

    def cell_ended(self, _result: Any) -> None:
        """Each cell ends as itself."""
        kernel = self._shell.kernel
        if requests := self._requests.get(threading.get_ident()):
            ident, request = requests.pop()
            if kernel.get_parent("shell") is not request:
                kernel.set_parent(ident, request, channel="shell")


_ATTRIBUTE = "_agentnb_extension"
_TABS = "_agentnb_tabs"
_loading = threading.Lock()  # a cell and the chat may load it at the same time, on two threads


class Extension:
    """Everything that is put into one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell: Any = shell
        self.settings: Agentnb = settings_of(shell)
        self.tabs: Tabs = shell.__dict__.setdefault(_TABS, Tabs(self.settings))
        self.tabs.settings = self.settings  # `%reload_ext` keeps the tabs and the current tab
        self.magics: AgentMagics = AgentMagics(shell, self.settings, self.tabs)
        self._undo = ExitStack()

    def transform(self, lines: list[str]) -> list[str]:
        """The lines of a cell with its ``%agent`` commands awaited, where that is possible."""
        if not _can_await(self.shell):
            return lines
        return awaited("".join(lines)).splitlines(keepends=True)

    def sources(self) -> Sources:
        return self.settings.refresh()

    def choose(self, name: str, value: Any) -> None:
        """Set one in this kernel, as ``%config`` does; None: nothing is said here any more."""
        self.settings.choose(name, value)

    def load(self) -> None:
        shell = self.shell
        shell.register_magics(self.magics)
        self._undo.callback(self._forget_magics)
        self._list(shell.configurables, self.settings)
        self._list(shell.input_transformer_manager.token_transformers, AgentMagicTransform, first=True)
        self._list(shell.input_transformers_post, self.transform)
        if (completer := getattr(shell, "Completer", None)) is not None:
            self._list(completer.custom_matchers, _completer(self))
        self._register("pre_run_cell", self.magics.forget_shown)
        self._register("pre_run_cell", lambda *_: self.settings.refresh())  # the user's file may have changed
        if hasattr(getattr(shell, "kernel", None), "_shell_context"):
            cell_request = CellRequest(shell)
            self._register("pre_run_cell", cell_request.cell_begins)
            self._register("post_run_cell", cell_request.cell_ended)
        connect_shell(shell)
        environment = current_environment()
        chosen = environment.cell_review()  # chosen in a page before the extension was loaded
        environment.connect(settings=self)
        if chosen is not None:
            self.choose("cell_review", chosen)
        self.settings.observe(_settings_changed, names="cell_review")
        formatter = shell.display_formatter.ipython_display_formatter
        formatter.for_type_by_name("agentnb.api.session", "Turn", self.magics.show)
        if os.environ.get("AGENTNB_CASSETTE"):
            environment.cassette.expected()
        if self.settings.warm:
            self.warm()

    def warm(self) -> None:
        """Start the agents of ``c.Agentnb.warm``; one that cannot be is told when it is prompted."""
        from agentnb.api.start import warm

        for name in self.settings.warm:
            try:
                warm(name, cwd=self.settings.cwd or None)
            except AgentnbError as error:
                say(f"{name} is not preloaded: {error}")

    def unload(self) -> None:
        self._undo.close()
        self.settings.unobserve(_settings_changed, names="cell_review")
        current_environment().connect(settings=None)
        from agentnb.api.session import Turn

        formatter = self.shell.display_formatter.ipython_display_formatter
        formatter.pop(Turn, None)
        formatter.pop("agentnb.api.session.Turn", None)

    def _list(self, items: list[Any], item: Any, *, first: bool = False) -> None:
        items.insert(0 if first else len(items), item)
        self._undo.callback(items.remove, item)

    def _register(self, event: str, callback: Callable[..., object]) -> None:
        self.shell.events.register(event, callback)
        self._undo.callback(self.shell.events.unregister, event, callback)

    def _forget_magics(self) -> None:
        for kind in ("line", "cell"):
            for name in ("agent", "agents", "rehearse", AWAITED_MAGIC):
                self.shell.magics_manager.magics[kind].pop(name, None)


def load(shell: Any) -> None:
    """Load the extension into *shell*; nothing happens where it is loaded already."""
    with _loading:
        _load(shell).magics.is_loaded_by_chat = False


def load_for_chat(shell: Any) -> None:
    """Load the extension because the chat is open, unless the user has loaded it, or has taken it out again."""
    with _loading:
        if not hasattr(shell, _TABS):
            _load(shell).magics.is_loaded_by_chat = True


def _load(shell: Any) -> Extension:
    extension: Extension | None = getattr(shell, _ATTRIBUTE, None)
    if extension is None:
        extension = Extension(shell)
        extension.load()
        setattr(shell, _ATTRIBUTE, extension)
    return extension


def unload(shell: Any) -> None:
    """Take the extension out of *shell*; the sessions stay open."""
    extension: Extension | None = shell.__dict__.pop(_ATTRIBUTE, None)
    if extension is not None:
        extension.unload()


def _settings_changed(_: object) -> None:
    current_environment().changed()


def _completer(extension: Extension) -> Any:
    """Completes ``%agent -a <Tab>``, ``@<Tab>`` and ``%agents use <Tab>`` (IPython's matcher interface, version 2)."""

    @context_matcher(identifier="agentnb.agent", priority=100)
    def agent_matcher(context: CompletionContext) -> Any:
        if "%agent" not in context.full_text:
            return {"completions": [], "matched_fragment": "", "suppress": False, "ordered": True}
        from agentnb.ipython.completion_candidates import matches

        return matches(context, extension)

    return agent_matcher


def _can_await(shell: Any) -> bool:
    """True if a cell that *shell* is about to run may be rewritten to await."""
    return (
        getattr(shell, "kernel", None) is not None
        and shell.autoawait
        and str(shell.loop_runner) == "asyncio"
        and not is_running_cell(shell)
    )
