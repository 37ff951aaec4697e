"""``c.Agentnb.warm``: agents that start with the extension."""

from __future__ import annotations

from tests.unit.forked import run_script

SCRIPT = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({"Agentnb": {"warm": ["eliza", "no-such-agent"]}}))
shell.run_line_magic("load_ext", "agentnb")
import agentnb
from agentnb.agent.catalog import find
from agentnb.host import current_host
session = agentnb.start("eliza")
print(session.prompt("/say warm").wait(60).text, len(current_host().agents.running(find("eliza"))))
session.close()
"""


def test_first_session_uses_the_preloaded_agent() -> None:
    done = run_script(SCRIPT)
    assert done.stdout.splitlines()[-1:] == ["warm 1"], done.stderr
    assert "no-such-agent is not preloaded" in done.stderr
