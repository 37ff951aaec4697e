"""``%%agent map``: the cell is the template, a variable has the inputs."""

from __future__ import annotations

from tests.unit.forked import run_script
from tests.unit.ipython.test_extension import SHELL

CODE = """
shell.user_ns.update(rows=[{"a": 1, "b": 2}, {"a": 3, "b": 4}], df=["a"])
def ask(line, cell):
    try:
        shell.run_cell_magic("agent", f"-o answers {line}", cell)
        answers = shell.user_ns["answers"]
        print("=", list(answers) if type(answers).__name__ == "Batch" else type(answers).__name__)
    except Exception as error:
        print("=", error)
ask("map rows", "/say {a} and {b}")
ask("map the data", "of df")
ask("map", "df")
ask("a map df", "b")
ask("map nothing", "a prompt")
ask("-t work map df", "a prompt")
ask("-k map df", "a prompt")
ask("map df", "a prompt")
"""


def test_batch_sends_a_prompt_for_each_row_of_a_variable() -> None:
    """A prompt that only begins with `map` is none: the line is more than a name, or there is none."""
    done = run_script(SHELL.format(settings={}) + CODE, AGENTNB_PLUGINS="map")
    begun, *turns, unknown, tab, kernel, fields = [
        line[2:] for line in done.stdout.splitlines() if line.startswith("= ")
    ]
    assert (begun, turns, done.stderr) == ("['1 and 2', '3 and 4']", ["Turn"] * 3, "")
    assert unknown.startswith("There is no variable 'nothing' to ask about.")
    assert (tab.partition(".")[0], kernel.partition(".")[0]) == (
        "%agent map takes no -t",
        "%agent map takes no -k",
    )
    assert fields.startswith("The prompt has no field")
