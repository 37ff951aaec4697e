"""Agents that the user, a project or a package adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.agent import find, known
from agentnb.agent.catalog import additions

MINE = 'name = "{name}"\ntitle = "{title}"\ncommand = ["my-agent", "--acp"]\n'


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The folders of the user and of the project."""
    user, project = tmp_path / "config/agentnb/agents", tmp_path / "project/.agentnb/agents"
    for folder in (user, project):
        folder.mkdir(parents=True)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path / "project")
    return user, project


def describe(folder: Path, name: str, title: str = "Mine") -> None:
    (folder / f"{name}.toml").write_text(MINE.format(name=name, title=title), encoding="utf-8")


def test_a_user_adds_and_replaces_agents(places: tuple[Path, Path]) -> None:
    """The user's word is the last."""
    user, _ = places
    describe(user, "mine")
    describe(user, "claude", "My Claude")
    assert (find("mine").origin, find("claude").title) == ("user", "My Claude")


def test_a_project_adds_but_never_replaces(places: tuple[Path, Path]) -> None:
    """Neither what is built in nor what the user has; and it is said."""
    user, project = places
    describe(user, "mine")
    for name in ("mine", "claude", "ours"):
        describe(project, name, "From the repository")
    assert (find("ours").origin, find("mine").title, find("claude").title) == ("project", "Mine", "Claude")
    assert [line.split("'")[1] for line in additions()[1]] == ["claude", "mine"]


def test_a_broken_file_is_told_and_the_others_count(places: tuple[Path, Path]) -> None:
    """Listing agents never fails because of one."""
    user, _ = places
    (user / "broken.toml").write_text("name =", encoding="utf-8")
    (user / "empty.toml").write_text('name = "e"\ntitle = "E"\ncommand = []\n', encoding="utf-8")
    describe(user, "mine")
    assert "mine" in [spec.name for spec in known()]
    wrong = additions()[1]
    assert ["broken.toml: This is not an agent's description" in wrong[0], "wants a name" in wrong[1]] == [True, True]


def test_a_package_adds_agents_by_entry_point(tmp_path: Path) -> None:
    """A real installed package, seen by a new interpreter."""
    import subprocess
    import sys

    site = tmp_path / "site"
    info = site / "extra_agent-1.dist-info"
    info.mkdir(parents=True)
    (site / "extra_agent.py").write_text(
        'from agentnb.agent import AgentSpec\nspec = AgentSpec(name="extra", title="Extra", command=("extra",))\n',
        encoding="utf-8",
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-agent\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[agentnb.agents]\nextra = extra_agent:spec\n", encoding="utf-8")
    script = (
        f"import sys; sys.path.insert(0, {str(site)!r})\nfrom agentnb.agent import find\nprint(find('extra').origin)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("package\n", "")
