"""The real agents: names at npm or PyPI, and settings for a scripted model in a throw-away home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

Configure = Callable[[Path, str], dict[str, str]]
CACHE = Path(os.environ.get("AGENTNB_PEERS", ROOT / ".cache/peers"))
"""The agents' installations, each in a separate folder so that dependencies do not conflict."""


@dataclass(frozen=True)
class Peer:
    """A real agent.

    Args:
        name: Its name in our catalogue.
        package: Its name at npm or PyPI.
        version: The version to test.
        program: Its program.
        configure: Writes its settings into a home, given the model server's address; returns its environment.
        finds_sessions: True if it always loads a session of another of its processes.
        python: For an agent from PyPI: the oldest Python that it supports.
        beside: Packages of npm to install with it; their programs come first on its PATH (a newer Node).

    Attributes:
        folder: The folder of its installation.
        executable: Its program after the installation.
    """

    name: str
    package: str
    version: str
    program: str
    configure: Configure
    finds_sessions: bool = True
    python: tuple[int, int] | None = None
    beside: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def executable(self) -> Path:
        return self.folder / ("node_modules/.bin" if self.python is None else "bin") / self.program

    def installing(self) -> list[list[str]]:
        """Returns the commands that install it.

        Raises:
            LookupError: If this machine has no npm or no suitable Python.
        """
        if self.python is None:
            npm = shutil.which("npm")
            if npm is None:
                raise LookupError(f"no npm on PATH to install {self.package} with")
            options = ["--prefix", str(self.folder), "--no-fund", "--no-audit"]
            return [[npm, "install", *options, f"{self.package}@{self.version}", *self.beside]]
        pip = [str(self.folder / "bin/python"), "-m", "pip", "install", "--quiet"]
        return [[_python(self.python), "-m", "venv", str(self.folder)], [*pip, f"{self.package}=={self.version}"]]

    def install(self, seconds: float | None = None) -> None:
        """Install it into its folder, unless it is there.

        Raises:
            LookupError: If this machine has no npm or no suitable Python.
            subprocess.CalledProcessError: If that fails; its ``stderr`` says why.
        """
        if not self.executable.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            for command in self.installing():
                subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds)

    def at_home(self, home: Path, server: str) -> dict[str, str]:
        """Write its settings into the throw-away *home*; returns an environment without the user's settings.

        Args:
            home: A folder; created if missing.
            server: The model server's address, without a slash at its end.
        """
        home.mkdir(parents=True, exist_ok=True)
        folders = {"CONFIG": ".config", "DATA": ".local/share", "CACHE": ".cache", "STATE": ".local/state"}
        at_home = {f"XDG_{name}_HOME": str(home / folder) for name, folder in folders.items()}
        path = {"PATH": f"{self.executable.parent}{os.pathsep}{os.environ['PATH']}"} if self.beside else {}
        return {"HOME": str(home), **at_home, **path, **self.configure(home, server)}


def _python(oldest: tuple[int, int]) -> str:
    """Returns a Python no older than *oldest*: this one, one on the PATH, or pyenv's."""
    if sys.version_info >= oldest:
        return sys.executable
    names = [f"python{oldest[0]}.{minor}" for minor in range(oldest[1], oldest[1] + 3)]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    paths = [shutil.which(name) for name in names]
    paths += [str(path) for name in names for path in sorted(pyenv.glob(f"versions/*/bin/{name}"))]
    for each in filter(None, paths):  # pyenv has scripts for Pythons that are not active
        if subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
            return each
    raise LookupError(f"no Python {oldest[0]}.{oldest[1]} or newer here")


def write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def opencode(home: Path, server: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{server}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    config = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": {"edit": "ask", "bash": "ask"},
    }
    write(home / ".config/opencode/opencode.json", config)
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def gemini(home: Path, server: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    write(home / ".gemini/settings.json", settings)
    return {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": server, "GEMINI_TELEMETRY_ENABLED": "false"}


def claude(home: Path, server: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": server,
        "ANTHROPIC_API_KEY": "fake",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def vibe(home: Path, server: str) -> dict[str, str]:
    config = f"""
active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
enable_connectors = false

[experiments]
enable = false

[session_logging]
generate_titles = false

[[providers]]
name = "scripted"
api_base = "{server}/v1"

[[models]]
name = "scripted"
provider = "scripted"
alias = "scripted"
"""
    (home / ".vibe").mkdir()
    (home / ".vibe/config.toml").write_text(config, encoding="utf-8")
    return {}


def qwen(home: Path, server: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    write(home / ".qwen/settings.json", settings)
    return {"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": f"{server}/v1", "OPENAI_MODEL": "scripted"}


def copilot(home: Path, server: str) -> dict[str, str]:
    model = {"BASE_URL": f"{server}/v1", "TYPE": "openai", "API_KEY": "fake"}
    return {
        **{f"COPILOT_PROVIDER_{name}": value for name, value in model.items()},
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
    }


def kimi(home: Path, server: str) -> dict[str, str]:
    config = f"""
default_model = "scripted"

[providers.scripted]
type = "openai"
base_url = "{server}/v1"
api_key = "fake"

[models.scripted]
provider = "scripted"
model = "scripted"
max_context_size = 100000
"""
    (home / ".kimi-code").mkdir()
    (home / ".kimi-code/config.toml").write_text(config, encoding="utf-8")
    return {}


def codex(home: Path, server: str) -> dict[str, str]:
    config = f"""
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{server}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(config, encoding="utf-8")
    return {"OPENAI_API_KEY": "fake", "CODEX_HOME": str(home / ".codex")}


PEERS = {
    peer.name: peer
    for peer in (
        Peer("opencode", "opencode-ai", "1.18.33", "opencode", opencode),
        Peer("gemini", "@google/gemini-cli", "0.61.0", "gemini", gemini, finds_sessions=False),
        Peer("claude", "@agentclientprotocol/claude-agent-acp", "0.49.0", "claude-agent-acp", claude),
    )
}
FURTHER = {
    peer.name: peer
    for peer in (
        Peer("vibe", "mistral-vibe", "3.0.2", "vibe-acp", vibe, python=(3, 12)),
        Peer("qwen", "@qwen-code/qwen-code", "0.15.10", "qwen", qwen),
        Peer("copilot", "@github/copilot", "1.0.102", "copilot", copilot),
        Peer("kimi", "@moonshot-ai/kimi-code", "2.1.0", "kimi", kimi, beside=("node@22",)),
        Peer("codex", "@agentclientprotocol/codex-acp", "2.6.0", "codex-acp", codex),
    )
}
"""Agents of some tests; all tests run with :data:`PEERS`."""
