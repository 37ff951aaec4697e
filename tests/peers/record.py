"""Records the notebooks in tests/cassettes with the real agents, and the tutorial ``ci``.

``python -m tests.peers.record [NAME ...]``

Needs the agents from npm where ``make test-peers`` installs them (``AGENTNB_PEERS``, else ``.cache/peers``) and the
scripted model server of the reference data.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT
from tests.notebooks.recorded import execute, notebook
from tests.peers import model
from tests.peers.agents import PEERS

FOLDER = ROOT / "tests/cassettes"
TUTORIAL = ROOT / "notebooks/ci.ipynb"
NAMES = ("eliza", "opencode", "gemini", "kernel", "ci")
ELIZA = (
    "%load_ext agentnb",
    "%agent --permissions allow /plan 3",
    "%agent /write notes.txt The residuals are small.",
    "%agent /run cat notes.txt",
    "%agent /ask execute",
    "%agent -t second --permissions deny /ask edit",
    "%agent -t second Hello there",
    "%agents",
)
REAL = (
    "%load_ext agentnb",
    "turn = %agent -a {agent} --permissions allow [[write shell text]] Write a file, then run a command.",
    "[(call.kind, call.status) for call in turn.tool_calls]",
    "%agent -a {agent} Just talk.",
    "%agent -a {agent} -t careful --permissions deny [[shell text]] Run the command.",
)
KERNEL = (
    "%load_ext agentnb",
    "rows = []",
    "turn = %agent -a opencode --kernel --permissions allow [[tool:kernel_run_code write text]] Sort and write.",
    "rows, open('hello.txt').read()",
    "turn.changes",
    "turn.undo()\nrows",
    "turn.redo()\nrows",
)
"""A replay repeats the agent's changes to the kernel and to a file."""


def main(names: list[str]) -> None:
    """Record the given notebooks, by default all."""
    for name in names or NAMES:
        with tempfile.TemporaryDirectory(prefix="agentnb-record-") as folder:
            record(name, Path(folder))


def cells_of(name: str) -> tuple[str, ...]:
    apart = {"eliza": ELIZA, "kernel": KERNEL}
    return apart.get(name) or tuple(cell.format(agent=name) for cell in REAL)


def record(name: str, folder: Path) -> None:
    """Record one notebook with its agent; stores the outputs of its replay."""
    work = folder / "work"
    work.mkdir()
    path = work / f"{name}.ipynb"
    if name == "ci":
        document = json.loads(TUTORIAL.read_text(encoding="utf-8"))
        fails = [cell for cell in document["cells"] if "raises-exception" in cell["metadata"].get("tags", ())]
        document["cells"] = [cell for cell in document["cells"] if cell not in fails]  # no recording has failing cells
        path.write_text(json.dumps(document), encoding="utf-8")
    else:
        notebook(path, *cells_of(name))
    place = "." if name == "ci" else str(work)  # the tutorial has its own workspace
    process, port = model.start(folder / "model.log", place)
    cassette = {"AGENTNB_CASSETTE": f"{name}.cassette.jsonl"}
    try:
        done = execute(path, **_environment(name, folder, port), **cassette, AGENTNB_CASSETTE_MODE="record")
    finally:
        process.terminate()
        process.wait()
    sys.stderr.write(done.stderr[-4000:])
    for written in work.glob("*.txt"):
        written.unlink()
    done = execute(path, **cassette, AGENTNB_CASSETTE_MODE="replay")
    sys.stderr.write(done.stderr[-4000:])
    if name == "ci":
        shutil.copy(work / "ci.cassette.jsonl", TUTORIAL.parent)
        return
    for file in work.glob(f"{name}.*"):
        shutil.copy(file, FOLDER / file.name)
    sys.stdout.write(json.dumps(sorted(file.name for file in work.iterdir())))


def _environment(name: str, folder: Path, port: int) -> dict[str, str]:
    if name == "eliza":
        return {}
    peer = PEERS["opencode" if name in ("ci", "kernel") else name]
    if not peer.executable.exists():
        sys.exit(f"There is no {peer.executable}: `make test-peers` installs it.")
    path = os.pathsep.join([str(peer.executable.parent), os.environ["PATH"]])
    return {**peer.at_home(folder / "home", f"http://127.0.0.1:{port}"), "PATH": path}


if __name__ == "__main__":
    main(sys.argv[1:])
