"""``agentnb.research()``: a question about a package, answered from its source."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from agentnb.api.arguments import check_text
from agentnb.api.columns import Rows, html, lines, on_one_line
from agentnb.api.configured import configuration_of, configured
from agentnb.host import current_host
from agentnb.plugins.knowledge.research.findings import ResearchFinding
from agentnb.plugins.knowledge.researches.researches import researches_of

if TYPE_CHECKING:
    from agentnb.plugins.knowledge.research.findings import Research

_HEAD = ("finding", "place")


class ResearchAnswer(Rows[ResearchFinding]):
    """The answer to a question about a package: findings, each with the place that shows it; a table when displayed.

    Args:
        research: The answer.

    Attributes:
        question: The question.
        package: The package.
        version: Its version.
        text: The findings as Markdown, each with ``file:line``.
        is_cached: True if this kernel has answered the question before.
        reused: How many earlier findings of this version it started from.
        is_checked: True if the agent returned findings; False for an answer in its own words, without places.
    """

    def __init__(self, research: Research) -> None:
        super().__init__(research.findings)
        self.question: str = research.question
        self.package: str = research.package
        self.version: str = research.version
        self.text: str = research.text
        self.is_cached: bool = research.is_cached
        self.is_checked: bool = research.is_checked
        self.reused: int = research.reused
        self._note = research.note

    def __repr__(self) -> str:
        rows = [(each.place, on_one_line(each.text)) for each in self]
        head = f"{self.package} {self.version}: {on_one_line(self.question)}"
        return "\n".join([head, *lines(rows), *([self._note] if self._note else [])])

    def _repr_html_(self) -> str:
        head = f"<p><b>{escape(self.package)} {escape(self.version)}</b>: {escape(self.question)}</p>"
        note = f"<p>{escape(self._note)}</p>" if self._note else ""
        return head + html(_HEAD, ((each.text, each.place) for each in self)) + note


def research(question: str, package: str, version: str | None = None, *, agent: str | None = None) -> ResearchAnswer:
    """Ask an agent a question about a package; it answers from the source, with file and line.

    The agent gets a separate conversation without your kernel, in which it can only read the source of the package.
    The chat does not show this conversation, but the history does. A research may take five minutes; at most three run
    at once. An answer is kept until the kernel ends. The findings are kept for later researches of the same version,
    which start from them; :func:`forget_research` deletes them. Interrupt the cell to stop it.

    Args:
        question: The question, in plain words.
        package: The name of a distribution, or of a module.
        version: A version, by default the installed one; another one is fetched from pip's index, unpacked, and never
            run.
        agent: The agent's name, as for :func:`agentnb.start`.

    Raises:
        UsageError: If there is no such package, or the agent does not support MCP.
        AgentError: If the agent fails, or does not answer in time.

    Example:
        >>> agentnb.research("Does scan_csv read the whole file?", "polars", agent="claude")  # doctest: +SKIP
        polars 1.9.0: Does scan_csv read the whole file?
        polars/io/csv/functions.py:1174  It returns a LazyFrame; the file is read when it is collected.
    """
    check_text("question", question, example='"How are missing values sorted?"')
    check_text("package", package, example='"polars"')
    if version is not None:
        check_text("version", version, example='"1.2.0"')
    host = current_host()
    configuration = configuration_of(configured(agent, None, None, None))
    work = host.loop.call(lambda: researches_of(host)).research(
        question, package, version, configuration=configuration, is_agreed=True
    )
    future = host.loop.submit(work)
    try:
        return ResearchAnswer(future.result())
    except BaseException:
        future.cancel()
        raise


def forget_research(package: str | None = None, version: str | None = None) -> int:
    """Delete the earlier findings, so that the next research starts from nothing.

    Args:
        package: The package; all by default.
        version: One version of it; all by default.

    Returns:
        How many findings were deleted.

    Example:
        >>> agentnb.forget_research("polars")  # doctest: +SKIP
        4
    """
    host = current_host()
    return host.loop.call(lambda: researches_of(host).forget(package, version))
