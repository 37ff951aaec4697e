"""Loading, reloading and settings that make no sense, each in a shell of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
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


def test_a_session_started_or_opened_again_has_the_mcp_servers_of_the_settings(tmp_path: Path) -> None:
    """Unless it names its own, or none; without the extension it has none."""
    code = f"""
import os, agentnb
from agentnb.host import current_host
os.environ["AGENTNB_LOG"] = {str(tmp_path / "log.db")!r}
def names(session):
    conversation = current_host().find(session.chat.resource)
    print([server.name for server in conversation.configuration.components])
    session.close()
names(agentnb.start("eliza", mcp_servers=[]))
session = agentnb.start("eliza")
session.prompt("/say kept").wait(120)
names(session)
names(agentnb.resume(session.tab_id))
magic("config", "Agentnb.mcp_servers = dict(more=dict(url='https://y.test/mcp'))")
names(agentnb.resume(session.tab_id))
names(agentnb.resume(session.tab_id, mcp_servers=()))
magic("unload_ext", "agentnb")
names(agentnb.resume(session.tab_id))
"""
    printed, said = tell(code, mcp_servers={"docs": {"url": "https://x.test/mcp"}})
    assert (printed, said) == (["[]", "['docs']", "['docs']", "['more']", "[]", "[]"], "")


def test_a_folder_is_trusted_and_no_more_by_magic_and_from_python(tmp_path: Path) -> None:
    """Without a name it is the workspace that `%agents policy` speaks of."""
    code = f"""
import os, agentnb
os.environ["AGENTNB_CONFIG_DIR"] = {str(tmp_path)!r}
os.makedirs({str(tmp_path / "there")!r})
os.chdir({str(tmp_path)!r})
def trusted():
    held = magic("agents", "policy").policy
    print(held.folder.name, held.trusted, [os.path.basename(each) for each in held.trusted_folders])
trusted()
print(magic("agents", "trust"))
trusted()
print(agentnb.untrust().name)
agentnb.trust("there")
trusted()
session = agentnb.start("eliza", cwd="there")
magic("agents", "use eliza")
trusted()
print(magic("agents", "untrust"))
trusted()
try:
    agentnb.trust("nowhere")
except agentnb.AgentnbError as error:
    print(error)
"""
    printed, said = tell(code)
    top, there = tmp_path.name, tmp_path / "there"
    assert said == ""
    assert printed == [
        f"{top} False []",
        f"{tmp_path} is trusted now: what your policy file allows counts there.",
        f"{top} True [{top!r}]",
        top,
        f"{top} False ['there']",
        "there True ['there']",
        f"{there} is not trusted: what your policy file allows asks there.",
        "there False []",
        "folder='nowhere' is not a folder. Give the folder in which the agent should work.",
    ]
