"""Prompts with mentions keep their place in the queue, can be stopped, and are never lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentnb import Session
from agentnb.host import Host
from agentnb.host.environment import Suggestion
from agentnb.host.intents import carry_out
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
    PendingMessageKind,
    SimpleMessageAttachment,
    SystemNotificationResponsePart,
    Turn,
)
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import CLIENT, Open, hosted, until


class Held:
    """A shell that resolves mentions only when the test allows it; a variable ``bad`` raises."""

    code_runner: Any

    def __init__(self) -> None:
        self.go = Event()
        self.mentions = self

    def suggest(self, start: str, cwd: Path) -> Sequence[Suggestion]:
        return ()

    def examples(self) -> tuple[str, ...]:
        return ()

    def attach(self, prompt: str, cwd: Path) -> tuple[MessageAttachment, ...]:
        self.go.wait(PATIENCE)
        if "@bad" in prompt:
            raise SystemExit(3)
        names = [name for name in ("df", "model") if f"@{name}" in prompt]
        return tuple(SimpleMessageAttachment(label=name, model_representation=name) for name in names)


@pytest.fixture
def held(host: Host) -> Iterator[Held]:
    """Returns the shell that resolves the mentions."""
    source = Held()
    host.environment.connect(shell=source)
    yield source
    source.go.set()


def send(host: Host, session: Session, turn_id: str, text: str, *attached: MessageAttachment) -> None:
    message = Message(text=text, origin=MessageOrigin(kind="user"), attachments=attached or None)
    do(host, session, ChatTurnStarted(turn_id=turn_id, message=message))


def change(host: Host, session: Session, message_id: str, text: str) -> None:
    message = Message(text=text, origin=MessageOrigin(kind="user"))
    do(host, session, ChatPendingMessageSet(kind=PendingMessageKind.QUEUED, id=message_id, message=message))


def do(host: Host, session: Session, action: object) -> None:
    host.loop.call(carry_out, host, session.chat.resource, action, CLIENT)


def finished(host: Host, session: Session, number: int) -> tuple[Turn, ...]:
    until(host, session, lambda: len(session.chat.turns) == number)
    return session.chat.turns


def labels(turn: Turn | ActiveTurn) -> list[str]:
    return [each.label for each in turn.message.attachments or ()]


def notes(turn: Turn) -> list[object]:
    return [part.content for part in turn.response_parts if isinstance(part, SystemNotificationResponsePart)]


def test_prompts_with_mentions_run_in_the_order_sent(host: Host, held: Held, open_session: Open) -> None:
    """Later prompts from a page or from Python wait behind it."""
    session = open_session("echo")
    send(host, session, "1", "first @df")
    send(host, session, "2", "second")
    session.prompt("third")
    assert session.queue == ("first @df", "second", "third")
    held.go.set()
    turns = finished(host, session, 3)
    assert [turn.message.text for turn in turns] == ["first @df", "second", "third"]
    assert [labels(turn) for turn in turns] == [["df"], [], []]


def test_prompt_can_be_stopped_while_its_mentions_resolve(host: Host, held: Held, open_session: Open) -> None:
    """It does not run; the prompts behind it do."""
    session = open_session("echo")
    send(host, session, "1", "first @df")
    send(host, session, "2", "second")
    do(host, session, ChatTurnCancelled(turn_id="1"))
    first, second = finished(host, session, 2)
    assert (first.message.text, first.state, first.response_parts) == ("first @df", "cancelled", ())
    assert (second.message.text, second.state) == ("second", "complete")


def test_prompt_can_be_removed_while_its_mentions_resolve(host: Host, held: Held, open_session: Open) -> None:
    session = open_session("echo")
    send(host, session, "1", "first @df")
    do(host, session, ChatPendingMessageRemoved(kind=PendingMessageKind.QUEUED, id="1"))
    held.go.set()
    send(host, session, "2", "second")
    assert [turn.message.text for turn in finished(host, session, 1)] == ["second"]


@pytest.mark.parametrize(
    ("text", "why"), [("look @df", "took more than 0.01 s"), ("look @bad", "looking at it raised SystemExit")]
)
def test_turn_names_a_mention_that_could_not_be_attached(
    host: Host, held: Held, open_session: Open, text: str, why: str
) -> None:
    """The turn runs without it."""
    session = open_session("echo")
    if "@bad" in text:
        held.go.set()
    else:
        hosted(host, session).turns.queue.mentions.seconds = 0.01
    send(host, session, "1", text)
    (turn,) = finished(host, session, 1)
    assert [why in str(note) for note in notes(turn)] == [True]
    assert (turn.state, labels(turn)) == ("complete", [])


def test_mentions_of_an_edited_message_are_resolved_again(host: Host, held: Held, open_session: Open) -> None:
    """It gets its new mentions, keeps attachments made by hand, and loses its old mentions."""
    held.go.set()
    session = open_session("slow")
    send(host, session, "0", "go")
    until(host, session, lambda: session.chat.active_turn is not None)
    send(host, session, "1", "see @df", SimpleMessageAttachment(label="picture"))
    attached = lambda: [each.label for each in waiting(session).attachments or ()]  # noqa: E731
    until(host, session, lambda: attached() == ["picture", "df"])
    change(host, session, "1", "see @model")
    until(host, session, lambda: attached() == ["picture", "model"])
    change(host, session, "1", "see nothing")
    assert (waiting(session).text, attached()) == ("see nothing", ["picture"])


def waiting(session: Session) -> Message:
    queue = session.chat.queued_messages or ()
    return queue[0].message


def test_closing_drops_prompts_that_wait_for_mentions(host: Host, held: Held, open_session: Open) -> None:
    """No later prompt begins."""
    session = open_session("echo")
    send(host, session, "1", "first @df")
    send(host, session, "2", "second")
    session.close()
    assert (session.chat.turns, session.queue) == ((), ())


def test_turn_names_an_attachment_the_agent_does_not_accept(open_session: Open) -> None:
    session = open_session("settings")
    picture = MessageEmbeddedResourceAttachment(label="it", data="YSxi", content_type="image/png")
    turn = session.prompt("look", attachments=(picture,)).wait(PATIENCE)
    assert turn.snapshot is not None
    assert "does not accept it, so it got only the name." in str(turn.snapshot.response_parts[0])
