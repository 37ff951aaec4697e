"""`agentnb local` with real model servers from the package index, and a model with hand-set weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
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
CONTEXT, SMALL = 65_536, 512
"""Context sizes in tokens; a story would take many seconds to fill the first."""
HELLO, STORY = "Hello from a real server.", "Once upon a time there was, and"
CAN = {
    "llama.cpp": "Tools: yes, images: no, thinking: not known, context: 65,536 tokens.",
    "MLX": "Tools: yes, images: not known, thinking: not known, context: not known.",
}
"""agentnb's report on each server's model."""


@dataclass
class Server:
    """A running model server.

    Attributes:
        url: Its base URL.
        model: Its name for the model.
        process: Its process.
    """

    url: str
    model: str
    process: subprocess.Popen[str]

    @property
    def place(self) -> str:
        return self.url.removeprefix("http://").removesuffix("/v1")

    @property
    def found_by_port(self) -> dict[str, str]:
        """Variables that find the server as if at a usual port."""
        return {"AGENTNB_LOCAL_PORTS": self.place.partition(":")[2]}


@contextmanager
def llama_cpp(folder: Path, *options: str, context: int = CONTEXT) -> Iterator[Server]:
    """llama.cpp's server, with *context* tokens for each of two conversations.

    Args:
        folder: The folder for the model.
        options: ``plain``: a model whose chat template has no tools.
        context: Tokens.
    """
    written = folder / "tiny.gguf"
    subprocess.run([PYTHON, PROGRAMS / "tiny_model.py", written, *options], check=True)
    with subprocess.Popen(
        [PYTHON, PROGRAMS / "llama_cpp.py", written, str(2 * context)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield Server(json.loads(process.stdout.readline())["url"], "tiny", process)
        process.kill()


@contextmanager
def mlx(folder: Path) -> Iterator[Server]:
    """MLX's server, which prints that it listens, not where."""
    written = folder / "tiny"
    subprocess.run([PYTHON, PROGRAMS / "mlx_folder.py", written], check=True)
    (folder / "hub").mkdir()
    with subprocess.Popen(
        [PYTHON, "-m", "mlx_lm", "server", "--model", written, "--port=0", f"--max-tokens={CONTEXT}"],
        env={**os.environ, "HF_HOME": str(folder), "HF_HUB_OFFLINE": "1"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "Starting httpd" in line)
        reading = threading.Thread(target=process.stderr.read)
        reading.start()
        sockets = psutil.Process(process.pid).net_connections("tcp")
        (port,) = {each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN}
        yield Server(f"http://127.0.0.1:{port}/v1", str(written.resolve()), process)
        process.kill()
        reading.join()


STARTED = {"llama.cpp": llama_cpp, "MLX": mlx}


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    if not PYTHON.exists():
        pytest.skip(f"no model servers: {PYTHON} is missing; `make test-peers` makes it")


@pytest.fixture(scope="module", params=list(STARTED))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of each kind."""
    with STARTED[kind](tmp_path_factory.mktemp("model")) as started:
        yield started


Chat = Callable[..., Session]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    """Starts sessions with the model of a server found by its port."""
    with ExitStack() as sessions:

        def begin(server: Server, **options: Any) -> Session:
            session = agentnb.start("local", **{"cwd": tmp_path, "env": server.found_by_port, **options})
            sessions.callback(session.close)
            return session

        yield begin


def until_text(turn: Turn, text: str) -> None:
    for _ in turn:
        if turn.text.startswith(text):
            return
    raise AssertionError(f"The turn ended with {turn.text!r}")


@pytest.mark.parametrize("named", [False, True])
def test_check_finds_the_server_and_lists_model_abilities(
    kind: str, server: Server, named: bool, tmp_path: Path
) -> None:
    """It checks a known port or a base URL; the second check shows the stored abilities."""
    where = {"AGENTNB_LOCAL_URL": server.url} if named else server.found_by_port
    env = {**os.environ, **where, "AGENTNB_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "agentnb", "local", "--check"]
    outputs = [subprocess.run(command, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout for _ in range(2)]
    can, name = CAN[kind], "OpenAI-compatible server" if kind == "MLX" else kind
    lines = [f"{name} at {server.url}: 1 model", f"- {server.model}", f"{server.model} answers. {can}"]
    assert outputs[0].splitlines() == lines
    assert outputs[1].splitlines()[1] == f"- {server.model} ({can[0].lower()}{can[1:-1]})"


KERNEL = """import agentnb, json, os
os.environ.update({variables!r})
session = agentnb.start("local", permissions="allow")
turns = [session.prompt(text).wait({patience}) for text in ("Hi", "PONDER", "READ-IT")]
print(json.dumps([[each.text, each.thoughts, [[c.title, c.status] for c in each.tool_calls]] for each in turns]))"""


@pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)  # the same on any kernel
def test_turns_in_a_kernel_have_text_thoughts_and_a_tool_call(server: Server, kernel: RunningKernel) -> None:
    """The server parses tool calls and thoughts from the model's text; the file's contents go back to it."""
    (kernel.folder / "numbers.csv").write_text("n\n1\n", encoding="utf-8")
    done = kernel.run(KERNEL.format(variables=server.found_by_port, patience=PATIENCE), timeout=4 * PATIENCE)
    assert done.status == "ok", done.error
    hello, pondered, read = json.loads(done.stdout)
    assert hello[:2] == [HELLO, ""]
    assert [title.partition(": ")[0] for title, _ in hello[2]] == [server.model]
    assert [pondered[0], pondered[1].rstrip(), pondered[2]] == ["Because it is so.", "I wonder.", []]
    assert read == ["The file has been read.", "", [["Read `numbers.csv`", "completed"]]]


def test_turn_reports_tokens_and_context_size(kind: str, server: Server, chat: Chat) -> None:
    """The numbers are the server's; MLX does not report its context size."""
    session = chat(server)
    turn = session.prompt("Hi").wait(PATIENCE)
    assert turn.usage is not None
    tokens, answer = turn.usage.input_tokens or 0, 5  # includes the end token
    assert turn.usage.output_tokens == answer
    assert 1_000 < tokens < CONTEXT
    context = session.state.context_usage
    used_and_size = (context.used, context.size) if context is not None else None
    assert used_and_size == (None if kind == "MLX" else (tokens + answer, CONTEXT))


def test_next_answer_is_complete_after_a_cancelled_one(server: Server, chat: Chat) -> None:
    """Two conversations at once get separate answers; earlier text stays."""
    sessions = [chat(server), chat(server)]
    turns = [session.prompt("Tell me a STORY") for session in sessions]
    for turn in turns:
        until_text(turn, STORY)
    for turn in turns:
        turn.cancel()
    assert [turn.wait(PATIENCE).stop_reason for turn in turns] == ["cancelled"] * 2
    assert [turn.text.startswith(STORY) for turn in turns] == [True] * 2
    assert chat(server).prompt("Hi").wait(PATIENCE).text == HELLO


def test_too_small_context_error_has_the_numbers_of_the_server(chat: Chat, tmp_path: Path) -> None:
    """The check reports it before the first prompt."""
    with llama_cpp(tmp_path, context=SMALL) as small:
        env = {**os.environ, **small.found_by_port, "AGENTNB_DATA_DIR": str(tmp_path)}
        command = [sys.executable, "-m", "agentnb", "local", "--check"]
        checked = subprocess.run(command, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout
        assert "Its context is only 512 tokens, too few for long tasks." in checked
        with pytest.raises(TurnFailed) as failed:
            chat(small).prompt("Hi").wait(PATIENCE)
    message = str(failed.value)
    assert "The message and the descriptions of the tools are too long for the context of tiny." in message
    assert "exceeds the available context size (512 tokens)" in message
    assert "with a larger context, as in `llama-server -c 16384`." in message


def test_killed_server_is_reported_during_an_answer(kind: str, chat: Chat, tmp_path: Path) -> None:
    """The text stays; the next prompt finds no server."""
    with STARTED[kind](tmp_path) as killed:
        session = chat(killed)
        turn = session.prompt("Tell me a STORY")
        until_text(turn, STORY)
        killed.process.kill()
        how = (
            "(The connection to {0} broke|{0} ended the answer before it was complete). Check that the server is still"
        )
        with pytest.raises(TurnFailed, match=how.format(killed.place)):
            turn.wait(PATIENCE)
    assert turn.text.startswith(STORY)
    with pytest.raises(TurnFailed, match=f"No server answers at {killed.place}"):
        session.prompt("Hi").wait(PATIENCE)


def test_model_without_tools_gets_a_warning_before_a_prompt(chat: Chat, tmp_path: Path) -> None:
    """The server would accept the tools and hide them from the model; text that looks like a call is text."""
    with llama_cpp(tmp_path, "plain") as plain:
        session = chat(plain)
        session.open(PATIENCE)
        (option,) = session.state.config_options or ()
        warning = (option.get("_meta") or {}).get("agentnb", {}).get("warning", "")
        assert warning.startswith("tiny cannot use tools: it answers in text only.")
        turn = session.prompt("READ-IT").wait(PATIENCE)
    assert turn.text.startswith("> **tiny cannot use tools.**")
    assert '{"name": "read_file", "arguments": {"path": "numbers.csv"}}' in turn.text
    assert turn.tool_calls == ()
