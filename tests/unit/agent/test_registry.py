"""The registry: what a file may contain, which version of an agent runs, and how it is updated."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.unit.forked import run_agentnb, run_script

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "cases/tables/registry.json").read_text("utf-8"))

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
    (tmp_path / "settings").mkdir()
    return tmp_path / "settings"


UPDATES = """
import contextlib, io, json, runpy, sys
ends = []
for source in sys.argv[1:]:
    sys.argv = ["agentnb", "agents", "--update", source]
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            runpy.run_module("agentnb", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            ends.append([end.code, errors.getvalue()])
print(json.dumps(ends))
"""
"""Runs the command for each source, in one process; that process ends if a source is accepted."""


def refusals(*sources: object) -> list[str]:
    """Returns the errors of ``agentnb agents --update SOURCE`` for each source, none of which is accepted."""
    ends = json.loads(run_script(UPDATES, *map(str, sources)).stdout)
    assert [code for code, _ in ends] == [1] * len(sources)
    return [error for _, error in ends]


def accepted(source: object) -> str:
    """Returns the output of ``agentnb agents --update SOURCE``, which is accepted."""
    ended = run_agentnb("agents", "--update", str(source))
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def written(folder: Path, *files: bytes) -> list[Path]:
    """Writes registry files into *folder*."""
    paths = [folder / f"new-{at}.json" for at, _ in enumerate(files)]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    return paths


def rows() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(run_agentnb("agents", "--json").stdout)}


def test_snapshot_pins_a_version_of_each_agent() -> None:
    """For the start and for the install."""
    agents = {name: row for name, row in rows().items() if row["runner"]}
    packages = {
        name: next(word for word in row["runner"][1:] if "==" in word or "@" in word[1:])
        for name, row in agents.items()
    }
    assert len(packages) >= 10
    installed = {name: row["install"] for name, row in agents.items() if row["install"].startswith(("npm ", "uv "))}
    assert len(installed) >= 10
    assert [name for name, line in installed.items() if packages[name] not in line] == []


def test_agent_with_unknown_fields_and_distributions_is_read(settings: Path) -> None:
    """Unknown fields are ignored; the agent's version pins a package without one."""
    agent = npx() | {"colour": "red"}
    agent["distribution"] = {"docker": {"image": "x"}, "uvx": {"package": "sage-cli", "args": ["acp"]}}
    accepted(*written(settings, text_of(agent, more=[1])))
    assert rows()["sage"]["runner"] == ["uvx", "sage-cli==1.2.3", "acp"]


HOSTILE: list[tuple[dict[str, Any], str]] = [
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
]


def test_hostile_agent_is_refused_with_the_reason(settings: Path) -> None:
    """The whole file is refused, even with a good agent in it, and the old file stays."""
    files = [text_of(GOOD | {"id": "fine"}, agent) for agent, _ in HOSTILE]
    good, *hostile = written(settings, text_of({**GOOD, "id": "good"}), *files)
    accepted(good)
    for (agent, message), error in zip(HOSTILE, refusals(*hostile), strict=True):
        assert ("not a registry that can be used" in error, message in error) == (True, True), (agent, error)
    assert ("good" in rows(), "fine" in rows()) == (True, False)


INVALID = [
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
    text_of(GOOD) + b" " * 20_000_000,
]


def test_invalid_or_too_large_registry_file_is_refused(settings: Path) -> None:
    """Nothing of the file is kept."""
    errors = refusals(*written(settings, *INVALID))
    assert [error for error in errors if "not a registry that can be used" not in error] == []
    assert not (settings / "registry.json").exists()


def test_newer_registry_updates_a_known_agent_and_adds_a_new_one(settings: Path) -> None:
    """It keeps the registry's id; an agent only for npx is added without an install line."""
    newer = npx(package="opencode-ai@9.9.9", args=["acp"]) | {"id": "opencode"}
    old_gemini = npx(package="@google/gemini-cli@0.27.3") | {"id": "gemini", "version": "0.27.3"}
    packed = binary() | {"id": "packed"}
    told = accepted(*written(settings, text_of(newer, old_gemini, GOOD, packed)))
    assert ("has 4 agents now." in told, told.splitlines()[-1]) == (True, "  packed 1.2.3")
    agents = rows()
    assert agents["opencode"]["runner"] == ["npx", "--yes", "opencode-ai@9.9.9", "acp"]
    assert "@google/gemini-cli@0.27.3" not in agents["gemini"]["runner"]  # older than the first version that works
    sage = agents["sage"]
    assert (sage["title"], sage["install"], sage["command"]) == ("Sage", None, sage["runner"])
    assert "packed" not in agents


def test_broken_registry_file_is_ignored_with_a_notice(settings: Path) -> None:
    """The snapshot's agents stay."""
    (settings / "registry.json").write_text("{ my notes }")
    assert rows()["opencode"]["runner"] is not None
    assert "registry.json is ignored" in run_agentnb("doctor", "eliza").stderr


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
            self.wfile.write(b" " * 20_000_000 if self.path == "/endless" else text_of(GOOD))

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
    """A local address needs no TLS; a source that cannot be read is named with the reason, and nothing is kept."""
    cases = CASES["a source that cannot be read is named with the reason"]
    for (address, message), error in zip(
        cases, refusals(*(address.format(server=server) for address, _ in cases)), strict=True
    ):
        assert re.search(message, error), (address, error)
    assert not (settings / "registry.json").exists()
    assert accepted(f"{server}/good") == f"{settings / 'registry.json'} has 1 agent now.\n  sage 1.2.3\n"
    assert rows()["sage"]["title"] == "Sage"
