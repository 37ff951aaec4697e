"""A prompt's attachments: sent as the agent accepts them, or named clearly as left out."""

from __future__ import annotations

import base64

import pytest

from agentnb.acp.prompt import left_out, prompt_blocks
from agentnb.state import (
    Message,
    MessageEmbeddedResourceAttachment,
    MessageOrigin,
    MessageResourceAttachment,
    SimpleMessageAttachment,
)

DATA = base64.b64encode(b"a,b\n1,2\n").decode()


def embedded(mime: str) -> MessageEmbeddedResourceAttachment:
    return MessageEmbeddedResourceAttachment(label="it", data=DATA, content_type=mime)


@pytest.mark.parametrize(
    ("mime", "capabilities", "kind"),
    [
        ("image/png", {"image": True}, "image"),
        ("audio/wav", {"audio": True}, "audio"),
        ("image/png", {"embeddedContext": True}, "named"),
        ("application/pdf", {"embeddedContext": True}, "resource"),
        ("image/png", {}, "named"),
        ("audio/wav", {"image": True}, "named"),
        ("text/csv", {}, "text"),
    ],
)
def test_attachment_is_sent_as_a_type_the_agent_accepts(mime: str, capabilities: dict[str, bool], kind: str) -> None:
    """Text files fall back to text; others are named."""
    message = Message(text="look", origin=MessageOrigin(kind="user"), attachments=(embedded(mime),))
    blocks = prompt_blocks(message, capabilities)
    assert blocks[0] == {"type": "text", "text": "look"}
    assert blocks[1]["type"] == ("text" if kind == "named" else kind)
    assert left_out(blocks, message) == (["it"] if kind == "named" else [])
    assert ("a,b\n1,2" in str(blocks[1].get("text"))) == (kind == "text")


def test_links_are_sent_as_links_and_context_as_resource_or_text() -> None:
    """ACP's baseline is text and links."""
    link = MessageResourceAttachment(label="a.py", uri="file:///w/a.py", content_type="text/x-python")
    note = SimpleMessageAttachment(label="df", model_representation="3 rows")
    message = Message(text="look", origin=MessageOrigin(kind="user"), attachments=(link, note))
    _, linked, plain = prompt_blocks(message, {})
    assert linked == {"type": "resource_link", "name": "a.py", "uri": "file:///w/a.py", "mimeType": "text/x-python"}
    assert "3 rows" in plain["text"]
    assert prompt_blocks(message, {"embeddedContext": True})[2]["resource"]["text"] == "3 rows"
