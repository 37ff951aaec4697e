"""Agents added by the user, a project or a package, and the errors of their descriptions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import agentnb
from agentnb.errors import UnknownAgent, UsageError
from tests.conftest import ROOT
from tests.unit.forked import run_agentnb

MINE = 'name = "{name}"\ntitle = "{title}"\ncommand = ["my-agent", "--acp"]\n'


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The user's and the project's agent folders."""
    user, project = tmp_path / "config/agentnb/agents", tmp_path / "project/.agentnb/agents"
    for folder in (user, project):
        folder.mkdir(parents=True)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path / "project")
    return user, project


def describe(folder: Path, name: str, title: str = "Mine") -> None:
    (folder / f"{name}.toml").write_text(MINE.format(name=name, title=title), encoding="utf-8")


def titles() -> dict[str, str]:
    return {row.name: row.title for row in agentnb.agents()}


def notices() -> list[str]:
    """Returns what the doctor says of descriptions."""
    return run_agentnb("doctor", "eliza", cwd=Path.cwd()).stderr.splitlines()


def test_user_may_replace_agents_and_a_project_may_only_add_them(places: tuple[Path, Path]) -> None:
    """A project replaces neither built-in nor user agents; a notice says so."""
    user, project = places
    describe(user, "mine")
    describe(user, "claude", "My Claude")
    for name in ("mine", "claude", "codex", "ours"):
        describe(project, name, "From the repository")
    assert [titles()[name] for name in ("mine", "claude", "ours")] == ["Mine", "My Claude", "From the repository"]
    assert titles()["codex"] != "From the repository"
    assert [line.split(" was ignored")[0].split("'")[-2] for line in notices()] == ["claude", "codex", "mine"]


def test_broken_agent_file_is_reported_and_others_are_read(places: tuple[Path, Path]) -> None:
    """One broken file must not break the list."""
    user, _ = places
    (user / "broken.toml").write_text("name =", encoding="utf-8")
    (user / "empty.toml").write_text('name = "e"\ntitle = "E"\ncommand = []\n', encoding="utf-8")
    describe(user, "mine")
    assert "mine" in titles()
    broken, empty = notices()
    assert ("broken.toml: This is not an agent's description" in broken, "needs a name" in empty) == (True, True)


def test_unreadable_agents_folder_is_reported(places: tuple[Path, Path]) -> None:
    """Listing agents still works; even root cannot read a link to itself."""
    user, _ = places
    user.rmdir()
    user.symlink_to(user)
    assert "eliza" in titles()
    assert [str(user) in line for line in notices()] == [True]


WHOLE = 'name = "x"\ntitle = "X"\ncommand = ["x"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('# mine\nname = "x"\ntitle = "X"\ncommand = "x --acp"', "line 4, command: Expected a list, got a text."),
        (f'{WHOLE}[capabilities]\nterminal = "no"', "line 5, terminal: Expected true or false, got a text."),
        (f"{WHOLE}colour = 3", "line 4, colour: there is no such key."),
        (f"{WHOLE}env = {{ KEY = 1 }}", "line 4, env: Expected a text, got a whole number."),
        (f'{WHOLE}[mcp_servers.db]\nkommand = "x"', "line 4, mcp_servers: The MCP server 'db' needs"),
        (f'{WHOLE}confine = "maybe"', "line 4, confine: confine is 'maybe'."),
        ('name = "x"\nbased_on = "nope"', "line 2, based_on: there is no agent 'nope' to base it on."),
        ('name = "x"\ntitle = "X"\ncommand = []', "line 3, command: it needs a name and a command."),
        (f"{WHOLE}rank = ", "line 4, rank: Invalid value."),
        (f'name = "y"\n{WHOLE}', "line 2, name: Cannot overwrite a value."),
        (WHOLE.replace("title", "about"), "it lacks `title`."),
    ],
)
def test_broken_description_error_names_the_line_and_the_key(
    places: tuple[Path, Path], text: str, message: str
) -> None:
    """Also for errors found by the TOML, field and MCP server readers; the agent is not reported as unknown."""
    user, _ = places
    (user / "x.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UnknownAgent) as caught:
        agentnb.start("x")
    words = f"The agent 'x' cannot be read. {user / 'x.toml'}: This is not an agent's description: {message}"
    assert str(caught.value).startswith(words)
    assert str(caught.value).endswith("Fix that file.")


def test_unknown_agent_error_suggests_close_and_known_names() -> None:
    with pytest.raises(UnknownAgent) as failure:
        agentnb.start("Cluade")
    message = str(failure.value)
    assert message.startswith("There is no agent called 'Cluade'. Did you mean 'claude'? Known agents: auggie, claude,")


@pytest.mark.parametrize("command", ["opencode acp", [], ["", "x"]])
def test_command_that_is_no_list_of_words_is_refused(command: list[str]) -> None:
    with pytest.raises(UsageError, match="list of words"):
        agentnb.start(command=command)


def test_uv_and_brew_agents_have_an_upgrade_command() -> None:
    """Uv and brew keep an old version."""
    files = [path.read_text(encoding="utf-8").splitlines() for path in (ROOT / "agentnb/agent/catalog").glob("*.toml")]
    kept = ('install = "uv ', 'install = "brew ')
    assert [lines for lines in files if any(each.startswith(kept) for each in lines)] != []
    for lines in files:
        if any(each.startswith(kept) for each in lines):
            assert [each for each in lines if each.startswith("upgrade = ") and "upgrade" in each[10:]] != [], lines[0]


def test_package_adds_agents_by_entry_point(tmp_path: Path) -> None:
    """A real installed package in a new interpreter; a broken package affects no other."""
    site = tmp_path / "site"
    install(site, "extra", "spec = AgentSpec(name='extra', title='Extra', command=('extra',))")
    install(site, "broken", "spec = 1 / 0")
    install(site, "wrong", "spec = str")
    script = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import agentnb, runpy\n"
        "print(next(row.title for row in agentnb.agents() if row.name == 'extra'))\n"
        "sys.argv = ['agentnb', 'doctor', 'eliza']\n"
        "runpy.run_module('agentnb', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "Extra" in done.stdout.splitlines()
    assert [line.partition("The entry point")[2] for line in sorted(done.stderr.splitlines())] == [
        " 'broken' in 'agentnb.agents' fails: ZeroDivisionError: division by zero",
        " 'wrong' in 'agentnb.agents' is not an AgentSpec.",
    ]


def install(site: Path, name: str, code: str) -> None:
    """Writes a package with an agent, as pip installs it."""
    info = site / f"{name}_agent-1.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}_agent.py").write_text(f"from agentnb.agent import AgentSpec\n{code}\n", encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-agent\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[agentnb.agents]\n{name} = {name}_agent:spec\n", encoding="utf-8")
