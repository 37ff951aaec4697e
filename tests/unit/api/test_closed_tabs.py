"""A tab closed by the user does not count as open when the kernel ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.forked import run_script

KILLED = """
import os, signal, sys, agentnb
from agentnb.host import current_host
kept, closed = agentnb.start("eliza"), agentnb.start("eliza")
for session in (kept, closed):
    session.prompt("/say words").wait(60)
agentnb.history()  # all of it is in the file
{close}
current_host().recorder.flush(30)
os.kill(os.getpid(), signal.SIGKILL)
"""
ARCHIVE = """
from agentnb.host.intents import carry_out
from agentnb.state import ActionOrigin, SessionIsArchivedChanged
action, page = SessionIsArchivedChanged(is_archived=True), ActionOrigin(client_id="page", client_seq=1)
host = current_host()
host.loop.call(lambda: carry_out(host, closed.chat.resource.removesuffix("/chat"), action, page))
"""
LEAVE_SLOWLY = """
import threading
threading.Thread(target=closed.close, daemon=True).start()
while not closed.closed:
    pass
"""
LISTED = """
import os
from pathlib import Path
from agentnb.log.store import LogStore
store = LogStore(Path(os.environ["AGENTNB_LOG"]), "another kernel", lambda error: None)
print(*(record.open for record in store.sessions("", limit=9)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the kernel is killed by a signal")
@pytest.mark.parametrize("close", [ARCHIVE, LEAVE_SLOWLY, "closed.close()"], ids=["in the page", "slowly", "in Python"])
def test_tab_closed_before_a_kernel_kill_is_not_open_in_the_log(close: str, tmp_path: Path) -> None:
    """Also while it can be reopened, and while its agent still holds it."""
    log = str(tmp_path / "log.db")
    killed = run_script(KILLED.format(close=close), cwd=tmp_path, AGENTNB_LOG=log)
    assert killed.returncode == -9, killed.stderr
    assert sorted(run_script(LISTED, cwd=tmp_path, AGENTNB_LOG=log).stdout.split()) == ["False", "True"]
