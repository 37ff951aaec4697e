"""A prompt's attachments: sent as the agent accepts them, or named clearly as left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session
from agentnb.state import SystemNotificationResponsePart
from tests.unit.api.conftest import PATIENCE

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
CONTEXT = {"look": PNG, "scan": b"%PDF-1.7 \xff", "rows": b"a,b\n1,2\n", "x": [1, 2]}


@pytest.mark.parametrize(
    ("capabilities", "kinds", "left_out"),
    [
        ({}, ["text", "text", "text", "text"], ["look", "scan"]),
        ({"image": True}, ["image", "text", "text", "text"], ["scan"]),
        ({"embeddedContext": True}, ["text", "resource", "resource", "resource"], ["look"]),
    ],
    ids=["only text", "pictures", "resources"],
)
def test_attachment_is_sent_as_a_type_the_agent_accepts(
    start: Callable[..., Session], capabilities: dict[str, Any], kinds: list[str], left_out: list[str]
) -> None:
    """Text goes as text, others are named, and the turn says which were left out."""
    session = start("blocks", json.dumps(capabilities))
    turn = session.prompt("look", context=CONTEXT).wait(PATIENCE)
    assert [kind for kind, _ in json.loads(turn.text)] == kinds
    assert turn.snapshot is not None
    notices = [part for part in turn.snapshot.response_parts if isinstance(part, SystemNotificationResponsePart)]
    assert [name for name in CONTEXT if name in str([part.content for part in notices])] == left_out


def test_link_is_sent_as_a_link(start: Callable[..., Session], tmp_path: Path) -> None:
    """ACP's baseline is text and links."""
    (tmp_path / "a.py").write_text("x\n", encoding="utf-8")
    turn = start("blocks", "{}").prompt("look", context=[tmp_path / "a.py"]).wait(PATIENCE)
    assert json.loads(turn.text) == [["resource_link", "text/x-python"]]
