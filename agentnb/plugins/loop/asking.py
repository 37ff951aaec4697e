"""Asks the user at a limit whether the loop is to go on, by a card in a conversation of the loop's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.ids import new_id
from agentnb.plugins.branches.keep import own_conversation
from agentnb.state import (
    ChatInputOption,
    ChatInputRequest,
    ChatInputSingleSelectQuestion,
    ChatResponsePart,
    MarkdownResponsePart,
    Message,
    MessageKind,
    MessageOrigin,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.host import Host
    from agentnb.plugins.loop.limits import Reached

_GO_ON, _STOP, _QUESTION = "go on", "stop", "loop"


async def ask_to_go_on(host: Host, folder: Path, title: str, reached: Reached) -> bool:
    """True if the user lets the loop go on; on the host's thread."""
    conversation = own_conversation(host, folder, title, name="Loop", ended="A loop was paused here.")
    turn_id, origin = new_id(), MessageOrigin(kind=MessageKind.SYSTEM_NOTIFICATION.value)
    await conversation.turns.begin_unprompted(turn_id, Message(text=title, origin=origin))
    options = (ChatInputOption(id=_GO_ON, label=f"Go on (+{reached.more})"), ChatInputOption(id=_STOP, label="Stop"))
    question = ChatInputSingleSelectQuestion(
        id=_QUESTION, message="How should the loop go on?", required=True, options=options
    )
    request = ChatInputRequest(id=new_id(), message=reached.message, questions=(question,))
    text = "Answered in the notebook."
    try:
        answer = await conversation.inputs.put(request)
        goes_on = answer.response == "accept" and answer.values.get(_QUESTION) == _GO_ON
        text = "The loop continues." if goes_on else "The loop has ended."
    finally:
        said = MarkdownResponsePart(id=new_id(), content=text)
        conversation.dispatch(ChatResponsePart(turn_id=turn_id, part=said, time=now_ms()))
        conversation.turns.complete(turn_id)
    return goes_on
