"""Acts as npm, npx, uv or uvx, by its program name; no network. `INSTALLER` chooses how an install goes.

It logs every call in `INSTALLER_LOG`, a line of JSON each. An install puts the echo agent next to this file into the
prefix's folder.
"""

import json
import os
import shutil
import sys
import threading
from pathlib import Path

NAME, *WORDS = os.environ.get("INSTALLER_NAME") or Path(sys.argv[0]).name, *sys.argv[1:]
ECHO = Path(__file__).with_name("echo.py")
FOLDER = Path(os.environ.get("INSTALLER_PREFIX", ".")) / "bin"


def install(package):
    mode = os.environ.get("INSTALLER", "works")
    print(f"fetching {package}", flush=True)
    if mode == "fails":
        print("npm error code EACCES\nnpm error Error: EACCES: permission denied", flush=True)
        sys.exit(243)
    if mode == "hangs":
        threading.Event().wait(600)
    if mode == "asks":
        print("Password: ", end="", flush=True)
        sys.exit(1 if sys.stdin.readline() == "" else 0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    if mode != "elsewhere":
        program = FOLDER / os.environ.get("INSTALLER_PROGRAM", "opencode")
        package = FOLDER.parent / "lib"  # the program's files, which a confined agent can read
        package.mkdir(exist_ok=True)
        for name in ("echo.py", "wire.py"):
            shutil.copy(ECHO.with_name(name), package)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{package / "echo.py"}" "$@"\n')
        program.chmod(0o755)
    print("\x1b[32madded 1 package\x1b[0m", flush=True)


if "INSTALLER_LOG" in os.environ:
    with Path(os.environ["INSTALLER_LOG"]).open("a") as log:
        log.write(json.dumps([NAME, *WORDS]) + "\n")
if WORDS[:2] in (["prefix", "-g"], ["tool", "dir"]):
    print(FOLDER if NAME == "uv" else FOLDER.parent)
elif WORDS[:2] == ["config", "get"]:
    print("undefined")
elif NAME in {"npx", "uvx"}:
    os.execv(sys.executable, [sys.executable, str(ECHO)])  # noqa: S606 - npx and uvx become the agent, too
else:
    install(next(word for word in WORDS if word not in {"install", "tool", "-g"}))
