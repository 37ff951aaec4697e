"""Programs that use agentnb, forked from a process that has imported it, since the import takes longest."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

_PARENT = """
import gc, json, os, runpy, signal, sys, threading, time
import agentnb
for name in agentnb.__all__:
    getattr(agentnb, name)
runpy.run_module("agentnb", run_name="loaded")
assert threading.active_count() == 1
gc.freeze()  # else each copy is made in full when it ends
print(flush=True)
while True:
    asked = json.loads(sys.stdin.readline() or "null")
    if asked is None:
        sys.exit()
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
signal.alarm(120)
os.environ.clear()
os.environ.update(asked["env"])
time.tzset()
os.chdir(asked["cwd"])
for number, (path, mode) in enumerate([(os.devnull, os.O_RDONLY), *((each, os.O_WRONLY) for each in asked["outputs"])]):
    os.dup2(os.open(path, mode), number)
sys.argv = asked["argv"]
if asked["code"] is None:
    runpy.run_module("agentnb", run_name="__main__", alter_sys=True)
else:
    exec(compile(asked["code"], "<string>", "exec"))
"""


def run_script(code: str, *words: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs like ``python -c code words``, with *env* added to this environment."""
    return _run(code, ["-c", *words], cwd, env)


def run_agentnb(*words: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs like ``python -m agentnb words``, with *env* added to this environment."""
    return _run(None, ["agentnb", *words], cwd, env)


def _run(code: str | None, argv: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    parent = _parent()
    assert parent.stdin is not None
    assert parent.stdout is not None
    with tempfile.NamedTemporaryFile() as stdout, tempfile.NamedTemporaryFile() as stderr:
        request: dict[str, Any] = {"code": code, "argv": argv, "cwd": os.fspath(cwd), "env": {**os.environ, **env}}
        request["outputs"] = [stdout.name, stderr.name]
        parent.stdin.write(f"{json.dumps(request)}\n")
        parent.stdin.flush()
        status = int(parent.stdout.readline())
        outputs = (each.read().decode(errors="surrogateescape") for each in (stdout, stderr))
        return subprocess.CompletedProcess(argv, status, *outputs)


@functools.cache
def _parent() -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _PARENT]
    parent = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    parent.stdout.readline()
    atexit.register(parent.communicate)
    return parent
