"""The default agent, and installing agents."""

from __future__ import annotations

import asyncio
import codecs
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.acp.doctor import examine
from agentnb.agent.catalog import TOUR, find
from agentnb.agent.installation import Installation, InstallEnd
from agentnb.agent.programs import neutral_folder
from agentnb.clock import now_ms
from agentnb.credentials import Credentials, logger
from agentnb.errors import AgentnbError, PermissionDenied
from agentnb.host.channels import AGENT
from agentnb.plugin_registry import plugins
from agentnb.policy.engine import judge
from agentnb.policy.request import PolicyRequest, Situation
from agentnb.site_policy import site_policy
from agentnb.state import AgentInfo, AgentSetup, RootConfigChanged, TerminalView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from logging import Logger

    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.history.recorder import SessionRecorder
    from agentnb.host.host import Host
    from agentnb.host.loop import HostLoop
    from agentnb.host.permissions.session_policy import HostPolicy
    from agentnb.log.store import Which
    from agentnb.ports import AgentReadiness


log: Logger = logger("agentnb.host")

_BUILT_IN = (TOUR, "local")
"""Always installed: the tour is not for real work, and the other needs only a model server."""
_LOOKED_AT = 20
_READY_SECONDS = 5.0


class DefaultAgent:
    """Finds one host's default agent and tells the pages. Call it on the host's thread."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._used_before: list[str] = []
        self._used_here: list[str] = []
        self._reading: asyncio.Task[None] | None = None
        self._not_ready: set[str] = set()

    async def find(self) -> str:
        """Returns the name of the default agent, or '' if there is none."""
        if self._host.recorder is not None:
            self._reading = self._reading or self._host.loop.spawn(self._read(self._host.recorder))
            await asyncio.shield(self._reading)
        await self._find_not_ready()
        self._publish()
        return self.name

    @property
    def name(self) -> str:
        """Like :meth:`find`, but only with what has been read from the log so far."""
        chosen, listed = self._host.environment.sources()["agent"].value, self._host.root.state.agents
        is_listed = any(info.provider == chosen for info in listed)
        if chosen and (is_listed or site_policy().why_not("agents", chosen) is None):
            return str(chosen)
        return next(self._candidates(), "")

    def show(self) -> None:
        """Tell the pages the default agent, now or as soon as the log has been read."""
        if self._host.recorder is None or (self._reading is not None and self._reading.done()):
            self._publish()
        else:
            self._host.loop.spawn(self.find())

    def used(self, name: str) -> None:
        """A message is sent to this agent: it is now the one used last."""
        self._not_ready.discard(name)
        self._used_here.insert(0, name)
        del self._used_here[_LOOKED_AT:]
        self.show()

    async def _read(self, recorder: SessionRecorder) -> None:
        try:
            self._used_before = await asyncio.to_thread(_used, recorder)
        except AgentnbError as error:
            log.warning("The agent used last is not known: %s", error)

    async def _find_not_ready(self) -> None:
        """Check that the agent that would be chosen can work, if there is another one to choose instead."""
        self._not_ready = set()
        name = self.name
        self._not_ready = {name}
        has_other = self.name != name
        self._not_ready = set()
        if has_other and await self._problem(name):
            self._not_ready = {name}

    async def _problem(self, name: str) -> str:
        """Returns why the agent cannot work now, according to plug-ins, or '' if none reports a problem."""
        for plugin, readiness in plugins().offers("readiness"):
            if readiness.name == name:
                env = {**os.environ, **find(name).env, **self._host.environment.default_variables(name)}
                try:
                    return await asyncio.wait_for(_readiness_problem(plugin.name, readiness, env), _READY_SECONDS)
                except (asyncio.TimeoutError, AgentnbError) as error:
                    log.warning("Whether %s could work is not known: %s", name, str(error) or "it took too long")
        return ""

    def _publish(self) -> None:
        name, config = self.name, self._host.root.state.config
        if config is not None and config.values.get(AGENT) != name:
            self._host.root.accept(RootConfigChanged(config={AGENT: name}, time=now_ms()))

    def _candidates(self) -> Iterator[str]:
        """Yields used agents, latest first, then real ones; all are installed and have not failed here.

        An agent that npx or uvx downloads, the tour, and an agent that cannot work now are the default only if they
        were used and no real one is installed.
        """
        listed = [info for info in self._host.root.state.agents if not info.hidden]
        failed = {
            each.spec.name for each in self._host.conversations.values() if each.session.state.lifecycle == "failed"
        }
        installed = {info.provider for info in listed if not info.missing} - failed
        downloaded = {info.provider for info in listed if info.missing and info.runner} - failed
        used = (*self._used_here, *self._used_before)
        real = [name for name in real_agents(listed) if name in installed]
        usable = installed - {TOUR} - self._not_ready if real else installed | downloaded
        yield from (name for name in used if name in usable)
        yield from real


async def _readiness_problem(plugin: str, readiness: AgentReadiness, env: dict[str, str]) -> str:
    with plugins().guard(plugin, "readiness"):
        return await readiness.problem(env)


def _used(recorder: SessionRecorder) -> list[str]:
    """Returns the agents of the logged conversations: those of this notebook first, each group latest first."""
    every: Which = {"limit": _LOOKED_AT}
    return [each.agent for which in (every | recorder.here(), every) for each in recorder.store.sessions(**which)]


def real_agents(infos: Iterable[AgentInfo]) -> Iterator[str]:
    """Returns the names of installed agents that do real work, unlike the built-in ones."""
    return (info.provider for info in infos if not info.missing and info.provider not in _BUILT_IN)


OUTPUT_LIMIT = 16_384
"""Characters kept from the end of the output."""
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
        """Install an agent by running the exact *command* that the user saw and agreed to."""
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
        """Stop the install of an agent; no effect if none runs."""
        if self._running is not None and self._name == name:
            self._running.stop()

    async def close(self) -> None:
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
        """The user's click counts as the answer to the question, but a rule that denies the command still applies."""
        folder = neutral_folder()
        request = PolicyRequest(kind="terminal", title=f"Install {spec.title}", command=command, path=str(folder))
        files, cwd = self._policy.files, Path.cwd()
        situation = Situation(agent=spec.name, root=folder, user=files.user, project=files.project(cwd))
        verdict = judge(request, situation)
        is_denied = verdict.outcome == "deny"
        self._policy.record(
            agent=spec.name,
            kind="terminal",
            tool="execute",
            what=command,
            outcome="deny" if is_denied else "allow",
            by="rule" if is_denied else "user",
            rule=verdict.rule,
            source=verdict.source,
            severity=verdict.severity,
            reason="install of an agent",
        )
        if is_denied:
            raise PermissionDenied(f"`{command}` was not run: {verdict.reason}.", hint=verdict.rule)


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
        """Add output; what exceeds the limit is dropped from its beginning."""
        self._unsent = (self._unsent + self._decoder.decode(data))[-2 * OUTPUT_LIMIT :]
        if self._flushing is None:
            self._flushing = self._loop.later(FLUSH_SECONDS, self._flush_lines)

    def flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
        text, self._unsent, self._flushing = self._unsent, "", None
        if text:
            self._show(self._credentials.hidden(text))

    def _flush_lines(self) -> None:
        """Show whole lines; half a line waits, since half a credential would not be recognized as one."""
        self._flushing = None
        end = self._unsent.rfind("\n") + 1 or (len(self._unsent) if len(self._unsent) < OUTPUT_LIMIT else 0)
        lines, self._unsent = self._unsent[:end], self._unsent[end:]
        if lines:
            self._show(self._credentials.hidden(lines))
