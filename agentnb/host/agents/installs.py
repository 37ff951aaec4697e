"""Installs of agents from the chat: run in a terminal that every page sees, checked by the doctor, stopped."""

from __future__ import annotations

import asyncio
import codecs
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.acp.doctor import examine
from agentnb.agent.catalog import find
from agentnb.agent.installation import Installation, InstallEnd
from agentnb.agent.programs import neutral_folder
from agentnb.credentials import Credentials
from agentnb.errors import AgentnbError, PermissionDenied
from agentnb.policy.engine import judge
from agentnb.policy.request import PolicyRequest
from agentnb.policy.situation import Situation
from agentnb.state import AgentSetup, TerminalView

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.loop import HostLoop
    from agentnb.host.permissions.session_policy import HostPolicy
    from agentnb.policy.rules import Outcome
    from agentnb.policy.situation import Verdict

OUTPUT_LIMIT = 16_384
"""Characters of the output that are kept, the last ones."""
FLUSH_SECONDS = 0.25


class Installs:
    """The installs of this host; everything on its thread."""

    def __init__(self, loop: HostLoop, policy: HostPolicy, changed: Callable[[], None]) -> None:
        self.setups: dict[str, AgentSetup] = {}
        self._loop = loop
        self._policy = policy
        self._changed = changed
        self._running: Installation | None = None
        self._name = ""
        self._task: asyncio.Task[None] | None = None

    def start(self, name: str, command: str) -> None:
        """Install an agent: run the very *command* that the user saw and agreed to."""
        spec = find(name)
        if self._running is not None:
            title = find(self._name).title
            raise AgentnbError(f"{title} is being installed.", hint="Wait for it, or stop it.")
        output = _Output(spec, self._loop, lambda text: self._show(name, text))
        installation = Installation(spec, output.add)
        if installation.line != command:
            message = (
                f"The command to install {spec.title} is no longer the one that was shown: it is `{installation.line}`."
            )
            raise AgentnbError(message, hint="Check it, and confirm again.")
        self._authorize(spec, command)
        self._running, self._name = installation, name
        view = TerminalView(id=f"install-{name}", command=command, cwd=str(neutral_folder()))
        self._set(name, AgentSetup(state="running", terminal=view))
        self._task = self._loop.spawn(self._run(spec, installation, output))

    def stop(self, name: str) -> None:
        """Stop the install of an agent; nothing happens where none runs."""
        if self._running is not None and self._name == name:
            self._running.stop()

    async def close(self) -> None:
        """End what runs."""
        if self._running is not None:
            self._running.stop()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self, spec: AgentSpec, installation: Installation, output: _Output) -> None:
        name = spec.name
        try:
            end = await installation.run()
        except (AgentnbError, OSError) as error:
            end = InstallEnd(state="failed", message=f"{spec.title} could not be installed: {error}")
        finally:
            self._running = None
        output.flush()
        terminal = replace(self.setups[name].terminal, exited=True, exit_code=end.exit_code)
        if end.state != "done":
            self._set(name, AgentSetup(state=end.state, message=end.message, terminal=terminal))
            return
        self._set(name, AgentSetup(state="checking", terminal=terminal))
        checkup = await examine(spec)
        works = checkup.state in {"ready", "login"}
        message = " ".join(filter(None, [checkup.message, f"Type: {checkup.todo}" if checkup.todo else ""]))
        self._set(name, AgentSetup(state="done" if works else "failed", message=message, terminal=terminal))

    def _show(self, name: str, text: str) -> None:
        setup = self.setups[name]
        whole = setup.terminal.output + text
        cut = len(whole) > OUTPUT_LIMIT
        terminal = replace(setup.terminal, output=whole[-OUTPUT_LIMIT:], truncated=setup.terminal.truncated or cut)
        self._set(name, replace(setup, terminal=terminal))

    def _set(self, name: str, setup: AgentSetup) -> None:
        self.setups[name] = setup
        self._changed()

    def _authorize(self, spec: AgentSpec, command: str) -> None:
        """The user's click is the answer to the question; a rule that denies the command still does."""
        folder = neutral_folder()
        request = PolicyRequest(kind="terminal", title=f"Install {spec.title}", command=command, path=str(folder))
        files, cwd = self._policy.files, Path.cwd()
        situation = Situation(agent=spec.name, root=folder, user=files.user, project=files.project(cwd))
        verdict = judge(request, situation)
        is_denied = verdict.outcome == "deny"
        self._record(spec, command, verdict, "deny" if is_denied else "allow", "rule" if is_denied else "user")
        if is_denied:
            raise PermissionDenied(f"`{command}` was not run: {verdict.reason}.", hint=verdict.rule)

    def _record(self, spec: AgentSpec, command: str, verdict: Verdict, outcome: Outcome, by: str) -> None:
        self._policy.record(
            agent=spec.name,
            kind="terminal",
            tool="execute",
            what=command,
            outcome=outcome,
            by=by,
            rule=verdict.rule,
            source=verdict.source,
            severity=verdict.severity,
            reason="install of an agent",
        )


class _Output:
    """The output of an installer, as text without secrets, a few times a second."""

    def __init__(self, spec: AgentSpec, loop: HostLoop, show: Callable[[str], None]) -> None:
        self._loop = loop
        self._show = show
        self._credentials = Credentials({**os.environ, **spec.env})
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unsent = ""
        self._flushing: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Take more; what nobody could read any more is dropped."""
        self._unsent = (self._unsent + self._decoder.decode(data))[-2 * OUTPUT_LIMIT :]
        if self._flushing is None:
            self._flushing = self._loop.later(FLUSH_SECONDS, self._flush_lines)

    def flush(self) -> None:
        """Show all that came."""
        if self._flushing is not None:
            self._flushing.cancel()
        text, self._unsent, self._flushing = self._unsent, "", None
        if text:
            self._show(self._credentials.hidden(text))

    def _flush_lines(self) -> None:
        """Show what came; half a line waits a little, for half a credential would not be known as one."""
        self._flushing = None
        end = self._unsent.rfind("\n") + 1 or (len(self._unsent) if len(self._unsent) < OUTPUT_LIMIT else 0)
        lines, self._unsent = self._unsent[:end], self._unsent[end:]
        if lines:
            self._show(self._credentials.hidden(lines))
