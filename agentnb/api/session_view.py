"""A session, one conversation with one agent: its state, its changes, and its agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.api.arguments import check_text
from agentnb.api.changes import carry_out, changes_of
from agentnb.api.files import SessionFiles
from agentnb.api.waiting import within
from agentnb.errors import SessionClosed, UsageError
from agentnb.host import intents
from agentnb.host.agents.health import Health, examined
from agentnb.host.intents import FROM_PYTHON, Rejected
from agentnb.state import XConfigOptionChosen, XModeChanged

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Coroutine, Mapping

    from agentnb.api.changes import Change, ChangeTable, Choice
    from agentnb.host.conversation import Conversation
    from agentnb.state import Action, ChatState, SessionState

T = TypeVar("T")


class SessionView:
    """The state of a session, its changes, and its agent."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @property
    def tab_id(self) -> str:
        """The tab's id, a UUID; the last part of the session's channel."""
        return self._conversation.tab_id

    @property
    def agent(self) -> str:
        """The agent's name in the catalogue."""
        return self._conversation.spec.name

    @property
    def title(self) -> str:
        """The session's title."""
        return self._conversation.session.state.title

    @property
    def closed(self) -> bool:
        """True if the session is closed."""
        return self._conversation.closed

    @property
    def read_only(self) -> str | None:
        """Returns why the session is read-only, as found by :func:`agentnb.resume`; None if it can be continued."""
        barred = self._conversation.barred
        return None if barred is None else str(barred)

    @property
    def gap(self) -> str | None:
        """Returns what part of the session was lost when the log was damaged, and why; None if nothing was."""
        return self._conversation.chat.gap

    @property
    def state(self) -> SessionState:
        """A frozen snapshot of the session (AHP ``SessionState``)."""
        return self._conversation.session.state

    @property
    def chat(self) -> ChatState:
        """A frozen snapshot of the conversation (AHP ``ChatState``)."""
        return self._conversation.chat.state

    @property
    def queue(self) -> tuple[str, ...]:
        """Returns the texts of the queued prompts, first in line first."""
        return tuple(waiting.message.text for waiting in self.chat.queued_messages or ())

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Returns the prompts that the agent expects you to send next, at most three, the most likely first.

        Empty if the agent suggests nothing (few agents do), and after the next prompt (ACP
        ``prompt_suggestions_update``).

        Example:
            >>> session.suggestions  # doctest: +SKIP
            ('Plot the residuals', 'Run the tests')
        """
        return self.chat.prompt_suggestions or ()

    @property
    def files(self) -> SessionFiles:
        """Returns the files of the session's workspace: ``list``, ``read``, ``diff``."""
        return SessionFiles(self._conversation)

    @property
    def changes(self) -> ChangeTable:
        """Returns everything that the conversation's turns changed, one row for each file, cell or variable.

        Like :attr:`Turn.changes`, but from before the first turn to after the last. While a turn runs, the table has
        only the changes of the turns before it, ``is_known`` is False, and a note says so.

        Example:
            >>> session.changes  # doctest: +SKIP
        """
        return changes_of(self._conversation, None)

    def undo(self, *items: Change | str | os.PathLike[str], choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Undo what the conversation changed: all, or only *items*. Like :meth:`Turn.undo`, but for every turn.

        Example:
            >>> session.undo("fit.py")  # doctest: +SKIP
        """
        return carry_out(self._conversation, "undo", None, items, choices=choices)

    def redo(self, *items: Change | str | os.PathLike[str], choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Redo what was undone: all, or only *items*. Like :meth:`Turn.redo`, but for every turn."""
        return carry_out(self._conversation, "redo", None, items, choices=choices)

    def keep(self, *items: Change | str | os.PathLike[str]) -> ChangeTable:
        """Accept what the conversation changed: all, or only *items*. Like :meth:`Turn.keep`, but for every turn."""
        return carry_out(self._conversation, "keep", None, items)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        from agentnb.server.comm import frontend

        view: tuple[dict[str, Any], dict[str, Any]] | None = frontend.chat_view(self.tab_id)._repr_mimebundle_(**kwargs)
        return view and ({**view[0], "text/plain": repr(self)}, view[1])

    def _display_(self) -> Any:
        """Returns what marimo shows for the session: the chat, on its tab."""
        from agentnb.server.comm import frontend

        return frontend.chat_view(self.tab_id)

    def __repr__(self) -> str:
        return f"<Session {self.title!r} with {self.agent}>"

    def _see_that_it_is_open(self) -> None:
        if self.closed:
            raise SessionClosed(f"The session {self.title!r} is closed.", hint="Start another with agentnb.start().")

    def _do(self, make: Callable[[], Action]) -> None:
        """Do what a click in a view does; raises an error if that is refused.

        Args:
            make: Makes the action, on the host's thread, so that the state cannot change in between.
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        try:
            conversation.host.loop.call(
                lambda: intents.carry_out(conversation.host, conversation.chat.uri, make(), FROM_PYTHON)
            )
        except Rejected as refused:
            raise UsageError(refused.message) from None

    def _ask(self, work: Callable[[Conversation], Coroutine[Any, Any, T]], timeout: float) -> T:
        """Have the agent do *work*, for at most *timeout* seconds; returns the result."""
        self._see_that_it_is_open()
        conversation = self._conversation
        return within(conversation.host, work(conversation), timeout, conversation.spec.title)

    def open(self, timeout: float = 120.0) -> None:
        """Start the agent and open its session before the first prompt; then `session.state` shows what it offers.

        No effect if the session is already open. The chat does this when the user goes to the message box.

        Args:
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started, or needs a login first.

        Example:
            >>> session.open()  # doctest: +SKIP
            >>> [mode.name for mode in session.state.modes.available_modes]  # doctest: +SKIP
            ['Plan', 'Build']
        """
        self._ask(lambda conversation: conversation.ready(), timeout)

    def set_mode(self, mode_id: str, timeout: float = 60.0) -> None:
        """Switch the agent to another mode (`session.state.modes`).

        Args:
            mode_id: The mode's id.
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started, or refuses.
        """
        action = XModeChanged(mode_id=mode_id)
        self._ask(lambda conversation: intents.choose(conversation, action, FROM_PYTHON), timeout)

    def set_model(self, model: str, timeout: float = 60.0) -> None:
        """Switch the agent to another model from the next prompt on.

        Args:
            model: The model's id or its name.
            timeout: Seconds to wait for the agent, at most.

        Raises:
            NotOffered: If the agent does not offer the model; the error names the models offered.
            AgentError: If the agent cannot be started, or refuses.

        Example:
            >>> session.set_model("haiku")  # doctest: +SKIP
        """
        check_text("model", model, example='session.set_model("haiku")')
        self._ask(lambda conversation: intents.choose_model(conversation, model, FROM_PYTHON), timeout)

    def set_option(self, config_id: str, value: str | bool, timeout: float = 60.0) -> None:
        """Set an option of the agent (`session.state.config_options`).

        Args:
            config_id: The option's id.
            value: The new value.
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started, or refuses.
        """
        action = XConfigOptionChosen(config_id=config_id, value=value)
        self._ask(lambda conversation: intents.choose(conversation, action, FROM_PYTHON), timeout)

    def login(self, method: str | None = None, timeout: float = 600.0) -> None:
        """Log in to the agent, with a method that the agent carries out itself (such as a browser window).

        Args:
            method: The method's id or name; not needed if there is only one.
            timeout: Seconds to wait for the login, at most.

        Raises:
            UsageError: If there are several methods and none is named, or it is a command to type, which is named.
            AgentError: If the agent cannot be started, or does not accept the login.
        """
        self._ask(lambda conversation: intents.login(conversation, method), timeout)

    def extension(
        self, method: str, params: Mapping[str, Any] | None = None, *, notify: bool = False, timeout: float = 60.0
    ) -> Any:
        """Call an extension method of the agent, which ACP itself does not define.

        Args:
            method: The method, ``_name/method``: it begins with an underscore.
            params: Its parameters. ``sessionId`` is added if it is missing.
            notify: True to send a notification, which gets no answer.
            timeout: Seconds to wait for the answer, at most.

        Returns:
            The agent's answer, as sent; None with *notify*.

        Raises:
            UsageError: If *method* does not begin with an underscore.
            AgentRefused: If the agent does not know the method, or refuses.
            AgentError: If the agent cannot be started, or does not answer in time.

        Example:
            >>> session.extension("_goose/health")  # doctest: +SKIP
            {'status': 'ok'}
        """
        arguments = dict(params or {})
        return self._ask(
            lambda conversation: intents.extend(conversation, method, arguments, notify=notify, timeout=timeout),
            timeout,
        )

    def on_extension(self, method: str, handler: Callable[[dict[str, Any]], Any] | None) -> None:
        """Answer an extension method that the agent calls; a method without a handler is refused as unknown.

        The agent's extension *notifications* are stored as they came: in the turn, or in ``state.meta``.

        Args:
            method: The method, ``_name/method``.
            handler: A function that gets the parameters, on its own thread, and returns the answer, which must be JSON.
                The agent gets an error if it raises or does not return within 60 seconds. None removes the handler.

        Raises:
            UsageError: If *method* does not begin with an underscore.

        Example:
            >>> session.on_extension("_zoo/feed", lambda params: {"fed": params["animal"]})  # doctest: +SKIP
        """
        self._conversation.host.loop.call(self._conversation.extensions.register, method, handler)

    def health(self) -> Health:
        """Returns the health of the agent's process: its state, age, deaths, silence and last output on stderr."""
        return self._conversation.host.loop.call(examined, self._conversation)

    def restart(self, timeout: float = 60.0) -> None:
        """End the agent's process and start it again; the transcript and the waiting prompts stay.

        The agent resumes the session if it can; if not, its new session gets the transcript.

        Args:
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started.
        """
        self._ask(intents.restart, timeout)
