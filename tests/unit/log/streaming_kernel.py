"""A kernel that streams for ever and prints, after every batch, how far its log is written."""

from __future__ import annotations

import sys
from pathlib import Path

from agentnb.agent.catalog import find
from agentnb.host import Host
from agentnb.state import ChatDelta, ChatResponsePart, ChatTurnStarted, MarkdownResponsePart, Message, MessageOrigin
from tests.unit.log.kernel import TAB


def main() -> None:
    """Streams, and prints the last index in the file after each batch."""
    host = Host(log=Path(sys.argv[1]))
    assert host.recorder is not None
    conversation = host.loop.call(lambda: host.open(find("eliza"), cwd=Path.cwd(), tab_id=TAB))
    message = Message(text="hi", origin=MessageOrigin(kind="user"))
    host.loop.call(conversation.dispatch, ChatTurnStarted(turn_id="t", message=message))
    part = MarkdownResponsePart(id="p", content="")
    host.loop.call(conversation.dispatch, ChatResponsePart(turn_id="t", part=part))
    while True:
        for _ in range(50):
            number = conversation.chat.index
            host.loop.call(conversation.dispatch, ChatDelta(turn_id="t", part_id="p", content=f"{number} "))
        index = conversation.chat.index
        host.recorder.flush(60)
        print(index, flush=True)  # noqa: T201 - its word to the test


if __name__ == "__main__":
    main()
