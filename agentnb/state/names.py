"""Every name of :mod:`agentnb.state`, as its modules declare them."""

from __future__ import annotations

from agentnb.state.action import *
from agentnb.state.changeset import *
from agentnb.state.chat_actions import *
from agentnb.state.chat_message_state import *
from agentnb.state.chat_part_state import *
from agentnb.state.chat_reducer import find_finished_turn as find_finished_turn
from agentnb.state.chat_reducer import find_turn as find_turn
from agentnb.state.chat_reducer import finished_turn_index as finished_turn_index
from agentnb.state.chat_reducer import reduce_chat as reduce_chat
from agentnb.state.chat_reducer import waiting_requests as waiting_requests
from agentnb.state.chat_state import *
from agentnb.state.chat_tool_content import *
from agentnb.state.chat_tool_state import *
from agentnb.state.codec import decode as decode
from agentnb.state.codec import decode_action as decode_action
from agentnb.state.codec import encode as encode
from agentnb.state.codec import to_json as to_json
from agentnb.state.parts import Parts as Parts
from agentnb.state.parts import part_id as part_id
from agentnb.state.root import *
from agentnb.state.session_actions import *
from agentnb.state.session_reducer import reduce_session as reduce_session
from agentnb.state.session_state import *
from agentnb.state.terminal import *
from agentnb.state.wire import *
