"""Pages that follow another host's conversations, and what tests do and wait for there."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from agentnb import Session
from agentnb.host import current_host
from agentnb.plugins.connect.remote.connecting import RemotePageService, connect_host
from agentnb.plugins.connect.remote.mirrored_host import REMOTE_HOST
from agentnb.server.websocket.projection import state_to_ahp
from agentnb.state import ChatState, ToolCallPendingConfirmationState, ToolCallResponsePart
from tests.unit.server.websocket.attached_page import AttachedPage, MirroringPage
from tests.unit.server.websocket.stranger import Stranger

ROOT = "ahp-root://"
USER = {"kind": "user"}


class RemotePage(AttachedPage):
    """A page that follows the host at an address; this kernel's own host may act as the other one.

    *stranger* is the proxy in between, if there is one.
    """

    def __init__(self, address: str, token: str, stranger: Stranger | None = None) -> None:
        self.stranger = stranger
        self._loop = current_host().loop
        connecting = connect_host(self._loop, address, token, name="there")
        mirror, self._client = self._loop.submit(connecting).result(30)
        self.is_ours, self.version = mirror.form.is_ours, mirror.form.version
        super().__init__(lambda send: RemotePageService(mirror, send))

    def close(self) -> None:
        self._loop.submit(self._client.close()).result(10)

    def until_link(self, state: str) -> dict[str, Any]:
        """Waits until the connection is in that state; returns how the page shows it."""
        root = self.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == state)
        link: dict[str, Any] = root.config.values[REMOTE_HOST]
        return link

    def until_listed(self, *channels: str, but: str = "") -> None:
        """Waits until the page lists these conversations, and not *but*."""

        def listed(root: Any) -> bool:
            resources = {each.resource for each in root.sessions or ()}
            return resources.issuperset(channels) and but not in resources

        self.until(ROOT, listed)


def names(session: Session) -> tuple[str, str]:
    """Returns the channels of the session and its chat."""
    chat = session.chat.resource
    return chat.removesuffix("/chat"), chat


def prompt(page: MirroringPage, chat: str, text: str) -> str:
    """Sends a prompt from the page; returns the turn's id."""
    turn_id = str(uuid.uuid4())
    message = {"text": text, "origin": USER}
    page.dispatch(chat, {"type": "chat/turnStarted", "turnId": turn_id, "message": message})
    return turn_id


def say(page: MirroringPage, chat: str, text: str) -> ChatState:
    """Sends a prompt and waits for its end; returns the chat."""
    state: ChatState = page.until(chat, is_over(prompt(page, chat, text)))
    return state


def asked(page: MirroringPage, chat: str) -> ToolCallPendingConfirmationState:
    """Waits for a permission request."""
    call = waiting_call(page.until(chat, lambda state: waiting_call(state) is not None))
    assert call is not None
    return call


def cancel(page: MirroringPage, chat: str, turn_id: str) -> ChatState:
    """Cancels the turn once it runs; returns the chat."""
    page.until(chat, lambda state: state.active_turn is not None and state.active_turn.id == turn_id)
    page.dispatch(chat, {"type": "chat/turnCancelled", "turnId": turn_id})
    state: ChatState = page.until(chat, is_over(turn_id))
    return state


def waiting_call(chat: ChatState) -> ToolCallPendingConfirmationState | None:
    """Returns the tool call that waits for an answer."""
    parts = () if chat.active_turn is None else chat.active_turn.response_parts
    calls = [part.tool_call for part in parts if isinstance(part, ToolCallResponsePart)]
    return next((call for call in calls if isinstance(call, ToolCallPendingConfirmationState)), None)


def is_over(turn_id: str) -> Callable[[ChatState], bool]:
    return lambda chat: any(turn.id == turn_id for turn in chat.turns)


def ahp_form(chat: ChatState) -> str:
    """Returns AHP's form of a chat, without the time of its last change."""
    value = state_to_ahp(chat)
    return json.dumps({name: item for name, item in value.items() if name != "modifiedAt"}, sort_keys=True)
