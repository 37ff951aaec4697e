"""Pure state: the tree, the actions that change it, the reducers, and their form on the wire.

Channels, each with its state, its actions and its reducer, in the words of the Agent Host Protocol (AHP); what ACP has
and AHP lacks is added under ``x-agentnb/``. The last two have reducers, but no host of ours serves them yet:

=========  ====================  =====================  ==============================================
channel    state                 reducer                URI
=========  ====================  =====================  ==============================================
root       `RootState`           `reduce_root`          ``ahp-root://``
session    `SessionState`        `reduce_session`       ``<agent>:/<tab id>``
chat       `ChatState`           `reduce_chat`          ``<agent>:/<tab id>/chat``
terminal   `TerminalState`       `reduce_terminal`
changeset  `ChangesetState`      `reduce_changeset`
=========  ====================  =====================  ==============================================

A reducer takes a state and an action and gives the state after. It has no clock, no ids of its own, no I/O. What an
action does not touch keeps its identity, and an action that changes nothing gives back the very same object. The
view runs the same reducers in TypeScript (``js/src/state``); the JSON cases in ``tests/cases/reducer`` hold the two
together.

Example:
    >>> chat = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="1970-01-01T00:00:00.000Z", turns=())
    >>> hello = Message(text="Hello", origin=MessageOrigin(kind="user"))
    >>> chat = reduce_chat(chat, ChatTurnStarted(turn_id="t", message=hello, time=9999))
    >>> chat.active_turn.id, SessionStatus(chat.status).name
    ('t', 'IN_PROGRESS')
"""

from __future__ import annotations

from agentnb.state.action import *
from agentnb.state.changeset import *
from agentnb.state.chat_actions import *
from agentnb.state.chat_input_state import *
from agentnb.state.chat_message_state import *
from agentnb.state.chat_part_state import *
from agentnb.state.chat_reducer import reduce_chat as reduce_chat
from agentnb.state.chat_state import *
from agentnb.state.chat_tool_actions import *
from agentnb.state.chat_tool_content import *
from agentnb.state.chat_tool_rehearsal import *
from agentnb.state.chat_tool_state import *
from agentnb.state.chat_turn_actions import *
from agentnb.state.chat_turns import find_finished_turn as find_finished_turn
from agentnb.state.chat_turns import find_turn as find_turn
from agentnb.state.chat_turns import finished_turn_index as finished_turn_index
from agentnb.state.codec import decode as decode
from agentnb.state.codec import decode_action as decode_action
from agentnb.state.codec import encode as encode
from agentnb.state.codec import to_json as to_json
from agentnb.state.envelope import *
from agentnb.state.parts import Parts as Parts
from agentnb.state.parts import part_id as part_id
from agentnb.state.root import *
from agentnb.state.session_actions import *
from agentnb.state.session_member_actions import *
from agentnb.state.session_reducer import reduce_session as reduce_session
from agentnb.state.session_state import *
from agentnb.state.status import SessionStatus as SessionStatus
from agentnb.state.terminal import *
from agentnb.state.terminal_views import TerminalView as TerminalView
from agentnb.state.terminal_views import TerminalViews as TerminalViews
from agentnb.state.wire import AgentSelection as AgentSelection
from agentnb.state.wire import ErrorInfo as ErrorInfo
from agentnb.state.wire import JsonObject as JsonObject
from agentnb.state.wire import Markdown as Markdown
from agentnb.state.wire import ModelSelection as ModelSelection
from agentnb.state.wire import StringOrMarkdown as StringOrMarkdown
from agentnb.state.wire import Time as Time
