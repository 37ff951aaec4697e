"""Error summaries for agents: the user's own frames with values, for any error; bounded; without secrets.

The inside: errors and objects whose own code raises or hangs, and generated values.
"""

from __future__ import annotations

import linecache
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.credentials import Credentials
from agentnb.kernel.error_summary import LONGEST, ErrorPlace, ErrorSummary, summarize_error
from agentnb.kernel.variables.summary import LONGEST as LONGEST_VALUE
from agentnb.kernel.variables.summary import value_text

CELL = "<cell 3>"
TOKEN = "ghp_" + 36 * "a"  # looks like a token
CALLED: list[str] = []
"""The user's code that was called during an error summary."""
HOSTILE = """
class Hostile:
    def __call__(self, *_, **__): called.append("call"); raise RuntimeError
    __repr__ = __str__ = __len__ = __iter__ = __eq__ = __hash__ = __bool__ = __getattr__ = __dir__ = __call__
    shape = columns = args = property(__call__)
class HostileError(Exception):
    def __call__(self, *_, **__): called.append("call"); raise RuntimeError
    __repr__ = __str__ = __eq__ = __hash__ = __getattr__ = __call__
    def __getattribute__(self, name): called.append(name); raise RuntimeError
"""


def failing(source: str, **variables: Any) -> BaseException:
    """Returns the error of *source*, run as a cell."""
    namespace = {"__name__": "__main__", "called": CALLED, **variables}
    linecache.cache[CELL] = (len(source), None, source.splitlines(keepends=True), CELL)
    try:
        exec(compile(source, CELL, "exec"), namespace)  # noqa: S102 - a cell
    except BaseException as error:  # noqa: BLE001 - any at all is told
        traceback = sys.exc_info()[2]
        return BaseException.with_traceback(error, traceback.tb_next if traceback else None)
    raise AssertionError("nothing failed")


def summary_of(error: BaseException, **options: Any) -> ErrorSummary:
    failed = ErrorPlace(3, "c3")
    return summarize_error(error, cell_of=lambda file: failed if file == CELL else None, failed=failed, **options)


def test_error_summary_shows_failed_line_and_variable_values() -> None:
    """For each of the user's own frames; functions and modules have no value."""
    source = "import math\ndef ratio(a, b):\n    return a / b\nxs = [3, 4]\nratio(math.floor(xs[0]), 0)\n"
    lines = summary_of(failing(source)).text.splitlines()
    assert lines[:2] == ["ZeroDivisionError: division by zero", "The cell that failed: In [3] (cell id c3)."]
    assert lines[4:11] == [
        "In [3] (cell id c3), line 5, in <module>:",
        ">    5 | ratio(math.floor(xs[0]), 0)",
        "      xs = [3, 4]",
        "In [3] (cell id c3), line 3, in ratio:",
        ">    3 |     return a / b",
        "      a = 3",
        "      b = 0",
    ]
    assert "as it was run:" in "\n".join(lines[11:])


def test_error_summary_shows_causes_and_grouped_errors() -> None:
    source = "try:\n    {}['key']\nexcept KeyError as e:\n    raise ValueError('worse') from e"
    assert "Caused by:\n  KeyError: 'key'" in summary_of(failing(source)).text
    source = "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('worse')"
    assert "While this error was handled:\n  ZeroDivisionError: division by zero" in summary_of(failing(source)).text
    error, other = ValueError("one"), ValueError("two")
    error.__cause__, other.__cause__ = other, error
    assert summary_of(error).text.count("ValueError: one") == 1
    if sys.version_info >= (3, 11):
        group = summary_of(failing("raise ExceptionGroup('many', [ValueError(n) for n in range(1000)])")).text
        assert "Error 1 of 1000 in the group:\n  ValueError: 0" in group
        assert "the others are left out" in group


def test_syntax_error_shows_its_place() -> None:
    lines = summary_of(failing("x = (1,")).text.splitlines()
    assert lines[1:4] == ["Place: In [3] (cell id c3), line 1", "  1 | x = (1,", "    |     ^"]


@pytest.mark.parametrize(
    "source",
    [
        "x = Hostile()\nx.shape, raised(x)",
        "def f(x, y):\n    raise HostileError(x, y)\nf(Hostile(), [Hostile()])",
        "raise HostileError(HostileError(Hostile()))",
        "try:\n    raise HostileError(1)\nexcept HostileError as e:\n    raise KeyError(Hostile()) from e",
        "x = Hostile()\nraise OSError(1, x)",
        "x = {1: Hostile()}, {Hostile}\nraise SyntaxError(x)",
        "e = ValueError()\ne.__notes__ = [Hostile()]\nraise e",
        "e = SyntaxError('bad')\ne.lineno, e.text, e.filename = [Hostile()] * 3\nraise e",
    ],
)
def test_error_summary_runs_no_user_code(source: str) -> None:
    """Neither of objects nor of errors: a ``repr`` that hangs or raises cannot hold up the cell."""
    error = failing(HOSTILE + source)
    CALLED.clear()
    summary = summary_of(error)
    assert CALLED == []
    assert summary.text.startswith(summary.name)


def test_error_with_a_hanging_str_is_shown_by_its_arguments() -> None:
    error = failing("class Mine(Exception):\n    def __str__(self):\n        while True: pass\nraise Mine('a', 2)")
    assert summary_of(error).message == "'a', 2"
    assert (
        summary_of(error, displayed="---\nMine   Traceback\n...\n__main__.Mine: its own\nwords\n").message
        == "its own\nwords"
    )


@pytest.mark.parametrize(
    "source",
    [
        "raise ValueError('line\\n' * 100_000)",
        "raise ValueError(*['x' * 10_000] * 1_000)",
        "raise KeyError('x' * 10_000_000)",
        "raise ValueError(10 ** 100_000)",
        "def f(n): return f(n + 1)\nf(0)",
        "def f(n): return g(n + 1)\ndef g(n): return f(n + 1)\nf(0)",
        "xs = list(range(10 ** 6)); xs.append(xs)\nraise ValueError(xs)",
        "x = " + " + ".join(f"n{n}" for n in range(2_000)),
        "\n" * 100_000 + "raise ValueError",
        "e = ValueError()\nfor n in range(10_000):\n    e, e.__cause__ = ValueError(n), e\nraise e",
        "e = ValueError()\ne.__notes__ = ['x' * 10_000] * 10_000\nraise e",
        "class E(Exception): pass\nE.__name__ = 'x' * 100_000\nraise E('y')",
    ],
)
def test_error_summary_is_bounded_and_reports_what_is_cut(source: str) -> None:
    """Any large part: the message, the frames, the values, the causes, the cell."""
    variables = {f"n{n}": n for n in range(1_999)}
    text = summary_of(failing(source, **variables)).text
    assert len(text) <= LONGEST + 100
    assert "In [3] (cell id c3)" in text
    assert text.isprintable() or "\n" in text
    if len(source) < 10_000:
        assert "left out" in text or "times in a row" in text or "bits" in text or "items" in text or "Note" in text


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text() | st.binary() | st.just(TOKEN),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("password"), inner) | st.sets(st.text()),
    ),
    st.sampled_from(["x", "password", "api_key"]),
)
def test_value_text_is_bounded_and_without_credentials(value: object, name: str) -> None:
    """For any value; a name that looks like a secret's shows none."""
    text = value_text(value, name, Credentials({}))
    assert len(text) <= LONGEST_VALUE + 60
    assert TOKEN not in text
    assert (text == "***") or name == "x"


def test_error_summary_masks_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "open sesame")
    source = f"""key = {{"password": "hunter2"}}
password = "hunter2"
text = "{TOKEN}"
try:
    raise KeyError("open sesame", text)
except KeyError as e:
    raise ValueError(text, key, password, "open sesame") from e"""
    text = summary_of(failing(source)).text
    assert [secret for secret in (TOKEN, "open sesame", "hunter2") if secret in text] == []


def test_library_frame_is_one_line_and_workspace_frame_is_full(tmp_path: Path) -> None:
    own = tmp_path / "fit.py"
    own.write_text("def fit(xs):\n    n = len(xs)\n    return sum(xs) / n\n", encoding="utf-8")
    library = tmp_path / "lib/site-packages/other.py"
    library.parent.mkdir(parents=True)
    library.write_text("def call(f, x):\n    return f(x)\n", encoding="utf-8")
    functions: dict[str, Callable[..., Any]] = {}
    for file in (own, library):
        exec(compile(file.read_text(encoding="utf-8"), file, "exec"), functions)  # noqa: S102 - a module
    text = summary_of(failing("call(fit, [])", **functions), root=tmp_path).text
    assert "\nother.py, line 2, in call\nfit.py, line 3, in fit:\n     1 | def fit(xs):\n" in text
    assert ">    3 |     return sum(xs) / n\n      xs = []\n      n = 0\n" in text


def test_error_summary_works_while_its_objects_change() -> None:
    """On another thread: an object that cannot be read at that moment is shown by its class."""
    xs: dict[int, int] = {}
    over = threading.Event()

    def change() -> None:
        while not over.is_set():
            xs.clear()
            xs.update({n: n for n in range(50)})

    thread = threading.Thread(target=change)
    thread.start()
    try:
        error = failing("raise ValueError(xs)", xs=xs)
        assert [summary_of(error).name for _ in range(50)] == ["ValueError"] * 50
    finally:
        over.set()
        thread.join()
