"""Agents added by the user, a project or a package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentnb.agent.catalog import additions, find, known
from agentnb.errors import UnknownAgent

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


def test_user_file_adds_and_replaces_agents(places: tuple[Path, Path]) -> None:
    user, _ = places
    describe(user, "mine")
    describe(user, "claude", "My Claude")
    assert (find("mine").origin, find("claude").title) == ("user", "My Claude")


def test_project_adds_but_never_replaces_agents(places: tuple[Path, Path]) -> None:
    """It replaces neither built-in nor user agents; a notice says so."""
    user, project = places
    describe(user, "mine")
    for name in ("mine", "claude", "ours"):
        describe(project, name, "From the repository")
    assert (find("ours").origin, find("mine").title, find("claude").title) == ("project", "Mine", "Claude")
    assert [line.split(" was ignored")[0].split("'")[-2] for line in additions()[1]] == ["claude", "mine"]


def test_broken_agent_file_is_reported_and_others_are_read(places: tuple[Path, Path]) -> None:
    """One broken file must not break the list."""
    user, _ = places
    (user / "broken.toml").write_text("name =", encoding="utf-8")
    (user / "empty.toml").write_text('name = "e"\ntitle = "E"\ncommand = []\n', encoding="utf-8")
    describe(user, "mine")
    assert "mine" in [spec.name for spec in known()]
    wrong = additions()[1]
    assert ["broken.toml: This is not an agent's description" in wrong[0], "needs a name" in wrong[1]] == [True, True]


def test_find_reports_the_line_of_a_broken_agent_file(
    places: tuple[Path, Path],
) -> None:
    """It is not reported as unknown."""
    user, _ = places
    (user / "mine.toml").write_text('name = "mine"\ntitle = "Mine"\ncommand = "mine"\n', encoding="utf-8")
    with pytest.raises(UnknownAgent) as caught:
        find("mine")
    assert str(caught.value) == (
        f"The agent 'mine' cannot be read. {user / 'mine.toml'}: This is not an agent's description: "
        "line 3, command: Expected a list, got a text. Fix that file."
    )


def test_unreadable_agents_folder_is_reported(places: tuple[Path, Path]) -> None:
    """Listing agents still works; even root cannot read a link to itself."""
    user, _ = places
    user.rmdir()
    user.symlink_to(user)
    assert "eliza" in [spec.name for spec in known()]
    assert [line.startswith(str(user)) for line in additions()[1]] == [True]


def test_package_adds_agents_by_entry_point(tmp_path: Path) -> None:
    """A real installed package in a new interpreter; a broken package affects no other."""
    site = tmp_path / "site"
    install(site, "extra", "spec = AgentSpec(name='extra', title='Extra', command=('extra',))")
    install(site, "broken", "spec = 1 / 0")
    install(site, "wrong", "spec = str")
    script = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "from agentnb.agent.catalog import additions, find\n"
        "print(find('extra').origin, *sorted(additions()[1]), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (
        [
            "package",
            "The entry point 'broken' in 'agentnb.agents' fails: ZeroDivisionError: division by zero",
            "The entry point 'wrong' in 'agentnb.agents' is not an AgentSpec.",
        ],
        "",
    )


def install(site: Path, name: str, code: str) -> None:
    """Writes a package with an agent, as pip installs it."""
    info = site / f"{name}_agent-1.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}_agent.py").write_text(f"from agentnb.agent import AgentSpec\n{code}\n", encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-agent\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[agentnb.agents]\n{name} = {name}_agent:spec\n", encoding="utf-8")
