"""The kinds of events: the name and fields of each, and how an event is reported.

The words are those of the architecture: an *agent* is a program that runs, a *session* is a tab and what the agent
keeps of it, a *turn* is a prompt and everything that the agent does in response, a *page* is a browser's view of the
kernel.

An event is a record of :mod:`logging`, on the logger ``agentnb.events.CATEGORY``, with the attributes ``category``,
``event`` and ``data``. It is made only if somebody listens: a handler of the user on that logger or above it, whose
level lets it through, or one of ours (:func:`listening`), which changes no level, so other handlers get nothing more.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

from agentnb.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


LOGGER = "agentnb.events"
TEXT = "AGENTNB_EVENTS_TEXT"
"""Environment: if 1, events also contain the texts of messages."""

logging.getLogger(LOGGER).addHandler(logging.NullHandler())  # without a handler, Python prints warnings itself

KINDS: dict[str, Kind] = {}
"""Every kind, by its full name."""

_listeners: list[tuple[logging.Handler, bool]] = []


class Kind:
    def __init__(self, name: str, about: str, /, level: int = logging.INFO, **fields: str) -> None:
        self.name = name
        self.category: str = name.partition(".")[0]
        self.about = about
        self.level = level
        self.fields: Mapping[str, str] = fields
        self._logger = logging.getLogger(f"{LOGGER}.{self.category}")
        KINDS[name] = self

    def tell(self, **data: Any) -> None:
        """It happened; from any thread, and without a cost where nobody listens."""
        is_enabled = self._logger.isEnabledFor(self.level)
        if not is_enabled and not _listeners:
            return
        always = os.environ.get(TEXT) == "1"
        for handler, text in tuple(_listeners):
            _hand(handler, self._record(data, text=text or always))
        if is_enabled:
            _hand(self._logger, self._record(data, text=always))

    def _record(self, data: dict[str, Any], *, text: bool) -> logging.LogRecord:
        visible = {name.lstrip("_"): value for name, value in data.items() if text or not name.startswith("_")}
        clean = _clean({name: value for name, value in visible.items() if value is not None}, Credentials(os.environ))
        words = " ".join(f"{name}={value}" for name, value in clean.items())
        extra = {"category": self.category, "event": self.name, "data": clean}
        return self._logger.makeRecord(
            self._logger.name, self.level, "(agentnb)", 0, "%s", (f"{self.name} {words}".rstrip(),), None, extra=extra
        )


@contextlib.contextmanager
def listening(handler: logging.Handler, *, text: bool = False) -> Iterator[None]:
    """Inside, *handler* gets every event of this process, whatever the levels of the loggers are."""
    listener = (handler, text)
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _hand(to: logging.Handler | logging.Logger, record: logging.LogRecord) -> None:
    """Hand *record* over. What a handler or a filter of the user's raises must not stop what is told of."""
    with contextlib.suppress(Exception):
        to.handle(record)


def _clean(value: Any, credentials: Credentials) -> Any:
    if isinstance(value, str):
        return credentials.hidden_in_command(value)
    if isinstance(value, dict):
        return {name: _clean(item, credentials) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item, credentials) for item in value]
    return value


_AGENT = "the agent's name in the catalogue"
_TAB = "the tab's id"
_TURN = "the turn's id"
_PID = "the process's id"
_CASSETTE = "the cassette's file"
_CLIENT = "the page's id"

PROCESS_STARTED = Kind(
    "process.started", "A program was started: an agent's, or a terminal's.", logging.DEBUG,
    pid=_PID, program="the program",
)  # fmt: skip
PROCESS_ENDED = Kind(
    "process.ended", "A program has ended.", logging.DEBUG,
    pid=_PID, status="its exit status; negative, the signal that killed it",
)  # fmt: skip

AGENT_SPAWNED = Kind("agent.spawned", "The agent's process runs.", agent=_AGENT, pid=_PID)
AGENT_INITIALIZED = Kind(
    "agent.initialized", "The agent has answered ACP `initialize`.",
    agent=_AGENT, pid=_PID, version="the version that it reports",
)  # fmt: skip
AGENT_STOPPED = Kind("agent.stopped", "agentnb stopped the agent and all of its processes.", agent=_AGENT, pid=_PID)
AGENT_DIED = Kind(
    "agent.died", "The agent ended by itself, or could not be started.", logging.WARNING,
    agent=_AGENT, pid=_PID, error="the message",
)  # fmt: skip
AGENT_RESTARTED = Kind(
    "agent.restarted", "A tab's agent runs again after it ended, possibly in an earlier kernel.",
    agent=_AGENT, tab=_TAB, deaths="how many times in a row it died before",
)  # fmt: skip

SESSION_OPENED = Kind("session.opened", "A tab was opened.", tab=_TAB, agent=_AGENT, cwd="its workspace")
SESSION_RESTORED = Kind("session.restored", "A tab of an earlier kernel was read from the log.", tab=_TAB, agent=_AGENT)
SESSION_READY = Kind(
    "session.ready", "The agent has a session for the tab.",
    tab=_TAB, agent=_AGENT, session="the id that the agent gave it", how="`new`, `resumed`, `loaded` or `forked`",
)  # fmt: skip
SESSION_FAILED = Kind(
    "session.failed", "The agent has no session: it did not start, or refused.", logging.WARNING,
    tab=_TAB, agent=_AGENT, error="the message",
)  # fmt: skip
SESSION_CLOSED = Kind("session.closed", "A tab was closed.", tab=_TAB, agent=_AGENT)

TURN_QUEUED = Kind("turn.queued", "A prompt waits behind the running turn.", tab=_TAB, turn=_TURN, _text="the prompt")
TURN_STARTED = Kind("turn.started", "A turn has begun.", tab=_TAB, turn=_TURN, _text="the prompt")
TURN_PROMPTED = Kind("turn.prompted", "The agent was sent the prompt.", tab=_TAB, turn=_TURN)
TURN_STEERED = Kind("turn.steered", "Text was added to the running turn.", tab=_TAB, turn=_TURN, _text="the words")
TURN_ENDED = Kind(
    "turn.ended", "A turn is over.",
    tab=_TAB, turn=_TURN, state="`complete`, `cancelled` or `error`",
    stop_reason="why the agent stopped, in ACP's words", error="what went wrong", milliseconds="how long it took",
)  # fmt: skip

POLICY_ASKED = Kind(
    "policy.asked", "The user is asked for a permission.",
    tab=_TAB, turn=_TURN, call="the tool call's id", severity="its severity", _what="what the agent wants to do",
)  # fmt: skip
POLICY_DECIDED = Kind(
    "policy.decided", "A permission was given or denied.",
    tab=_TAB, turn=_TURN, outcome="`allow` or `deny`", by="who decided, as in the audit log",
    scope="how long the answer holds", rule="the rule, on one line", _what="what the agent wants to do",
)  # fmt: skip
POLICY_UNASKED = Kind(
    "policy.unasked", "An agent ran a tool call without asking, although the permissions are Ask or Deny.",
    tab=_TAB, turn=_TURN, call="the tool call's id", tool="the kind of tool", _what="what the agent did",
)  # fmt: skip

REHEARSAL_ENDED = Kind(
    "rehearsal.ended", "Code or a command was previewed, or could not be.",
    what="`code` or `command`", available="whether a preview was possible", way="`namespaces` or `Landlock`",
    milliseconds="how long it took", tab=_TAB, turn=_TURN,
    call="the tool call that it previews; these three are omitted if you called it yourself",
)  # fmt: skip

PAGE_ATTACHED = Kind("page.attached", "A page has connected.", client=_CLIENT, visible="whether it is visible")
PAGE_VISIBLE = Kind("page.visible", "A page is visible again.", client=_CLIENT)
PAGE_HIDDEN = Kind("page.hidden", "A page is no longer visible; it is sent less.", client=_CLIENT)
PAGE_LEFT = Kind("page.left", "A page says that it is closing or reloading.", client=_CLIENT)
PAGE_GONE = Kind("page.gone", "A page has not responded for a long time and is no longer counted.", client=_CLIENT)
PAGE_RESYNC = Kind(
    "page.resync", "A page missed something and is sent it again.", client=_CLIENT, channels="the channels"
)

CASSETTE_OPENED = Kind(
    "cassette.opened", "An agent's messages are being recorded or replayed.",
    path=_CASSETTE, mode="`record` or `replay`", agent=_AGENT,
)  # fmt: skip
CASSETTE_MATCHED = Kind(
    "cassette.matched", "A prompt matches the recording (reported by the player).",
    path=_CASSETTE, session="the session's number in it", turn="the turn's number in that",
)  # fmt: skip
CASSETTE_MISMATCHED = Kind(
    "cassette.mismatched",
    "Something differs from the recording (reported by the player, and if a turn fails because of it).",
    logging.WARNING, path=_CASSETTE, error="the message",
)  # fmt: skip
CASSETTE_FINISHED = Kind(
    "cassette.finished", "A recording was written, or a player has ended.",
    path=_CASSETTE, mode="`record` or `replay`", turns="how many turns were recorded, or played",
)  # fmt: skip
