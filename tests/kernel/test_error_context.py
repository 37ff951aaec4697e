"""The agent gets an error that the user's code caught, with the lines of the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

CAUGHT = """
import agentnb
try:
    ratio(3)
except ZeroDivisionError as caught:
    error = caught
session = agentnb.start()
turn = {turn}
turn.wait(60)
print(turn.snapshot.message.attachments[0].model_representation)
"""


@pytest.mark.parametrize(
    "turn", ["session.prompt('/say so', context=[error])", "get_ipython().run_line_magic('agent', '/say @error2')"]
)
def test_caught_error_in_the_context_shows_lines_and_values(shared_kernel: RunningKernel, turn: str) -> None:
    shared_kernel.run("def ratio(x):\n    below = x - 3\n    return x / below")
    code = CAUGHT.format(turn=turn).replace("error = caught", "error = error2 = caught")
    lines = shared_kernel.run(code).stdout.splitlines()
    frames = [line for line in lines if line.startswith(("In [", ">", "      ")) and " = " not in line]
    assert [line.split("]", 1)[-1] for line in frames[:4]] == [
        ", line 3, in <module>:",
        ">    3 |     ratio(3)",
        ", line 3, in ratio:",
        ">    3 |     return x / below",
    ]
    assert "      below = 0" in lines
