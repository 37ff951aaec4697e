"""The real agents: what npm calls them, and how each is kept at home with a scripted model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

Configure = Callable[[Path, str], dict[str, str]]
CACHE = Path(os.environ.get("AGENTNB_PEERS", ROOT / ".cache/peers"))
"""Where the agents are installed, each in a folder of its own: what one needs does not get in another's way."""


@dataclass(frozen=True)
class Peer:
    """A real agent.

    Args:
        name: Its name in our catalogue.
        package: Its name at npm.
        version: The version to drive.
        program: Its program.
        configure: Writes its settings into a home, given the model server's address; returns its environment.
        finds_sessions: Whether it loads a session that another process of it had.

    Attributes:
        folder: Where npm installs it.
        executable: Its program, once it is installed.
    """

    name: str
    package: str
    version: str
    program: str
    configure: Configure
    finds_sessions: bool = True

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def executable(self) -> Path:
        return self.folder / "node_modules/.bin" / self.program

    def at_home(self, home: Path, server: str) -> dict[str, str]:
        """Write its settings into the throw-away *home*; the environment in which it finds nothing of the user's.

        Args:
            home: A folder; made where it is missing.
            server: The model server's address, without a slash at its end.
        """
        home.mkdir(parents=True, exist_ok=True)
        folders = {"CONFIG": ".config", "DATA": ".local/share", "CACHE": ".cache", "STATE": ".local/state"}
        at_home = {f"XDG_{name}_HOME": str(home / folder) for name, folder in folders.items()}
        return {"HOME": str(home), **at_home, **self.configure(home, server)}


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


PEERS = {
    peer.name: peer
    for peer in (
        Peer("opencode", "opencode-ai", "1.18.33", "opencode", opencode),
        Peer("gemini", "@google/gemini-cli", "0.61.0", "gemini", gemini, finds_sessions=False),
        Peer("claude", "@agentclientprotocol/claude-agent-acp", "0.49.0", "claude-agent-acp", claude),
    )
}
