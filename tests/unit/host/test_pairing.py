"""A paired kernel: how terminal programs can use it, and what the user sees and decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentnb import PermissionQuestion, Session
from agentnb.errors import NotOffered, SessionError
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import NewKernel, uri_of
from tests.unit.host.kernels import Kernel
from tests.unit.host.terminal import Terminal, kernels_found, paired
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools
from tests.unit.server.asking_page import Page

__all__ = ["paired", "tools"]  # the fixtures

Connect = Callable[..., Terminal]


@pytest.fixture
def connect(paired: Kernel) -> Iterator[Connect]:
    """Connects programs and disconnects them at the end."""
    terminals: list[Terminal] = []

    def begin(name: str = "claude-code") -> Terminal:
        terminals.append(Terminal(paired, name))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.leave()


def wait_for_question(terminal: Terminal) -> PermissionQuestion:
    """Waits for the permission request of the program's call."""
    session = terminal.session
    terminal.kernel.until(session, lambda: session.questions)
    (question,) = session.questions
    assert isinstance(question, PermissionQuestion)
    return question


def state_of(session: Session) -> str:
    process = session.state.agent_process
    return "" if process is None else process.state


def test_paired_programs_call_appears_in_its_own_conversation(connect: Connect, tools: Tools) -> None:
    """It has the program's name, shows each call, and takes no prompts."""
    tools.shell.user_ns["xs"] = [1]
    terminal = connect()
    assert "xs: list, length 1" in terminal.call("variables")
    session = terminal.session
    assert (session.title, session.agent) == ("Claude Code (terminal)", "terminal-claude-code")
    assert [(each.title, each.status) for each in session.turns[-1].tool_calls] == [("List variables", "completed")]
    with pytest.raises(SessionError, match="used in its terminal"):
        session.prompt("Hello")


def test_paired_program_runs_code_after_the_user_allows_it(connect: Connect, tools: Tools) -> None:
    """Consecutive calls are one turn; the audit log names the program."""
    tools.shell.user_ns["total"] = 1
    terminal = connect()
    terminal.kernel.wait_less(idle=0)
    call = terminal.begin("run_code", code="total = 2; total")
    assert not call.done()
    wait_for_question(terminal).allow()
    assert terminal.text(call) == "2"
    session = terminal.session
    terminal.kernel.until(session, lambda: session.turns[-1].done)
    session.turns[-1].wait(PATIENCE)
    records = [(each.agent, each.outcome, each.by) for each in terminal.kernel.audit]
    assert records == [("terminal-claude-code", "allow", "user")]
    session.turns[-1].undo()
    assert tools.shell.user_ns["total"] == 1


def test_denied_call_of_a_paired_program_names_the_reason(connect: Connect, tools: Tools) -> None:
    terminal = connect()
    call = terminal.begin("run_code", code="x = 1")
    wait_for_question(terminal).deny()
    assert terminal.text(call) == "Run code in the kernel: the user denied it."
    terminal.session.permissions = "deny"
    assert "permissions" in terminal.call("run_code", code="x = 2").lower()
    assert "x" not in tools.shell.user_ns


def test_call_is_denied_when_no_user_is_attached(connect: Connect) -> None:
    """Without a front end nobody can answer; the error tells the program what to do."""
    terminal = connect()
    terminal.kernel.attend(here=False)
    answer = terminal.call("run_code", code="x = 1")
    assert answer == (
        "Run code in the kernel: the notebook is not open in a page, so no one could be asked. Nothing was "
        "done. Ask the user"
        " to open the notebook in a browser; then call again."
    )


def test_unanswered_card_times_out(connect: Connect, tools: Tools) -> None:
    """The error tells the program what to do; the card is withdrawn, and a later call asks again."""
    terminal = connect()
    terminal.answer_within(0.01)
    answer = terminal.call("run_code", code="x = 1")
    assert "no one answered the card in the notebook's chat for 0.01 s. Nothing was done." in answer
    assert (terminal.session.questions, "x" in tools.shell.user_ns) == ((), False)
    terminal.answer_within(PATIENCE)
    call = terminal.begin("run_code", code="x = 2; x")
    wait_for_question(terminal).allow()
    assert terminal.text(call) == "2"


def test_call_stopped_in_the_chat_reports_it(connect: Connect) -> None:
    """The next call begins a new turn."""
    terminal = connect()
    session = terminal.session
    call = terminal.begin("run_code", code="x = 1")
    wait_for_question(terminal)
    session.cancel()
    assert "The user stopped this in the notebook's chat" in terminal.text(call)
    assert "no variables" in terminal.call("variables")
    assert [turn.state for turn in session.turns] == ["cancelled", "running"]


def test_call_reports_that_it_waits_for_a_busy_kernel(connect: Connect) -> None:
    """As progress, if the program wants it, and at the end."""
    terminal = connect()
    terminal.kernel.wait_less(progress=0.01)
    terminal.session.permissions = "allow"
    terminal.kernel.be_busy(is_busy=True)
    call = terminal.begin("run_code", meta={"progressToken": "1"}, code="1", wait=0.3)
    answer = "\n".join(block["text"] for block in call.result(PATIENCE)["content"])
    assert answer == "The kernel is busy with a cell. Try again when the cell has ended."
    assert set(terminal.progress) == {"The kernel is busy with a cell; waiting until it ends."}


def test_programs_with_the_same_name_have_own_conversations(connect: Connect, tools: Tools) -> None:
    """A program that reconnects continues its conversation."""
    tools.shell.user_ns["xs"] = [1]
    one, other = connect(), connect()
    assert one.kernel.programs == ["Claude Code (terminal)", "Claude Code (terminal) 2"]
    assert "xs" in one.call("variables")
    assert "xs" in other.call("variables")
    session = other.session
    other.leave()
    one.kernel.until(session, lambda: state_of(session) == "stopped")
    again = connect()
    assert again.session.tab_id == session.tab_id
    assert one.kernel.programs == ["Claude Code (terminal)", "Claude Code (terminal) 2"]


def test_program_name_is_shortened_and_never_an_agents_name(connect: Connect) -> None:
    """Its name is short text; policy rules for an agent of that name do not apply."""
    terminal = connect("claude\n<b>" + "x" * 100)
    session = terminal.session
    assert session.title == "claude <b>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (terminal)"
    assert session.agent.startswith("terminal-claude-b-xxx")


def test_program_learns_why_its_connection_ends(connect: Connect) -> None:
    """The user closes its conversation, ends the pairing during a call, or ends the kernel."""
    terminal = connect()
    terminal.session.close()
    assert terminal.failure().startswith("The user closed this program's conversation")
    terminal = connect()
    call = terminal.begin("run_code", code="1")
    wait_for_question(terminal)
    terminal.kernel.unpair()
    assert "The user ended the pairing" in terminal.failure(call)
    assert (kernels_found(), terminal.kernel.programs) == (0, [])
    terminal.kernel.pair()
    terminal = connect()
    terminal.kernel.close()
    assert terminal.failure().startswith("The kernel has ended or was restarted. Ask the user to pair it again")


def test_a_kernel_outside_of_ipython_cannot_be_paired(kernel: Kernel) -> None:
    """The error says where pairing works."""
    with pytest.raises(NotOffered, match="Pairing works in IPython"):
        kernel.pair()


def test_programs_conversation_is_read_only_in_a_later_kernel(
    tools: Tools, new_kernel: NewKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its calls; the program gets a new one when it reconnects."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    first = new_kernel()
    first.connect(shell=tools)
    first.pair()
    terminal = Terminal(first)
    assert "no variables" in terminal.call("variables")
    session = terminal.session
    terminal.leave()
    first.close()
    again = new_kernel().resume(session)
    assert [call.title for call in again.turns[0].tool_calls] == ["List variables"]
    with pytest.raises(SessionError, match="was used in its terminal"):
        again.prompt("Hello")


def choose(page: Page, seq: int, **config: object) -> str:
    """Returns the reason why the page's change of the host's settings was rejected, or ""."""
    page.dispatch("ahp-root://", {"type": "root/configChanged", "config": config}, seq)
    return str(page.envelope(seq).get("rejectionReason", ""))


def settings(kernel: Kernel) -> tuple[bool, list[str]]:
    """Returns if the kernel is paired, and the conversations of the programs, as pages have them."""
    return kernel.settings["pairing"], kernel.settings["paired"]


def test_chat_starts_and_ends_pairing_and_lists_programs(paired: Kernel, connect: Connect) -> None:
    """All in the host's settings; a page may set only `pairing`."""
    page = Page(paired.host)
    page.ready()
    assert settings(paired) == (True, [])
    terminal = connect()
    assert settings(paired) == (True, [uri_of(terminal.session)])
    assert choose(page, 1, pairing=False) == ""
    assert settings(paired) == (False, [])
    assert terminal.failure().startswith("The user ended the pairing")
    assert choose(page, 2, pairing=True) == ""
    assert (settings(paired), kernels_found()) == ((True, []), 1)
    refused = [choose(page, 3, pairing="yes"), choose(page, 4, paired=[]), choose(page, 5, pairing=True, more=1)]
    assert all(each.startswith("The only setting of the host") for each in refused)
    paired.connect(shell=None)
    paired.unpair()
    assert choose(page, 6, pairing=True).startswith("There is no IPython kernel here.")
    assert settings(paired) == (False, [])
