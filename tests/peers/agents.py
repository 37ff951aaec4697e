"""The real agents: what npm calls them, and how each is kept at home with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Configure = Callable[[Path, str], dict[str, str]]


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
    """

    name: str
    package: str
    version: str
    program: str
    configure: Configure
    finds_sessions: bool = True


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
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
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
