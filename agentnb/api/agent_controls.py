"""What a session's user can do with its agent: choose, log in, copy, extend, restart, look at its health."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.api.waiting import within
from agentnb.host import intents
from agentnb.host.kept_sessions import forked
from agentnb.state import XConfigOptionChosen, XModeChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentnb.api.session import Session
    from agentnb.host.agents.health import Health
    from agentnb.host.conversation import Conversation


class AgentControls:
    """The half of :class:`agentnb.api.session.Session` that is about its agent."""

    _conversation: Conversation

    def _see_that_it_is_open(self) -> None:
        """See :class:`agentnb.api.session.Session`."""
        raise NotImplementedError

    def open(self, timeout: float = 120.0) -> None:
        """Start the agent and open its session before the first prompt; then `session.state` says what it offers.

        A session that is open is left as it is. In the chat this happens when someone goes to the box to write in.

        Args:
            timeout: Seconds to wait for that, at most.

        Raises:
            AgentError: If it cannot be started, or wants a login first.

        Example:
            >>> session.open()  # doctest: +SKIP
            >>> [mode.name for mode in session.state.modes.available_modes]  # doctest: +SKIP
            ['Plan', 'Build']
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        within(conversation.host, conversation.ready(), timeout, conversation.spec.title)

    def set_mode(self, mode_id: str, timeout: float = 60.0) -> None:
        """Have the agent work in another mode (`session.state.modes`).

        Args:
            mode_id: The mode.
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started, or refuses.
        """
        self._choose(XModeChanged(mode_id=mode_id), timeout)

    def set_option(self, config_id: str, value: str | bool, timeout: float = 60.0) -> None:
        """Have the agent take another value of an option (`session.state.config_options`), such as the model.

        Args:
            config_id: The option.
            value: Its value.
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started, or refuses.
        """
        self._choose(XConfigOptionChosen(config_id=config_id, value=value), timeout)

    def login(self, method: str | None = None, timeout: float = 600.0) -> None:
        """Log in at the agent, in a way that it can do by itself (a browser window, say).

        Args:
            method: The way's id or name; not needed where there is only one.
            timeout: Seconds to wait for that, at most.

        Raises:
            UsageError: If there are several ways and none is named, or it is a command to type, which is named.
            AgentError: If the agent cannot be started, or does not accept the login.
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        within(conversation.host, intents.login(conversation, method), timeout, conversation.spec.title)

    def fork(self, title: str | None = None, timeout: float = 120.0) -> Session:
        """A copy of this session in a tab of its own: what was said, and what the agent knows (ACP ``session/fork``).

        Both go their own ways from here. Answers "for the session" to permission requests are not copied.

        Args:
            title: The copy's title; by default this one's, with "(copy)".
            timeout: Seconds to wait for the agent, at most.

        Raises:
            SessionError: If a turn runs.
            NotOffered: If the agent does not offer it.
            AgentError: If it cannot be started, refuses, or does not answer.

        Example:
            >>> other = session.fork("With a log scale")  # doctest: +SKIP
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        from agentnb.api.session import Session

        return Session(within(conversation.host, forked(conversation, title), timeout, conversation.spec.title))

    def extension(
        self, method: str, params: Mapping[str, Any] | None = None, *, notify: bool = False, timeout: float = 60.0
    ) -> Any:
        """Ask the agent something that ACP leaves to the two sides (extension methods).

        Args:
            method: The method, ``_name/method``: it begins with an underscore.
            params: Its parameters. ``sessionId`` is added where there is none.
            notify: Whether to tell rather than ask: then nobody answers.
            timeout: Seconds to wait for the answer, at most.

        Returns:
            The agent's answer, as sent; None with *notify*.

        Raises:
            UsageError: If *method* does not begin with an underscore.
            AgentRefused: If the agent does not know it, or refuses.
            AgentError: If the agent cannot be started, or does not answer in time.

        Example:
            >>> session.extension("_goose/health")  # doctest: +SKIP
            {'status': 'ok'}
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        work = conversation.extend(method, dict(params or {}), notify=notify, timeout=timeout)
        return within(conversation.host, work, timeout, conversation.spec.title)

    def on_extension(self, method: str, handler: Callable[[dict[str, Any]], Any] | None) -> None:
        """Answer an extension method that the agent calls; one that nobody answers is refused as unknown.

        What the agent tells by extension *notifications* is kept as it came: in the turn, or in ``state.meta``.

        Args:
            method: The method, ``_name/method``.
            handler: Gets the parameters, on a thread of its own; what it returns must be JSON, and is the answer. The
                agent gets an error where it raises, or does not return within 60 seconds. None removes the handler.

        Raises:
            UsageError: If *method* does not begin with an underscore.

        Example:
            >>> session.on_extension("_zoo/feed", lambda params: {"fed": params["animal"]})  # doctest: +SKIP
        """
        self._conversation.host.loop.call(self._conversation.extensions.register, method, handler)

    def health(self) -> Health:
        """How the agent's process is: its state, its age, its deaths, its silence and its last words on stderr."""
        return self._conversation.host.loop.call(self._conversation.health)

    def restart(self, timeout: float = 60.0) -> None:
        """End the agent's process and start it anew; the transcript stays, and so does what waits.

        An agent that can takes the session up again; else the next turn says that it has forgotten.

        Args:
            timeout: Seconds to wait for that, at most.

        Raises:
            AgentError: If it cannot be started.
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        within(conversation.host, intents.restart(conversation), timeout, conversation.spec.title)

    def _choose(self, action: XModeChanged | XConfigOptionChosen, timeout: float) -> None:
        self._see_that_it_is_open()
        conversation = self._conversation
        within(
            conversation.host,
            intents.choose(conversation, action, intents.FROM_PYTHON),
            timeout,
            conversation.spec.title,
        )
