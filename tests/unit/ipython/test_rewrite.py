"""From cells to Python: the token transformer and the awaiting rewrite together, as IPython runs them.

The inside: many cells, and any text.
"""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from agentnb.ipython.rewrite import AgentMagicTransform, awaited


def transformed(cell: str) -> str:
    """Returns the code that IPython runs for *cell*."""
    manager = TransformerManager()
    manager.token_transformers.insert(0, AgentMagicTransform)
    return awaited(manager.transform_cell(cell))


def a(prompt: str) -> str:
    return f"(await get_ipython().run_line_magic('_agent_awaited', {prompt!r}))"


def s(prompt: str) -> str:
    return f"get_ipython().run_line_magic('agent', {prompt!r})"


def c(line: str, cell: str) -> str:
    return f"(await get_ipython().run_cell_magic('_agent_awaited', {line!r}, {cell!r}))"


CASES = [
    # prompts
    ("%%agent\n", "get_ipython().run_cell_magic('agent', '', '')\n"),  # IPython reports that it is empty
    ("%agent hello", a("hello") + "\n"),
    ("%agent Why?", a("Why?") + "\n"),
    ("%agent Why??", a("Why??") + "\n"),
    ("%agent is df?", a("is df?") + "\n"),
    ("%agent what is x.y?", a("what is x.y?") + "\n"),
    ("%agent don't stop", a("don't stop") + "\n"),
    ("%agent say \"hi\" and 'ho'", a("say \"hi\" and 'ho'") + "\n"),
    ('%agent say "hi', a('say "hi') + "\n"),
    ('%agent """', a('"""') + "\n"),
    ("%agent keep {x} and $HOME", a("keep {x} and $HOME") + "\n"),
    ("%agent -a claude -o turn Why?", a("-a claude -o turn Why?") + "\n"),
    ("%agent -- -x", a("-- -x") + "\n"),
    ("%agent (unclosed [brackets {", a("(unclosed [brackets {") + "\n"),
    ("%agent a # b", a("a # b") + "\n"),
    ("%agent x = 1", a("x = 1") + "\n"),
    ("%agent x = %agent y", a("x = %agent y") + "\n"),
    ("%agent !ls %time", a("!ls %time") + "\n"),
    ("%agent naïve — 数 🙂", a("naïve — 数 🙂") + "\n"),
    ("%agent back\\slash", a("back\\slash") + "\n"),
    ("%agent one \\\n  two?", a("one    two?") + "\n"),
    ("%agent ;", a(";") + "\n"),
    ("%agent", a("") + "\n"),
    ("%agent   ", a("") + "\n"),
    ("%agent\tTabs?", a("Tabs?") + "\n"),
    # assignments
    ("x = %agent hi", "x = " + a("hi") + "\n"),
    ("x = %agent Why?", "x = " + a("Why?") + "\n"),
    ("x=%agent Why?", "x=" + a("Why?") + "\n"),
    ("x = y = %agent hi", "x = y = " + a("hi") + "\n"),
    ("x: object = %agent hi?", "x: object = " + a("hi?") + "\n"),
    ("d['k'] = %agent hi?", "d['k'] = " + a("hi?") + "\n"),
    ("d[f(a=1)] = %agent hi?", "d[f(a=1)] = " + a("hi?") + "\n"),
    ("self.x, y = %agent hi", "self.x, y = " + a("hi") + "\n"),
    ("é = %agent hé?", "é = " + a("hé?") + "\n"),
    # several, and among other code
    ("%agent a?\n%agent b?", a("a?") + "\n" + a("b?") + "\n"),
    ("%agent it's (\n%agent b", a("it's (") + "\n" + a("b") + "\n"),
    ("x = 1\n%agent a\ny = 2", "x = 1\n" + a("a") + "\ny = 2\n"),
    ("s = 'é'; t = 2\n%agent a", "s = 'é'; t = 2\n" + a("a") + "\n"),
    ("# %agent no\n%agent yes", "# %agent no\n" + a("yes") + "\n"),
    ("import os\n\n\n%agent a\n\n", "import os\n\n\n" + a("a") + "\n\n"),
    ("!ls\n%agent a", "get_ipython().system('ls')\n" + a("a") + "\n"),
    ("%pwd\n%agent a", "get_ipython().run_line_magic('pwd', '')\n" + a("a") + "\n"),
    ("df?\n%agent a?", "get_ipython().run_line_magic('pinfo', 'df')\n" + a("a?") + "\n"),
    ("await f()\n%agent a", "await f()\n" + a("a") + "\n"),
    # inside statements
    ("if x:\n    %agent a?", "if x:\n    " + a("a?") + "\n"),
    ("if x:\n    pass\nelse:\n    %agent a?", "if x:\n    pass\nelse:\n    " + a("a?") + "\n"),
    ("for i in r:\n    t = %agent a?\n    u", "for i in r:\n    t = " + a("a?") + "\n    u\n"),
    ("with o() as f:\n\t%agent a", "with o() as f:\n\t" + a("a") + "\n"),
    (
        "try:\n    %agent a\nexcept E:\n    %agent b\nfinally:\n    %agent c",
        f"try:\n    {a('a')}\nexcept E:\n    {a('b')}\nfinally:\n    {a('c')}\n",
    ),
    ("while x:\n    if y:\n        %agent a?\n", "while x:\n    if y:\n        " + a("a?") + "\n"),
    ("match x:\n    case 1:\n        %agent a", "match x:\n    case 1:\n        " + a("a") + "\n"),
    ("async def f():\n    %agent a?", "async def f():\n    " + a("a?") + "\n"),
    ("async def f():\n    return 1\n%agent a", "async def f():\n    return 1\n" + a("a") + "\n"),
    # await is not allowed: the blocking magic stays
    ("def f():\n    %agent a?", "def f():\n    " + s("a?") + "\n"),
    ("def f():\n    x = %agent a?\n    return x", "def f():\n    x = " + s("a?") + "\n    return x\n"),
    ("class C:\n    %agent a", "class C:\n    " + s("a") + "\n"),
    ("class C:\n    async def f(self):\n        %agent a", f"class C:\n    async def f(self):\n        {a('a')}\n"),
    ("async def f():\n    def g():\n        %agent a", f"async def f():\n    def g():\n        {s('a')}\n"),
    ("def f():\n    async def g():\n        %agent a", f"def f():\n    async def g():\n        {a('a')}\n"),
    (f"f = lambda: {s('a')}", f"f = lambda: {s('a')}\n"),
    (f"f = lambda x={s('a')}: x", f"f = lambda x={a('a')}: x\n"),
    (f"g = ({s('a')} for i in r)", f"g = ({s('a')} for i in r)\n"),
    (f"g = [{s('a')} for i in r]", f"g = [{a('a')} for i in r]\n"),
    (f"def f(x={s('a')}): pass", f"def f(x={a('a')}): pass\n"),
    (f"@d({s('a')})\ndef f(): pass", f"@d({a('a')})\ndef f(): pass\n"),
    (f"é = ('ü', {s('a')}, {s('ö')})", f"é = ('ü', {a('a')}, {a('ö')})\n"),
    (f"x = {s('a')}.text", f"x = {a('a')}.text\n"),
    # cell magics
    ("%%agent\nWhy?\n", c("", "Why?\n") + "\n"),
    ("%%agent -a x\nWhy?\n%agent no\n", c("-a x", "Why?\n%agent no\n") + "\n"),
    ("%%time\n%agent a", "get_ipython().run_cell_magic('time', '', '%agent a\\n')\n"),
    ("%%capture o\n%agent a?", "get_ipython().run_cell_magic('capture', 'o', '%agent a?\\n')\n"),
    ("%time %agent a", "get_ipython().run_line_magic('time', '%agent a')\n"),
    # not ours
    ("%agent?", "get_ipython().run_line_magic('pinfo', '%agent')\n"),
    ("%agent??", "get_ipython().run_line_magic('pinfo2', '%agent')\n"),
    ("%%agent?", "get_ipython().run_line_magic('pinfo', '%%agent')\n"),
    ("%agents list", "get_ipython().run_line_magic('agents', 'list')\n"),
    ("%agents?", "get_ipython().run_line_magic('pinfo', '%agents')\n"),
    ("y = 7 %agent", "y = 7 %agent\n"),
    ("y = x %agent", "y = x %agent\n"),
    ("s = '%agent hi?'", "s = '%agent hi?'\n"),
    ("s = '''\n%agent hi?\n'''", "s = '''\n%agent hi?\n'''\n"),
    ("f(\n%agent\n)", "f(\n%agent\n)\n"),
    ("x == %agent", "x == %agent\n"),
    ("get_ipython().run_line_magic('pwd', 'agent')", "get_ipython().run_line_magic('pwd', 'agent')\n"),
    (
        "print(\"get_ipython().run_line_magic('agent', 'x')\")",
        "print(\"get_ipython().run_line_magic('agent', 'x')\")\n",
    ),
    ("x = (1,", "x = (1,\n"),
    ("", "\n"),
]


@pytest.mark.parametrize(("cell", "expected"), CASES)
def test_cell_becomes_the_expected_python(cell: str, expected: str) -> None:
    """A second rewrite changes nothing."""
    once = transformed(cell)
    assert once == expected
    assert awaited(once) == once


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rewrite_keeps_line_ends_and_wide_characters(end: str) -> None:
    source = f"'é🙂\u2028'; x = 1{end}{s('a')}{end}"
    assert source.replace(s("a"), a("a")) == awaited(source)


@given(st.text())
def test_rewrite_leaves_arbitrary_text_unchanged(source: str) -> None:
    assert source == awaited(source)


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1))
def test_one_line_prompt_arrives_as_typed(prompt: str) -> None:
    if prompt.strip() in {"", "?", "??"} or prompt.rstrip().endswith("\\"):
        return
    call = ast.parse(transformed(f"%agent {prompt}")).body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Await)
    assert isinstance(call.value.value, ast.Call)
    assert prompt.strip() == ast.literal_eval(call.value.value.args[1])
