"""npx uses the user's and the machine's npm settings, also for confined agents."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agentnb.agent.catalog import catalogue, find
from agentnb.agent.installation import install_words
from agentnb.agent.process import SpawnedAgent
from agentnb.agent.programs import certificate_files, copy_without_logins, machine_settings
from agentnb.agent.registry import PackageRunner

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


@needs_npm
async def test_npx_agent_starts_with_the_registry_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is the real npm, which prints its registry."""
    (tmp_path / "own/etc").mkdir(parents=True)
    (tmp_path / "own/etc/npmrc").write_text("registry=https://mirror.example.org/npm/\n", encoding="utf-8")
    for name in [each for each in os.environ if each.lower().startswith("npm_config_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("npm_config_prefix", str(tmp_path / "own"))
    monkeypatch.setenv("HOME", str(tmp_path))
    options = PackageRunner(kind="npx", package="x").command_in(tmp_path / "installs")[2:3]
    spec = find("eliza").__class__(name="n", title="N", command=("npm", *options, "config", "get", "registry"))
    output, ended = bytearray(), asyncio.Event()
    process = await SpawnedAgent.spawn(spec, tmp_path, on_output=output.extend, on_end=ended.set)
    await asyncio.wait_for(ended.wait(), 60)
    await process.stop()
    assert output.decode().strip() == "https://mirror.example.org/npm/"


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


def test_start_and_install_use_the_same_version() -> None:
    """For every agent that both can install."""
    both = [spec for spec in catalogue().values() if spec.runner is not None and install_words(spec)]
    assert len(both) >= 10
    assert [spec.name for spec in both if spec.runner and spec.runner.package not in (install_words(spec) or ())] == []
