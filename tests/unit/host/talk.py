"""Conversations with agents that ask for permission, and the user who answers."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.agent.catalog import custom
from agentnb.host import Host
from agentnb.policy.audit import Record
from agentnb.policy.keys import Mode
from agentnb.state import (
    Answerer,
    ChatToolCallConfirmed,
    SystemNotificationResponsePart,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
)
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.kernels import Kernel, host_with_policy

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Ever", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@pytest.fixture
def environment() -> dict[str, str]:
    return {}


@pytest.fixture
def host(tmp_path: Path, environment: dict[str, str]) -> Iterator[Host]:
    """A host with an attached user and its own policy files."""
    host = host_with_policy(tmp_path / "config/policy.toml", tmp_path, environment=environment)
    host.environment.connect(attached=lambda: True)
    yield host
    host.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


class Talk:
    """A session with the agent that sends all requests at once, and the user who answers."""

    def __init__(
        self,
        host: Host,
        work: Path,
        mode: Mode = "ask",
        name: str = "asker",
        script: str = "asks_many",
        *,
        directories: tuple[Path, ...] = (),
        kernel_tools: bool = False,
        command: tuple[str, ...] | None = None,
    ) -> None:
        spec = custom(command or [sys.executable, str(AGENTS / f"{script}.py")], name=name)
        self.host = host
        self.kernel = Kernel(host, work)
        self.conversation = host.loop.call(
            lambda: host.open(spec, cwd=work, mode=mode, directories=directories, kernel_tools=kernel_tools)
        )
        self.session = Session(self.conversation)

    def prompt(self, *requests: Any) -> Turn:
        return self.session.prompt(json.dumps(requests))

    def done(self, turn: Turn) -> list[dict[str, Any]]:
        return [json.loads(line) for line in turn.wait(PATIENCE).text.splitlines()]

    @property
    def open(self) -> list[ToolCallPendingConfirmationState]:
        turn = self.session.chat.active_turn
        calls = (
            [part.tool_call for part in turn.response_parts if isinstance(part, ToolCallResponsePart)] if turn else []
        )
        return [call for call in calls if isinstance(call, ToolCallPendingConfirmationState)]

    def questions(self, count: int = 1) -> list[ToolCallPendingConfirmationState]:
        """Waits until *count* requests are open."""
        requests: list[ToolCallPendingConfirmationState] = self.until(
            lambda: self.open if len(self.open) == count else None
        )
        return requests

    def until(self, find: Callable[[], Any]) -> Any:
        """Waits until *find* finds something."""

        async def wait() -> Any:
            changed = asyncio.Event()
            stop = self.conversation.watch(changed.set)
            try:
                while (item := find()) is None:
                    await asyncio.wait_for(changed.wait(), PATIENCE)
                    changed.clear()
                return item
            finally:
                stop()

        return self.host.loop.submit(wait()).result(PATIENCE)

    def answer(
        self, call: ToolCallPendingConfirmationState, option: str, edited: str | None = None, client: str = "c"
    ) -> None:
        turn = self.session.chat.active_turn
        assert turn is not None
        action = ChatToolCallConfirmed(
            turn_id=turn.id,
            tool_call_id=call.tool_call_id,
            approved=True,
            selected_option_id=option,
            edited_tool_input=edited,
            answered_by=Answerer(kind="rule"),
        )
        self.kernel.act(self.session, action, client)

    def reject(self, turn: Turn) -> list[dict[str, Any]]:
        """Rejects the one open request, and returns the answers to the agent."""
        (call,) = self.questions()
        self.answer(call, "reject")
        return self.done(turn)

    @property
    def log(self) -> list[Record]:
        return [*self.host.policy.audit.records]


NewTalk = Callable[..., Talk]


@pytest.fixture
def new_talk(host: Host, work: Path) -> NewTalk:
    """Begins a conversation in the workspace, or in `cwd`, with `shell` and `settings`; the rest is for `Talk`."""

    def begin(mode: Mode = "ask", *, cwd: Path | None = None, **options: Any) -> Talk:
        parts: Any = {name: options.pop(name) for name in ("shell", "settings") if name in options}
        host.environment.connect(**parts)
        return Talk(host, cwd or work, mode, **options)

    return begin


def write(path: Path, content: str = "new\n") -> list[Any]:
    return ["fs/write_text_file", {"path": str(path), "content": content}]


def run(command: str) -> list[Any]:
    return ["terminal/create", {"command": command}]


def permission(call_id: str, **call: Any) -> list[Any]:
    return ["session/request_permission", {"toolCall": {"toolCallId": call_id, **call}, "options": OPTIONS}]


def ids(call: ToolCallPendingConfirmationState) -> list[str]:
    return [option.id for option in call.options or ()]


def answerers(turn: Turn) -> list[Answerer | None]:
    """Returns who answered each request of *turn*."""
    assert turn.snapshot is not None
    calls = [part.tool_call for part in turn.snapshot.response_parts if isinstance(part, ToolCallResponsePart)]
    return [getattr(call, "answered_by", None) for call in calls]


def notices(turn: Turn) -> list[str]:
    """Returns the notices in *turn*."""
    parts = turn.snapshot.response_parts if turn.snapshot is not None else ()
    return [str(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart)]


def user_policy(tmp_path: Path, text: str, trusted: str = "") -> None:
    """Writes the user's policy file, which trusts the folder *trusted*."""
    (tmp_path / "config").mkdir(exist_ok=True)
    trust = f'\n[trust]\nfolders = ["{trusted}"]\n' if trusted else ""
    (tmp_path / "config/policy.toml").write_text(f"{text}{trust}")
