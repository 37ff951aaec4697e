"""One conversation: a session's state and its services, put together here and nowhere else."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from agentnb.clock import now_ms
from agentnb.credentials import Credentials
from agentnb.errors import SessionClosed, SessionError
from agentnb.host.agents.agent_events import AgentEvents, Extensions, customizations
from agentnb.host.agents.agent_lifecycle import AgentLifecycle
from agentnb.host.agents.session_opening import Login, SessionOpening
from agentnb.host.agents.tools import KernelTools, PluginTools, tool_session
from agentnb.host.changes.change_tracker import ChangeTracker
from agentnb.host.changes.changeset_channels import ChangesetChannels
from agentnb.host.changes.location import are_off
from agentnb.host.changes.undo import Undo
from agentnb.host.channels import CELL_REVIEW, SessionChannels, session_config
from agentnb.host.history.turn_usage import UsageWatch
from agentnb.host.permissions.asking import AskMode
from agentnb.host.permissions.permissions import Permissions
from agentnb.host.permissions.rehearsals import Rehearsals
from agentnb.host.permissions.session_policy import SessionPolicy
from agentnb.host.turns.inactivity import Inactivity, TurnChecks
from agentnb.host.turns.input_requests import InputRequests
from agentnb.host.turns.message_queue import MentionResolution
from agentnb.host.turns.turn_budget import BUDGET, TurnBudget
from agentnb.host.turns.turns import Turns
from agentnb.kernel.cell_tools import ToolEvents
from agentnb.kernel.changes import KernelChanges
from agentnb.kernel.code_tools import ToolRunner
from agentnb.policy.keys import TITLES, capped
from agentnb.state import SessionCustomizationsChanged, SessionStatus, SessionTitleChanged
from agentnb.state.codec import encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from agentnb.acp.agent import Agent
    from agentnb.agent.catalog import AgentSpec
    from agentnb.errors import AgentnbError
    from agentnb.host.agents.session_opening import ToolServer
    from agentnb.host.channels import Channel, KernelAccess
    from agentnb.host.environment import Environment
    from agentnb.host.host import Host
    from agentnb.host.session_options import Configuration
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.log.record import TurnUsage
    from agentnb.policy.keys import CellReview, Mode
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action, ActionOrigin, ChatState, Message, SessionState, ToolCallState

LOOKS = frozenset({"variables", "inspect"})
"""The kernel tools that show values of the kernel."""
FIRST_LOOK = "{} looks at this kernel's variables. To turn this off: Freedom → Custom… → Kernel."
TITLE_CHARACTERS = 48
NAMING = 20_000  # characters of a prompt that a title is made from; a shorter cut could leave half a key unmasked


class Conversation:
    """The host's side of one session. Everything here runs on the host's thread."""

    Events: ClassVar[type[AgentEvents]] = AgentEvents
    """The listeners to its agent's events."""
    takes_prompts: ClassVar[bool] = True
    """True if agentnb starts its agent: a paired program keeps its own memory."""

    environment: Environment
    changes: ChangeTracker
    kernel: KernelTools | None

    def __init__(
        self,
        host: Host,
        configuration: Configuration,
        *,
        tab_id: str,
        mode: Mode = "ask",
        title: str | None = None,
        tools: ToolServer | None = None,
        is_hidden: bool = False,
        environment: Environment | None = None,
    ) -> None:
        self.host = host
        self.environment = environment = environment or host.environment
        self.configuration = configuration
        self.spec: AgentSpec = configuration.spec
        self.cwd: Path = configuration.cwd
        self.tab_id = tab_id
        self.closing: asyncio.TimerHandle | None = None
        self._has_title, self._has_looked = title is not None, False
        wanted, ceiling = mode, host.policy.ceiling(self.cwd)
        mode = capped(mode, ceiling)
        has_kernel = bool(configuration.kernel)
        access: KernelAccess | None = "off" if has_kernel or environment.shell is not None else None
        if has_kernel and not configuration.is_kernel_closed:
            access = "run"
        loop = host.loop
        follows, stores_secrets = environment.default_changes()
        can_be_off = not environment.sources()["changes"].is_locked
        follows = follows and not is_hidden and not (can_be_off and are_off(configuration.env))
        self.channels: SessionChannels = SessionChannels(
            tab_id,
            self.spec,
            self.cwd,
            session_config(
                mode,
                has_kernel_tools=has_kernel,
                access=access,
                review=host.policy.review(self.cwd, environment.cell_review(), mode),
                ceiling=ceiling,
            ),
            title=title,
            listeners=host.listeners,
            changed=partial(host.summarize, self),
            has_changesets=follows,
            is_hidden=is_hidden,
            meta={BUDGET: {"limits": configuration.budget}} if configuration.budget else None,
        )
        self.usage: UsageWatch = self._usage_watch()
        self.policy: SessionPolicy = SessionPolicy(host.policy, self.channels, configuration)
        self.inactivity: Inactivity = Inactivity(self.channels, loop)
        rehearsals = Rehearsals(
            self.channels,
            self.policy,
            environment,
            spawn=loop.spawn,
            variables=configuration.env,
            own=host.stores.own,
        )
        self.permissions: Permissions = Permissions(
            self.channels,
            self.policy,
            environment,
            rehearsals,
            spawn=loop.spawn,
            has_kernel_tools=lambda: self.kernel is not None,
        )
        self.asking: AskMode = AskMode(self.channels, self.spec, configuration.env)
        self.permissions.ran_unasked = self._ran_unasked
        self.inputs: InputRequests = InputRequests(self.channels, environment.attended, self.spec.title)
        self.extensions: Extensions = Extensions()
        self.events: AgentEvents = self.Events(
            self.channels,
            self.inactivity,
            self.permissions,
            self.inputs,
            self.extensions,
            unsaved=environment.unsaved,
            lost=self._lost,
            printed=lambda text: self.lifecycle.look_for_refusals(text),  # noqa: PLW0108 - it is made below
            mode_changed=self._mode_changed,
        )
        self._kernel_changes = KernelChanges(
            tab_id,
            environment.code_runner,
            environment.job_queue,
            comparison=environment.step_comparison,
            limit=environment.undo_memory,
        )
        self._tool_session = tool_session(
            self._authorize_tool,
            environment,
            session=self.channels.session.uri,
            folder=str(self.cwd),
            host=host,
            configuration=configuration,
        )
        self.kernel = KernelTools(environment, self._kernel_changes, self._tool_runner) if has_kernel else None
        self._plugin_tools = PluginTools(self._tool_session)
        login = Login(self.inputs, environment.attended)
        self._telling = asyncio.Lock()
        self.lifecycle: AgentLifecycle = AgentLifecycle(
            self.channels,
            configuration,
            pool=host.agents,
            loop=loop,
            opening=SessionOpening(
                self.channels,
                configuration,
                login=login,
                listener=self.events,
                kernel_tools=tools or self.kernel,
                plugin_tools=None if tools is not None else self._plugin_tools,
            ),
            asking=self.asking,
            opened=self.show_customizations,
        )
        if wanted != mode:
            self.lifecycle.notices.note(f"A policy file limits agents to {TITLES[mode]} here.")
        self.turns: Turns = Turns(
            self.channels,
            self.lifecycle,
            self.inactivity,
            loop,
            login,
            permissions=self.permissions,
            cancel_questions=self._cancel_questions,
        )
        self.turns.checks = TurnChecks(
            self.channels,
            self._tool_session,
            each=configuration.verify,
            setting=lambda: str(environment.sources()["verify"].value),
        )
        self.turns.budget = TurnBudget(
            self.channels,
            lambda: self.usage,
            self.inputs,
            loop,
            environment=environment,
            policy=host.policy,
            cwd=self.cwd,
            agent=self.spec.title,
            recorder=lambda: host.recorder,
            counts=self._keep_usage,
        )
        self.turns.budget.pause = self.turns.pause
        self.channels.watch(self._count_usage)
        self.turns.queue.mentions = MentionResolution(
            self.channels, environment, loop, cwd=self.cwd, resolved=self.turns.queue.pump
        )
        self.changes = self.turns.changes = ChangeTracker(
            self.channels,
            loop,
            host.stores.of(self.cwd, keeps_sensitive=stores_secrets) if follows else None,
            patterns=lambda: self.policy.situation().patterns,
            answered=self.turns.answered,
            environment=environment,
            cwd=self.cwd,
            kernel=self._kernel_changes,
            lifecycle=self.lifecycle,
        )
        self.permissions.look = self.changes.look
        self.policy.is_confined = lambda: self.agent is not None and bool(self.agent.confined)
        self.changesets: ChangesetChannels = ChangesetChannels(self.channels, self.changes, host.listeners)
        self.undo: Undo = Undo(self.changes, self.policy.record_changes)

    # --- its state ---

    @property
    def session(self) -> Channel[SessionState]:
        return self.channels.session

    @property
    def chat(self) -> Channel[ChatState]:
        return self.channels.chat

    @property
    def mode(self) -> Mode:
        return self.channels.mode

    @property
    def is_hidden(self) -> bool:
        """True if no page shows a tab of it now."""
        return bool(self.session.state.status & SessionStatus.IS_ARCHIVED)

    @property
    def closed(self) -> bool:
        return self.lifecycle.closed

    @property
    def barred(self) -> SessionError | None:
        """Returns why the conversation is read-only; None if it can continue."""
        return self.lifecycle.barred

    def dispatch(self, action: Action, origin: ActionOrigin | None = None) -> None:
        self.channels.dispatch(action, origin)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        return self.channels.watch(watcher)

    def tool_call(self, call_id: str) -> ToolCallState | None:
        return self.channels.tool_call(call_id)

    # --- its agent ---

    @property
    def agent(self) -> Agent | None:
        return self.lifecycle.agent

    @property
    def session_id(self) -> str | None:
        """The agent's id of the session, while the agent runs."""
        return self.lifecycle.session_id

    @property
    def previous_session(self) -> str | None:
        """The agent's id of the session that its next start takes up, if there is one."""
        return self.lifecycle.opening.former

    async def ready(self) -> Agent:
        return await self.lifecycle.ready()

    # --- what the user does ---

    def prompt(self, turn_id: str, message: Message, origin: ActionOrigin | None = None, *, look: bool = False) -> bool:
        """Start or queue a turn; returns False if the turn already exists, which is not changed (AHP: idempotent)."""
        if self.closed:
            message_ = f"The session {self.channels.title!r} is closed."
            raise SessionClosed(message_, hint="Start another with agentnb.start().")
        if self.barred is not None:
            raise SessionError(self.barred.message, hint=self.barred.hint)
        if self.channels.knows_turn(turn_id):
            return False
        message = encodable(message)
        self._name_after(message.text)
        self.host.default_agent.used(self.spec.name)
        self.show_review()
        self.show_customizations()
        self.turns.queue.prompt(turn_id, message, origin, look=look)
        return True

    @property
    def review(self) -> CellReview:
        """When changes of cells are reviewed, according to the current settings and policy files."""
        return self.host.policy.review(self.cwd, self.environment.cell_review(), self.mode)

    def show_review(self) -> None:
        """Update when changes of cells are reviewed in the views, if what they show is out of date."""
        displayed, review = self.channels.shown_review, self.review
        if displayed is not None and displayed != review:
            self.channels.configure({CELL_REVIEW: review})

    def show_customizations(self) -> None:
        """Tell clients what the agent is given if that has changed; if it does not run, they are told once it does."""
        configuration = self.configuration
        if self.agent is not None and (configuration.kernel or configuration.chain or configuration.components):
            self.host.loop.spawn(self._tell_customizations())

    def stop_tool_call(self, call_id: str) -> None:
        """Stop the code that the tool call *call_id* runs in the kernel; the turn goes on."""
        call = self.permissions.kernel_calls.call_of(call_id)
        if call is None or self.kernel is None or not self.kernel.stop(call):
            message = "That tool call is not running code in the kernel now."
            raise SessionError(message, hint="A cell that is waiting for another one can be stopped once it runs.")

    async def rehearse(self, call_id: str, edited: str | None = None) -> Rehearsal:
        """Preview the open question on the tool call *call_id*, and wait for the result."""
        self.inactivity.record_activity()
        return await asyncio.shield(self.permissions.rehearse(call_id, edited))

    def restored(self, agent_session: str | None, barred: SessionError | None, usage: Sequence[TurnUsage] = ()) -> None:
        """The session comes from an earlier kernel."""
        self._has_title = True
        self.usage = self._usage_watch(usage)
        self.lifecycle.opening.had(agent_session)
        self.lifecycle.barred = barred

    def unname(self) -> None:
        """Name the tab after its next prompt."""
        self._has_title = False

    async def close(self) -> None:
        """End the running turn, free the agent's session, and stop the agent if nobody else uses it."""
        if self.closed:
            return
        self.lifecycle.closed = True
        if self.host.recorder is not None:
            self.host.recorder.closes(self)
        for waiting in self.chat.state.queued_messages or ():
            self.turns.cancel(waiting.id)
        if (active := self.chat.state.active_turn) is not None:
            self.turns.cancel(active.id)
        await self.lifecycle.leave()
        self.extensions.close()
        self._plugin_tools.close()
        if self.kernel is not None:
            self.kernel.close()
        self.host.forget(self)

    def discard(self) -> None:
        """Remove the conversation as it is, so that it can be opened anew."""
        self.lifecycle.closed = True
        self.host.forget(self)

    # --- inside ---

    def _usage_watch(self, earlier: Sequence[TurnUsage] = ()) -> UsageWatch:
        is_free = self.host.environment.cassette.is_replaying
        return UsageWatch(self.channels, earlier, is_free=is_free)

    def _count_usage(self) -> None:
        self.usage.look()
        self.turns.budget.changed()

    def _keep_usage(self) -> None:
        if self.host.recorder is not None:
            self.host.recorder.counts(self)

    async def _tell_customizations(self) -> None:
        async with self._telling:
            asks = self.channels.kernel_access != "off"
            configuration = self.configuration if asks else self.configuration.without_kernel
            rows = await asyncio.to_thread(customizations, configuration, self.environment, asks=asks)
            if rows != (self.session.state.customizations or ()):
                self.dispatch(SessionCustomizationsChanged(customizations=rows))

    def _mode_changed(self) -> None:
        """The agent changed its mode or an option by itself: set it to ask again, and tell the clients."""
        if self.asking.agent_changed():
            self.host.loop.spawn(self.lifecycle.make_ask())
        else:
            self.lifecycle.show_asking()

    def _ran_unasked(self, turn_id: str) -> None:
        """The agent ran something without asking: say so once in the chat."""
        if self.asking.acted() and (unasked := self.lifecycle.acts_unasked) is not None:
            self.channels.say(turn_id, unasked)
            self.lifecycle.show_asking()

    def _tool_runner(self, runner: CodeRunner, takes_pictures: Callable[[], bool]) -> ToolRunner:
        events = ToolEvents(
            authorize=self._authorize_tool,
            interrupted=self._interrupt,
            finished=self._tool_finished,
            access=lambda: self.channels.kernel_access,
            progressed=self.permissions.kernel_calls.progressed,
            takes_pictures=takes_pictures,
            show=self.permissions.kernel_calls.show,
        )
        return ToolRunner(
            self.tab_id,
            runner,
            self.environment.job_queue,
            events,
            self._tool_session,
            changes=self._kernel_changes,
        )

    def _cancel_questions(self) -> None:
        """The turn is over: cancel every open permission and input request."""
        self.permissions.cancel_all()
        self.inputs.cancel_all()
        if self.kernel is not None:
            self.kernel.cancel()

    def _lost(self, error: AgentnbError) -> None:
        self._cancel_questions()
        self.lifecycle.lost(error)

    async def _authorize_tool(self, request: PolicyRequest) -> PolicyRequest:
        self.inactivity.record_activity()
        return await self.permissions.authorize(request)

    def _tool_finished(self, call: tuple[str, str], failure: str | None, names: Collection[str] | None) -> None:
        """A kernel tool has ended; if it is the first to look at the kernel, say so once in an attached chat."""
        self.permissions.finished(call, failure, names)
        turn = self.chat.state.active_turn
        is_seen = self.environment.attached()
        if is_seen and not self._has_looked and turn is not None and call[0] in LOOKS:
            self._has_looked = True
            self.channels.say(turn.id, FIRST_LOOK.format(self.spec.title))

    def _interrupt(self) -> None:
        if (active := self.chat.state.active_turn) is not None:
            self.turns.cancel(active.id, hold=True)

    def _name_after(self, text: str) -> None:
        """Name the tab after its first prompt, if it has no title but the agent's name."""
        if self._has_title or self.channels.title != self.spec.title or not text.strip():
            return
        self._has_title = True
        hidden = Credentials({**os.environ, **self.configuration.env}).hidden
        words = " ".join(hidden(text.strip()[:NAMING].split("\n\n")[0]).split())
        title = words if len(words) <= TITLE_CHARACTERS else f"{words[: TITLE_CHARACTERS - 1].rstrip()}…"
        self.dispatch(SessionTitleChanged(title=title, time=now_ms()))
