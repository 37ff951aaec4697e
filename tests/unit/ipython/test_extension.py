"""Loading and reloading the extension, and invalid settings, each in its own shell."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from tests.unit.forked import run_script

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({settings!r}))
magic = shell.run_line_magic
magic("load_ext", "agentnb")
"""


def tell(code: str, **settings: object) -> tuple[list[str], str]:
    """Returns the output lines and stderr of *code* in a shell with these settings."""
    script = SHELL.format(settings={"Agentnb": settings} if settings else {}) + code
    done = run_script(script)
    return done.stdout.splitlines(), done.stderr


def test_reloading_keeps_the_current_tab() -> None:
    """The conversation continues, and the tabs keep their names."""
    code = """
magic("agent", "-t work /say one")
magic("reload_ext", "agentnb")
magic("agent", "/say two")
magic("unload_ext", "agentnb")
magic("load_ext", "agentnb")
print(magic("agents", ""))
"""
    printed, warnings = tell(code)
    assert printed[-1].split() == ["*", "work", "eliza", "idle", "2", "work"]
    assert warnings == ""


def test_invalid_setting_is_ignored_with_a_warning() -> None:
    """The extension still loads, and valid settings count; also when it reloads: IPython keeps the invalid value."""
    code = """
print(magic("config", "Agentnb.timeout"), magic("config", "Agentnb.permissions"))
magic("config", "Agentnb.agent = 3")
magic("reload_ext", "agentnb")
magic("agent", "/say here")
"""
    printed, warnings = tell(code, permissions="maybe", timeout=5.0)
    assert printed[0] == "5.0 ask"
    assert "here" in printed
    assert "The setting Agentnb.permissions is ignored." in warnings
    assert "Traceback" not in warnings


def test_first_session_uses_the_preloaded_agent() -> None:
    code = """
import agentnb
from agentnb.agent.catalog import find
from agentnb.host import current_host
session = agentnb.start("eliza")
print(session.prompt("/say warm").wait(60).text, len(current_host().agents.running(find("eliza"))))
session.close()
"""
    printed, warnings = tell(code, warm=["eliza", "no-such-agent"])
    assert printed[-1:] == ["warm 1"], warnings
    assert "no-such-agent is not preloaded" in warnings


def test_local_model_settings_reach_only_the_local_agent() -> None:
    code = """
magic("config", "Agentnb.local_key_variable = 'LAB_KEY'")
from agentnb.api.configured import configured
print(dict(configured("local", None, {"AGENTNB_LOCAL_MODEL": "mine"}, None).env))
print(dict(configured("eliza", None, None, None).env))
"""
    printed, warnings = tell(code, local_url="http://127.0.0.1:1/v1")
    of_local = {
        "AGENTNB_LOCAL_URL": "http://127.0.0.1:1/v1",
        "AGENTNB_LOCAL_KEY_VARIABLE": "LAB_KEY",
        "AGENTNB_LOCAL_MODEL": "mine",
    }
    assert [ast.literal_eval(each) for each in printed[-2:]] == [of_local, {}], warnings


def test_new_and_resumed_sessions_use_configured_mcp_servers(tmp_path: Path) -> None:
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
    printed, warnings = tell(code, mcp_servers={"docs": {"url": "https://x.test/mcp"}})
    assert (printed, warnings) == (["[]", "['docs']", "['docs']", "['more']", "[]", "[]"], "")


def test_resumed_session_keeps_kernel_access_unless_given(tmp_path: Path) -> None:
    code = f"""
import os, agentnb
os.environ["AGENTNB_LOG"] = {str(tmp_path / "log.db")!r}
def has(session):
    print(session.kernel_tools)
    session.close()
session = agentnb.start("eliza", kernel_tools=True)
session.prompt("/say kept").wait(120)
has(session)
session = agentnb.resume(session.tab_id)
session.kernel_tools = False
has(session)
has(agentnb.resume(session.tab_id))
has(agentnb.resume(session.tab_id, kernel_tools=True))
has(agentnb.resume(session.tab_id, kernel_tools=False))
"""
    assert tell(code) == (["True", "False", "False", "True", "False"], "")


def test_page_and_config_share_the_cell_review_setting() -> None:
    """A choice in a page before the extension loads is kept; each shows the other's change."""
    code = """
import asyncio
from agentnb.host import current_host
from agentnb.host.environment import current_environment
environment, host = current_environment(), current_host()
def shown():
    opened = next(iter(host.conversations.values()))
    host.loop.submit(asyncio.sleep(0)).result(120)  # what was to be shown is
    return magic("config", "Agentnb.cell_review"), opened.channels.shown_review
magic("unload_ext", "agentnb")
environment.choose_cell_review("after")
magic("load_ext", "agentnb")
magic("agent", "--kernel /say here")
print(*shown())
magic("config", "Agentnb.cell_review = 'first'")
print(*shown())
environment.choose_cell_review("after")
print(*shown())
"""
    printed, warnings = tell(code)
    assert (printed[-3:], warnings) == (["after after", "first first", "after after"], "")


def test_magic_and_python_trust_and_untrust_a_folder(tmp_path: Path) -> None:
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
    printed, warnings = tell(code)
    top, there = tmp_path.name, tmp_path / "there"
    assert warnings == ""
    assert printed == [
        f"{top} False []",
        f"{tmp_path} is trusted now: your policy file's allow rules apply there.",
        f"{top} True [{top!r}]",
        top,
        f"{top} False ['there']",
        "there True ['there']",
        f"{there} is not trusted: your policy file's allow rules ask there.",
        "there False []",
        "folder='nowhere' is not a folder. Give the folder in which the agent should work.",
    ]


def test_settings_file_applies_unless_config_overrides_it(tmp_path: Path) -> None:
    """It is read again after a change; ``%config`` and ``ipython_config.py`` take precedence."""
    (tmp_path / "settings.toml").write_text('agent = "claude"\ntimeout = 7\nview = "wrong"\n', encoding="utf-8")
    code = f"""
import os, agentnb
os.environ["AGENTNB_CONFIG_DIR"] = {str(tmp_path)!r}
magic("reload_ext", "agentnb")
def tell(*names):
    rows = {{row.name: row for row in agentnb.settings()}}
    print(*((rows[name].value, rows[name].source) for name in names))
    print(*(magic("config", f"Agentnb.{{name}}") for name in names))
tell("agent", "timeout", "permissions")
magic("config", "Agentnb.agent = 'eliza'")
agentnb.settings().set("timeout", 9)
agentnb.settings().set("permissions", "allow", here=True)
tell("agent", "timeout", "permissions")
agentnb.settings().reset("agent", here=True)
agentnb.settings().reset("permissions", here=True)
tell("agent", "timeout", "permissions")
"""
    printed, warnings = tell(code, permissions="deny")
    assert printed == [
        "('claude', 'user') (7.0, 'user') ('deny', 'startup')",
        "claude 7.0 deny",
        "('eliza', '%config') (9.0, 'user') ('allow', '%config')",
        "eliza 9.0 allow",
        "('claude', 'user') (9.0, 'user') ('ask', 'default')",
        "claude 9.0 ask",
    ]
    assert "settings.toml, line 3: view cannot be 'wrong'." in warnings


def test_wrong_agents_command_is_refused_with_the_right_one() -> None:
    """By a common synonym, otherwise by spelling; unknown words were ignored or taken for a client's name."""
    code = """
for words in ("start", "stop", "helth", "help", "pair now", "known claude", "serve --port 8765"):
    try:
        magic("agents", words)
    except Exception as error:
        print(error)
from agentnb.api.serving import serving
print(serving())
"""
    (*refused, served), warnings = tell(code)
    for line, words in zip(
        refused,
        (
            "%agents has no command 'start'. Did you mean `%agents new`? ",
            "%agents has no command 'stop'. Did you mean `%agents cancel`? ",
            "%agents has no command 'helth'. Did you mean `%agents health`? ",
            "%agents has no command 'help'. ",
            "%agents pair takes nothing more, not 'now'. `%agents?` lists all commands.",
            "%agents known takes nothing more, not 'claude'. `%agents?` lists all commands.",
            "%agents serve has no option '--port'. From Python it has options: agentnb.serve(port=8765). ",
        ),
        strict=True,
    ):
        assert line.startswith(words)
        assert "`%agents?` " in line or "`%agents serve NAME watch` lets a client connect." in line
    assert (served, warnings) == ("None", "")


def test_setting_with_a_missing_target_warns_with_its_place(tmp_path: Path) -> None:
    """The user's file, `ipython_config.py` or `%config`; a later error names the place too."""
    path = tmp_path / "settings.toml"
    path.write_text('# mine\n\nmcp_servers = "none.json"\n', encoding="utf-8")
    code = f"""
import os
os.environ["AGENTNB_CONFIG_DIR"] = {str(tmp_path)!r}
{SHELL.format(settings={"Agentnb": {"agent": "elisa"}})}
import sys
print("loaded", file=sys.stderr)
def use(line):
    try:
        magic("agent", line)
    except Exception as error:
        print(type(error).__name__, error)
use("Hello")
magic("config", "Agentnb.agent = 'nope'")
use("Hello")
magic("config", "Agentnb.agent = 'eliza'")
use("Hello")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    at_load, later = done.stderr.split("loaded\n")
    agent, servers = at_load.splitlines()
    assert agent.startswith(
        "c.Agentnb.agent in ipython_config.py: There is no agent called 'elisa'. Did you mean 'eliza'?"
    )
    assert servers.startswith(f"{path}, line 3, mcp_servers: 'none.json' is not a file.")
    assert later.startswith("%config Agentnb.agent: There is no agent called 'nope'.")
    first, second, third = done.stdout.splitlines()
    assert first.startswith("UnknownAgent c.Agentnb.agent in ipython_config.py: There is no agent called 'elisa'.")
    assert second.startswith("UnknownAgent %config Agentnb.agent: There is no agent called 'nope'.")
    assert third.startswith("UsageError")


def test_python_refuses_a_setting_with_a_missing_target(tmp_path: Path) -> None:
    code = f"""
import os
os.environ["AGENTNB_CONFIG_DIR"] = {str(tmp_path)!r}
import agentnb
for name, value in {{"agent": "nope", "warm": ["eliza", "nope"], "cwd": "/no/such/folder"}}.items():
    for here in (True, False):
        try:
            agentnb.settings().set(name, value, here=here)
        except agentnb.AgentnbError as error:
            print(type(error).__name__, error)
print(os.listdir({str(tmp_path)!r}), agentnb.settings().problems)
"""
    (*refused, left), problems = tell(code)
    assert [line.partition(".")[0] for line in refused] == [
        *["UnknownAgent There is no agent called 'nope'"] * 4,
        *["UsageError '/no/such/folder' is not a folder"] * 2,
    ]
    assert (left, problems) == ("[] ()", "")
