"""Prompts with mentions keep their place in the queue, can be stopped, and are never lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentnb import Session
from agentnb.state import (
    ActiveTurn,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatTurnCancelled,
    ChatTurnStarted,
    Message,
    MessageAttachment,
    MessageEmbeddedResourceAttachment,
    MessageOrigin,
    MessageResourceAttachment,
    PendingMessageKind,
    SimpleMessageAttachment,
    Turn,
)
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import notices
from tests.unit.host.kernels import Kernel
from tests.unit.kernel.test_output_text import png


class Held:
    """A shell that resolves mentions only when the test allows it; a variable ``bad`` raises."""

    code_runner: Any

    def __init__(self) -> None:
        self.go = Event()
        self.mentions = self
        self.found: tuple[MessageAttachment, ...] | None = None

    def suggest(self, start: str, cwd: Path) -> Sequence[Any]:
        return ()

    def examples(self) -> tuple[str, ...]:
        return ()

    def attach(self, prompt: str, cwd: Path) -> tuple[MessageAttachment, ...]:
        self.go.wait(PATIENCE)
        if "@bad" in prompt:
            raise SystemExit(3)
        if self.found is not None:
            return self.found
        names = [name for name in ("df", "model") if f"@{name}" in prompt]
        return tuple(SimpleMessageAttachment(label=name, model_representation=name) for name in names)


@pytest.fixture
def held(kernel: Kernel) -> Iterator[Held]:
    """Returns the shell that resolves the mentions."""
    source = Held()
    kernel.connect(shell=source)
    yield source
    source.go.set()


def send(kernel: Kernel, session: Session, turn_id: str, text: str, *attached: MessageAttachment) -> None:
    message = Message(text=text, origin=MessageOrigin(kind="user"), attachments=attached or None)
    kernel.act(session, ChatTurnStarted(turn_id=turn_id, message=message))


def change(kernel: Kernel, session: Session, message_id: str, text: str) -> None:
    message = Message(text=text, origin=MessageOrigin(kind="user"))
    kernel.act(session, ChatPendingMessageSet(kind=PendingMessageKind.QUEUED, id=message_id, message=message))


def finished(kernel: Kernel, session: Session, number: int) -> tuple[Turn, ...]:
    kernel.until(session, lambda: len(session.chat.turns) == number)
    return session.chat.turns


def labels(turn: Turn | ActiveTurn) -> list[str]:
    return [each.label for each in turn.message.attachments or ()]


def test_prompts_with_mentions_run_in_the_order_sent(kernel: Kernel, held: Held) -> None:
    """Later prompts from a page or from Python wait behind it."""
    session = kernel.start("echo")
    send(kernel, session, "1", "first @df")
    send(kernel, session, "2", "second")
    session.prompt("third")
    assert session.queue == ("first @df", "second", "third")
    held.go.set()
    turns = finished(kernel, session, 3)
    assert [turn.message.text for turn in turns] == ["first @df", "second", "third"]
    assert [labels(turn) for turn in turns] == [["df"], [], []]


def test_prompt_can_be_stopped_while_its_mentions_resolve(kernel: Kernel, held: Held) -> None:
    """Or removed: it does not run; the prompts behind it do."""
    session = kernel.start("echo")
    for number in ("1", "2"):
        send(kernel, session, number, "first @df")
    send(kernel, session, "3", "second")
    kernel.act(session, ChatTurnCancelled(turn_id="1"))
    kernel.act(session, ChatPendingMessageRemoved(kind=PendingMessageKind.QUEUED, id="2"))
    first, second = finished(kernel, session, 2)
    assert (first.message.text, first.state, first.response_parts) == ("first @df", "cancelled", ())
    assert (second.message.text, second.state) == ("second", "complete")


@pytest.mark.parametrize(
    ("text", "why"), [("look @df", "took more than 0.01 s"), ("look @bad", "looking at it raised SystemExit")]
)
def test_turn_names_a_mention_that_could_not_be_attached(kernel: Kernel, held: Held, text: str, why: str) -> None:
    """The turn runs without it."""
    session = kernel.start("echo")
    if "@bad" in text:
        held.go.set()
    else:
        kernel.hurry(session, mentions=0.01)
    send(kernel, session, "1", text)
    (turn,) = finished(kernel, session, 1)
    assert [why in note for note in notices(session)] == [True]
    assert (turn.state, labels(turn)) == ("complete", [])


def test_mentions_of_an_edited_message_are_resolved_again(kernel: Kernel, held: Held) -> None:
    """It gets its new mentions, keeps attachments made by hand, and loses its old mentions."""
    held.go.set()
    session = kernel.start("slow")
    send(kernel, session, "0", "go")
    kernel.until(session, lambda: session.chat.active_turn is not None)
    send(kernel, session, "1", "see @df", SimpleMessageAttachment(label="picture"))
    attached = lambda: [each.label for each in waiting(session).attachments or ()]  # noqa: E731
    kernel.until(session, lambda: attached() == ["picture", "df"])
    change(kernel, session, "1", "see @model")
    kernel.until(session, lambda: attached() == ["picture", "model"])
    change(kernel, session, "1", "see nothing")
    assert (waiting(session).text, attached()) == ("see nothing", ["picture"])


def waiting(session: Session) -> Message:
    queue = session.chat.queued_messages or ()
    return queue[0].message


def test_closing_drops_prompts_that_wait_for_mentions(kernel: Kernel, held: Held) -> None:
    """No later prompt begins."""
    session = kernel.start("echo")
    send(kernel, session, "1", "first @df")
    send(kernel, session, "2", "second")
    session.close()
    assert (session.chat.turns, session.queue) == ((), ())


def test_turn_names_an_attachment_the_agent_does_not_accept(kernel: Kernel) -> None:
    session = kernel.start("settings")
    picture = MessageEmbeddedResourceAttachment(label="it", data="YSxi", content_type="image/png")
    turn = session.prompt("look", attachments=(picture,)).wait(PATIENCE)
    assert turn.snapshot is not None
    assert "does not accept it, so it got only the name." in str(turn.snapshot.response_parts[0])


CELL = SimpleMessageAttachment(
    label="cell:3",
    display_kind="document",
    model_representation="x" * 4_001,
    meta={"agentnb/leftOut": ["It is cut."]},
)
PICTURE = MessageEmbeddedResourceAttachment(
    label="cell:3 picture 1", display_kind="image", content_type="image/png", data=png(640, 480)
)
FILE = MessageResourceAttachment(label="a.csv", uri="file:///w/a.csv")


def test_page_previews_what_mentions_attach(kernel: Kernel, held: Held) -> None:
    """With the tokens and what is cut; a file has no size. An opened one has the content that the agent gets."""
    held.go.set()
    held.found = (CELL, PICTURE, FILE)
    opened = {"channel": kernel.start("echo").chat.resource, "text": "see @cell:3"}
    document = {"label": "cell:3", "kind": "document", "tokens": 1_001, "leftOut": ["It is cut."], "isTaken": True}
    picture = {"label": "cell:3 picture 1", "kind": "image", "tokens": 409, "leftOut": [], "isTaken": True}
    file = {"label": "a.csv", "kind": "document", "leftOut": [], "isTaken": True}
    assert shown(kernel, **opened) == [document, picture, file]
    assert shown(kernel, **opened, label="cell:3") == [{**document, "text": "x" * 4_001}, picture, file]
    content = {"data": PICTURE.data, "contentType": "image/png"}
    assert shown(kernel, **opened, label=PICTURE.label) == [document, {**picture, **content}, file]


def shown(kernel: Kernel, **params: Any) -> list[dict[str, Any]]:
    """Returns the previews that a page shows."""
    items = kernel.ask("previewMentions", **params)["items"]
    return [{name: value for name, value in each.items() if value is not None} for each in items]
