"""``%agent`` in real kernels, from the request to the reply, with the built-in agent as a real process."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.running_kernel import RunningKernel

UNTIL_OPENED = "%agent --permissions allow -o turn /run head -n 1 fifo"
NOTICE = """
import os
from comm import get_comm_manager
os.mkfifo("fifo")
fifo, seen = os.open("fifo", os.O_RDWR), []
def see(comm, _):
    seen.append(turn.state)
    os.write(fifo, b"open\\n")
get_comm_manager().register_target("probe", see)
"""
"""A turn that runs `UNTIL_OPENED` ends only when the page has sent a message."""


def test_a_prompt_gives_one_markdown_output_and_the_turn(shared_kernel: RunningKernel) -> None:
    result = shared_kernel.run("turn = %agent /say **Hello** <b>\nturn.text, turn.stop_reason")
    assert ["**Hello** &lt;b>"] == result.displayed()
    assert ["('**Hello** <b>', 'end_turn')"] == result.values


def test_prompt_can_contain_any_character(shared_kernel: RunningKernel) -> None:
    result = shared_kernel.run("x = 5\n%agent /say it's {x} \"or $x\" 'or so?")
    assert ["it's {x} \"or $x\" 'or so?"] == result.displayed()


def test_the_turn_is_the_value_of_the_cell_and_is_shown_once(kernel: RunningKernel) -> None:
    first = kernel.run("%agent /say Hi")
    assert (["Hi"], []) == (first.displayed(), first.values)
    assert ["'Hi'"] == kernel.run("_.text").values
    assert ["Hi"] == kernel.run("__").displayed()


def test_cell_magic_sends_the_cell_and_binds_the_turn(shared_kernel: RunningKernel) -> None:
    result = shared_kernel.run("%%agent -o turn\n/say one\ntwo")
    assert ["one\ntwo"] == result.displayed()
    assert ["'one\\ntwo'"] == shared_kernel.run("turn.text").values


@pytest.mark.parametrize(
    "cell",
    [
        "%%time\n%agent /say Hi",
        "%time x = get_ipython().run_line_magic('agent', '/say Hi')",
        "get_ipython().run_cell('%agent /say Hi');",
        "def f():\n    %agent /say Hi\nf()",
        "[get_ipython().run_line_magic('agent', '/say Hi') for _ in range(1)];",
        "for _ in range(1):\n    %agent /say Hi",
        "async def f():\n    %agent /say Hi\nawait f()",
        "await get_ipython().run_line_magic('_agent_awaited', '/say Hi');",
    ],
)
def test_magic_works_inside_other_code(cell: str, shared_kernel: RunningKernel) -> None:
    result = shared_kernel.run(cell)
    assert ("ok", ["Hi"]) == (result.status, result.displayed()), result.error


def test_magic_output_can_be_captured(shared_kernel: RunningKernel) -> None:
    assert [] == shared_kernel.run("%%capture out\n%agent /say Hi").displayed()
    assert ["'Hi'"] == shared_kernel.run("out.outputs[0].data['text/markdown']").values


def test_mentioned_variable_is_sent_to_the_agent(shared_kernel: RunningKernel) -> None:
    shared_kernel.run("numbers = [1, 2, 3]\n%agent What is in @numbers?")
    values = shared_kernel.run("a = _.snapshot.message.attachments[0]\na.label, a.model_representation").values
    assert ["('numbers', 'numbers: list, length 3\\n[1, 2, 3]')"] == values


def test_fix_and_explain_send_the_last_error(kernel: RunningKernel) -> None:
    """The prompt has the cells and values; a custom error's text is the one that the cell showed."""
    assert "No cell has failed" in kernel.run("%agent fix").error
    kernel.run(
        "class Mine(ValueError):\n    def __str__(self):\n        return 'my words'\ndef f(x):\n    raise Mine(x)"
    )
    kernel.run("n = 5\nf(n)")
    kernel.run("%agent -o turn fix")
    prompt = (
        "message = turn.snapshot.message\nmessage.text.splitlines()[0], [each.label for each in message.attachments]"
    )
    assert kernel.run(prompt).values == ["('Fix the error in In [4]: @error:4', ['error:4'])"]
    folded = "message.text[message.meta['agentnb']['words']:].split()[:3]"
    assert kernel.run(folded).values == ["['Find', 'the', 'cause']"]
    text = kernel.run("print(message.attachments[0].model_representation)").stdout
    assert text.startswith("Mine: my words\nThe cell that failed: In [4]")
    places = [line for line in text.splitlines() if line.startswith(("In [", "      "))]
    assert places[:4] == ["In [4], line 2, in <module>:", "      n = 5", "In [3], line 5, in f:", "      x = 5"]
    kernel.run("%%agent -o turn explain 4\nBriefly.")
    assert kernel.run("turn.snapshot.message.text.splitlines()[:3:2]").values == [
        "['Explain the error in In [4]: @error:4', 'Briefly.']"
    ]
    kernel.run("%agent -o turn Why? @error")
    assert kernel.run("turn.snapshot.message.attachments[0].label").values == ["'error'"]


def test_mentioned_plot_sends_the_latest_figure(kernel: RunningKernel) -> None:
    """The attachment is the picture as displayed, with its cell."""
    picture = r"b'\x89PNG\r\n\x1a\nit'"
    source = f"class Figure:\n    def _repr_png_(self):\n        return {picture}\nprint('drawn')\ndisplay(Figure())"
    kernel.run(source)
    kernel.run("%agent -o turn /context @plot @cell:2")
    labels = "[(each.label, each.display_kind) for each in turn.snapshot.message.attachments]"
    assert kernel.run(labels).values == ["[('plot', 'image'), ('cell:2', 'document'), ('cell:2 picture 1', 'image')]"]
    text = kernel.run("print(turn.snapshot.message.attachments[1].model_representation)").stdout
    assert "Out[2]:\n" in text
    assert "[picture 1]" in text
    assert kernel.run("turn.text.count('image/png')").values == ["2"]


def test_permissions_option_allows_tool_calls(shared_kernel: RunningKernel) -> None:
    (text,) = shared_kernel.run("%agent --permissions allow /ask edit").displayed()
    assert "Permission denied" not in text
    assert "done · allowed" in text


def test_the_same_turn_gives_the_same_output(shared_kernel: RunningKernel) -> None:
    cell = "%agent -n /tool execute"
    assert shared_kernel.run(cell).outputs[1:] == shared_kernel.run(cell).outputs[1:]


@pytest.mark.parametrize("cell", ["%agent /slow 100000 20", "%%time\n%agent /slow 100000 20"])
def test_interrupt_cancels_the_turn_and_aborts_queued_cells(cell: str, kernel: RunningKernel) -> None:
    kernel.notice_words()
    running, queued = kernel.send(cell), kernel.send("print('never')")
    kernel.until_words()
    kernel.interrupt()
    result = kernel.finish(running)
    assert ["The turn was cancelled."] == result.traceback
    assert "cancelled" not in result.displayed()[-1]
    assert ("aborted", "") == (kernel.finish(queued).status, kernel.results[queued].stdout)
    assert ["2"] == kernel.run("1 + 1").values


def test_page_message_arrives_while_a_cell_awaits(
    kernel: RunningKernel,
) -> None:
    kernel.run(f"order = []{NOTICE}")
    running = kernel.send(UNTIL_OPENED)
    queued = [kernel.send(f"order.append({number})") for number in range(3)]
    kernel.until_busy(running)
    kernel.comm("probe", {})
    assert ["ok"] * 4 == [kernel.finish(request).status for request in (running, *queued)]
    assert ["(['running'], [0, 1, 2], 'complete')"] == kernel.run("seen, order, turn.state").values


def test_cell_keeps_its_output_after_a_page_message(kernel: RunningKernel) -> None:
    kernel.run(NOTICE)
    running = kernel.send(f"{UNTIL_OPENED}\nprint('after', len(seen))")
    kernel.until_busy(running)
    kernel.comm("probe", {})
    assert "after 1\n" == kernel.finish(running).stdout


def test_background_turn_leaves_the_kernel_free(shared_kernel: RunningKernel) -> None:
    result = shared_kernel.run("turn = %agent -b /slow 20 20")
    assert "in the background" in result.displayed("text/plain")[0]
    assert ["'complete'"] == shared_kernel.run("(await turn).state").values


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("%agent", ["UsageError", "needs a prompt", "%agent?"]),
        ("%%agent\n  \n", ["UsageError", "needs a prompt"]),
        ("%agent --ouput x Hi", ["UsageError", "--ouput", "--output"]),
        ("%agent -a elisa Hi", ["UnknownAgent", "'elisa'", "'eliza'"]),
        ("numbers = 1\n%agent Look at @nubmers", ["UnknownMention", "@nubmers", "@numbers"]),
        ("%agents use nowhere", ["UnknownSession", "'nowhere'"]),
        ("%agents lst", ["UsageError", "'lst'", "list"]),
        ("%agent /crash", ["TurnFailed", "Tour", "The agent restarts with your next message"]),
    ],
)
def test_magic_error_is_one_clear_line(cell: str, parts: list[str], shared_kernel: RunningKernel) -> None:
    result = shared_kernel.run(cell)
    assert "error" == result.status
    text, *summary = result.traceback
    assert summary == ([text.splitlines()[0]] if "\n" in text else [])  # nbmake shows only the last line
    assert [] == [part for part in parts if part not in text]
    assert ["Hi"] == shared_kernel.run("%agent -n /say Hi").displayed()


def test_agents_magic_opens_lists_uses_and_closes_tabs(shared_kernel: RunningKernel) -> None:
    shared_kernel.run("%agent /say one")
    shared_kernel.run("%agent -t other /say two")
    rows = shared_kernel.run(
        "[(row.current, row.name, row.agent, row.turns) for row in get_ipython().run_line_magic('agents', '')]"
    )
    assert ["[(False, 'eliza', 'eliza', 1), (True, 'other', 'eliza', 1)]"] == rows.values
    assert ["%agent talks to eliza in the tab 'eliza' now."] == shared_kernel.run("%agents use eliza").values
    assert ["Opened the tab 'third' with eliza; %agent talks to it now."] == shared_kernel.run(
        "%agents new eliza third"
    ).values
    assert ["No turn runs in the tab 'third'."] == shared_kernel.run("%agents cancel").values
    assert ["Closed the tab 'third'."] == shared_kernel.run("%agents close").values
    assert "eliza" in shared_kernel.run("%agents").displayed()[0]


def test_model_option_sets_the_model_of_new_and_open_tabs(kernel: RunningKernel, tmp_path: Path) -> None:
    """A model that is not offered is an error and changes nothing."""
    (tmp_path / "agents").mkdir()
    command = json.dumps([sys.executable, str(ROOT / "tests/agents/many_models.py")])
    (tmp_path / "agents" / "many.toml").write_text(f'name = "many"\ntitle = "Many"\ncommand = {command}\n')
    kernel.run(f"import os; os.environ['AGENTNB_CONFIG_DIR'] = {str(tmp_path)!r}")
    assert kernel.run("%agent -a many --model model-3 hello").displayed() == ["model-3, 5 characters"]
    assert kernel.run("%agent --model MODEL-7 hello").displayed() == ["model-7, 5 characters"]
    assert "Many does not offer the model 'other'" in kernel.run("%agent --model other hello").error
    assert kernel.run("%agent hello").displayed() == ["model-7, 5 characters"]


def test_magic_has_help_and_settings(kernel: RunningKernel) -> None:
    manual = kernel.send("%agent?")
    kernel.finish(manual)
    page = kernel.results[manual].reply["payload"][0]["data"]["text/plain"]
    assert "--background" in page
    assert "Agentnb.permissions" in kernel.run("%config Agentnb").stdout
    assert "| agentnb | ready |" in kernel.run("%agents doctor jupyter").displayed()[0]
    assert "error" == kernel.run("%config Agentnb.permissions = 'maybe'\nraise SystemError").status


def test_unloading_restores_the_shell_after_loading_twice(kernel: RunningKernel) -> None:
    state = "ip = get_ipython(); t = ip.input_transformer_manager.token_transformers; x = ip.input_transformers_post"
    kernel.run("import agentnb\n" + state)
    assert ["(5, 1)"] == kernel.run("agentnb.load_ipython_extension(ip)\nlen(t), len(x)").values
    assert ["(4, 0)"] == kernel.run("agentnb.unload_ipython_extension(ip)\nlen(t), len(x)").values
    gone = kernel.run("%agent Hi")
    assert "not found" in gone.stdout + "".join(gone.traceback)
    assert ["(5, 1)"] == kernel.run("agentnb.load_ipython_extension(ip)\nlen(t), len(x)").values
    assert ["Hi"] == kernel.run("%agent /say Hi").displayed()


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("%agent -a el", "eliza"),
        ("%agent --permissions a", "allow"),
        ("%agent --ba", "--background"),
        ("%agent Look at @numb", "numbers"),
        ("%%agent\nLook at @numb", "numbers"),
        ("%agents us", "use"),
    ],
)
def test_completion_knows_agents_options_and_mentions(code: str, wanted: str, shared_kernel: RunningKernel) -> None:
    shared_kernel.run("numbers = [1]")
    reply = shared_kernel.client.complete(code, reply=True, timeout=30)["content"]
    assert wanted in reply["matches"]
    start = code[: reply["cursor_start"]]
    assert f"{start}{wanted}".startswith(code[: len(start)])
    assert code.startswith(start)
    assert wanted.startswith(code[reply["cursor_start"] : reply["cursor_end"]])
