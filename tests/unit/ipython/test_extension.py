"""Loading, reloading and settings that make no sense, each in a shell of its own."""

from __future__ import annotations

import subprocess
import sys

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({settings!r}))
magic = shell.run_line_magic
magic("load_ext", "agentnb")
"""


def tell(code: str, **settings: object) -> tuple[list[str], str]:
    """What *code* prints and what goes to stderr, in a shell with these settings."""
    script = SHELL.format(settings={"Agentnb": settings} if settings else {}) + code
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.splitlines(), done.stderr


def test_reloading_keeps_the_current_tab() -> None:
    """The conversation goes on, and the tabs have their names."""
    code = """
magic("agent", "-t work /say one")
magic("reload_ext", "agentnb")
magic("agent", "/say two")
magic("unload_ext", "agentnb")
magic("load_ext", "agentnb")
print(magic("agents", ""))
"""
    printed, said = tell(code)
    assert printed[-1].split() == ["*", "work", "eliza", "idle", "2", "work"]
    assert said == ""


def test_a_setting_that_makes_no_sense_is_left_out_and_said() -> None:
    """The extension loads all the same, and the good ones count."""
    code = 'print(magic("config", "Agentnb.timeout"), magic("config", "Agentnb.permissions"))'
    printed, said = tell(code, permissions="maybe", timeout=5.0)
    assert printed == ["5.0 ask"]
    assert "The setting Agentnb.permissions is left out." in said


def test_a_setting_that_was_refused_does_not_stop_a_reload() -> None:
    """IPython keeps what it refused among its own settings."""
    code = """
magic("config", "Agentnb.agent = 3")
magic("reload_ext", "agentnb")
magic("agent", "/say here")
"""
    printed, said = tell(code)
    assert "here" in printed
    assert "Traceback" not in said
