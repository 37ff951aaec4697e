"""The attachments that the mentions of a draft give, as a page sees them."""

from __future__ import annotations

from agentnb.host.turns.message_queue import previews
from agentnb.kernel.output_text import LEFT_OUT
from agentnb.state import (
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    SimpleMessageAttachment,
    to_json,
)
from tests.unit.kernel.test_output_text import png

CELL = SimpleMessageAttachment(
    label="cell:3", display_kind="document", model_representation="x" * 4_001, meta={LEFT_OUT: ["It is cut."]}
)
PICTURE = MessageEmbeddedResourceAttachment(
    label="cell:3 picture 1", display_kind="image", content_type="image/png", data=png(640, 480)
)
FILE = MessageResourceAttachment(label="a.csv", uri="file:///w/a.csv")


def test_attachment_preview_shows_tokens_and_what_is_cut() -> None:
    """A file has no size: the agent reads it itself."""
    assert to_json(previews([CELL, PICTURE, FILE], None, None)) == [
        {"label": "cell:3", "kind": "document", "tokens": 1_001, "leftOut": ["It is cut."], "isTaken": True},
        {"label": "cell:3 picture 1", "kind": "image", "tokens": 409, "leftOut": [], "isTaken": True},
        {"label": "a.csv", "kind": "document", "leftOut": [], "isTaken": True},
    ]


def test_opened_attachment_preview_has_its_content() -> None:
    """The text or picture that the agent gets."""
    contents = [[one.text, one.data] for one in previews([CELL, PICTURE], None, "cell:3")]
    assert contents == [["x" * 4_001, None], [None, None]]
    assert previews([PICTURE], None, PICTURE.label)[0].data == PICTURE.data
