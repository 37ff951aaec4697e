"""The settings: the sources of a value, what a change preserves, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb import __version__, cli
from agentnb.configuration.site_settings import Layer
from agentnb.configuration.sources import read_settings
from agentnb.configuration.table import FIRST, SETTINGS, is_wider
from agentnb.configuration.write import change_setting
from agentnb.errors import PolicyError, SettingsError, UsageError
from agentnb.policy.engine import judge
from agentnb.policy.request import PolicyRequest, Situation
from agentnb.policy.store import PolicyFiles
from agentnb.toml_file import change_file, parsed, with_key, without_entry, without_key
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


def test_settings_sources_have_a_fixed_precedence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """%config, ipython_config.py, the variable, the user's file, the default; each shows its place."""
    path = written(folder, 'url = "http://file"\n', "local.toml")
    seen = [read_settings()["local_url"]]
    monkeypatch.setenv("AGENTNB_LOCAL_URL", "http://variable")
    seen.append(read_settings()["local_url"])
    seen.append(read_settings({"local_url": Layer("startup", "http://startup")})["local_url"])
    seen.append(read_settings({"local_url": Layer("%config", "")})["local_url"])
    assert [(each.source, each.value, each.where) for each in seen] == [
        ("user", "http://file", str(path)),
        ("environment", "http://variable", "AGENTNB_LOCAL_URL"),
        ("startup", "http://startup", ""),
        ("environment", "http://variable", "AGENTNB_LOCAL_URL"),
    ]
    assert [layer.source for layer in seen[2].layers] == ["startup", "environment", "user", "default"]


@pytest.mark.parametrize(
    ("line", "value", "problem"),
    [
        ('permissions = "deny"', "deny", None),
        ('permissions = "allow"', "ask", "A project cannot set permissions to 'allow'."),
        ("permissions = 1", "ask", "permissions cannot be 1."),
    ],
)
def test_project_file_cannot_widen_permissions(line: str, value: str, problem: str | None) -> None:
    """It can only narrow, and never choose the agent or folder."""
    written(Path.cwd() / ".agentnb", f'{line}\nagent = "theirs"\n')
    now = read_settings()
    assert (now["permissions"].value, now["agent"].value) == (value, "")
    assert "settings.toml, line 2: A project cannot set agent to 'theirs'." in "\n".join(now.problems)
    assert problem is None or f"settings.toml, line 1: {problem}" in "\n".join(now.problems)


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
    problems = "\n".join(read_settings().problems)
    assert [each for each in [str(path), *messages] if each not in problems] == []
    assert "secret-1" not in problems
    assert read_settings()["permissions"].value == "ask"


def test_change_of_a_broken_file_fails_and_names_the_line(folder: Path) -> None:
    """A change must not lose what the user wrote."""
    path = written(folder, 'agent = "a"\noops\n')
    with pytest.raises(SettingsError, match=r"is not TOML: .*line 2.* nothing in the file was changed"):
        change_setting("agent", "b")
    assert path.read_text("utf-8") == 'agent = "a"\noops\n'


def test_settings_file_of_a_newer_agentnb_is_ignored_and_kept(folder: Path) -> None:
    """It has no effect, since its keys may mean something else by then."""
    text = 'oldest_agentnb = "9.1"\nagent = "a"\n'
    path = written(folder, text)
    (problem,) = read_settings().problems
    assert problem.startswith(f"{path} was written for a newer agentnb. It can be read by agentnb 9.1 or later; ")
    assert f"this is agentnb {__version__}." in problem
    assert read_settings()["agent"].source == "default"
    with pytest.raises(SettingsError, match=r"agentnb 9\.1 or later"):
        change_setting("agent", "b")
    assert path.read_text(encoding="utf-8") == text


def test_new_settings_file_names_the_oldest_agentnb_for_it(folder: Path) -> None:
    path = change_setting("agent", "eliza")
    assert 'oldest_agentnb = "0.3"' in path.read_text(encoding="utf-8").splitlines()
    assert (read_settings()["agent"].value, read_settings().problems) == ("eliza", ())


def test_change_of_a_read_only_file_fails(folder: Path) -> None:
    """Even if the system would let the user write."""
    path = written(folder, 'agent = "a"\n')
    path.chmod(0o444)
    with pytest.raises(SettingsError, match="it is read-only"):
        change_setting("agent", "b")
    assert path.read_text("utf-8") == 'agent = "a"\n'


def test_change_fails_when_the_value_was_changed_meanwhile(folder: Path) -> None:
    """The other edit stays; an edit of another key does not matter."""
    path = written(folder, 'agent = "mine"\ntimeout = 5\n')
    for name in ("agent", "headless"):
        with pytest.raises(SettingsError, match="It was changed meanwhile"):
            change_setting(name, "deny", was="allow")
    change_setting("agent", "new", was="mine")
    assert path.read_text("utf-8") == 'agent = "new"\ntimeout = 5\n'


def test_change_keeps_an_edit_made_between_read_and_write(folder: Path) -> None:
    """The file is read again."""
    path = written(folder, 'agent = "a"\n')
    edits = iter(['agent = "a"\n# by hand\n'])

    def change(text: str) -> str:
        for edit in edits:
            path.write_text(edit, encoding="utf-8")
        return with_key(text, "timeout", 5)

    assert change_file(path, change)
    assert parsed(path.read_text("utf-8")) == {"agent": "a", "timeout": 5}
    assert "# by hand" in path.read_text("utf-8")


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
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_change_to_an_invalid_value_is_rejected(folder: Path, name: str, value: Any) -> None:
    """Creates no file."""
    with pytest.raises(UsageError):
        change_setting(name, value)
    assert [*folder.iterdir()] == []


def test_change_of_a_policy_setting_keeps_the_rules(folder: Path) -> None:
    """The file is checked as a policy."""
    path = written(folder, '# mine\n[[rule]]\naction = "deny" # yes\n', "policy.toml")
    change_setting("headless", "allow")
    change_setting("cell_review", "after")
    assert path.read_text("utf-8").endswith('# mine\n[[rule]]\naction = "deny" # yes\n')
    assert (PolicyFiles().user.headless, PolicyFiles().user.cell_review) == ("allow", "after")
    change_setting("cell_review", "policy")
    assert PolicyFiles().user.cell_review is None


def test_forget_removes_only_the_rule_that_was_shown(folder: Path) -> None:
    """Comments of other rules stay; if the file has another rule at that number, nothing is removed."""
    text = '[[rule]]\naction = "deny"\ncommand = "a"\n\n# the second\n[[rule]]\naction = "ask"\ncommand = "b"\n'
    path = written(folder, text, "policy.toml")
    with pytest.raises(PolicyError, match="is no longer 'deny b'"):
        PolicyFiles().forget(1, "deny b")
    PolicyFiles().forget(1, "deny a")
    assert path.read_text("utf-8") == '# the second\n[[rule]]\naction = "ask"\ncommand = "b"\n'


VALUES = st.one_of(st.booleans(), st.integers(0, 9), st.text(max_size=9), st.lists(st.text(max_size=4), max_size=3))
TOPS = ["# a comment", "", 'a = "x" # behind', "  b = [ # first\n  1,\n]", "c = '''\na = 2\n[d]\n'''", '"a b" = 1']
TABLES = ["[t]\na = 1", "[[rule]]\na = 1", "# above\n[u.v]\n# inside\na = [\n[1]]", "[w]\nab = {a = 1} # }"]
TEXTS = st.tuples(
    st.lists(st.sampled_from(TOPS), max_size=4, unique=True), st.lists(st.sampled_from(TABLES), max_size=3, unique=True)
).map(lambda parts: "\n".join([*parts[0], *parts[1]]))


@settings(max_examples=50)
@given(text=TEXTS, key=st.sampled_from(["a", "b", "c", "ab", "new"]), value=VALUES)
def test_setting_and_removing_a_key_keeps_everything_else(text: str, key: str, value: Any) -> None:
    """All comments and other values stay, wherever the key was."""
    before = parsed(text)
    after = with_key(text, key, value)
    assert parsed(after) == {**before, key: value}
    assert after.count("#") >= text.count("# a comment") + text.count("# above") + text.count("# inside")
    gone = without_key(after, key)
    assert parsed(gone) == {name: each for name, each in before.items() if name != key}


@settings(max_examples=30)
@given(heads=st.lists(st.sampled_from(["a = 1", "a = 2\n# own\nb = '[[rule]]'", "c = '''\n[[rule]]\n'''"]), max_size=4))
def test_removing_an_entry_keeps_the_others(heads: list[str]) -> None:
    """Even if their strings look like entries."""
    text = "top = 1\n" + "\n".join(f"# of {at}\n[[rule]]\n{head}\n" for at, head in enumerate(heads))
    for number in range(1, len(heads) + 1):
        left = parsed(without_entry(text, "rule", number))
        assert left.get("rule", []) == [parsed(head) for at, head in enumerate(heads, 1) if at != number]


def test_settings_and_policy_files_are_always_sensitive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing one always asks, even if the session allows everything; inside and outside the workspace."""
    monkeypatch.setenv("IPYTHONDIR", "/srv/[odd]")
    names = ["settings.toml", "policy.toml", "local.toml", "agents/claude.toml"]
    files = [*(str(folder / name) for name in names), "/srv/[odd]/profile_default/ipython_config.py"]
    files += [f"{Path.cwd()}/.agentnb/settings.toml", "/home/ada/.jupyter/agentnb/settings.toml"]
    for root in ("/", "/other", str(folder.parent)):
        situation = Situation(agent="a", mode="allow", root=PurePosixPath(root), trusted=True)
        decisions = [judge(PolicyRequest(kind="write", title="x", path=each), situation) for each in files]
        assert [each.outcome for each in decisions] == ["ask"] * len(files)
        if root == "/":
            assert {each.floor for each in decisions} == {"sensitive"}


def test_is_wider_recognizes_changes_that_allow_more() -> None:
    """A step up an order and a new folder; never a step down, an address or an agent."""
    for which in SETTINGS.values():
        for at, low in enumerate(which.order):
            for high in which.order[at + 1 :]:
                assert (is_wider(which, low, high), is_wider(which, high, low)) == (True, False), which.name
    assert is_wider(SETTINGS["cwd"], "", "/")
    assert not is_wider(SETTINGS["cwd"], "/", "")
    for name in ("agent", "local_url", "local_key_variable", "warm", "language_server"):
        assert not is_wider(SETTINGS[name], "a", "b"), name


def test_first_screen_lists_existing_settings_and_grants() -> None:
    """At most thirteen, each of which exists."""
    assert [name for name in FIRST if name not in SETTINGS] == ["grants"]
    assert len(set(FIRST)) == len(FIRST) <= 13


def test_too_long_text_is_rejected_with_its_length() -> None:
    """Not with *It is a text on one line*."""
    with pytest.raises(UsageError, match="It has 1,000,000 characters; a setting takes 4,000"):
        SETTINGS["local_url"].check("x" * 1_000_000)


def test_settings_command_shows_changes_and_resets_settings(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Values are typed as text; keys of MCP servers stay hidden."""
    written(folder, 'mcp_servers = { db = { command = "x", env = { KEY = "secret-1" } } }\n')
    assert cli.main(["settings", "kernel_tools", "on"]) == 0
    assert cli.main(["settings", "--json"]) == 0
    out = capfd.readouterr().out
    rows = {row["name"]: row for row in json.loads(out[out.index("[") :])}
    assert (rows["kernel_tools"]["value"], rows["kernel_tools"]["source"]) == (True, "user")
    assert rows["mcp_servers"]["value"] == ["db"]
    assert "secret-1" not in out
    assert cli.main(["settings", "--reset", "kernel_tools"]) == 0
    assert cli.main(["settings", "--what-if", "rm -rf /"]) == 0
    assert "You'd be asked: it deletes a whole home" in capfd.readouterr().out
    assert cli.main(["settings", "permissions", "deny"]) == 0
    assert cli.main(["settings", "--what-if", "git push"]) == 0
    assert capfd.readouterr().out.splitlines()[1:] == [
        'It would be denied: this session has permissions="deny". Sends commits to another machine.'
    ]
    assert cli.main(["settings", "permissions", "yes"]) == 1
    assert "It must be one of 'ask', 'allow', 'deny'." in capfd.readouterr().err
    assert "kernel_tools" not in (folder / "settings.toml").read_text("utf-8")


def test_change_fails_when_the_settings_folder_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path is a file."""
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", os.fspath(tmp_path / "taken"))
    with pytest.raises(SettingsError, match="was not changed"):
        change_setting("agent", "b")


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
