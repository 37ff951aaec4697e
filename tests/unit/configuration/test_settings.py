"""The settings: the sources of a value, what a change preserves, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import __version__
from agentnb.errors import SettingsError, UsageError
from tests.unit.command_line import run_here
from tests.unit.forked import run_script


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings folder, empty; the current folder is a workspace next to it."""
    settings_folder, work = tmp_path / "conf", tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(settings_folder))
    monkeypatch.chdir(work)
    settings_folder.mkdir()
    return settings_folder


def written(folder: Path, text: str, name: str = "settings.toml") -> Path:
    """Writes a file with *text* in the settings folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    return path


def value(name: str) -> Any:
    """Returns a setting's value and source."""
    (row,) = (row for row in agentnb.settings() if row.name == name)
    return row.value, row.source


PRECEDENCE = """
import agentnb
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({"Agentnb": {"local_url": "http://startup"}}))

def show():
    (row,) = (row for row in agentnb.settings() if row.name == "local_url")
    print(row.source, row.value, row.where, *(layer.source for layer in row.layers))

show()
shell.run_line_magic("load_ext", "agentnb")
show()
for chosen in ("http://config", ""):
    shell.run_line_magic("config", f"Agentnb.local_url = {chosen!r}")
    show()
"""


def test_settings_sources_have_a_fixed_precedence(folder: Path) -> None:
    """%config, ipython_config.py, the variable, the user's file, the default; each shows its place."""
    path = written(folder, 'url = "http://file"\n', "local.toml")
    done = run_script(PRECEDENCE, cwd=folder)
    assert done.stdout.splitlines()[0] == f"user http://file {path} user default", done.stderr
    done = run_script(PRECEDENCE, cwd=folder, AGENTNB_LOCAL_URL="http://variable")
    variable = "environment http://variable AGENTNB_LOCAL_URL environment user default"
    assert done.stdout.splitlines() == [
        variable,
        "startup http://startup  startup environment user default",
        "%config http://config  %config environment user default",
        variable,
    ]


@pytest.mark.parametrize(
    ("line", "allowed", "problem"),
    [
        ('permissions = "deny"', "deny", None),
        ('permissions = "allow"', "ask", "A project cannot set permissions to 'allow'."),
        ("permissions = 1", "ask", "permissions cannot be 1."),
    ],
)
def test_project_file_cannot_widen_permissions(line: str, allowed: str, problem: str | None) -> None:
    """It can only narrow, and never choose the agent or folder."""
    written(Path.cwd() / ".agentnb", f'{line}\nagent = "theirs"\n')
    problems = "\n".join(agentnb.settings().problems)
    assert (value("permissions")[0], value("agent")[0]) == (allowed, "")
    assert "settings.toml, line 2: A project cannot set agent to 'theirs'." in problems
    assert problem is None or f"settings.toml, line 1: {problem}" in problems


BROKEN: list[tuple[str, list[str]]] = [
    ("agent = x\n", ["cannot be read", "line 1"]),
    ("\n".join(["agent = 'a'", 'permissions = "alow"']), ["line 2: permissions cannot be 'alow'. Did you mean"]),
    ("timeout = true", ["line 1: timeout cannot be True. It must be a number from 0."]),
    ("warm = 'claude'", ["warm cannot be 'claude'. It must be a list of names."]),
    ("agnt = 'a'", ["line 1: There is no setting 'agnt'. Did you mean 'agent'?"]),
    ("headless = 'allow'", ["It belongs in policy.toml, as headless."]),
    ("\ufeffagent = 'a'", ["cannot be read"]),
    ("agent = '''a\nb'''", ["agent cannot be"]),
    ("mcp_servers = { a = { env = { KEY = 'secret-1' } }, b = 1 }", ["mcp_servers cannot be a dict."]),
    ("x = " + "[" * 5_000, ["cannot be read"]),
]


@pytest.mark.parametrize(("text", "messages"), BROKEN, ids=range(len(BROKEN)))
def test_wrong_setting_in_a_file_is_reported_with_its_place(folder: Path, text: str, messages: list[str]) -> None:
    """The wrong value has no effect; secrets are not repeated."""
    path = written(folder, text)
    problems = "\n".join(agentnb.settings().problems)
    assert [each for each in [str(path), *messages] if each not in problems] == []
    assert "secret-1" not in problems
    assert value("permissions")[0] == "ask"


def test_change_of_a_broken_or_read_only_file_fails(folder: Path) -> None:
    """A change must not lose what the user wrote; the error names the line."""
    for text, mode, why in (
        ('agent = "a"\noops\n', 0o644, r"is not TOML: .*line 2.* nothing in the file was changed"),
        ('agent = "a"\n', 0o444, "it is read-only"),
    ):
        path = written(folder, text)
        path.chmod(mode)
        with pytest.raises(SettingsError, match=why):
            agentnb.settings().set("timeout", 5)
        assert path.read_text("utf-8") == text


def test_settings_file_of_a_newer_agentnb_is_ignored_and_kept(folder: Path) -> None:
    """It has no effect, since its keys may mean something else by then."""
    text = 'oldest_agentnb = "9.1"\nagent = "a"\n'
    path = written(folder, text)
    (problem,) = agentnb.settings().problems
    assert problem.startswith(f"{path} was written for a newer agentnb. It can be read by agentnb 9.1 or later; ")
    assert f"this is agentnb {__version__}." in problem
    assert value("agent")[1] == "default"
    with pytest.raises(SettingsError, match=r"agentnb 9\.1 or later"):
        agentnb.settings().set("timeout", 5)
    assert path.read_text(encoding="utf-8") == text


def test_new_settings_file_names_the_oldest_agentnb_for_it(folder: Path) -> None:
    path = agentnb.settings().set("agent", "eliza")
    assert path == folder / "settings.toml"
    assert 'oldest_agentnb = "0.3"' in path.read_text(encoding="utf-8").splitlines()
    assert (value("agent"), agentnb.settings().problems) == (("eliza", "user"), ())


WRONG = [
    ("agent", "a\nb"),
    ("agent", "\x1b[31m"),
    ("agent", None.__class__),
    ("agents_hidden", "claude"),
    ("agents_hidden", [""]),
    ("timeout", float("nan")),
    ("timeout", -1),
    ("timeout", True),
    ("kernel_tools", "yes"),
    ("permissions", "ALLOW"),
    ("mcp_servers", [1]),
    ("cwd", "x" * 5_000),
    ("local_url", "x" * 1_000_000),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=range(len(WRONG)))
def test_change_to_an_invalid_value_is_rejected(folder: Path, name: str, wrong: Any) -> None:
    """It creates no file; the error for a text that is too long has its length."""
    why = "It has 1,000,000 characters; a setting takes 4,000" if name == "local_url" else ""
    with pytest.raises(UsageError) as refused:
        agentnb.settings().set(name, wrong)
    assert why in str(refused.value)
    assert not (folder / "settings.toml").exists()


def test_change_of_a_policy_setting_keeps_the_rules(folder: Path) -> None:
    """The file is checked as a policy."""
    path = written(folder, '# mine\n[[rule]]\naction = "deny" # yes\n', "policy.toml")
    agentnb.settings().set("headless", "allow")
    agentnb.settings().set("cell_review", "after")
    assert path.read_text("utf-8").endswith('# mine\n[[rule]]\naction = "deny" # yes\n')
    assert (value("headless"), value("cell_review")) == (("allow", "user"), ("after", "user"))
    agentnb.settings().set("cell_review", "policy")
    assert value("cell_review")[1] == "default"


def test_settings_and_policy_files_are_always_sensitive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing one always asks, even if everything is allowed; inside and outside the workspace."""
    monkeypatch.setenv("IPYTHONDIR", "/srv/[odd]")
    agentnb.settings().set("permissions", "allow")
    names = ["settings.toml", "policy.toml", "local.toml", "agents/claude.toml"]
    files = [*(str(folder / name) for name in names), "/srv/[odd]/profile_default/ipython_config.py"]
    files += [f"{Path.cwd()}/.agentnb/settings.toml", "/home/ada/.jupyter/agentnb/settings.toml"]
    for root in ("/", "/usr", str(folder.parent)):
        monkeypatch.chdir(root)
        answers = [agentnb.settings().what_if(path=each, tool="edit") for each in files]
        assert [each for each in answers if not each.startswith("You'd be asked")] == []
        if root == "/":
            assert [each for each in answers if "sensitive" not in each] == []


def test_settings_command_shows_changes_and_resets_settings(folder: Path) -> None:
    """Values are typed as text; keys of MCP servers stay hidden."""
    written(folder, 'mcp_servers = { db = { command = "x", env = { KEY = "secret-1" } } }\n')
    assert run_here("settings", "kernel_tools", "on").returncode == 0
    out = run_here("settings", "--json").stdout
    rows = {row["name"]: row for row in json.loads(out)}
    assert (rows["kernel_tools"]["value"], rows["kernel_tools"]["source"]) == (True, "user")
    assert rows["mcp_servers"]["value"] == ["db"]
    assert "secret-1" not in out
    assert run_here("settings", "--reset", "kernel_tools").returncode == 0
    assert "You'd be asked: it deletes a whole home" in run_here("settings", "--what-if", "rm -rf /").stdout
    assert run_here("settings", "permissions", "deny").returncode == 0
    assert run_here("settings", "--what-if", "git push").stdout.splitlines() == [
        'It would be denied: this session has permissions="deny". Sends commits to another machine.'
    ]
    refused = run_here("settings", "permissions", "yes")
    assert (refused.returncode, "It must be one of 'ask', 'allow', 'deny'." in refused.stderr) == (1, True)
    assert "kernel_tools" not in (folder / "settings.toml").read_text("utf-8")


def test_change_fails_when_the_settings_folder_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path is a file."""
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", os.fspath(tmp_path / "taken"))
    with pytest.raises(SettingsError, match="was not changed"):
        agentnb.settings().set("timeout", 5)


WRONG_VARIABLES = {
    "AGENTNB_HEADLESS": ("yes", "AGENTNB_HEADLESS: headless cannot be 'yes'. It must be one of 'deny', 'allow'."),
    "AGENTNB_CHANGES": ("maybe", "AGENTNB_CHANGES: changes cannot be 'maybe'. It must be true or false."),
    "AGENTNB_LOG_DAYS": ("-1", "AGENTNB_LOG_DAYS: log_days cannot be -1.0. It must be a number from 0."),
    "AGENTNB_LOG_MAX": ("lots", "AGENTNB_LOG_MAX: log_max cannot be 'lots'. It must be a size, such as 500M or 2G."),
    "AGENTNB_AUDIENCE": ("none", "AGENTNB_AUDIENCE cannot be 'none'. It must be nobody."),
    "AGENTNB_IDS": ("random", "AGENTNB_IDS cannot be 'random'. It must be counted."),
    "AGENTNB_EVENTS_TEXT": ("yes", "AGENTNB_EVENTS_TEXT cannot be 'yes'. It must be 0 or 1."),
    "AGENTNB_PROGRESS_SECONDS": ("soon", "AGENTNB_PROGRESS_SECONDS cannot be 'soon'. It must be a number of seconds."),
    "AGENTNB_CHANGES_MAX": ("lots", "AGENTNB_CHANGES_MAX cannot be 'lots'. It must be a size, such as 500M or 2G."),
}


@pytest.mark.parametrize(
    "begin", ["import agentnb\nagentnb.start()\nagentnb.start()", "import agentnb\nprint(agentnb.settings())"]
)
def test_wrong_environment_variables_are_reported_once(begin: str, tmp_path: Path) -> None:
    """In a program without the extension, and in the list of settings; the program continues."""
    done = run_script(begin, cwd=tmp_path, **{name: value for name, (value, _) in WRONG_VARIABLES.items()})
    output = done.stdout + done.stderr
    assert {name: output.count(f"{sentence} It has no effect.") for name, (_, sentence) in WRONG_VARIABLES.items()} == (
        dict.fromkeys(WRONG_VARIABLES, 1)
    )


def test_extension_reports_wrong_environment_variables_on_load(tmp_path: Path) -> None:
    """A cell with progress output does not fail because of them."""
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "agentnb")
shell.run_line_magic("agent", "/say shown")
"""
    done = run_script(code, cwd=tmp_path, **{name: value for name, (value, _) in WRONG_VARIABLES.items()})
    assert "shown" in done.stdout
    assert sorted(done.stderr.splitlines()) == sorted(
        f"{sentence} It has no effect." for _, sentence in WRONG_VARIABLES.values()
    )
