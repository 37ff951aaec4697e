"""A real JupyterLab server in a separate process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import psutil

TOKEN = "browser-tests"
READY = re.compile(rb"http://127\.0\.0\.1:(\d+)/lab\?token=")
START_SECONDS = 90
STOP_SECONDS = 20
QUIET = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "full"},
    "@jupyterlab/application-extension:context-menu": {},
}
"""Settings that stop the page's automatic actions."""
PAGE_CONFIG = {"buildAvailable": False, "buildCheck": False}
"""Otherwise the server starts Node and yarn at each page load, only to find nothing to build."""


def free_port() -> int:
    """Return a port that was free a moment ago; the server tries others if it no longer is."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    port: int
    folder: Path
    log: list[bytes]
    reader: threading.Thread

    @property
    def url(self) -> str:
        """Its address without the token."""
        return f"http://127.0.0.1:{self.port}"

    def api(self, path: str, method: str = "GET") -> object:
        request = Request(f"{self.url}/api/{path}", method=method, headers={"Authorization": f"token {TOKEN}"})  # noqa: S310 - loopback
        with urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
            body = answer.read()
        return json.loads(body) if body else None

    def end_sessions(self) -> None:
        """Shuts down every kernel and checks that their agents end."""
        left = agents_below(self.process.pid)
        sessions = self.api("sessions")
        assert isinstance(sessions, list)
        for session in sessions:
            self.api(f"sessions/{session['id']}", "DELETE")
        _, alive = psutil.wait_procs(left, timeout=STOP_SECONDS)
        assert alive == [], "agents outlived their kernel"

    def stop(self) -> None:
        below = psutil.Process(self.process.pid).children(recursive=True)
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for process in psutil.wait_procs(below, timeout=STOP_SECONDS)[1]:
            process.kill()
        self.reader.join(STOP_SECONDS)
        if self.process.stderr is not None:
            self.process.stderr.close()
        self.reader.join(STOP_SECONDS)


def agents_below(pid: int) -> list[psutil.Process]:
    """Returns the processes of built-in agents below a process."""
    return [process for process in psutil.Process(pid).children(recursive=True) if _is_agent(process)]


def _is_agent(process: psutil.Process) -> bool:
    try:
        return "eliza" in process.cmdline()
    except psutil.Error:
        return False


def start(home: Path, folder: Path, *options: str, port: int | None = None, within: Sequence[str] = ()) -> Server:
    """Starts JupyterLab, with the command *within* if given, and waits until it answers."""
    _write_settings(home)
    command = [
        *within, sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser", "--allow-root",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port or free_port()}", "--ServerApp.port_retries=50",
        f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}",
        "--ServerApp.allow_remote_access=False", "--LabApp.extension_manager=readonly",
        f"--LabApp.user_settings_dir={home / 'lab-settings'}", f"--LabApp.workspaces_dir={home / 'lab-workspaces'}",
        "--LabApp.collaborative=False", "--LabApp.news_url=", "--LanguageServerManager.autodetect=False",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", *options,
    ]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    log: list[bytes] = []
    ready = threading.Event()
    reader = threading.Thread(target=_follow, args=(process, log, ready), daemon=True)
    reader.start()
    ready.wait(START_SECONDS)
    listens = next((int(match[1]) for line in log if (match := READY.search(line))), None)
    if listens is None or not _accepts_connections(process, listens):
        process.kill()
        message = b"".join(log).decode(errors="replace")
        raise AssertionError(f"JupyterLab did not start:\n{message}")
    return Server(process, listens, folder, log, reader)


def _accepts_connections(process: subprocess.Popen[bytes], port: int) -> bool:
    """Waits for the port: Jupyter Server logs its address before it binds, and ends if the port was taken since."""
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    return False


def _follow(process: subprocess.Popen[bytes], log: list[bytes], ready: threading.Event) -> None:
    assert process.stderr is not None
    with process.stderr as stderr:
        for line in stderr:
            log.append(line)
            if READY.search(line):
                ready.set()
    ready.set()


def _write_settings(home: Path) -> None:
    files: dict[str, object] = {"jupyter/config/labconfig/page_config.json": PAGE_CONFIG}
    for plugin, values in QUIET.items():
        package, _, name = plugin.partition(":")
        files[f"lab-settings/{package}/{name}.jupyterlab-settings"] = values
    for name, values in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
