"""The token transformer for ``%agent …`` and ``x = %agent …``.

IPython's own come too late for a prompt: its help transformer takes every line that ends in ``?`` for a question to
IPython. This one has the highest priority and leaves ``%agent?`` alone.
"""

from __future__ import annotations

import re
import tokenize
from typing import TYPE_CHECKING

from IPython.core.inputtransformer2 import TokenTransformBase, assemble_continued_line, find_end_of_continued_line

from agentnb.ipython.rewrite import MAGIC

if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP = re.compile(rf"%{{1,2}}{MAGIC}\?{{1,2}}\s*$")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class AgentCommand(TokenTransformBase):
    """One ``%agent`` command, alone on its line or assigned."""

    priority = 1

    def __init__(self, start: tuple[int, int], command: tuple[int, int]) -> None:
        super().__init__(start)
        self.command_line = command[0] - 1
        self.command_column = command[1]

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[tokenize.TokenInfo]]) -> AgentCommand | None:
        """The first command in the cell (IPython's hook)."""
        for line in tokens_by_line:
            first = _first(line)
            for index in (first, _after_assignment(line)):
                if index is not None and _is_command(line, index):
                    return cls(line[first].start, line[index].start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """The lines with this command as a plain call (IPython's hook)."""
        row, column = self.command_line, self.command_column
        end = find_end_of_continued_line(lines, row)
        command = assemble_continued_line(lines, (row, column), end)
        prompt = command[len(MAGIC) + 1 :].strip()
        call = f"get_ipython().run_line_magic({MAGIC!r}, {prompt!r})\n"
        return [*lines[:row], lines[row][:column] + call, *lines[end + 1 :]]


def _first(line: Sequence[tokenize.TokenInfo]) -> int:
    indents = (tokenize.INDENT, tokenize.DEDENT)
    return next((index for index, token in enumerate(line) if token.type not in indents), 0)


def _after_assignment(line: Sequence[tokenize.TokenInfo]) -> int | None:
    """The index of the command that an ``=`` outside of brackets binds."""
    depth = 0
    for index, token in enumerate(line):
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if token.string == "=" and depth == 0 and _is_command(line, index + 1):
            return index + 1
    return None


def _is_command(line: Sequence[tokenize.TokenInfo], index: int) -> bool:
    if index + 1 >= len(line):
        return False
    percent, name = line[index], line[index + 1]
    if percent.string != "%" or name.string != MAGIC or percent.end != name.start:
        return False
    rest = percent.line[percent.start[1] :].partition("\n")[0]
    follows = rest[len(MAGIC) + 1 : len(MAGIC) + 2]
    return (not follows or follows.isspace()) and not _HELP.match(rest)
