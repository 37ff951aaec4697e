"""Carries out ``%agent``: prompts an agent, shows the turn, and waits for its end."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.display import display

from agentnb.api.unattended import show_at_end
from agentnb.errors import UsageError
from agentnb.host.environment import current_environment
from agentnb.ipython.arguments import parse
from agentnb.ipython.audience import Audience, audience_of, in_notebook, is_unattended
from agentnb.ipython.cell_errors import expanded
from agentnb.ipython.execution import LOOK_SECONDS, look_in_time
from agentnb.ipython.mentions import attachments, represented, scope_of
from agentnb.ipython.notes import say
from agentnb.ipython.record import record, value_record, workspace
from agentnb.ipython.turn_display import display_for
from agentnb.ipython.waiting import await_turn, block_on
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from agentnb.api.session import Turn
    from agentnb.api.unattended import AwaitableWork
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.ipython.tabs import Tabs
    from agentnb.ipython.turn_display import TurnDisplay


class PromptCommand:
    """Prompts agents for the magics of one shell."""

    def __init__(self, shell: Any, settings: Agentnb, tabs: Tabs, shown: set[str]) -> None:
        self.shell = shell
        self.settings = settings
        self.tabs = tabs
        self._shown = shown
        self.look_seconds = LOOK_SECONDS
        self._unshown: set[str] = set()

    def run(self, line: str, cell: str | None) -> Turn | AwaitableWork:
        """Prompt, and hold the thread until the turn, or the batch, ends."""
        arguments = parse(line, cell)
        batch = self._batch(arguments)
        if batch is not None:
            return _begun(batch) if arguments.background else batch.wait()
        turn = self._begin(arguments)
        if arguments.background:
            return self._leave_running(turn)
        view = self._display_for(turn, blocking=True)
        try:
            view.open()
            block_on(turn, view.tick, timeout=self._timeout(arguments))
        except KeyboardInterrupt:
            turn.cancel()  # one that came before or behind the waiting
            raise
        finally:
            view.close()
        return turn.raise_for_error()

    async def run_awaited(self, line: str, cell: str | None) -> Turn | AwaitableWork:
        """Prompt, and await the turn, or the batch: clicks in the page come through meanwhile."""
        arguments = parse(line, cell)
        batch = self._batch(arguments)
        if batch is not None:
            return _begun(batch) if arguments.background else await batch
        turn = self._begin(arguments)
        if arguments.background:
            return self._leave_running(turn)
        view = self._display_for(turn, blocking=False)
        await self._shown_while(turn, view, arguments)
        return turn.raise_for_error()

    def show(self, turn: Turn) -> None:
        """Display *turn* where it is the value of a cell, unless that cell has shown it already."""
        if turn.id not in self._shown:
            if turn.done:
                self._unshown.discard(turn.id)
            display(value_record(turn), raw=True)
        elif audience_of(self.shell) is Audience.TERMINAL:
            sys.stdout.write(f"{turn!r}\n")  # the terminal has printed its "Out[3]: " already

    async def _shown_while(self, turn: Turn, view: TurnDisplay, arguments: Arguments) -> None:
        view.open()
        try:
            await await_turn(
                turn, view.tick, timeout=self._timeout(arguments), kernel=getattr(self.shell, "kernel", None)
            )
        finally:
            view.close()

    def _batch(self, arguments: Arguments) -> AwaitableWork | None:
        """Begin the work of a plug-in whose word comes first; None where an agent is prompted."""
        first = arguments.prompt.split(None, 1)[:1]
        for plugin, word in plugins().offers("prompt_words"):
            if [word.name] == first:
                with plugins().guard(plugin.name, f"`%%agent {word.name}`"):
                    batch: AwaitableWork | None = word.begin(arguments, self.shell, self.settings)
                if batch is not None and arguments.output:
                    self.shell.user_ns[arguments.output] = batch
                return batch
        return None

    def _begin(self, arguments: Arguments) -> Turn:
        session = self.tabs.choose(arguments)
        if not arguments.background:
            current_environment().job_queue.check_can_wait(session.tab_id)
        prompt = expanded(arguments.prompt, self.shell, edits=session.kernel_tools)
        scope = scope_of(self.shell, workspace(session), self._represented)
        attached = attachments(prompt.text, arguments.context, scope)
        turn = session.prompt(
            prompt.text, attachments=attached, verify=arguments.verify, instructions=prompt.instructions
        )
        if arguments.output:
            self.shell.user_ns[arguments.output] = turn
        self._shown.add(turn.id)
        return turn

    def _represented(self, value: Any, name: str) -> str | None:
        """Returns how the agent is shown a variable."""
        try:
            return look_in_time(self.shell, lambda: represented(value, name), self.look_seconds)
        except UsageError as error:
            say(f"@{name} was attached without its value. {error.message} Mention a part of it instead.")
            return f"{name}: {type(value).__name__}. Its value is not shown: {error.message}"

    def _display_for(self, turn: Turn, *, blocking: bool) -> TurnDisplay:
        audience, replaces = audience_of(self.shell), in_notebook(self.shell)
        return display_for(turn, audience, self.settings.view, blocking=blocking, replaces=replaces)

    def _timeout(self, arguments: Arguments) -> float | None:
        alone = self.settings.headless_timeout if is_unattended(self.shell) else None
        return arguments.timeout or self.settings.timeout or alone or None

    def _leave_running(self, turn: Turn) -> Turn:
        """Show *turn* while it goes on behind the next cells: here where a page is there, else in the last cell."""
        view = self._display_for(turn, blocking=False)
        if audience_of(self.shell) is Audience.PAGE and in_notebook(self.shell):
            view.open()
            turn.add_done_callback(lambda _: view.close())
        else:
            name = self.tabs.name_of(turn.session)
            words = f"Runs in the background, in the tab {name!r}. `%agents cancel` stops it, `await turn` waits."
            display({"text/plain": words}, raw=True)
            self._unshown.add(turn.id)
            show_at_end(turn, partial(self._show_unshown, turn))
        return turn

    def _show_unshown(self, turn: Turn) -> None:
        if turn.id in self._unshown:
            self._unshown.discard(turn.id)
            display(record(turn), raw=True)


def _begun(batch: AwaitableWork) -> AwaitableWork:
    show_at_end(batch, partial(display, batch))
    return batch
