"""The tabs: this kernel's sessions by the names that ``-t`` and ``%agents`` use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import UnknownSession, UsageError, did_you_mean

if TYPE_CHECKING:
    from agentnb.api.session import Session
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb


class Tabs:
    """The open sessions by name, and the one that ``%agent`` talks to.

    A tab opened here has the name given by ``-t``, else its agent's name; one opened elsewhere (from Python, in the
    chat) also has its agent's name.
    """

    def __init__(self, settings: Agentnb) -> None:
        self.settings = settings
        self._names: dict[str, str] = {}
        self._current: str | None = None

    def all(self) -> dict[str, Session]:
        """The open sessions by name, oldest first."""
        from agentnb.api.session import Session
        from agentnb.host import current_host

        host = current_host()
        sessions = [Session(conversation) for conversation in host.loop.call(lambda: [*host.conversations.values()])]
        open_ids = {session.tab_id for session in sessions}
        self._names = {tab_id: name for tab_id, name in self._names.items() if tab_id in open_ids}
        for session in sessions:
            if session.tab_id not in self._names:
                self._names[session.tab_id] = self._free_name(session.agent)
        return {self._names[session.tab_id]: session for session in sessions}

    @property
    def current(self) -> str | None:
        """The name of the tab that ``%agent`` talks to; None before the first."""
        name = self._names.get(self._current or "")
        return name if name in self.all() else None

    @property
    def cwd(self) -> str | None:
        """The workspace for new tabs; None for the kernel's folder."""
        return self.settings.cwd or None

    def find(self, name: str | None) -> Session:
        """The session called *name*; the current one if *name* is None."""
        tabs = self.all()
        wanted = name or self.current
        if wanted is None:
            raise UnknownSession("No tab is open yet.", hint="`%agent Hello` opens one.")
        if wanted not in tabs:
            hint = f"{did_you_mean(wanted, tabs)}Open tabs: {', '.join(tabs) or 'none'}."
            raise UnknownSession(f"No tab is called {wanted!r}.", hint=hint)
        return tabs[wanted]

    def use(self, name: str) -> Session:
        session = self.find(name)
        self._current = session.tab_id
        return session

    def open(
        self,
        agent: str | None = None,
        name: str | None = None,
        permissions: str | None = None,
        *,
        model: str | None = None,
        freedom: str | None = None,
        kernel: bool = False,
        budget: str | None = None,
    ) -> Session:
        """Open a new tab and make it the current one."""
        if name in self.all():
            raise UsageError(f"A tab is called {name!r} already.", hint="Choose another name, or leave out -n.")
        options = {**self._own(), "kernel_tools": kernel or None, "budget": budget, "model": model}
        if permissions or freedom:
            options |= {"permissions": permissions or "ask", "freedom": freedom}
        session = self._started(agent, title=name, **options)
        self._names[session.tab_id] = name or self._free_name(session.agent)
        self._current = session.tab_id
        return session

    def take_up(self, agent: str | None, session_id: str) -> Session:
        """Open one of an agent's own sessions in a tab, and make that the current one."""
        return self.adopt(self._started(agent, session=session_id, **self._own()))

    def _own(self) -> dict[str, Any]:
        permissions = self.settings.permissions
        freedom = self.settings.freedom if permissions == "ask" else None
        return {"permissions": permissions, "freedom": freedom}

    def copy(self, name: str | None, copied: str | None = None) -> Session:
        """Copy a tab, and make the copy the current one."""
        if copied is not None and copied in self.all():
            raise UsageError(f"A tab is called {copied!r} already.", hint="Choose another name.")
        original = self.find(name)
        session = original.fork(copied)
        if copied is not None:
            self._names[session.tab_id] = copied
        return self.adopt(session)

    def agent_of(self, name: str | None) -> str:
        """*name*, else the agent of the current tab, else the configured one."""
        tabs = self.all()
        if name is None and self.current in tabs:
            return tabs[self.current].agent
        with self.settings.named_agent(name) as named:
            return named

    def _started(self, agent: str | None, **options: Any) -> Session:
        from agentnb.api.start import start

        with self.settings.named_agent(agent) as name:
            return start(name, cwd=self.cwd, mcp_servers=self.settings.mcp_servers or (), **options)

    def adopt(self, session: Session) -> Session:
        """Make a session that was opened elsewhere the current one."""
        self.all()
        self._current = session.tab_id
        return session

    def choose(self, arguments: Arguments) -> Session:
        """The session that a ``%agent`` line means, opened if necessary; it becomes the current one."""
        tabs = {} if arguments.new else self.all()
        name = arguments.tab or (self._latest(tabs, arguments.agent) if arguments.agent else self.current)
        if name is None or name not in tabs:
            return self.open(
                arguments.agent,
                arguments.tab,
                arguments.permissions,
                model=arguments.model,
                freedom=arguments.freedom,
                kernel=arguments.kernel,
                budget=arguments.budget,
            )
        session = tabs[name]
        if arguments.agent not in (None, session.agent):
            raise UsageError(
                f"The tab {name!r} talks to {session.agent}, not to {arguments.agent}.",
                hint="Give another -t, or no -a.",
            )
        if arguments.permissions not in (None, session.permissions):
            raise UsageError(
                f"--permissions works only for a new tab, and the tab {name!r} is already open.",
                hint="Add -n to open a new one, or change it with %agents permissions.",
            )
        if arguments.model is not None:
            session.set_model(arguments.model)
        if arguments.freedom not in (None, session.freedom):
            session.freedom = arguments.freedom
        if arguments.kernel and not session.kernel_tools:
            session.kernel_tools = True
        if arguments.budget not in (None, session.budget):
            session.budget = arguments.budget
        self._current = session.tab_id
        return session

    def close(self, name: str | None) -> str:
        session = self.find(name)
        closed = self._names[session.tab_id]
        session.close()
        return closed

    def name_of(self, session: Session) -> str:
        return self._names.get(session.tab_id, session.agent)

    def _latest(self, tabs: dict[str, Session], agent: str | None) -> str | None:
        current = self.current
        if current in tabs and tabs[current].agent == agent:
            return current
        return next((name for name, session in reversed(tabs.items()) if session.agent == agent), None)

    def _free_name(self, agent: str) -> str:
        taken = set(self._names.values())
        if agent not in taken:
            return agent
        number = 2
        while f"{agent} {number}" in taken:
            number += 1
        return f"{agent} {number}"
