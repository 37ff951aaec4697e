"""Large content by reference: cut on its way to a page, by one rule for states and actions; sent on request.

The inside: the rule meets each kind of content, in generated states and actions.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb import Session
from agentnb.server.window import LIMIT, PREVIEW, content_of, with_references
from agentnb.state import ChatPendingMessageSet as Queued
from agentnb.state import (
    ChatState,
    ChatTurnComplete,
    ChatTurnStarted,
    Envelope,
    Message,
    MessageEmbeddedResourceAttachment,
    PendingMessageKind,
    SimpleMessageAttachment,
    decode,
    decode_action,
    reduce_chat,
    to_json,
)
from tests.unit.server.asking_page import USER, Page, happen

CHAT = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="", turns=())
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
    """Of a text its beginning stays, of data nothing; short content is unchanged."""
    state = after(started(), *tool({"content": [content, CONTENTS[-1]]}))
    cut = with_references(state)
    references = refs(cut)
    assert references
    assert len(str(cut)) < 2 * PREVIEW + 2_000
    first, short = cut["activeTurn"]["responseParts"][0]["toolCall"]["details"]["content"]
    left = {**first, **first.get("block", {}), **first.get("block", {}).get("resource", {})}
    fields = {**content, **content.get("block", {}), **content.get("block", {}).get("resource", {})}
    for field, ref in references.items():
        whole = content_of(state, ref["uri"])
        assert whole.decode() == fields[field]
        assert ref["size"] == len(whole)
        assert left.get(field, "") == ("" if field in ("data", "blob") else fields[field][:PREVIEW])
    assert short == CONTENTS[-1]


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
    page_state = decode(ChatState, page)
    for index, action in enumerate(steps, 1):
        state = reduce_chat(state, action)
        cut_action = with_references(Envelope(channel="eliza:/1/chat", index=index, action=action))["action"]
        page_state = reduce_chat(page_state, decode_action(cut_action))
    assert to_json(page_state) == to_json(decode(ChatState, with_references(state)))


def test_page_fetches_content_in_ranges(page: Page, idle: Session) -> None:
    """Each answer has the whole size; other content in between does no harm, a reference to replaced one is refused."""
    chat = idle.chat.resource
    happen(page.host, idle, started(), *tool({"content": [{"type": "text", "text": LONG * 5}, CONTENTS[2]]}))
    snapshot = page.ask("subscribe", {"channel": chat})["result"]["snapshot"]
    long, picture = refs(snapshot["state"]).values()

    def fetched(uri: str, offset: int, length: int) -> bytes:
        answer = page.ask("fetchContent", {"channel": chat, "uri": uri, "offset": offset, "length": length})
        size = long["size"] if uri == long["uri"] else picture["size"]
        assert answer["result"] == {"uri": uri, "offset": offset, "size": size}
        return bytes(answer["buffers"][0])

    read = b""
    while len(read) < long["size"]:
        read += fetched(long["uri"], len(read), 2**40)
        assert fetched(picture["uri"], 4, 8) == b"QUJDQUJD"
    assert read.decode() == LONG * 5
    assert fetched(long["uri"], 10**9, 10) == b""
    assert page.ask("fetchContent", {"channel": chat, "uri": long["uri"], "offset": -1})["error"]["code"] == -32602
    happen(page.host, idle, tool({"content": CONTENTS[-1:]})[-1])
    for uri in (long["uri"], "x", "agentnb-content:", "agentnb-content:t/x", "file:///etc/passwd"):
        assert page.refused("fetchContent", channel=chat, uri=uri)


def test_data_that_resembles_a_message_stays_unchanged() -> None:
    """An error has a message and no id; an agent's raw data may have any form."""
    for odd in ({"message": "no"}, {"message": "no", "responseParts": []}, {"type": "chat/pendingMessageSet"}):
        assert with_references({"turns": [{"id": "t", "message": {"text": ""}, "responseParts": [odd]}]}) == {
            "turns": [{"id": "t", "message": {"text": ""}, "responseParts": [odd]}]
        }
