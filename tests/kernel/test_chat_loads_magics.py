"""``%agent`` in a kernel where the sidebar has opened the chat and no cell has loaded the extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernel.running_kernel import ONE_KERNEL, RunningKernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOOT = "__import__('agentnb.ipython.lab', fromlist=['boot']).boot()"
CELL = "%agent /say what is this?"
NOTE = "%agent works here because the chat is open."


@pytest.fixture
def plain_kernel(kernel_name: str, tmp_path: Path) -> Iterator[RunningKernel]:
    with RunningKernel.started(kernel_name, tmp_path) as running:
        yield running


def open_chat(kernel: RunningKernel) -> None:
    """Sends the request that the sidebar sends."""
    content = {"code": "", "silent": True, "store_history": False, "allow_stdin": False, "stop_on_error": False}
    request = {**content, "user_expressions": {"agentnb": BOOT}}
    kernel.client.shell_channel.send(kernel.client.session.msg("execute_request", request))


@pytest.mark.parametrize(
    ("kernel_name", "cell"),
    [
        ("ipykernel7", CELL),
        ("ipykernel6", CELL),
        ("ipykernel7", f"%{CELL[:6]}\n{CELL[7:]}"),
        ("ipykernel7", f"turn = {CELL}"),
    ],
    indirect=["kernel_name"],
)
def test_magic_works_with_a_note_when_only_the_chat_is_open(plain_kernel: RunningKernel, cell: str) -> None:
    """IPython must not take the final question mark for help; a later ``%load_ext`` prints nothing."""
    open_chat(plain_kernel)
    first = plain_kernel.run(cell, timeout=60)
    assert first.status == "ok", first.error
    assert "what is this?" in "".join(first.displayed())
    assert first.stdout.count(NOTE) == 1
    noted = {content["name"] for kind, content in first.outputs if kind == "stream" and NOTE in content["text"]}
    assert noted == {"stdout"}  # not on stderr, which is red like an error
    assert NOTE not in plain_kernel.run(CELL).stdout
    assert plain_kernel.run("%load_ext agentnb").stdout == ""


@ONE_KERNEL
def test_magic_has_no_note_when_a_cell_loaded_it(plain_kernel: RunningKernel) -> None:
    open_chat(plain_kernel)
    plain_kernel.run("%load_ext agentnb")
    assert NOTE not in plain_kernel.run(CELL).stdout


@ONE_KERNEL
def test_unloaded_magic_stays_unloaded_when_the_chat_opens(
    plain_kernel: RunningKernel,
) -> None:
    plain_kernel.run("%load_ext agentnb")
    plain_kernel.run("%unload_ext agentnb")
    open_chat(plain_kernel)
    assert plain_kernel.run("get_ipython().find_line_magic('agent') is None").values == ["True"]
