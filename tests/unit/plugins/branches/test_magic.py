"""``%agent try``: an option that tries do not have is refused, not ignored."""

from __future__ import annotations

from tests.unit.forked import run_script

OPTIONS = ("-k", "-t x", "--freedom ask", "--permissions ask", "-c df", "--timeout 5")
SHELL = """
import agentnb, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "agentnb")
for option in sys.argv[1:]:
    try:
        shell.run_line_magic("agent", f"{option} try 3 Improve the model")
    except agentnb.UsageError as error:
        print(error)
"""


def test_try_refuses_options_that_it_does_not_support() -> None:
    done = run_script(SHELL, *OPTIONS)
    expected = [f"%agent try takes no {option.partition(' ')[0]}" for option in OPTIONS]
    assert [line.partition(".")[0] for line in done.stdout.splitlines()] == expected, done.stderr
