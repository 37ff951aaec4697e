"""The findings of a verification, as Python and notebooks show them."""

from __future__ import annotations

import re
from html import escape
from typing import Literal, TypeAlias

import msgspec

from agentnb.errors import AgentnbError

SECONDS = 120.0
"""Seconds that all cells of a notebook together may take, unless another limit is given."""
Kind: TypeAlias = Literal[
    "undefined-name",
    "deleted-cell",
    "changed-cell",
    "cell-order",
    "run-twice",
    "not-run",
    "randomness",
    "clock",
    "unstable",
    "file-missing",
    "file-changed",
    "file-differs",
    "package-missing",
    "package-version",
    "network",
    "unavailable",
    "input",
    "time-limit",
    "memory",
    "processes",
    "disk",
    "magic-missing",
    "command-missing",
    "kernel-died",
    "no-kernel",
    "language",
    "corrupt",
    "syntax",
    "error",
]
"""The reasons why a notebook is not verified; `docs/reference/verify.md` has a line for each."""


class Stopped(AgentnbError):
    """The user has stopped the verification."""


class CellPosition(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a notebook.

    Attributes:
        index: Its place among all cells, from 0.
        id: Its id in the file; its place if it has none.
        label: Its execution count as Jupyter shows it.
    """

    index: int
    id: str
    label: str

    def __str__(self) -> str:
        return f"Cell {self.label}" if self.label != "[ ]" else f"The cell at place {self.index + 1}"


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reason why a notebook is not verified.

    Attributes:
        kind: The kind of reason.
        cause: The cause in a sentence.
        cell: The cell; None if it is about the whole notebook.
        evidence: The evidence: an error, or the saved and the new output.
        advice: What to do.
        related: Other cells that it concerns.
    """

    kind: Kind
    cause: str
    cell: CellPosition | None = None
    evidence: str = ""
    advice: str = ""
    related: tuple[CellPosition, ...] = ()

    def __str__(self) -> str:
        lines = [self.cause, *(f"    {line}" for line in self.evidence.splitlines())]
        return "\n".join([*lines, *([f"    → {self.advice}"] if self.advice else [])])


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of :func:`agentnb.verify`.

    Attributes:
        ok: True if nothing was found.
        findings: The findings, in the notebook's order.
        seconds: How long it took, in seconds.
        not_checked: What was not checked or not isolated, a sentence each.
        notebook: The name of the notebook's file; empty if it has none.
        cells: How many code cells it has.
        ran: How many of them were run.
        runs: How many times the notebook was run; 0 if it was only checked.
        way: How it was isolated: ``"namespaces"``, ``"Landlock"``, ``"copy"``; empty if nothing was run.
        digest: The digest of the verified text.
    """

    ok: bool
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    not_checked: tuple[str, ...] = ()
    notebook: str = ""
    cells: int = 0
    ran: int = 0
    runs: int = 0
    way: str = ""
    digest: str = ""

    @property
    def summary(self) -> str:
        """The result in one line.

        Example:
            >>> Verification(ok=True, notebook="a.ipynb", cells=3, ran=3, runs=1, seconds=1.2).summary
            'a.ipynb: verified (3 of 3 cells run, 1.2 s).'
        """
        name = self.notebook or "The notebook"
        if self.ok and not self.cells:
            return f"{name}: verified (it has no code to run)."
        if not self.runs:
            what = "nothing found without running it" if self.ok else self._counted
            return f"{name}: {what} ({self.seconds * 1000:.0f} ms)."
        verdict = "verified" if self.ok else self._counted
        return f"{name}: {verdict} ({self.ran} of {self.cells} cells run, {self.seconds:.1f} s)."

    @property
    def _counted(self) -> str:
        count = len(self.findings)
        return f"{count} finding{'' if count == 1 else 's'}"

    def __repr__(self) -> str:
        notes = [f"Not checked: {each}" for each in self.not_checked]
        return "\n".join([self.summary, *map(str, self.findings), *notes])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(each.cell.label if each.cell else '')}</td><td>{escape(each.kind)}</td>"
            f'<td style="text-align: left">{_words(each.cause)}'
            f"{f'<pre>{escape(each.evidence)}</pre>' if each.evidence else ''}</td>"
            f'<td style="text-align: left">{_words(each.advice)}</td></tr>'
            for each in self.findings
        )
        head = "<tr><th>cell</th><th>kind</th><th>cause</th><th>what to do</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>" if rows else ""
        notes = "".join(f"<li>{_words(each)}</li>" for each in self.not_checked)
        return f"<p>{escape(self.summary)}</p>{table}{f'<p>Not checked:</p><ul>{notes}</ul>' if notes else ''}"


def _words(text: str) -> str:
    """Returns a sentence as HTML; text between backticks becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
