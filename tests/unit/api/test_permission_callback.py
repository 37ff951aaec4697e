"""Permission requests answered by the user's function or by hand."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import PermissionQuestion, PermissionRequest, Session
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]


def questions(session: Session) -> Any:
    """Returns the session's permission requests once there are any."""
    with agentnb.testing.events(name="policy.asked") as heard:
        if not session.questions:
            heard.wait_for("policy.asked", timeout=PATIENCE)
    return session.questions


def test_callback_receives_permission_requests_and_allows_them(start: Start, tmp_path: Path) -> None:
    """Also without a front end: it decides alone."""
    requests: list[PermissionRequest] = []

    def allow(request: PermissionRequest) -> str:
        requests.append(request)
        return "allow"

    session = start(permissions=allow)
    session.prompt("/write notes.txt hello").wait(PATIENCE)
    with agentnb.testing.events(name="policy.decided") as heard:
        turn = session.prompt("/run echo hi").wait(PATIENCE)
    assert [event.data["by"] for event in heard] == ["callback"]
    write, run = requests
    assert (tmp_path / "notes.txt").read_text("utf-8") == "hello\n"
    assert ([Path(path).name for path in write.paths], write.diffs[0].new_text) == (["notes.txt"], "hello\n")
    assert (run.command, run.kind, run.tab_id, run.turn_id) == ("echo hi", "execute", session.tab_id, turn.id)
    assert (turn.tool_calls[0].output, turn.tool_calls[0].exit_code) == ("hi\n", 0)


@pytest.mark.usefixtures("attended")
def test_callback_receives_the_files_that_only_the_input_names(start: Start, tmp_path: Path) -> None:
    """Some agents report no locations; a function that looks at `paths` would else allow anything."""
    seen: list[tuple[str, ...]] = []

    def look(request: PermissionRequest) -> str:
        seen.append(request.paths)
        return "deny"

    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    call = {"toolCallId": "c", "title": "Edit", "kind": "edit", "rawInput": {"file_path": "a.txt"}}
    asking = json.dumps([["session/request_permission", {"toolCall": call, "options": options}]])
    session = start("works", permissions=look)
    session.prompt(asking).wait(PATIENCE)
    session.permissions = "ask"
    turn = session.prompt(asking)
    seen += [question.paths for question in questions(session)]
    turn.cancel()
    assert seen == [(str(tmp_path / "a.txt"),)] * 2


def test_permission_callback_runs_on_its_own_thread(start: Start) -> None:
    """Sync or async: other tabs continue even if it blocks."""
    names, go_on = [], threading.Event()

    def block(_: PermissionRequest) -> str:
        names.append(threading.current_thread().name)
        go_on.wait(PATIENCE)
        return "deny"

    async def wait(_: PermissionRequest) -> str:
        names.append(threading.current_thread().name)
        await asyncio.sleep(0)
        return "allow"

    blocked, other = start(permissions=block), start(permissions=wait)
    waiting = blocked.prompt("/run echo hi")
    try:
        assert "exit code 0" in other.prompt("/run echo hi").wait(PATIENCE).text
    finally:
        go_on.set()
    assert "refused" in waiting.wait(PATIENCE).text
    assert names == ["agentnb-callback"] * 2


class Unprintable:
    """Printing and comparing it raise."""

    def __repr__(self) -> str:
        raise ValueError("no repr")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")

    __hash__ = None  # type: ignore[assignment] # as it cannot be compared


def raising(error: BaseException) -> Callable[[PermissionRequest], str]:
    def fail(_: PermissionRequest) -> str:
        raise error

    return fail


async def failing(_: PermissionRequest) -> str:
    raise ValueError("on purpose")


async def hanging(_: PermissionRequest) -> str:
    await asyncio.Event().wait()
    return "allow"


BAD: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (raising(ValueError("on purpose")), "raised ValueError: on purpose"),
    "exits": (raising(SystemExit(3)), "raised SystemExit"),
    "interrupts": (raising(KeyboardInterrupt()), "raised KeyboardInterrupt"),
    "raises, async": (failing, "raised ValueError: on purpose"),
    "hangs, async": (hanging, "did not answer within 0.2 s"),
    "hangs": (lambda _: threading.Event().wait(PATIENCE), "did not answer within 0.2 s"),
    "None": (lambda _: None, "returned None, not"),
    "a bool": (lambda _: True, "returned True, not"),
    "a word": (lambda _: "perhaps", "returned 'perhaps', not"),
    "an object": (lambda _: Unprintable(), "raised ValueError: no repr"),
    "no arguments": (lambda: "allow", "raised TypeError"),
}


@pytest.mark.parametrize("case", BAD)
def test_failing_callback_denies_the_request_with_the_reason(start: Start, case: str) -> None:
    """The transcript and agent get the reason; the session continues."""
    callback, words = BAD[case]
    session = start(permissions=callback, permission_timeout=0.2 if "hangs" in case else PATIENCE)
    turn = session.prompt("/run echo hi").wait(PATIENCE)
    assert turn.snapshot is not None
    notes = [getattr(part, "content", "") for part in turn.snapshot.response_parts if type(part).__name__[:3] == "Sys"]
    assert any(f"The permissions callback {words}" in str(note) for note in notes), notes
    assert f"denied: the permissions callback {words.split(',')[0]}" in turn.text
    assert session.prompt("/say on").wait(PATIENCE).text == "on"


@pytest.mark.parametrize(
    "command",
    ["rm -rf src", "cat /etc/passwd", "cat .env", "echo 'unclosed"],
    ids=["critical", "outside", "sensitive", "unreadable"],
)
def test_callback_cannot_allow_what_needs_the_user(start: Start, command: str) -> None:
    """Critical or unreadable commands, sensitive and outside files are denied without a user."""
    turn = start(permissions=lambda _: "allow").prompt(f"/run {command}").wait(PATIENCE)
    assert ("refused" in turn.text, "no front end is attached" in turn.text) == (True, True)


@pytest.mark.usefixtures("attended")
def test_user_is_asked_when_the_callback_is_not_enough(start: Start) -> None:
    """Also if the callback leaves it to the user."""
    for callback, command in ((lambda _: "allow", "rm -rf nothing"), (lambda _: "ask", "echo hi")):
        session = start(permissions=callback)
        turn = session.prompt(f"/run {command}")
        (question,) = questions(session)
        assert isinstance(question, PermissionQuestion)
        assert (turn.state, question.command) == ("running", command)
        question.deny()
        assert "refused" in turn.wait(PATIENCE).text


def test_callback_can_answer_with_an_option(start: Start) -> None:
    """By its id, its label, or the option itself."""
    for pick in (lambda each: each.id, lambda each: each.label, lambda each: each):

        def allow(request: PermissionRequest, pick: Any = pick) -> Any:
            return pick(next(each for each in request.options if each.kind == "approve"))

        assert "exit code 0" in start(permissions=allow).prompt("/run echo hi").wait(PATIENCE).text


@pytest.mark.usefixtures("attended")
def test_session_questions_can_be_listed_and_answered(start: Start) -> None:
    """They show as a table; the first answer counts."""
    session = start()
    turn = session.prompt("/run echo hi")
    table = questions(session)
    (question,) = table
    assert isinstance(question, PermissionQuestion)
    assert ("echo hi" in repr(table), "<table>" in table._repr_html_()) == (True, True)
    with pytest.raises(agentnb.UsageError, match=r"'maybe' is not among the options offered\. They are 'allow'"):
        question.answer("maybe")
    question.allow()
    with pytest.raises(agentnb.UsageError, match="answered before"):
        question.deny()
    assert "exit code 0" in turn.wait(PATIENCE).text
    assert (session.questions, repr(session.questions)) == ((), "No open questions.")


def test_permissions_can_be_set_to_a_function_and_back(start: Start) -> None:
    session = start(permissions="deny")
    allow = lambda _: "allow"  # noqa: E731
    session.permissions = allow
    assert session.permissions is allow
    assert "exit code 0" in session.prompt("/run echo hi").wait(PATIENCE).text
    session.permissions = "deny"
    assert session.permissions == "deny"
    assert "refused" in session.prompt("/run echo hi").wait(PATIENCE).text
