"""Previews of permission requests: the card shows the effects, and the turn then names differences."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import ToolCall, Turn
from agentnb.errors import SessionError
from agentnb.state import ToolCallPendingConfirmationState, ToolCallRehearsal
from agentnb.testing import events
from tests.rehearsal_here import needs_namespaces
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import Talk, write
from tests.unit.host.test_kernel_calls import steps
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.rehearsal.conftest import MakeTalk

pytestmark = needs_namespaces
COMMAND = "rm -r build; echo two >> a.txt; echo said; exit 3"


def choose(monkeypatch: pytest.MonkeyPatch, folder: Path, value: str) -> None:
    """Writes the setting to the user's file."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(folder))
    (folder / "settings.toml").write_text(f'rehearse = "{value}"\n')


def question(talk: Talk) -> agentnb.PermissionQuestion:
    """Waits for the one permission request and returns it."""
    talk.questions()
    (open_question,) = talk.session.questions
    assert isinstance(open_question, agentnb.PermissionQuestion)
    return open_question


def previewed(talk: Talk) -> ToolCallRehearsal:
    """Waits for the end of the card's preview and returns it."""

    def find() -> ToolCallRehearsal | None:
        details = [call.details for call in talk.open]
        card_preview = details[0].rehearsal if details and details[0] is not None else None
        return card_preview if card_preview is not None and card_preview.status == "ended" else None

    preview: ToolCallRehearsal = talk.until(find)
    return preview


def the_call(turn: Turn) -> ToolCall:
    """Returns the only tool call of the turn after its end."""
    (call,) = turn.wait(PATIENCE).tool_calls
    return call


def allowed(talk: Talk, turn: Turn, find: Any = lambda each: each) -> ToolCall:
    """Allows the request while this thread, the kernel's, waits for the turn."""
    card: ToolCallPendingConfirmationState = find(talk.open[0])
    option = next(each.id for each in card.options or () if each.option_kind == "allow_once")
    with ThreadPoolExecutor(1) as user:
        done = user.submit(lambda: talk.answer(card, option))
        call = the_call(turn)
        done.result(PATIENCE)
    return call


def test_undo_restores_ignored_files_named_by_the_preview(talk: Talk, work: Path) -> None:
    """They are read before it runs; no tool call names them."""
    (work / ".gitignore").write_text("build/\nout/\n")
    turn = talk.session.prompt("/run rm -r build; echo two > build.txt; mkdir out; echo y > out/y")
    question(talk).preview()
    allowed(talk, turn)
    assert {each.name: (each.status, each.undoable) for each in turn.changes} == {
        "build.txt": ("added", True),
        "build/x.o": ("deleted", True),
        "out/y": ("added", True),
    }
    turn.undo()
    assert (work / "build/x.o").read_text() == "x\n"
    assert [(work / each).exists() for each in ("build.txt", "out")] == [False, False]


def test_command_runs_as_its_preview_showed(talk: Talk, work: Path) -> None:
    """The card has files, output and exit code; nothing happens until the command is allowed, then all of it."""
    turn = talk.session.prompt(f"/run {COMMAND}")
    with events("rehearsal") as rehearsal_events:
        preview = question(talk).preview()
    assert preview.summary == "Would delete build/x.o, change a.txt; fails with exit code 3."
    assert (work / "a.txt").read_text() == "one\n"
    card_preview = previewed(talk)
    assert (card_preview.printed, card_preview.way, card_preview.input) == ("said\n", "namespaces", COMMAND)
    assert {each.path: (each.status, each.added, each.removed) for each in card_preview.files} == {
        "a.txt": ("changed", 1, 0),
        "build/x.o": ("deleted", 0, 1),
    }
    assert "+two" in "".join(each.diff or "" for each in card_preview.files)
    (event,) = rehearsal_events.of("rehearsal.ended")
    assert (event.data["what"], event.data["call"]) == ("command", talk.open[0].tool_call_id)
    call = allowed(talk, turn)
    assert (call.differences, call.exit_code) == ((), 3)
    assert (work / "a.txt").read_text() == "one\ntwo\n"
    assert call.preview == card_preview
    assert [(each.kind, each.outcome, each.by) for each in talk.log] == [
        ("rehearsal", "ask", "preview"),
        ("terminal", "allow", "user"),
    ]
    assert "change a.txt" in talk.log[0].reason


def test_preview_uses_the_command_that_the_user_edited(talk: Talk, work: Path) -> None:
    """The preview of another command is not compared."""
    turn = talk.session.prompt("/run rm a.txt")
    (card,) = talk.questions()
    talk.host.loop.submit(talk.conversation.rehearse(card.tool_call_id, "echo kept")).result(PATIENCE)
    assert (previewed(talk).input, previewed(talk).files) == ("echo kept", ())
    call = allowed(talk, turn)
    assert (call.differences, (work / "a.txt").exists()) == (None, False)


def test_command_run_by_the_agent_is_compared_with_its_preview(talk_with: MakeTalk, work: Path) -> None:
    """An agent with its own shell asks first, and sends the exit code with the result."""
    talk = talk_with("calls_kernel")
    tool_call = {"toolCallId": "c", "title": "touch b", "kind": "execute", "rawInput": {"command": "touch b"}}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "rawOutput": {"exitCode": 1}}
    turn = talk.prompt({"ask": tool_call}, {"write": [str(work / "c"), ""]}, {"update": done})
    assert [each.path for each in question(talk).preview().files] == ["b"]
    assert allowed(talk, turn).differences == (
        "The exit code was 1; the preview showed 0.",
        "c was created, which the preview did not show.",
        "b was not created, although the preview showed it.",
    )


def test_card_without_a_preview_says_why(kernel_talk: Talk, tools: Tools) -> None:
    """The kernel's thread is busy, so no copy is made."""
    turn = kernel_talk.prompt(*steps(["run_code", {"code": "ran = 1"}], {"end": 1}))
    open_question = question(kernel_talk)
    with ThreadPoolExecutor(1) as user:
        preview = user.submit(open_question.preview).result(PATIENCE)  # blocks this thread, which is the kernel's
    card_preview = previewed(kernel_talk)
    assert (preview.available, card_preview.is_available) == (False, False)
    assert card_preview.summary == "No preview: Nothing can run code in this terminal now."
    assert ("ran" in tools.shell.user_ns, len(kernel_talk.session.questions)) == (False, 1)
    open_question.deny()
    the_call(turn)


def test_code_reports_differences_from_its_preview(kernel_talk: Talk, tools: Tools) -> None:
    """Other variables, and an exception that the preview lacked."""
    tools.shell.user_ns.update(xs=[1])
    code = "first = xs[0]\nsecond = 1 / first\nthird = 3"
    turn = kernel_talk.prompt(*steps(["run_code", {"code": code}], {"end": 1}))
    assert question(kernel_talk).preview().error is None
    tools.shell.user_ns["xs"][0] = 0
    assert allowed(kernel_talk, turn).differences == (
        "It failed; the preview showed no error.",
        "The variable second was not added, although the preview showed it.",
        "The variable third was not added, although the preview showed it.",
    )


def test_preview_is_refused_when_the_setting_is_off(talk: Talk, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting takes effect at once; the message names it."""
    choose(monkeypatch, work.parent, "off")
    turn = talk.session.prompt("/run ls")
    open_question = question(talk)
    with pytest.raises(SessionError, match="`rehearse`"):
        open_question.preview()
    open_question.deny()
    assert the_call(turn).preview is None


def test_setting_auto_previews_all_but_dangerous_commands(
    talk: Talk, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command rated high or worse is previewed on demand only."""
    choose(monkeypatch, work.parent, "auto")
    turn = talk.session.prompt("/run echo hello")
    talk.questions()
    assert previewed(talk).printed == "hello\n"
    question(talk).deny()
    the_call(turn)
    turn = talk.session.prompt("/run rm -rf /")
    open_question = question(talk)
    assert (open_question.severity, talk.open[0].details and talk.open[0].details.rehearsal) == ("critical", None)
    open_question.deny()
    the_call(turn)


@contextmanager
def two_gigabytes_more() -> Iterator[None]:
    """Adds 2 GB to this process's size as the system counts it: 64 MB mapped 33 times."""
    size = 64 * 1024**2
    file = os.memfd_create("large")
    os.ftruncate(file, size)
    maps = [mmap.mmap(file, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE) for _ in range(33)]
    try:
        yield
    finally:
        for each in maps:
            each.close()
        os.close(file)


def test_setting_auto_previews_no_code_in_kernels_over_2_gb(
    kernel_talk: Talk, tools: Tools, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying would take too long. This thread, the kernel's, waits for the turn and so could make a copy."""
    choose(monkeypatch, work.parent, "auto")

    def deny() -> None:
        kernel_talk.questions()
        question(kernel_talk).deny()

    with two_gigabytes_more(), ThreadPoolExecutor(1) as user:
        turn = kernel_talk.prompt(*steps(["run_code", {"code": "n = 7"}], {"end": 1}))
        done = user.submit(deny)
        assert the_call(turn).preview is None
        done.result(PATIENCE)
    assert "n" not in tools.shell.user_ns


def test_request_that_runs_nothing_has_no_preview(talk_with: MakeTalk, work: Path) -> None:
    """A written file shows its change anyway."""
    talk = talk_with("asks_many")
    turn = talk.prompt(write(work / "a.txt"))
    open_question = question(talk)
    with pytest.raises(SessionError, match="neither code nor a command"):
        open_question.preview()
    open_question.deny()
    talk.done(turn)
    with pytest.raises(SessionError, match="no longer open"):
        open_question.preview()


def test_code_for_a_new_cell_is_previewed(kernel_talk: Talk) -> None:
    """An inserted cell usually runs; if no page shows the notebook, the tool says so first."""
    tool_call = {"toolCallId": "i1", "title": "mcp__kernel__insert_cell", "kind": "other"}
    turn = kernel_talk.prompt(*steps({"ask": {**tool_call, "rawInput": {"source": "a = 7\na"}}}))
    preview = question(kernel_talk).preview()
    assert (preview.result, [each.name for each in preview.variables]) == ("7", ["a"])
    question(kernel_talk).deny()
    assert the_call(turn).differences is None
