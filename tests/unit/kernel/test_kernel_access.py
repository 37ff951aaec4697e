"""Access to the kernel: conversations without it, and a server of the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentnb
from agentnb.errors import UsageError
from tests.unit.forked import run_script
from tests.unit.ipython.test_extension import tell

PATIENCE = 120


def test_kernel_access_is_refused_outside_of_ipython() -> None:
    with pytest.raises(UsageError, match="Agents cannot be given access to a kernel"):
        agentnb.start(kernel_tools=True)


def test_session_continues_without_a_missing_kernel(tmp_path: Path) -> None:
    """Python without IPython resumes a conversation that had access."""
    code = f"""
import os, agentnb
os.environ["AGENTNB_LOG"] = {str(tmp_path / "log.db")!r}
session = agentnb.start("eliza", kernel_tools=True)
session.prompt("/say kept").wait({PATIENCE})
print(session.tab_id)
session.close()
"""
    (tab_id,), _ = tell(code)
    code = f"""
import agentnb
turn = agentnb.resume({tab_id!r}, kernel_tools=None).prompt("/mcp").wait({PATIENCE})
print(turn.snapshot.response_parts)
"""
    done = run_script(code, AGENTNB_LOG=str(tmp_path / "log.db"))
    assert "None came with the session." in done.stdout, done.stderr
    assert "has no access to the kernel. There is no IPython kernel here." in done.stdout


def test_users_mcp_server_keeps_its_name() -> None:
    """The kernel's server gets another name; a copy of the tab has the tools, and each closes its own."""
    code = f"""
import agentnb
shell.user_ns["xs"] = [1]
session = agentnb.start("eliza", mcp_servers={{"kernel": {{"command": "cat"}}}}, kernel_tools=True)
print(session.prompt("/mcp").wait({PATIENCE}).text)
copy = session.fork()
session.close()
print(copy.prompt("/kernel variables").wait({PATIENCE}).text)
"""
    printed, warnings = tell(code)
    assert printed[0] == "These came with the session: `kernel`, `agentnb-kernel`."
    assert "xs: list, length 1" in "".join(printed[1:])
    assert warnings == ""
