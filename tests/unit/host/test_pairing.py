"""A paired kernel: how terminal programs can use it, and what the user sees and decides."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentnb import PermissionQuestion, Session
from agentnb.errors import NotOffered, SessionError, UsageError
from agentnb.host import Host
from agentnb.host.channels import ROOT
from agentnb.host.history.restore import read_back, recorder_of, restore, spec_of
from agentnb.host.session_options import SessionOptions
from agentnb.kernel.paired_kernels import (
    KernelGone,
    PairedConnection,
    PairedKernel,
    Registration,
    choose_kernel,
    paired_kernels,
    register,
    registrations_folder,
)
from agentnb.rpc_message import RpcError
from agentnb.state import AgentProcess
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import until
from tests.unit.host.terminal import Terminal
from tests.unit.kernel.shell_tools import Tools
from tests.unit.running import run
from tests.unit.server.test_service import Page

Connect = Callable[..., Terminal]


@pytest.fixture
def paired(host: Host, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A paired host with a shell and an attached user."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    host.environment.connect(shell=tools, attached=lambda: True)
    host.environment.job_queue.is_main_thread_busy = lambda: False
    host.loop.submit(host.pairing.start()).result(PATIENCE)
    return host


@pytest.fixture
def connect(paired: Host) -> Iterator[Connect]:
    """Connects programs and disconnects them at the end."""
    terminals: list[Terminal] = []

    def begin(name: str = "claude-code") -> Terminal:
        terminals.append(Terminal(paired, name))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.leave()


@pytest.fixture
def tools() -> Iterator[Tools]:
    made = Tools()
    yield made
    made.loop.stop()


def wait_for_question(terminal: Terminal) -> PermissionQuestion:
    """Waits for the permission request of the program's call."""
    session = Session(terminal.conversation)
    until(terminal.host, session, lambda: session.questions)
    (question,) = session.questions
    assert isinstance(question, PermissionQuestion)
    return question


def state_of(session: Session) -> str:
    process = session.state.agent_process
    return process.state if isinstance(process, AgentProcess) else ""


def connected(host: Host) -> list[str]:
    return [each.channels.title for each in host.loop.call(lambda: host.pairing.connected)]


def test_paired_programs_call_appears_in_its_own_conversation(connect: Connect, tools: Tools) -> None:
    """It has the program's name, shows each call, and takes no prompts."""
    tools.shell.user_ns["xs"] = [1]
    terminal = connect()
    assert "xs: list, length 1" in terminal.call("variables")
    session = Session(terminal.conversation)
    assert (session.title, session.agent) == ("Claude Code (terminal)", "terminal-claude-code")
    assert [(each.title, each.status) for each in session.turns[-1].tool_calls] == [("List variables", "completed")]
    with pytest.raises(SessionError, match="used in its terminal"):
        session.prompt("Hello")


def test_paired_program_runs_code_after_the_user_allows_it(connect: Connect, tools: Tools) -> None:
    """Consecutive calls are one turn; the audit log names the program."""
    tools.shell.user_ns["total"] = 1
    terminal = connect()
    terminal.host.pairing.idle_seconds = 0
    call = terminal.begin("run_code", code="total = 2; total")
    assert not call.done()
    wait_for_question(terminal).allow()
    assert terminal.text(call) == "2"
    session = Session(terminal.conversation)
    until(terminal.host, session, lambda: session.turns[-1].done)
    session.turns[-1].wait(PATIENCE)
    records = terminal.host.loop.call(lambda: terminal.host.policy.audit.records)
    assert [(each.agent, each.outcome, each.by) for each in records] == [("terminal-claude-code", "allow", "user")]
    session.turns[-1].undo()
    assert tools.shell.user_ns["total"] == 1


def test_denied_call_of_a_paired_program_names_the_reason(connect: Connect, tools: Tools) -> None:
    terminal = connect()
    call = terminal.begin("run_code", code="x = 1")
    wait_for_question(terminal).deny()
    assert terminal.text(call) == "Run code in the kernel: the user denied it."
    Session(terminal.conversation).permissions = "deny"
    assert "permissions" in terminal.call("run_code", code="x = 2").lower()
    assert "x" not in tools.shell.user_ns


def test_call_is_denied_when_no_user_is_attached(connect: Connect) -> None:
    """Without a front end nobody can answer; the error tells the program what to do."""
    terminal = connect()
    terminal.host.environment.connect(attached=lambda: False)
    answer = terminal.call("run_code", code="x = 1")
    assert answer == (
        "Run code in the kernel: the notebook is not open in a page, so no one could be asked. Nothing was "
        "done. Ask the user"
        " to open the notebook in a browser; then call again."
    )


def test_unanswered_card_times_out(connect: Connect, tools: Tools) -> None:
    """The error tells the program what to do; the card is withdrawn, and a later call asks again."""
    terminal = connect()
    terminal.conversation.answer_seconds = 0.01
    answer = terminal.call("run_code", code="x = 1")
    assert "no one answered the card in the notebook's chat for 0.01 s. Nothing was done." in answer
    assert (Session(terminal.conversation).questions, "x" in tools.shell.user_ns) == ((), False)
    terminal.conversation.answer_seconds = PATIENCE
    call = terminal.begin("run_code", code="x = 2; x")
    wait_for_question(terminal).allow()
    assert terminal.text(call) == "2"


def test_call_cancelled_by_its_program_withdraws_its_card(connect: Connect, tools: Tools) -> None:
    """The program can make another call."""
    terminal = connect()
    session = Session(terminal.conversation)
    call = terminal.begin("run_code", code="x = 1")
    wait_for_question(terminal)
    call.cancel()
    until(terminal.host, session, lambda: not session.questions)
    assert "no variables" in terminal.call("variables")
    assert "x" not in tools.shell.user_ns


def test_call_stopped_in_the_chat_reports_it(connect: Connect) -> None:
    """The next call begins a new turn."""
    terminal = connect()
    session = Session(terminal.conversation)
    call = terminal.begin("run_code", code="x = 1")
    wait_for_question(terminal)
    session.cancel()
    assert "The user stopped this in the notebook's chat" in terminal.text(call)
    assert "no variables" in terminal.call("variables")
    assert [turn.state for turn in session.turns] == ["cancelled", "running"]


def test_call_reports_that_it_waits_for_a_busy_kernel(connect: Connect) -> None:
    """As progress, if the program wants it, and at the end."""
    terminal = connect()
    terminal.host.pairing.progress_seconds = 0.01
    Session(terminal.conversation).permissions = "allow"
    terminal.host.environment.job_queue.is_main_thread_busy = lambda: True
    terminal.host.environment.job_queue.schedule = lambda _call: None  # the kernel's loop is busy
    call = terminal.begin("run_code", meta={"progressToken": "1"}, code="1", wait=0.3)
    answer = "\n".join(block["text"] for block in call.result(PATIENCE)["content"])
    assert answer == "The kernel is busy with a cell. Try again when the cell has ended."
    assert set(terminal.progress) == {"The kernel is busy with a cell; waiting until it ends."}


def test_program_that_dies_in_a_call_leaves_nothing_open(connect: Connect) -> None:
    """The call is cancelled, its card withdrawn, and the conversation shows no connection."""
    terminal = connect()
    session = Session(terminal.conversation)
    terminal.begin("run_code", code="x = 1")
    wait_for_question(terminal)
    terminal.leave()
    until(terminal.host, session, lambda: state_of(session) == "stopped")
    assert (session.questions, session.turns[-1].state, connected(terminal.host)) == ((), "cancelled", [])


def test_programs_with_the_same_name_have_own_conversations(connect: Connect, tools: Tools) -> None:
    """A program that reconnects continues its conversation."""
    tools.shell.user_ns["xs"] = [1]
    one, other = connect(), connect()
    assert connected(one.host) == ["Claude Code (terminal)", "Claude Code (terminal) 2"]
    assert "xs" in one.call("variables")
    assert "xs" in other.call("variables")
    session = Session(other.conversation)
    other.leave()
    until(one.host, session, lambda: state_of(session) == "stopped")
    again = connect()
    assert Session(again.conversation).tab_id == session.tab_id
    assert connected(one.host) == ["Claude Code (terminal)", "Claude Code (terminal) 2"]


def test_program_name_is_shortened_and_never_an_agents_name(connect: Connect) -> None:
    """Its name is short text; policy rules for an agent of that name do not apply."""
    terminal = connect("claude\n<b>" + "x" * 100)
    session = Session(terminal.conversation)
    assert session.title == "claude <b>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (terminal)"
    assert session.agent.startswith("terminal-claude-b-xxx")


def failure(terminal: Terminal) -> str:
    """Returns the reason why the connection ended."""
    with pytest.raises(KernelGone) as caught:
        terminal.begin("variables").result(PATIENCE)
    return str(caught.value)


def test_program_learns_why_its_connection_ends(connect: Connect) -> None:
    """The user closes its conversation, ends the pairing during a call, or ends the kernel."""
    terminal = connect()
    Session(terminal.conversation).close()
    assert failure(terminal).startswith("The user closed this program's conversation")
    terminal = connect()
    call = terminal.begin("run_code", code="1")
    wait_for_question(terminal)
    terminal.host.loop.call(terminal.host.pairing.stop)
    with pytest.raises(KernelGone, match="The user ended the pairing"):
        call.result(PATIENCE)
    assert (run(paired_kernels()), connected(terminal.host)) == ([], [])
    terminal.host.loop.submit(terminal.host.pairing.start()).result(PATIENCE)
    terminal = connect()
    terminal.host.close()
    assert failure(terminal).startswith("The kernel has ended or was restarted. Ask the user to pair it again")


def test_a_kernel_is_reachable_only_while_it_is_paired(paired: Host, tmp_path: Path) -> None:
    """Only this user can open its socket and its file; both are removed when the pairing ends."""
    (kernel,) = run(paired_kernels())
    (folder,) = registrations_folder().iterdir()
    place = Path(kernel.registration.socket)
    modes = [each.stat().st_mode & 0o777 for each in (folder, folder / "kernel.json", place.parent, place)]
    assert [oct(mode) for mode in modes] == ["0o700", "0o600", "0o700", "0o600"]
    assert (kernel.folder, kernel.busy, kernel.connected) == (str(tmp_path), False, ())
    paired.loop.call(paired.pairing.stop)
    assert (run(paired_kernels()), folder.exists(), place.exists()) == ([], False, False)


def test_connection_needs_the_token_and_initialize(paired: Host) -> None:
    """A wrong token ends it; a call before `initialize` is refused."""
    (kernel,) = run(paired_kernels())

    async def say(token: str, method: str) -> Any:
        connection = await PairedConnection.opened(kernel.registration.socket, token)
        try:
            return await connection.request(method, {"name": "variables"})
        except (KernelGone, RpcError) as error:
            return type(error)
        finally:
            await connection.close()

    assert run(say("wrong", "tools/list")) is KernelGone
    assert run(say(kernel.registration.token, "tools/call")) is RpcError
    assert connected(paired) == []


STRANGER = """
import os, socket, sys
place, token, user = sys.argv[1:]
os.setuid(int(user))
connection = socket.socket(socket.AF_UNIX)
connection.connect(place)
try:
    connection.sendall(token.encode() + b'\\n{"jsonrpc": "2.0", "id": 1, "method": "ping"}\\n')
    print(connection.recv(9))
except ConnectionError:
    print(b"")
"""


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can become another user")
def test_another_users_process_is_refused_even_with_the_token(paired: Host) -> None:
    """Even if folder and socket are open to all users; this user's process gets an answer."""
    (kernel,) = run(paired_kernels())
    place = Path(kernel.registration.socket)
    place.parent.chmod(0o777)
    place.chmod(0o777)

    def answer(user: int) -> str:
        command = [sys.executable, "-S", "-c", STRANGER, str(place), kernel.registration.token, str(user)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    assert [answer(os.getuid()), answer(65_534)] == ["b'{\"jsonrpc'\n", "b''\n"]


def test_registrations_of_dead_or_foreign_kernels_are_ignored(paired: Host, tmp_path: Path) -> None:
    """A file whose socket nobody listens on is removed; another machine's file stays."""
    dead = register("dead", str(tmp_path / "nothing"), "t")
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(left))
    refused = register("refused", str(left), "t")
    broken, readable, elsewhere = (register(name, "/s", "t") for name in ("broken", "readable", "elsewhere"))
    (broken / "kernel.json").write_text("{", encoding="utf-8")
    (readable / "kernel.json").chmod(0o644)
    other = Registration(machine="another machine", pid=1, socket="/s", token="t")
    (elsewhere / "kernel.json").write_bytes(msgspec.json.encode(other))
    (kernel,) = run(paired_kernels())
    assert kernel.registration.pid == os.getpid()
    assert [each.exists() for each in (dead, refused, broken, readable, elsewhere)] == [False, False, True, True, True]
    paired.loop.call(paired.pairing.stop)


def test_a_kernel_outside_of_ipython_cannot_be_paired(host: Host) -> None:
    """The error says where pairing works."""
    with pytest.raises(NotOffered, match="Pairing works in IPython"):
        host.loop.submit(host.pairing.start()).result(PATIENCE)


def kernel(notebook: str, pid: int, folder: str = "/home/ada") -> PairedKernel:
    registration = Registration(machine="m", pid=pid, socket=f"/s/{pid}", token="t")
    return PairedKernel(registration=registration, notebook=notebook, folder=folder)


KERNELS = (kernel("fit.ipynb", 1), kernel("work/fit.ipynb", 2), kernel("plot.ipynb", 3), kernel("", 4))


@pytest.mark.parametrize(
    ("wanted", "pid"),
    [
        ("plot", 3),
        ("plot.ipynb", 3),
        ("/home/ada/plot.ipynb", 3),
        ("work/fit.ipynb", 2),
        ("fit.ipynb", "2 paired notebooks are called 'fit.ipynb'"),
        ("", "Several notebooks are paired"),
        ("4", 4),
        ("other.ipynb", "No paired notebook is called 'other.ipynb'. These are paired:\n- fit.ipynb"),
    ],
)
def test_a_kernel_is_chosen_by_its_notebook(wanted: str, pid: int | str) -> None:
    """By its name, path or kernel number; an ambiguous choice lists the kernels."""
    if isinstance(pid, int):
        assert choose_kernel(KERNELS, wanted).registration.pid == pid
    else:
        with pytest.raises(UsageError, match=pid):
            choose_kernel(KERNELS, wanted)


def test_only_kernel_is_chosen_by_default() -> None:
    """Without any, the error says how to pair one."""
    assert choose_kernel(KERNELS[:1], "").registration.pid == 1
    with pytest.raises(UsageError, match="No notebook is paired"):
        choose_kernel((), "")


def test_a_kernel_that_does_not_answer_is_left_out(paired: Host, tmp_path: Path) -> None:
    """Its program sends nonsense and closes the connection."""
    place = tmp_path / "odd"

    async def odd() -> list[PairedKernel]:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"nonsense\n")
            writer.close()

        listening = await asyncio.start_unix_server(answer, str(place))
        try:
            return await paired_kernels()
        finally:
            listening.close()

    register("odd", str(place), "t")
    assert [each.registration.pid for each in run(odd())] == [os.getpid()]
    paired.loop.call(paired.pairing.stop)


def test_programs_conversation_is_read_only_in_a_later_kernel(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its calls; the program gets a new one when it reconnects."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    first, later = (Host(log=tmp_path / "log.db") for _ in range(2))
    try:
        first.environment.connect(shell=tools)
        first.environment.job_queue.is_main_thread_busy = lambda: False
        first.loop.submit(first.pairing.start()).result(PATIENCE)
        terminal = Terminal(first)
        assert "no variables" in terminal.call("variables")
        session = Session(terminal.conversation)
        terminal.leave()
        first.close()
        stored = read_back(recorder_of(later), session.tab_id)
        options = SessionOptions(spec=spec_of(stored.record), cwd=tmp_path)
        again = Session(later.loop.call(restore, later, stored, options))
        assert [call.title for call in again.turns[0].tool_calls] == ["List variables"]
        with pytest.raises(SessionError, match="was used in its terminal"):
            again.prompt("Hello")
    finally:
        first.close()
        later.close()


def settings(host: Host) -> Any:
    config = host.loop.call(lambda: host.root.state.config)
    return None if config is None else {name: value for name, value in config.values.items() if name != "agent"}


def choose(page: Page, seq: int, **config: object) -> str:
    """Returns the reason why the page's change of the host's settings was rejected, or ""."""
    page.dispatch(ROOT, {"type": "root/configChanged", "config": config}, seq)
    return str(page.envelope(seq).get("rejectionReason", ""))


def test_chat_starts_and_ends_pairing_and_lists_programs(paired: Host, connect: Connect) -> None:
    """All in the host's settings; a page may set only `pairing`."""
    page = Page(paired)
    page.ready()
    assert settings(paired) == {"pairing": True, "paired": []}
    terminal = connect()
    assert settings(paired) == {"pairing": True, "paired": [terminal.conversation.session.uri]}
    assert choose(page, 1, pairing=False) == ""
    assert settings(paired) == {"pairing": False, "paired": []}
    assert failure(terminal).startswith("The user ended the pairing")
    assert choose(page, 2, pairing=True) == ""
    assert (settings(paired), len(run(paired_kernels()))) == ({"pairing": True, "paired": []}, 1)
    refused = [choose(page, 3, pairing="yes"), choose(page, 4, paired=[]), choose(page, 5, pairing=True, more=1)]
    assert all(each.startswith("The only setting of the host") for each in refused)
    paired.environment.connect(shell=None)
    paired.loop.call(paired.pairing.stop)
    assert choose(page, 6, pairing=True).startswith("There is no IPython kernel here.")
    assert settings(paired) == {"pairing": False, "paired": []}
