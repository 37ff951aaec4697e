"""A real JupyterHub with configurable-http-proxy behind a base URL, in a separate process, and its users' kernels."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import secrets
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import psutil
from websockets.sync.client import connect

from tests.browser.server import PAGE_CONFIG, QUIET, free_port
from tests.conftest import ROOT
from tests.other_users import let_pass, reaching

HUB = Path(os.environ.get("AGENTNB_HUB_ENVIRONMENT", ROOT / ".venv-hub"))
PYTHON, PROXY = HUB / "bin/python", HUB / "node_modules/.bin/configurable-http-proxy"
USERS = {"alice": 54321, "bob": 54322}
"""The users, and their ids if the tests may set ids."""
START_SECONDS = 300


ARGUMENTS = (
    "--LabApp.extension_manager=readonly",
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.news_url=",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LanguageServerManager.autodetect=False",
)
"""Options of the users' servers that stop the pages' automatic actions."""


class Hub:
    """A hub that can stop and start while its users' servers go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        self.port, self.hub_port, self.proxy_port = (free_port() for _ in range(3))
        self.homes = {name: folder / "homes" / name for name in USERS}
        self.prefix = reaching(folder / "python", PYTHON)
        self.has_own_users = self.prefix is not None
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "hub.log"
        for name, home in self.homes.items():
            (home / "work").mkdir(parents=True)
            _write_settings(home)
            if self.has_own_users:
                for each in (home, *home.rglob("*")):
                    os.chown(each, USERS[name], USERS[name])
            home.chmod(0o700)
        let_pass(folder)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/team"

    def start(self) -> None:
        """Start the hub and wait until it answers."""
        jupyter = ROOT / ".venv"
        settings = {
            "port": self.port,
            "hub_port": self.hub_port,
            "proxy_port": self.proxy_port,
            "proxy": str(PROXY),
            "folder": str(self.folder),
            "token": self.token,
            "homes": {name: str(home) for name, home in self.homes.items()},
            "uids": USERS if self.has_own_users else {},
            "singleuser": [str(PYTHON), "-m", "jupyterhub.singleuser"],
            "arguments": ["--ServerApp.root_dir=work", *ARGUMENTS, *_ROOT],
            "environment": {
                "JUPYTER_PATH": str(jupyter / "share/jupyter"),
                "JUPYTER_CONFIG_PATH": os.pathsep.join([str(self.folder / "etc"), str(jupyter / "etc/jupyter")]),
                "JUPYTERLAB_DIR": str(jupyter / "share/jupyter/lab"),
            },
        }
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        environment |= {"AGENTNB_HUB": json.dumps(settings), "CONFIGPROXY_AUTH_TOKEN": self.token}
        words = [str(PYTHON), "-m", "jupyterhub", "-f", str(Path(__file__).with_name("jupyterhub_config.py"))]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*(self.prefix or ()), *words], cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        self._wait(lambda: self.ask("/hub/api/") is not None)

    def stop(self) -> None:
        """Stop the hub only: the proxy and the users' servers go on."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(START_SECONDS)

    def end(self) -> None:
        processes = [each for each in psutil.process_iter() if self._is_ours(each)]
        if self.process is not None:
            processes += (
                psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []
            )
            self.process.kill()
            self.process.wait()
        for each in processes:
            with_kill(each)
        psutil.wait_procs(processes, timeout=20)

    def _is_ours(self, process: psutil.Process) -> bool:
        """True for a process of one of the users, and for the proxy."""
        try:
            environment = process.environ()
        except psutil.Error:
            return False
        return environment.get("HOME") in map(str, self.homes.values()) or (
            environment.get("CONFIGPROXY_AUTH_TOKEN") == self.token
        )

    def agents_of(self, name: str) -> list[psutil.Process]:
        agents = []
        for each in psutil.process_iter():
            try:
                is_agent = any("plugins.eliza" in word for word in each.cmdline())
                agents += [each] if is_agent and each.environ().get("HOME") == str(self.homes[name]) else []
            except psutil.Error:
                continue
        return agents

    def ask(self, path: str, method: str = "GET", token: str | None = None, body: object = None) -> Any:
        """Returns the answer to a request at the hub or, by its path, at a user's server; on an error its status."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {token or self.token}"}
        request = Request(f"{self.url}{path}", data=data, method=method, headers=headers)  # noqa: S310 - loopback
        try:
            with urlopen(request, timeout=START_SECONDS) as answer:  # noqa: S310 - loopback
                text = answer.read()
        except HTTPError as error:
            error.close()
            return None if path == "/hub/api/" else error.code
        except (URLError, OSError):
            return None
        return json.loads(text) if text else {}

    def spawn(self, name: str) -> str:
        """Start a user's server; returns a token of the user."""
        self.ask(f"/hub/api/users/{name}", "POST")
        self.ask(f"/hub/api/users/{name}/server", "POST")
        self._wait(lambda: (self.ask(f"/hub/api/users/{name}") or {}).get("server"))
        token: str = self.ask(f"/hub/api/users/{name}/tokens", "POST", body={"note": "tests"})["token"]
        return token

    def cull(self, name: str) -> None:
        """Stop a user's server as the culler of idle servers does."""
        self.ask(f"/hub/api/users/{name}/server", "DELETE")
        self._wait(lambda: not self.ask(f"/hub/api/users/{name}")["servers"])

    def _wait(self, condition: Any) -> None:
        assert self.process is not None
        until = time.monotonic() + START_SECONDS
        while not condition():
            is_late = self.process.poll() is not None or time.monotonic() > until
            assert not is_late, self.log.read_text()[-4_000:]
            try:
                self.process.wait(0.25)
            except subprocess.TimeoutExpired:
                continue


class UserKernel:
    """A user's kernel, driven through the hub's proxy as by a page."""

    def __init__(self, hub: Hub, name: str, token: str) -> None:
        made = hub.ask(f"/user/{name}/api/kernels", "POST", token, {"path": "", "name": "python3"})
        self.id = made["id"]
        self._stack = contextlib.ExitStack()
        headers = {"Authorization": f"token {token}"}
        opened = connect(channels_of(hub, name, self.id), additional_headers=headers, open_timeout=START_SECONDS)
        self._socket = self._stack.enter_context(opened)

    def close(self) -> None:
        self._stack.close()

    def run(self, code: str, value: str = "None") -> Any:
        """Run code; then returns the value of an expression, through JSON."""
        sent = uuid.uuid4().hex
        expression = f"__import__('json').dumps({value})"
        content = {
            "code": code, "silent": False, "store_history": False, "allow_stdin": False, "stop_on_error": True,
            "user_expressions": {"value": expression},
        }  # fmt: skip
        header = {"msg_id": sent, "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=START_SECONDS))
            if answer["msg_type"] == "execute_reply" and answer["parent_header"].get("msg_id") == sent:
                break
        reply = answer["content"]
        assert reply["status"] == "ok", "\n".join(reply.get("traceback", [str(reply)]))
        result = reply["user_expressions"]["value"]
        assert result["status"] == "ok", result
        return json.loads(ast.literal_eval(result["data"]["text/plain"]))


def channels_of(hub: Hub, name: str, kernel: str) -> str:
    return f"{hub.url.replace('http', 'ws', 1)}/user/{name}/api/kernels/{kernel}/channels"


def with_kill(process: psutil.Process) -> None:
    """End a process, if it exists."""
    try:
        process.kill()
    except psutil.Error:
        return


_ROOT = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


def _write_settings(home: Path) -> None:
    """Turns off automatic actions of the page and the tour."""
    files: Mapping[str, object] = {
        ".jupyter/labconfig/page_config.json": PAGE_CONFIG,
        **{
            f".jupyter/lab/user-settings/{plugin.replace(':', '/')}.jupyterlab-settings": values
            for plugin, values in QUIET.items()
        },
    }
    for name, values in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    # The users' Python finds agentnb in another environment, which a confined agent may not read.
    (home / ".jupyter/agentnb").mkdir()
    (home / ".jupyter/agentnb/settings.toml").write_text('confine = "off"\n', encoding="utf-8")
