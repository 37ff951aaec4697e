"""The permission card of code that cannot be rehearsed says *No preview* and why, in a kernel with a real agent."""

from __future__ import annotations

import json
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.kernel.running_kernel import RunningKernel
from tests.no_preview import GRAPHICS_CARD, NO_PROCESSES
from tests.rehearsal_here import needs_namespaces

pytestmark = needs_namespaces

_KERNEL_WITH_CARD = f"""{GRAPHICS_CARD}
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""
_CALL = json.dumps([{"start": ["run_code", {"code": "ran = 1"}]}, {"end": 1}])
_ASK = f"""
import agentnb, threading
from agentnb.host import current_host
current_host().environment.connect(attached=lambda: True)
session = agentnb.start(command={[sys.executable, str(ROOT / "tests/agents/calls_kernel.py")]!r}, kernel_tools=True)
asked = threading.Event()
def look(channel, envelope):
    if session.questions: asked.set()
current_host().listen(look)
turn = session.prompt({_CALL!r})
asked.wait(60)
"""
_LOOK = """
found = session.questions[0].preview()
(part,) = [each for each in session.chat.active_turn.response_parts if hasattr(each, "tool_call")]
shown = part.tool_call.details.rehearsal
session.questions[0].deny()
turn.wait(60)
calls = [call.status for call in turn.tool_calls]
(found.available, shown.status, shown.is_available, shown.summary, calls, "ran" in globals())
"""


@pytest.mark.parametrize(
    ("kernel_name", "setup", "reason"),
    [
        ("ipykernel7", NO_PROCESSES, "This kernel could not be copied: Function not implemented."),
        ("graphics", "", "This kernel uses a graphics card (/dev/nvidia0), which a copy of it cannot use."),
    ],
    ids=["no process can be made", "graphics card"],
)
def test_permission_request_says_why_there_is_no_preview(
    kernelspecs: Path, tmp_path: Path, kernel_name: str, setup: str, reason: str
) -> None:
    """The tool call's state has the reason; nothing has run, and the request is still open."""
    folder = kernelspecs / "kernels" / "graphics"
    folder.mkdir(exist_ok=True)
    argv = [sys.executable, "-Xfrozen_modules=off", "-c", _KERNEL_WITH_CARD, "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "graphics", "language": "python", "metadata": {"debugger": False}}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    with RunningKernel.started(kernel_name, tmp_path) as kernel:
        reply = kernel.run(_ASK, console=True)
        assert reply.status == "ok", reply.traceback
        assert kernel.run(setup, console=True).status == "ok"
        looked = kernel.run(_LOOK, console=True)
        assert looked.status == "ok", looked.traceback
    available, status, is_available, summary, calls, has_run = literal_eval(looked.values[0])
    assert (available, is_available, status, summary) == (False, False, "ended", f"No preview: {reason}")
    assert has_run is False
    assert "completed" not in calls
