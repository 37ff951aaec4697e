"""The recorded notebooks of eliza, OpenCode and Gemini CLI replay to the same bytes, with no agent and no network."""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentnb.cassette import file
from tests.conftest import ROOT
from tests.notebooks.recorded import bare_path, without_agents

FOLDER = ROOT / "tests/cassettes"
NAMES = sorted(path.name.removesuffix(".cassette.jsonl") for path in FOLDER.glob("*.cassette.jsonl"))
REPLAYS = int(os.environ.get("AGENTNB_REPLAYS", "1"))
OPTIONS = ("--to", "notebook", "--execute", "--inplace", "--ExecutePreprocessor.record_timing=False")


REFUSING = Path(__file__).with_name("no_network")
ASK_OUTSIDE = "import socket; socket.create_connection(('192.0.2.1', 9), timeout=60)"  # an unused address (RFC 5737)


def refused() -> dict[str, str]:
    """Returns an environment that limits Python processes to loopback; this test runs only Python processes."""
    env = without_agents()
    return {**env, "PYTHONPATH": os.pathsep.join([str(REFUSING), env["PYTHONPATH"]])}


@functools.cache
def offline() -> list[str]:
    """Returns a command prefix for no network, or nothing."""
    alone = ["unshare", "-rn", sys.executable, str(Path(__file__).with_name("offline.py"))]
    allowed = sys.platform == "linux" and shutil.which("unshare") is not None
    tried = allowed and subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    return alone if tried else []


def with_this_python(notebook: bytes) -> bytes:
    """Returns *notebook* as nbconvert stores it with this Python's version."""
    return re.sub(rb'"version": "3[^"]*"', f'"version": "{platform.python_version()}"'.encode(), notebook)


def without_outputs(notebook: bytes) -> str:
    document = json.loads(notebook)
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return json.dumps(document)


@pytest.mark.parametrize("way", ["refused", "apart"])
def test_replay_environment_has_no_network(way: str) -> None:
    alone = offline() if way == "apart" else []
    if way == "apart" and not alone:
        pytest.skip("the system lets nobody make a network of its own; the replays' processes are refused it")
    env = refused() if way == "refused" else without_agents()
    command = [*alone, sys.executable, "-c", ASK_OUTSIDE]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert ("There is no network here" if way == "refused" else "OSError: ") in done.stderr


def test_cassettes_of_three_agents_and_a_kernel_exist() -> None:
    """One agent is ours, two are others; ``kernel`` is OpenCode with the kernel."""
    assert NAMES == ["eliza", "gemini", "kernel", "opencode"]


@pytest.mark.parametrize("name", NAMES)
def test_replays_are_equal_byte_for_byte(name: str, tmp_path: Path) -> None:
    assert shutil.which("opencode", path=bare_path()) is None
    assert shutil.which("gemini", path=bare_path()) is None
    stored = with_this_python((FOLDER / f"{name}.ipynb").read_bytes())
    copies = [tmp_path / f"checkout-{number}/{name}.ipynb" for number in range(REPLAYS)]
    for copy in copies:
        copy.parent.mkdir()
        copy.write_text(without_outputs(stored), encoding="utf-8")
        shutil.copy(FOLDER / f"{name}.cassette.jsonl", copy.parent)
    env = {**refused(), "AGENTNB_CASSETTE": f"{name}.cassette.jsonl", "AGENTNB_CASSETTE_MODE": "replay"}
    command = [*offline(), sys.executable, "-m", "nbconvert", *OPTIONS, *map(str, copies)]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120 * REPLAYS
    )
    assert done.returncode == 0, done.stderr
    for copy in copies:
        assert copy.read_bytes() == stored


@pytest.mark.parametrize("name", NAMES)
def test_recordings_contain_nothing_of_the_machine(name: str) -> None:
    _rules, _, text = (FOLDER / f"{name}.cassette.jsonl").read_text(encoding="utf-8").partition("\n")
    text += (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert [
        word for word in ("/" + "tmp", "/root", "/home/", "agentnb-record", "bridge.py", "127.0.0.1") if word in text
    ] == []
    assert file.read(FOLDER / f"{name}.cassette.jsonl").turns > 0
