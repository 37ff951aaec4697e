"""The sources of the settings of `agentnb local`, and values that they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.plugins.local.settings import PORTS, BadSettings, read_settings


def test_settings_prefer_command_line_over_variables_over_file(tmp_path: Path) -> None:
    """The file counts last; the key comes from the named variable and is not in the settings' text."""
    (tmp_path / "local.toml").write_text('url = "http://file/v1"\nmodel = "m"\nkey_variable = "K"\nports = [1]\n')
    environ = {"AGENTNB_CONFIG_DIR": str(tmp_path), "AGENTNB_LOCAL_URL": "https://env/v1/", "K": "sk-secret\n"}
    settings = read_settings({"model": "typed", "url": None}, environ)
    assert (settings.url, settings.model, settings.ports, settings.key) == (
        "https://env/v1",
        "typed",
        (1,),
        "sk-secret",
    )
    assert "sk-secret" not in repr(settings)


def test_default_settings_use_loopback_without_a_key() -> None:
    """A key for another service is not sent to a local server; a port set for Ollama is tried first."""
    environ = {"AGENTNB_CONFIG_DIR": "/nowhere", "OPENAI_API_KEY": "sk", "OLLAMA_HOST": "0.0.0.0:7000"}
    settings = read_settings(None, environ)
    assert (settings.url, settings.key, settings.ports) == (None, None, (7000, *PORTS))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("URL", "ollama", "is not a server's URL"),
        ("URL", "file:///etc/passwd", "is not a server's URL"),
        ("URL", "http://host:port/v1", "is not a server's URL"),
        ("URL", "http://me:sk@host/v1", "contains a password"),
        ("MODEL", "a\nb", "must be text on one line"),
        ("PORTS", "ollama", "must be numbers"),
        ("PORTS", "0", "must be numbers"),
        ("PORTS", "70000", "must be numbers"),
    ],
)
def test_invalid_setting_is_rejected_with_its_name(name: str, value: str, why: str) -> None:
    """The message has the setting's place and no secret."""
    with pytest.raises(BadSettings, match=why) as refused:
        read_settings(None, {"AGENTNB_CONFIG_DIR": "/nowhere", f"AGENTNB_LOCAL_{name}": value})
    assert f"AGENTNB_LOCAL_{name}" in str(refused.value)
    assert "sk" not in str(refused.value).replace("risk", "")


@pytest.mark.parametrize("text", ["url = ", 'key = "sk-secret"', "url = 5"])
def test_invalid_settings_file_is_reported_without_secrets(tmp_path: Path, text: str) -> None:
    """It may hold a key instead of a variable's name."""
    (tmp_path / "local.toml").write_text(text)
    with pytest.raises(BadSettings, match=r"local\.toml") as refused:
        read_settings(None, {"AGENTNB_CONFIG_DIR": str(tmp_path)})
    assert "sk-secret" not in str(refused.value)
