"""Large content by reference: cut on its way to a page, by one rule for states and actions; sent on request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import UsageError
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.server.window import LIMIT, PREVIEW, RANGE, Contents, content_of, with_references
from agentnb.state import ChatPendingMessageSet as Queued
from agentnb.state import (
    ChatState,
    ChatTurnComplete,
    ChatTurnStarted,
    Envelope,
    Message,
    MessageEmbeddedResourceAttachment,
    MessageOrigin,
    PendingMessageKind,
    SimpleMessageAttachment,
    decode_action,
    reduce_chat,
    to_json,
)
from tests.unit.server.test_service import Page

CHAT = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="", turns=())
USER = MessageOrigin(kind="user")
LONG = "ä" * LIMIT
CONTENTS = [
    {"type": "text", "text": LONG},
    {"type": "diff", "path": "a.py", "oldText": LONG, "newText": f"{LONG}!"},
    {"type": "block", "block": {"type": "image", "mimeType": "image/png", "data": "QUJD" * LIMIT}},
    {"type": "block", "block": {"type": "resource", "resource": {"uri": "file:///x", "blob": "QUJD" * LIMIT}}},
    {"type": "text", "text": "short"},
]


def started(**message: Any) -> ChatTurnStarted:
    return ChatTurnStarted(turn_id="t", message=Message(text="hi", origin=USER, **message))


def tool(details: dict[str, Any]) -> list[Any]:
    start = {"type": "chat/toolCallStart", "turnId": "t", "toolCallId": "c", "toolName": "read", "displayName": "R"}
    ready = {"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "c", "invocationMessage": "R"}
    changed = {"type": "x-agentnb/toolCallDetailsChanged", "turnId": "t", "toolCallId": "c", "details": details}
    return [decode_action(action) for action in (start, {**ready, "confirmed": "not-needed"}, changed)]


def after(*actions: Any) -> ChatState:
    state = CHAT
    for action in actions:
        state = reduce_chat(state, action)
    return state


def refs(value: Any) -> dict[str, dict[str, Any]]:
    """Returns every reference in *value*, by its field."""
    references: dict[str, dict[str, Any]] = {}
    if isinstance(value, list):
        for item in value:
            references |= refs(item)
    elif isinstance(value, dict):
        for field, item in value.items():
            if field.endswith("Ref") and isinstance(item, dict):
                references[field.removesuffix("Ref")] = item
            references |= refs(item)
    return references


@pytest.mark.parametrize("content", CONTENTS[:-1], ids=["text", "diff", "image", "resource"])
def test_long_fields_are_cut_and_fetched_whole_by_reference(content: dict[str, Any]) -> None:
    state = after(started(), *tool({"content": [content]}))
    cut = with_references(state)
    references = refs(cut)
    assert references
    assert len(str(cut)) < 2 * PREVIEW + 2_000
    fields = {**content, **content.get("block", {}), **content.get("block", {}).get("resource", {})}
    for field, ref in references.items():
        whole = content_of(state, ref["uri"])
        assert whole.decode() == fields[field]
        assert ref["size"] == len(whole)


def test_cut_text_keeps_its_beginning_and_cut_data_is_empty() -> None:
    cut = with_references(after(started(), *tool({"content": CONTENTS})))
    contents = cut["activeTurn"]["responseParts"][0]["toolCall"]["details"]["content"]
    assert contents[0]["text"] == "ä" * PREVIEW
    assert contents[2]["block"]["data"] == ""
    assert contents[4] == CONTENTS[4]


def test_prompt_attachments_are_referenced_in_queue_and_turn() -> None:
    picture = MessageEmbeddedResourceAttachment(label="p.png", data="QUJD" * LIMIT, content_type="image/png")
    table = SimpleMessageAttachment(label="df", model_representation=LONG)
    message = Message(text="look", origin=USER, attachments=(picture, table))
    queued = after(Queued(kind=PendingMessageKind.QUEUED, id="t", message=message))
    running = after(started(attachments=(picture, table)))
    ended = reduce_chat(running, ChatTurnComplete(turn_id="t"))
    for state in (queued, running, ended):
        references = refs(with_references(state))
        assert set(references) == {"data", "modelRepresentation"}
        assert content_of(state, references["data"]["uri"]) == b"QUJD" * LIMIT
    assert refs(with_references(queued)) == refs(with_references(ended))


def test_reference_to_replaced_content_is_refused() -> None:
    state = after(started(), *tool({"content": CONTENTS[:1]}))
    (ref,) = refs(with_references(state)).values()
    later = after(started(), *tool({"content": CONTENTS[-1:]}))
    with pytest.raises(UsageError, match="no longer contains"):
        content_of(later, ref["uri"])
    for uri in ("", "agentnb-content:", "agentnb-content:t/x", "file:///etc/passwd"):
        with pytest.raises(UsageError):
            content_of(state, uri)


def test_content_is_read_in_ranges() -> None:
    """Of any size; reading other content in between does no harm."""
    state = after(started(), *tool({"content": [{"type": "text", "text": LONG * 5}, CONTENTS[2]]}))
    (long, picture), contents, got = refs(with_references(state)).values(), Contents(), b""
    while True:
        part, size = contents.part(state, long["uri"], len(got), 2**40)
        got += part
        if len(got) == size:
            break
        assert len(part) == RANGE
        assert contents.part(state, picture["uri"], 4, 8) == (b"QUJDQUJD", 4 * LIMIT)
    assert got.decode() == LONG * 5


@given(data=st.data())
def test_reducing_cut_actions_gives_the_cut_state(data: st.DataObject) -> None:
    """Cut states and cut actions agree, in any order of events."""
    state, page = CHAT, to_json(CHAT)
    content = st.lists(st.sampled_from(CONTENTS), max_size=3)
    steps = [started(), *tool({"content": data.draw(content), "rawOutput": data.draw(st.sampled_from([None, LONG]))})]
    steps += tool({"content": data.draw(content)})[2:]
    complete = {
        "type": "chat/toolCallComplete",
        "turnId": "t",
        "toolCallId": "c",
        "result": {"success": True, "pastTenseMessage": "R", "content": data.draw(st.sampled_from([[], CONTENTS[:1]]))},
    }
    steps += [decode_action(complete)] if data.draw(st.booleans()) else []
    steps += [ChatTurnComplete(turn_id="t")] if data.draw(st.booleans()) else []
    from agentnb.state import decode

    page_state = decode(ChatState, page)
    for index, action in enumerate(steps, 1):
        state = reduce_chat(state, action)
        cut_action = with_references(Envelope(channel="eliza:/1/chat", index=index, action=action))["action"]
        page_state = reduce_chat(page_state, decode_action(cut_action))
    assert to_json(page_state) == to_json(decode(ChatState, with_references(state)))


def test_page_fetches_content_in_ranges(host: Host, conversation: Conversation) -> None:
    """Each answer has the whole size."""
    for action in (started(), *tool({"content": CONTENTS[:1]})):
        conversation.host.loop.call(conversation.dispatch, action)
    page = Page(host)
    page.ready()
    chat = conversation.chat.uri
    snapshot = page.ask("subscribe", {"channel": chat})["result"]["snapshot"]
    (ref,) = refs(snapshot["state"]).values()
    read = b""
    while len(read) < ref["size"]:
        params = {"channel": chat, "uri": ref["uri"], "offset": len(read), "length": 50_001}
        answer = page.ask("fetchContent", params)
        assert answer["result"] == {"uri": ref["uri"], "offset": len(read), "size": len(LONG.encode())}
        read += answer["buffers"][0]
    assert read.decode() == LONG
    beyond = page.ask("fetchContent", {"channel": chat, "uri": ref["uri"], "offset": 10**9})
    assert beyond["buffers"][0] == b""
    assert page.ask("fetchContent", {"channel": chat, "uri": ref["uri"], "offset": -1})["error"]["code"] == -32602
    assert "no longer contains" in page.ask("fetchContent", {"channel": chat, "uri": "x"})["error"]["message"]


def test_data_that_resembles_a_message_stays_unchanged() -> None:
    """An error has a message and no id; an agent's raw data may have any form."""
    for odd in ({"message": "no"}, {"message": "no", "responseParts": []}, {"type": "chat/pendingMessageSet"}):
        assert with_references({"turns": [{"id": "t", "message": {"text": ""}, "responseParts": [odd]}]}) == {
            "turns": [{"id": "t", "message": {"text": ""}, "responseParts": [odd]}]
        }
