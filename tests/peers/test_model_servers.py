"""`agentnb local` with real model servers from the package index, and a model whose weights are set by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session, Turn, TurnFailed
from tests.conftest import ROOT
from tests.kernel.conftest import kernel
from tests.kernel.running_kernel import RunningKernel

__all__ = ["kernel"]  # the fixture

pytestmark = pytest.mark.peers
PYTHON = ROOT / ".venv-models/bin/python"
PROGRAMS = Path(__file__).parent / "model_servers"
PATIENCE = 300
CONTEXT, SMALL = 16_384, 512
HELLO, STORY = "Hello from a real server.", "Once upon a time there was, and"
CAN = "Tools: yes, images: no, thinking: not known, context: 16,384 tokens."


@dataclass
class Server:
    """A running model server.

    Attributes:
        url: Its base URL.
        process: Its process.
    """

    url: str
    process: subprocess.Popen[str]

    @property
    def place(self) -> str:
        """Host and port."""
        return self.url.removeprefix("http://").removesuffix("/v1")

    @property
    def found_by_port(self) -> dict[str, str]:
        """The variables with which it is found as one at a usual port is."""
        return {"AGENTNB_LOCAL_PORTS": self.place.partition(":")[2]}


@contextmanager
def running(model: Path, context: int) -> Iterator[Server]:
    """A server of *model* that takes *context* tokens in each of two conversations."""
    with subprocess.Popen(
        [PYTHON, PROGRAMS / "llama_cpp.py", model, str(2 * context)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield Server(json.loads(process.stdout.readline())["url"], process)
        process.kill()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write the model; ``plain``: with a chat template without tools."""
    if not PYTHON.exists():
        pytest.skip(f"no model servers: {PYTHON} is missing; `make test-peers` makes it")

    def write(*options: str) -> Path:
        path = tmp_path_factory.mktemp("model") / "tiny.gguf"
        subprocess.run([PYTHON, PROGRAMS / "tiny_model.py", path, *options], check=True)
        return path

    return write


@pytest.fixture(scope="module")
def server(model: Callable[..., Path]) -> Iterator[Server]:
    """llama.cpp's server, with the model."""
    with running(model(), CONTEXT) as started:
        yield started


Chat = Callable[..., Session]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    """Start a session with the model of a server that is found by its port."""
    with ExitStack() as sessions:

        def begin(server: Server, **options: Any) -> Session:
            session = agentnb.start("local", **{"cwd": tmp_path, "env": server.found_by_port, **options})
            sessions.callback(session.close)
            return session

        yield begin


def until_text(turn: Turn, text: str) -> None:
    """Wait until the answer begins with *text*."""
    for _ in turn:
        if turn.text.startswith(text):
            return
    raise AssertionError(f"The turn ended with {turn.text!r}")


@pytest.mark.parametrize("named", [False, True])
def test_check_finds_the_server_and_says_what_its_model_can_do(server: Server, named: bool, tmp_path: Path) -> None:
    """At one of the ports that are looked at, or at its base URL; the second time, it is known."""
    where = {"AGENTNB_LOCAL_URL": server.url} if named else server.found_by_port
    env = {**os.environ, **where, "AGENTNB_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "agentnb", "local", "--check"]
    said = [subprocess.run(command, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout for _ in range(2)]
    assert said[0].splitlines() == [f"llama.cpp at {server.url}: 1 model", "- tiny", f"tiny answers. {CAN}"]
    assert said[1].splitlines()[1] == f"- tiny ({CAN[0].lower()}{CAN[1:-1]})"


KERNEL = """import agentnb, json, os
os.environ.update({variables!r})
session = agentnb.start("local", permissions="allow")
turns = [session.prompt(text).wait({patience}) for text in ("Hi", "PONDER", "READ-IT")]
print(json.dumps([[each.text, each.thoughts, [[c.title, c.status] for c in each.tool_calls]] for each in turns]))"""


@pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)  # it is the same on any
def test_turns_in_a_kernel_have_text_thoughts_and_a_tool_call(server: Server, kernel: RunningKernel) -> None:
    """The server takes tool calls and thoughts out of what the model writes; the file's contents go back to it."""
    (kernel.folder / "numbers.csv").write_text("n\n1\n", encoding="utf-8")
    done = kernel.run(KERNEL.format(variables=server.found_by_port, patience=PATIENCE), timeout=4 * PATIENCE)
    assert done.status == "ok", done.error
    hello, pondered, read = json.loads(done.stdout)
    assert hello[:2] == [HELLO, ""]
    assert [title.partition(": ")[0] for title, _ in hello[2]] == ["tiny"]
    assert pondered == ["Because it is so.", "I wonder.\n", []]
    assert read == ["The file has been read.", "", [["Read `numbers.csv`", "completed"]]]


def test_tokens_are_counted_and_the_context_is_known(server: Server, chat: Chat) -> None:
    """Of each request of a turn, in the server's own numbers."""
    session = chat(server)
    turn = session.prompt("Hi").wait(PATIENCE)
    assert turn.usage is not None
    tokens, answer = turn.usage.input_tokens or 0, 5
    assert turn.usage.output_tokens == answer
    assert 1_000 < tokens < CONTEXT
    context = session.state.context_usage
    assert context is not None
    assert (context.used, context.size) == (tokens + answer, CONTEXT)


def test_stop_in_the_middle_of_an_answer_ends_it_and_the_next_is_whole(server: Server, chat: Chat) -> None:
    """Two conversations at once get their own answers; what was said stays."""
    sessions = [chat(server), chat(server)]
    turns = [session.prompt("Tell me a STORY") for session in sessions]
    for turn in turns:
        until_text(turn, STORY)
    for turn in turns:
        turn.cancel()
    assert [turn.wait(PATIENCE).stop_reason for turn in turns] == ["cancelled"] * 2
    assert [turn.text.startswith(STORY) for turn in turns] == [True] * 2
    assert chat(server).prompt("Hi").wait(PATIENCE).text == HELLO


def test_context_that_is_too_small_is_said_with_the_servers_own_numbers(
    model: Callable[..., Path], chat: Chat, tmp_path: Path
) -> None:
    """Also by the check, before."""
    with running(model(), SMALL) as small:
        env = {**os.environ, **small.found_by_port, "AGENTNB_DATA_DIR": str(tmp_path)}
        command = [sys.executable, "-m", "agentnb", "local", "--check"]
        checked = subprocess.run(command, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout
        assert "Its context holds only 512 tokens, too few for long tasks." in checked
        with pytest.raises(TurnFailed) as failed:
            chat(small).prompt("Hi").wait(PATIENCE)
    said = str(failed.value)
    assert "The message and the descriptions of the tools are too long for the context of tiny." in said
    assert "exceeds the available context size (512 tokens)" in said
    assert "with a larger context, as in `llama-server -c 16384`." in said


def test_server_that_is_killed_in_the_middle_of_an_answer_is_said_to_be_gone(
    model: Callable[..., Path], chat: Chat
) -> None:
    """What was said stays; the next prompt finds no server."""
    with running(model(), CONTEXT) as killed:
        session = chat(killed)
        turn = session.prompt("Tell me a STORY")
        until_text(turn, STORY)
        killed.process.kill()
        with pytest.raises(TurnFailed, match=f"The connection to {killed.place} broke. Check that the server still"):
            turn.wait(PATIENCE)
    assert turn.text.startswith(STORY)
    with pytest.raises(TurnFailed, match=f"No server answers at {killed.place}"):
        session.prompt("Hi").wait(PATIENCE)


def test_model_whose_template_has_no_tools_is_told_apart_before_the_first_prompt(
    model: Callable[..., Path], chat: Chat
) -> None:
    """The server would take the tools, and the model never hear of them; what it writes like a call is text."""
    with running(model("plain"), CONTEXT) as plain:
        session = chat(plain)
        session.open(PATIENCE)
        (option,) = session.state.config_options or ()
        warning = (option.get("_meta") or {}).get("agentnb", {}).get("warning", "")
        assert warning.startswith("tiny cannot use tools: it answers in text only.")
        turn = session.prompt("READ-IT").wait(PATIENCE)
    assert turn.text.startswith("> **tiny cannot use tools.**")
    assert '{"name": "read_file", "arguments": {"path": "numbers.csv"}}' in turn.text
    assert turn.tool_calls == ()
