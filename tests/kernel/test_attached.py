"""Page presence in a real kernel: a page introduces itself, leaves, or its comm closes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from agentnb.server import __file__ as comm_package
from agentnb.server.comm.frontend import ASK_SECONDS
from agentnb.server.request_table import wire_name
from agentnb.state.versions import WINDOW
from tests.kernel.running_kernel import WAIT_S

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

pytestmark = pytest.mark.skipif(
    not (Path(comm_package).parents[1] / "static/widget.js").exists(),
    reason="the front end is not built (`make build`)",
)
BEGIN = """
import asyncio, time, agentnb
from contextlib import ExitStack
from agentnb.testing import events
from agentnb.server.comm.frontend import current_frontend
from agentnb.host import current_host
frontend = current_frontend()
listening = ExitStack()
pages = listening.enter_context(events("page"))
async def until(ready):
    while not ready():
        await asyncio.sleep(0.01)
frontend.model.model_id
"""
LISTEN = """
from agentnb.server.comm.lab import lab
lab().register()
session = agentnb.start()
def as_told(told):
    return (now := lab().notebook) is not None and all(getattr(now, name) == told[name] for name in told)
"""
COUNTED = """
counted = None
while counted != (counted := frontend.blocked.blocked_seconds()):
    await asyncio.sleep(0.01)
counted
"""
HELLO = {"protocolVersions": [WINDOW.current], "visible": True}


@pytest.fixture
def model(kernel: RunningKernel) -> str:
    return kernel.run(BEGIN).values[0].strip("'")


def page_message(method: str, **more: object) -> dict[str, object]:
    version, name = WINDOW.current, wire_name(method)
    return {"jsonrpc": "2.0", "v": version, "clientId": "page-1", "method": name, "params": {}, **more}


def test_page_is_attached_from_initialize_until_its_comm_closes(kernel: RunningKernel, model: str) -> None:
    """A page that leaves may be reloading, so it still counts until its comm closes."""
    before = kernel.run("frontend.attached()").values
    kernel.say(model, page_message("initialize", id=1, params=HELLO))
    kernel.run("await until(frontend.attached)")
    kernel.say(model, page_message("leave"))
    left = kernel.run("await until(lambda: pages.of('page.left')); frontend.attached()").values
    kernel.say(model, page_message("ping"))
    back = kernel.run("current_host().loop.call(lambda: None); frontend.attached()").values
    kernel.close_comm(model)
    gone = kernel.run("await until(lambda: not frontend.attached()); frontend.attached()").values
    assert [before, left, back, gone] == [["False"], ["True"], ["True"], ["False"]]
    reason = kernel.run("turn = agentnb.start().prompt('/ask edit'); await turn; turn.tool_calls[0].reason")
    assert "no front end is attached" in reason.values[0]


def test_agent_reads_the_notebook_as_the_page_has_it(kernel: RunningKernel, model: str) -> None:
    """Unsaved contents win, whole or by line; saved or other notebooks are read from disk."""
    path = kernel.folder / "fit.ipynb"
    made = new_notebook(cells=[new_code_cell("saved", id="a")])
    text = f"{nbformat.writes(made)}\n"
    path.write_text(text, encoding="utf-8")
    lines = text.splitlines()
    line = next(number for number, each in enumerate(lines, 1) if "saved" in each)
    kernel.run(f"import os; os.environ['JPY_SESSION_NAME'] = {str(path)!r}")
    assert kernel.run(LISTEN).status == "ok"
    kernel.say(model, page_message("initialize", id=1, params=HELLO))
    comm = kernel.comm("agentnb.lab", {"v": 1, "clientId": "page-1"})
    cells = [{"id": "a", "kind": "code", "source": "typed"}]

    def read(prompt: str, **notebook: object) -> str:
        kernel.tell(comm, {"jsonrpc": "2.0", "v": 1, "method": "notebook", "params": {"cells": cells, **notebook}})
        kernel.run(f"await until(lambda: frontend.attached() and as_told({notebook!r}))")
        return kernel.run(f"turn = session.prompt({prompt!r}); await turn; repr(turn.snapshot)").values[0]

    whole = read("/read fit.ipynb", path="work/../fit.ipynb", unsaved=True)
    assert ("saved" in whole, "typed" in whole) == (True, False)
    for command, size in (("/read fit.ipynb", f"{len(lines)} lines"), (f"/read fit.ipynb {line} 1", "1 line,")):
        unsaved = read(command, path="fit.ipynb", unsaved=True)
        assert ("saved" in unsaved, "typed" in unsaved, size in unsaved) == (False, True, True)
    assert "typed" not in read("/read fit.ipynb", path="fit.ipynb", unsaved=False)


@pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)
def test_time_blocked_by_a_cell_is_measured(kernel: RunningKernel, model: str) -> None:
    """A page that uses the main thread's loop cannot be heard while a cell blocks it."""
    kernel.say(model, page_message("initialize", id=1, params=HELLO))
    kernel.run("await until(frontend.attached)")
    blocking = "while not frontend.blocked.blocked_seconds():\n    time.sleep(0.1)"
    assert kernel.run(blocking, timeout=WAIT_S + ASK_SECONDS).status == "ok"
    assert float(kernel.run(COUNTED).values[0]) > 0


def test_page_message_does_not_fire_execution_events(kernel: RunningKernel, model: str) -> None:
    """Only cells fire IPython's events; otherwise matplotlib would close a figure that a cell is drawing."""
    kernel.run("told = []; get_ipython().events.register('post_execute', lambda: told.append('a cell'))")
    kernel.run("told.clear()")
    kernel.say(model, page_message("initialize", id=1, params=HELLO))
    heard = kernel.run("told").values
    kernel.run("await until(frontend.attached)")
    assert heard == ["['a cell']"]


def test_streamed_text_is_sent_in_short_messages(kernel: RunningKernel, model: str) -> None:
    """A page that accepts them gets messages without channel, part and request header."""
    kernel.say(model, page_message("initialize", id=1, params={**HELLO, "accepts": ["text"]}))
    tab = kernel.run("session = agentnb.start()\nsession.tab_id").values[0].strip("'")
    kernel.say(model, page_message("subscribe", id=2, params={"channel": f"eliza:/{tab}/chat"}))
    kernel.run("turn = session.prompt('/slow 100000 10')", console=True)  # the cell does not wait for the turn's end
    acknowledged: set[int] = set()

    def texts() -> list[dict[str, Any]]:
        flushes = [(message, message["content"]["data"].get("content", {})) for message in kernel.comm_messages]
        for _, flush in flushes:
            if flush.get("method") == wire_name("actions") and flush["params"]["flush"] not in acknowledged:
                acknowledged.add(flush["params"]["flush"])
                seen = {each["channel"]: each["index"] for each in flush["params"]["envelopes"]}
                seen |= {each["resource"]: each["fromSeq"] for each in flush["params"].get("snapshots", [])}
                kernel.say(model, page_message("ack", params={"flush": flush["params"]["flush"], "seen": seen}))
        return [message for message, flush in flushes if flush.get("method") == wire_name("text")]

    kernel.until(lambda: bool(texts()))
    message = texts()[0]
    _, like, *_ = message["content"]["data"]["content"]["params"]
    kernel.run("turn.cancel()")
    assert (message["parent_header"], like in acknowledged, tab in repr(message)) == ({}, True, False)
