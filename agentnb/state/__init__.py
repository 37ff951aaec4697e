"""The pure state: the structs, the actions that change them, the reducers, and their JSON form.

Each channel has its state, its actions and its reducer, named as in the Agent Host Protocol (AHP). ACP data that AHP
lacks is added under ``x-agentnb/``. The last two have reducers, but our host does not serve them yet:

=========  ====================  =====================  ==============================================
channel    state                 reducer                URI
=========  ====================  =====================  ==============================================
root       `RootState`           `reduce_root`          ``ahp-root://``
session    `SessionState`        `reduce_session`       ``<agent>:/<tab id>``
chat       `ChatState`           `reduce_chat`          ``<agent>:/<tab id>/chat``
terminal   `TerminalState`       `reduce_terminal`
changeset  `ChangesetState`      `reduce_changeset`
=========  ====================  =====================  ==============================================

A reducer takes a state and an action and returns the next state. It uses no clock, creates no ids and does no I/O.
Parts that an action does not change keep their identity, and an action that changes nothing returns the very same
object. The view runs the same reducers in TypeScript (``js/src/state``); the JSON cases in ``tests/cases/reducer``
check that both agree.

Example:
    >>> from agentnb.state import ChatState, ChatTurnStarted, Message, MessageOrigin, SessionStatus, reduce_chat
    >>> chat = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="1970-01-01T00:00:00.000Z", turns=())
    >>> hello = Message(text="Hello", origin=MessageOrigin(kind="user"))
    >>> chat = reduce_chat(chat, ChatTurnStarted(turn_id="t", message=hello, time=9999))
    >>> chat.active_turn.id, SessionStatus(chat.status).name
    ('t', 'IN_PROGRESS')
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if not hasattr(sys.modules["agentnb"], "load_ipython_extension"):
    # Another project's `__init__` runs here and wants its own `agentnb/state.py`; this is our first code to run.
    from agentnb.distribution import overwritten

    raise overwritten()

if TYPE_CHECKING:
    from agentnb.state.names import *
else:

    def __getattr__(name: str) -> Any:
        # Load all names at the first use of one, not while this file is loaded: see agentnb/one_at_a_time.py.
        # A module of this package is not such a name; its import loads it.
        is_module = not name[0].isupper() and find_spec(f"{__name__}.{name}") is not None
        names = {} if is_module or name.startswith("__") else vars(import_module("agentnb.state.names"))
        if name not in names:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name)
        return globals().setdefault(name, names[name])
