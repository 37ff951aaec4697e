"""Notebooks are run; failures and differences are named with their cause."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import agentnb
from agentnb.errors import UsageError
from tests.thorough import one_of_each
from tests.unit.plugins.verify.notebooks import Json, cell, notebook, ran, saved

pytestmark = pytest.mark.slow


def stderr(text: str) -> Json:
    return {"output_type": "stream", "name": "stderr", "text": text}


def value(text: str) -> Json:
    return {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {}, "execution_count": 1}


FAILED = [{"output_type": "error", "ename": "ZeroDivisionError"}]
NOW = "import datetime\nprint('now', datetime.datetime.now())"
CONNECTS = "import socket\nsocket.create_connection(('example.com', 80), timeout=3)"
REFUSED = "raise ConnectionRefusedError('connection to localhost port 5432 failed: Connection refused')"
NO_DISPLAY = "raise RuntimeError('no display name and no $DISPLAY environment variable')"
DROPPED = "import sys\nprint('dropped', 2, file=sys.stderr)"
SEEDED = [cell("import random\nrandom.seed(1)", 1), cell("random.randint(1, 10**9)", 3, [value("611178003")])]

CASES: dict[str, tuple[list[Json], str, str]] = {
    "random": ([cell("import random\nx = random.random()", 1), cell("print(x)", 2, "0.5\n")], "randomness", "c0"),
    "clock": ([cell("import time\nprint(time.time_ns() % 1000003)", 1, "2\n")], "clock", "c0"),
    "twice": ([*ran("x = 1"), cell("x += 1", 3), cell("print(x)", 4, "3\n")], "run-twice", "c1"),
    "order of values": ([*ran("x = 1"), cell("print(x)", 3, "2\n"), cell("x = 2", 2)], "cell-order", "c1"),
    "order": ([cell("print(x)", 2, "1\n"), cell("x = 1", 1)], "cell-order", "c0"),
    "deleted": ([*ran("x = 1"), cell("print(zeta)", 3, "1\n")], "deleted-cell", "c1"),
    "deleted key": ([cell("d = {'a': 1}", 1), cell("d['extra']", 3)], "deleted-cell", "c1"),
    "key made below": ([cell("d = {}", 1), cell("d['k']", 3), cell("d['k'] = 1", 2)], "cell-order", "c1"),
    "renamed": ([*ran("total_price = 1"), cell("print(total_prise)", 2, "1\n")], "changed-cell", "c1"),
    "not run since": ([*ran("x = 5"), cell("print(x)", 2, "2\n")], "not-run", "c1"),
    "never run": ([*ran("x = 5"), cell("print(x)")], "not-run", "c1"),
    "unstable": ([cell("import os\nprint(os.times().elapsed)", 1, "7.5\n")], "unstable", "c0"),
    "clock beside words": ([cell(NOW, 1, "now 2020-01-01 10:00:00\n")], "clock", "c0"),
    "seeded, run twice": (SEEDED, "run-twice", "c1"),
    "module of another version": ([cell("import json.gone", 1)], "package-missing", "c0"),
    "curl": ([cell("!curl -sS http://example.com", 1)], "network", "c0"),
    "version": ([cell("import msgspec\nprint(msgspec.__version__)", 1, "0.1.2\n")], "package-version", "c0"),
    "no such attribute": ([cell("import json\njson.dumpss(1)", 1)], "error", "c0"),
    "package": ([cell("import no_such_package_q", 1)], "package-missing", "c0"),
    "input": ([cell("input('?')", 1)], "input", "c0"),
    "network": ([cell(CONNECTS, 1)], "network", "c0"),
    "file": ([cell("open('missing.csv')", 1)], "file-missing", "c0"),
    "magic": ([cell("%no_such_magic_q", 1)], "magic-missing", "c0"),
    "extension": ([cell("%load_ext no_such_extension_q", 1)], "magic-missing", "c0"),
    "command": ([cell("!no_such_command_q", 1)], "command-missing", "c0"),
    "bash": ([cell("%%bash\nno_such_command_q", 1)], "command-missing", "c0"),
    "exit": ([cell("x = 1\nif x:\n    exit()", 1), cell("print(x)", 2, "1\n")], "kernel-died", "c0"),
    "quit at the end": ([cell("x = 1", 1), cell("quit", 2)], "kernel-died", "c1"),
    "sys.exit": ([cell("import sys\nsys.exit(2)", 1)], "error", "c0"),
    "stderr": ([cell(DROPPED, 1, [stderr("dropped 1\n")])], "not-run", "c0"),
    "memory": ([cell("x = bytearray(10 ** 13)", 1)], "memory", "c0"),
    "display": ([cell(NO_DISPLAY, 1)], "unavailable", "c0"),
    "GPU": ([cell("raise RuntimeError('Found no NVIDIA driver on your system')", 1)], "unavailable", "c0"),
    "database": ([cell(REFUSED, 1)], "unavailable", "c0"),
    "failed before, too": ([cell("1 / 0", 1, FAILED)], "error", "c0"),
}


HERE = one_of_each(CASES, lambda case: case[1])
TOGETHER = {name: CASES[name] for name in ("clock", "unstable", "curl", "version", "command", "display")}
APART = HERE if len(HERE) == len(CASES) else {name: case for name, case in HERE.items() if name not in TOGETHER}


def test_verify_finds_each_of_many_faults_in_one_notebook(tmp_path: Path) -> None:
    """Only the last cell raises an exception: no cell below that would run."""
    cells = [{**case[0][0], "execution_count": number} for number, case in enumerate(TOGETHER.values(), 1)]
    result = agentnb.verify(saved(tmp_path, notebook(*cells)), seconds=60)
    kinds = {each.cell.id if each.cell else "": each.kind for each in result.findings}
    assert kinds == {f"c{number}": case[1] for number, case in enumerate(TOGETHER.values())}, result
    assert all(each.advice and each.evidence for each in result.findings)
    assert (result.ok, result.ran) == (False, len(cells))


@pytest.mark.parametrize(("cells", "kind", "where"), APART.values(), ids=APART)
def test_verify_names_the_kind_and_cell_of_a_fault(tmp_path: Path, cells: list[Json], kind: str, where: str) -> None:
    """It is the only finding, with evidence and advice."""
    result = agentnb.verify(saved(tmp_path, notebook(*cells)), seconds=30)
    matching = [(each.kind, each.cell.id if each.cell else "") for each in result.findings]
    assert matching == [(kind, where)], result
    assert result.findings[0].advice
    assert result.findings[0].evidence
    assert not result.ok


def test_verify_names_the_call_that_ends_the_kernel(tmp_path: Path) -> None:
    """The finding has the line, and the cells below are named."""
    path = saved(tmp_path, notebook(cell("import os\nprint(1)\nos._exit(0)", 1, "1\n"), cell("print(2)", 2, "2\n")))
    result = agentnb.verify(path)
    (finding,) = result.findings
    assert finding.cause.startswith("Cell [1] ends the kernel with os._exit(): all variables are lost")
    assert finding.evidence == "os._exit(0)"
    assert "The cells below [1] were not run (1)." in result.not_checked


def test_verify_compares_outputs_that_later_cells_update(tmp_path: Path) -> None:
    """A slider in a box, moved by hand, is found; warnings that came once are named."""
    sources = [
        "import ipywidgets, warnings\nslider = ipywidgets.IntSlider(value=3)\nipywidgets.HBox([slider])",
        "handle = display('begun', display_id=True)\nwarnings.warn('once')",
        "handle.update('done')\nslider.max = 50",
    ]
    content = _executed(tmp_path, *sources)
    content["cells"][1]["outputs"] = [each for each in content["cells"][1]["outputs"] if "text" not in each]
    result = agentnb.verify(saved(tmp_path, content))
    assert result.ok, result
    assert "Warnings came or went: Python shows most of them once ([2])." in result.not_checked
    models = content["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].values()
    (state,) = (each["state"] for each in models if each["model_name"] == "IntSliderModel")
    state["value"] = 7
    (finding,) = agentnb.verify(saved(tmp_path, content)).findings
    assert (finding.kind, finding.cell and finding.cell.label) == ("not-run", "[1]")
    assert "moved by hand" in finding.cause
    assert finding.evidence == "shown: children[0].value: 7\nnow:   children[0].value: 3"


LOGS = "import logging\nlogging.basicConfig(format='%(process)d %(message)s', force=True)\nlogging.error('late')"


def test_verify_accepts_a_reproducible_notebook(tmp_path: Path) -> None:
    """Prints, values, times, an expected exception, top-level await."""
    cells = [
        cell("import asyncio, time\nbegun = time.time()\nprint('a', 1)", 1, "a 1\n"),
        cell("await asyncio.sleep(0)\n[1.5] * 2", 2, [value("[1.5, 1.5]")]),
        cell("print(f'took {time.time() - begun:.3f} s')", 3, "took 9.100 s\n"),
        cell("1 / 0", 4, FAILED, "raises-exception"),
        cell("print('after')", 5, "after\n"),
        cell(LOGS, 6, [stderr("123 late\n")]),
    ]
    result = agentnb.verify(saved(tmp_path, notebook(*cells)))
    assert result.ok, result
    assert (result.ran, result.cells, result.runs) == (6, 6, 1)
    assert "verified (6 of 6 cells run" in result.summary


def test_verify_names_a_data_file_that_has_changed(tmp_path: Path) -> None:
    """It names the cell that reads it, and the cell that shows the result."""
    cells = [cell("n = int(open('n.txt').read())", 1), cell("print(n)", 2, "3\n")]
    path = saved(tmp_path, notebook(*cells))
    (tmp_path / "n.txt").write_text("4")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    (finding,) = agentnb.verify(path).findings
    assert (finding.kind, finding.cell and finding.cell.id) == ("file-changed", "c0")
    assert "n.txt, which was changed after the notebook was saved" in finding.cause
    assert [each.id for each in finding.related] == ["c1"]


def test_verify_compares_written_files_without_changing_them(tmp_path: Path) -> None:
    """It writes to a copy and finds the difference."""
    cells = [cell("_ = open('out.csv', 'w').write('a,1\\n'), open('new.csv', 'w').write('x')", 1)]
    path = saved(tmp_path, notebook(*cells))
    (tmp_path / "out.csv").write_text("a,2\n")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    (finding,) = agentnb.verify(path).findings
    assert (finding.kind, finding.evidence) == ("file-differs", "there: a,2\nnow:   a,1")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_verify_compares_figures_by_their_pixels(tmp_path: Path) -> None:
    source = (
        "import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 2))\nplt.plot([1, {}])\nplt.ylim(0, 10)\nplt.show()"
    )
    stored = _executed(tmp_path, source.format(2))["cells"][0]["outputs"]
    cells = [cell(source.format(value), number, stored) for number, value in enumerate((2, 9), 1)]
    (finding,) = agentnb.verify(saved(tmp_path, notebook(*cells))).findings
    assert (finding.kind, finding.cell and finding.cell.id) == ("not-run", "c1")
    assert "of the pixels differ" in finding.evidence


def test_verify_skips_cells_that_ask_agents_and_says_so(tmp_path: Path) -> None:
    """Without a cassette no agent is asked."""
    cells = [cell("%load_ext agentnb", 1), cell("%agent Hello", 2, "Hi\n"), cell("print(1)", 3, "1\n")]
    result = agentnb.verify(saved(tmp_path, notebook(*cells)))
    assert result.ok, result
    assert any("Cells that ask agents, skipped" in each for each in result.not_checked)


GETS = "import urllib.request\nprint(urllib.request.urlopen('http://{}/').read().decode())"


def test_verify_reaches_only_allowed_hosts(tmp_path: Path) -> None:
    """A server of this machine is reached directly, others through a proxy that asks for the host."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"127.0.0.1:{server.server_port}"
        path = saved(tmp_path, notebook(cell(GETS.format(here), 1, "served\n")))
        result = agentnb.verify(path, network=[here])
        assert result.ok, result
        assert any(here in each for each in result.not_checked)
        if result.way == "namespaces":
            (refused,) = agentnb.verify(path).findings
            assert refused.kind == "unavailable"
        other = saved(tmp_path, notebook(cell(GETS.format("example.invalid"), 1, "x\n")))
        (finding,) = agentnb.verify(other, network=[here]).findings
        server.shutdown()
    assert (finding.kind, "Allow the host" in finding.advice) == ("network", True)
    with pytest.raises(UsageError):
        agentnb.verify(path, network=["http://example.org/"])


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served")

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


def _executed(folder: Path, *sources: str) -> Json:
    """Returns a notebook that nbclient ran, with its widgets' states."""
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.reads(json.dumps(notebook(*map(cell, sources))), as_version=4)
    NotebookClient(content, resources={"metadata": {"path": str(folder)}}).execute()
    run: Json = json.loads(nbformat.writes(content))
    return run
