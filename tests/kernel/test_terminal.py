"""Plain IPython in a real terminal: streamed text and Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kernel.running_kernel import WAIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pexpect as pexpect_types

pexpect = pytest.importorskip("pexpect")
ROOT = Path(__file__).parents[2]


def _heed_control_c() -> None:
    """Restores SIGINT: a shell without job control ignores it in background processes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect_types.spawn]:
    """IPython with agentnb loaded."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    arguments = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", "--no-confirm-exit"]
    child = pexpect.spawn(
        sys.executable,
        arguments,
        cwd=str(tmp_path),
        env=env,
        encoding="utf-8",
        timeout=WAIT_S,
        echo=False,
        preexec_fn=_heed_control_c,
    )
    child.expect(r"In \[1\]: ")
    child.sendline("%load_ext agentnb")
    child.expect(r"In \[2\]: ")
    yield child
    if child.isalive():
        child.kill(signal.SIGKILL)
        child.wait()  # `close` alone waits only tenths of a second
    child.close()


def test_terminal_prints_the_answer_as_text(terminal: pexpect_types.spawn) -> None:
    """The text is printed once; the cell's value is the turn."""
    terminal.sendline("%agent /say Isn't it?")
    terminal.expect(r"In \[3\]: ")
    assert ["Isn't it?", "Out[2]: <Turn complete: eliza>"] == [line for line in terminal.before.splitlines() if line]
    terminal.sendline("_.stop_reason")
    terminal.expect("end_turn")


def test_control_c_cancels_the_turn_and_leaves_the_prompt(terminal: pexpect_types.spawn) -> None:
    """Text streams while the turn runs; Ctrl-C ends it with one line."""
    terminal.sendline("%agent /slow 100000 20")
    terminal.expect("3 4 5")
    terminal.sendintr()
    terminal.expect("The turn was cancelled.")
    terminal.expect(r"In \[3\]: ")
    assert "cancelled" not in terminal.before
    terminal.sendline("1 + 1")
    terminal.expect(r"Out\[3\]: 2")


def test_agent_with_kernel_access_runs_code_in_the_shell(terminal: pexpect_types.spawn) -> None:
    terminal.sendline("%agent --kernel --permissions allow /kernel run mine = 6 * 7; print('inner')")
    terminal.expect("said: inner")
    terminal.expect(r"In \[3\]: ")
    terminal.sendline("mine")
    terminal.expect(r"Out\[3\]: 42")


def test_agent_runs_code_while_python_awaits_its_turn(terminal: pexpect_types.spawn) -> None:
    terminal.sendline("import agentnb; session = agentnb.start(permissions='allow', kernel_tools=True)")
    terminal.expect(r"In \[3\]: ")
    terminal.sendline("turn = await session.prompt('/kernel run mine = 6 * 7'); turn.tool_calls[0].status, mine")
    terminal.expect(r"Out\[3\]: \('completed', 42\)")
