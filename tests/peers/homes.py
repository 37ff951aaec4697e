"""Throw-away homes for real agents: nothing of the user's, no updates, the model server on loopback."""

from __future__ import annotations

import json
from pathlib import Path


def opencode_environment(home: Path, port: int) -> dict[str, str]:
    """OpenCode's, with the scripted provider and questions before edits and commands."""
    folder = home / ".config/opencode"
    folder.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    config = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": {"edit": "ask", "bash": "ask"},
    }
    (folder / "opencode.json").write_text(json.dumps(config), encoding="utf-8")
    return {
        **_xdg(home),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def gemini_environment(home: Path, port: int) -> dict[str, str]:
    """Gemini CLI's, logged in with a key that opens nothing."""
    folder = home / ".gemini"
    folder.mkdir(parents=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return {**_xdg(home), "GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}"}


def _xdg(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local/state"),
    }
