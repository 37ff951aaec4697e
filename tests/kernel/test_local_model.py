"""A turn of `agentnb local` in a real kernel: it edits a file and uses the kernel, under the policy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.unit.plugins.local.conftest import models

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel
    from tests.unit.plugins.local.conftest import Models

__all__ = ["models"]  # the fixture

CALLS = [
    ["kernel_inspect", {"path": "step"}],
    ["edit_file", {"path": "fit.py", "old_text": "1.0", "new_text": "0.5"}],
    ["kernel_run_code", {"code": "step = float(open('fit.py').read().split()[-1])\nstep"}],
]


@pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)  # the same on any kernel
def test_local_agent_does_only_what_the_policy_allows(kernel: RunningKernel, models: Models) -> None:
    """Allowed, the file and variable change, and the model gets the new value; denied, nothing changes."""
    file = kernel.folder / "fit.py"
    file.write_text("step = 1.0\n", encoding="utf-8")
    prompt = json.dumps([{"calls": [call]} for call in CALLS])
    kernel.run(f"""import agentnb, json, os
step = 1.0
os.environ["AGENTNB_LOCAL_PORTS"] = "{models.ports["ollama"]}"
os.environ["AGENTNB_LOCAL_MODEL"] = "scripted"
prompt = {prompt!r}
def ask(permissions):
    session = agentnb.start("local", kernel_tools=True, permissions=permissions)
    turn = session.prompt(prompt).wait(120)
    return json.loads(turn.text), [call.status for call in turn.tool_calls][-3:], turn""")
    denied = json.loads(kernel.run("print(json.dumps(ask('deny')[0]))").stdout)
    assert denied[0] == "step: float\n1.0"
    assert ['permissions="deny"' in each for each in denied[1:]] == [True, True]
    assert (file.read_text(encoding="utf-8"), kernel.run("step").values) == ("step = 1.0\n", ["1.0"])
    allowed = json.loads(kernel.run("print(json.dumps(ask('allow')[:2]))").stdout)
    assert allowed == [[denied[0], "Done.", "0.5"], ["completed"] * 3]
    assert (file.read_text(encoding="utf-8"), kernel.run("step").values) == ("step = 0.5\n", ["0.5"])
