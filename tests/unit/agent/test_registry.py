"""The registry: what a file may contain, which version of an agent runs, and how it is updated."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.agent.catalog import additions, find, known
from agentnb.agent.registry import LARGEST, read_registry, runner_of, snapshot, update_registry
from agentnb.errors import UsageError

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/registry.json").read_text("utf-8"))

if TYPE_CHECKING:
    from collections.abc import Iterator

GOOD: dict[str, Any] = {
    "id": "sage",
    "name": "Sage",
    "version": "1.2.3",
    "description": "Knows all.",
    "repository": "https://example.org/sage",
    "icon": "./icon.svg",
    "distribution": {"npx": {"package": "@sage/cli@1.2.3", "args": ["--acp", "--mode=x"], "env": {"SAGE_QUIET": "1"}}},
}


def text_of(*agents: dict[str, Any], **more: Any) -> bytes:
    """Returns a registry file with *agents*."""
    return json.dumps({"version": "1.0.0", "agents": agents, "extensions": [], **more}).encode()


def npx(**fields: Any) -> dict[str, Any]:
    """Returns a good agent with another npx distribution."""
    return {**GOOD, "distribution": {"npx": {"package": "sage@1", **fields}}}


def binary(**fields: Any) -> dict[str, Any]:
    """Returns a good agent with a program to download."""
    target = {"archive": "https://example.org/sage.tar.gz", "cmd": "./sage", **fields}
    return {**GOOD, "distribution": {"binary": {"linux-x86_64": target}}}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings folder."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "settings"))
    return tmp_path / "settings"


def test_snapshot_pins_a_version_of_each_agent() -> None:
    """The catalogue knows each of them; the snapshot adds no agents."""
    runners = [runner_of(agent) for agent in snapshot().agents]
    assert all(runner is not None and ("==" in runner.package or "@" in runner.package[1:]) for runner in runners)
    assert {spec.origin for spec in known()} == {"built in"}
    assert len([spec for spec in known() if spec.runner is not None]) == len(runners)


def test_agent_with_unknown_fields_and_distributions_is_read() -> None:
    """Unknown fields are ignored; the agent's version pins a package without one."""
    agent = npx() | {"colour": "red"}
    agent["distribution"] = {"docker": {"image": "x"}, "uvx": {"package": "sage-cli", "args": ["acp"]}}
    (read,) = read_registry(text_of(agent, more=[1])).agents
    runner = runner_of(read)
    assert runner is not None
    assert runner.words == ("uvx", "sage-cli==1.2.3", "acp")


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ({**GOOD, "id": "../../etc"}, "lower-case"),
        ({**GOOD, "id": "Sage"}, "lower-case"),
        ({**GOOD, "name": "  "}, "no name"),
        ({**GOOD, "name": "Sage\u202eevil"}, "not shown"),
        ({**GOOD, "name": "x" * 1001}, "too long"),
        ({**GOOD, "version": "$(id)"}, "version"),
        ({**GOOD, "repository": "javascript:alert(1)"}, "https"),
        ({**GOOD, "icon": "<svg onload='alert(1)'/>"}, "icon"),
        ({**GOOD, "icon": "data:image/svg+xml,<svg><script>alert(1)</script></svg>"}, "icon"),
        ({**GOOD, "icon": "../../../etc/passwd"}, "icon"),
        ({**GOOD, "icon": "/etc/passwd"}, "icon"),
        ({**GOOD, "icon": "http://example.org/i.svg"}, "icon"),
        (npx(package="sage; rm -rf ~"), "package"),
        (npx(package="--package=evil"), "package"),
        (npx(package="../evil"), "package"),
        (npx(package="file:/tmp/evil"), "package"),
        (npx(package="git+https://example.org/x.git"), "package"),
        (npx(package="sage@$(id)"), "package"),
        (npx(package=""), "package"),
        (npx(args=["--acp", "&& curl example.org | sh"]), "shell syntax"),
        (npx(args=["`id`"]), "shell syntax"),
        (npx(args=["a\nb"]), "shell syntax"),
        (npx(args=["%PATH%"]), "shell syntax"),
        (npx(args=[""]), "empty"),
        (npx(args=["x"] * 41), "more than 40"),
        (npx(env={"PATH": "/evil"}), "PATH"),
        (npx(env={"LD_PRELOAD": "/evil.so"}), "LD_PRELOAD"),
        (npx(env={"node_options": "--require=/evil.js"}), "node_options"),
        (npx(env={"npm_config_registry": "https://evil.example"}), "npm_config_registry"),
        (npx(env={"https_proxy": "https://evil.example"}), "https_proxy"),
        (npx(env={"A B": "1"}), "A B"),
        (npx(env={"SAGE": "$(id)"}), "SAGE"),
        ({**GOOD, "distribution": {"uvx": {"package": "sage @ https://evil.example/x.whl"}}}, "package"),
        ({**GOOD, "distribution": {"uvx": {"package": "--from=evil"}}}, "package"),
        (binary(cmd="../../bin/sh"), "archive"),
        (binary(cmd="/bin/sh"), "archive"),
        (binary(cmd="./a b; id"), "archive"),
        (binary(archive="http://example.org/x.zip"), "https"),
        (binary(archive="file:///etc/passwd"), "https"),
    ],
)
def test_hostile_agent_is_refused_with_the_reason(settings: Path, agent: dict[str, Any], message: str) -> None:
    """The whole file is refused, even with a good agent in it, and the old file stays."""
    file = settings / "new.json"
    settings.mkdir()
    file.write_bytes(text_of({**GOOD, "id": "good"}))
    update_registry(str(file))
    file.write_bytes(text_of(GOOD | {"id": "fine"}, agent))
    with pytest.raises(UsageError, match=message) as failure:
        update_registry(str(file))
    assert "not a registry that can be used" in str(failure.value)
    assert find("good").origin == "registry"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"version": "1.0.0"}',
        b'{"version": "1.0.0", "agents": [{}]}',
        b'{"version": "1.0.0", "agents": {"a": 1}}',
        b"[" * 200_000,
        text_of(GOOD, GOOD),
        text_of(*({**GOOD, "id": f"a{number}"} for number in range(501))),
        text_of(GOOD) + b" " * 10 * LARGEST,
    ],
    ids=lambda data: f"{len(data)} bytes",
)
def test_invalid_or_too_large_registry_file_is_refused(settings: Path, data: bytes) -> None:
    """Nothing of the file is kept."""
    settings.mkdir()
    (settings / "new.json").write_bytes(data)
    with pytest.raises(UsageError, match="not a registry that can be used"):
        update_registry(str(settings / "new.json"))
    assert not (settings / "registry.json").exists()


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_registry_command_has_no_shell_syntax_and_no_npx_option(package: str, argument: str, value: str) -> None:
    """The file is refused, or its words are plain."""
    agent = npx(package=package, args=[argument], env={"SAGE": value})
    try:
        (read,) = read_registry(text_of(agent)).agents
    except UsageError:
        return
    runner = runner_of(read)
    assert runner is not None
    assert not runner.words[2].startswith(("-", ".", "/"))
    assert not set("".join((*runner.words[2:], *runner.env.values()))) & set(";&|<>`$\n\r\\\"'(){}")


def test_newer_registry_updates_a_known_agent_and_adds_a_new_one(settings: Path) -> None:
    """It keeps the registry's id; an agent only for npx is added without an install line."""
    settings.mkdir()
    newer = npx(package="opencode-ai@9.9.9", args=["acp"]) | {"id": "opencode"}
    old_gemini = npx(package="@google/gemini-cli@0.27.3") | {"id": "gemini", "version": "0.27.3"}
    (settings / "new.json").write_bytes(text_of(newer, old_gemini, GOOD, binary() | {"id": "packed"}))
    updated = update_registry(str(settings / "new.json"))
    assert (updated.agents, updated.versions[-1]) == (4, "packed 1.2.3")
    runners = {spec.name: spec.runner for spec in known() if spec.runner is not None}
    assert runners["opencode"].words == ("npx", "--yes", "opencode-ai@9.9.9", "acp")
    assert runners["gemini"].package != "@google/gemini-cli@0.27.3"  # older than the first version that works
    assert (find("sage").install, find("sage").command) == (None, runners["sage"].words)
    assert "packed" not in {spec.name for spec in known()}


def test_broken_registry_file_is_ignored_with_a_notice(settings: Path) -> None:
    """The snapshot's agents stay."""
    settings.mkdir()
    (settings / "registry.json").write_text("{ my notes }")
    assert find("opencode").runner is not None
    assert [each for each in additions()[1] if "registry.json is ignored" in each]


class Answers(BaseHTTPRequestHandler):
    """Serves a registry, a redirect to a file, an error, or endless data, by path."""

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://example.org/registry.json")
            self.end_headers()
            return
        self.send_response({"/good": 200, "/endless": 200}.get(self.path, 503))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(b" " * 4 * LARGEST if self.path == "/endless" else text_of(GOOD))

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a loopback server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def test_registry_is_read_from_an_address(settings: Path, server: str) -> None:
    """A local address needs no TLS."""
    assert update_registry(f"{server}/good").path == str(settings / "registry.json")
    assert find("sage").title == "Sage"


@pytest.mark.parametrize(("address", "message"), CASES["a source that cannot be read is named with the reason"])
def test_unreadable_registry_source_is_reported_with_the_reason(
    settings: Path, server: str, address: str, message: str
) -> None:
    """Nothing is kept."""
    with pytest.raises(UsageError, match=message):
        update_registry(address.format(server=server))
    assert not (settings / "registry.json").exists()
