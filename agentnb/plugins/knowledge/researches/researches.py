"""Researches: questions about packages, each answered in a separate conversation with the same agent.

Such a conversation has two private tools and no kernel, and can only read the source of its package. No tab shows it,
but the user can open it. Everything here runs on the host's thread.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import OrderedDict, deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.acp.fields import mapping
from agentnb.errors import AgentError, AgentnbError, PermissionDenied, UsageError
from agentnb.folders import data_folder
from agentnb.host.agents.tools import ToolsForAgent
from agentnb.host.conversation import Conversation
from agentnb.host.session_options import Configuration
from agentnb.ids import new_id
from agentnb.kernel.content import text_result
from agentnb.kernel.server import ServerAbout
from agentnb.plugins.knowledge.distributions import normal_name
from agentnb.plugins.knowledge.research.download import check_version, fetched_source
from agentnb.plugins.knowledge.research.findings import (
    MOST_FINDINGS,
    Research,
    ResearchFinding,
    earlier_findings,
    forget_findings,
    keep_findings,
    listed,
    read_findings,
)
from agentnb.plugins.knowledge.research.source import PackageSource, installed_source
from agentnb.plugins.knowledge.research.tools import INSTRUCTIONS, SERVER, TOOLS, prompt_of
from agentnb.policy.request import PolicyRequest
from agentnb.policy.workspace import real_path
from agentnb.state import MarkdownResponsePart, Message, MessageKind, MessageOrigin, find_turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Sequence

    from agentnb.acp.agent import Agent
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.agent.mcp import McpServer
    from agentnb.host.host import Host
    from agentnb.policy.request import Verdict


_OWN_TOOL = re.compile(
    rf"(?:(?:mcp__?)?{SERVER}(?:__|_|/|\.|: ?| - ))?[`'\"]?(?:{'|'.join(TOOLS)})[`'\"]?(?: \({SERVER} mcp server\))?"
)
"""Matches agents' names of these tools in a permission request, with the server's name before or after it."""
_READING = frozenset({"read", "search"})
_FLOORS = frozenset({None, "outside"})


class ResearchLimit:
    """Decides permission requests without asking: no user looks at the conversation of a research.

    A deny rule of the user or the project still denies, and files that may hold secrets stay closed.
    """

    def __init__(self, sources: Sequence[PackageSource]) -> None:
        self._sources = sources

    def opens(self, path: str, tool: str) -> bool:
        """True if *path*, outside the workspace, may be opened for *tool*."""
        return tool == "read" and self._holds(path)

    def verdict(self, request: PolicyRequest, verdict: Verdict) -> Verdict:
        """Returns the final verdict on *request*: allow or deny, never ask."""
        if verdict.outcome == "deny" and verdict.rule is not None:
            return verdict
        if self._is_reading(request) and verdict.floor in _FLOORS:
            reason = "a research reads the source of its package"
            return replace(verdict, outcome="allow", reason=reason, decided_by="mode", rule=None, floor=None)
        if _is_own_tool(request):
            return replace(verdict, outcome="allow", reason="it is a tool of the research", decided_by="mode")
        reason = "a research reads the source of its package, and nothing else"
        return replace(verdict, outcome="deny", reason=reason, decided_by="mode", rule=None)

    def _is_reading(self, request: PolicyRequest) -> bool:
        if request.command is not None or request.call is not None:
            return False
        is_read = request.kind == "read" or (request.kind == "permission" and request.asked in _READING)
        return is_read and bool(request.files) and all(map(self._holds, request.files))

    def _holds(self, path: str) -> bool:
        return any(source.holds(Path(real_path(os.sep, path))) for source in self._sources)


def _is_own_tool(request: PolicyRequest) -> bool:
    """True if the agent asks for permission to call one of the two tools."""
    if request.kind != "permission" or request.command is not None or request.files or request.preview:
        return False
    return request.asked in {None, "other", "read", "search", "fetch", "think"} and bool(
        _OWN_TOOL.fullmatch(request.title.strip().lower())
    )


ABOUT = ServerAbout(name="agentnb-research", title="A package's source", instructions=INSTRUCTIONS, tools=TOOLS)

if TYPE_CHECKING:
    Authorize = Callable[[PolicyRequest], Awaitable[PolicyRequest]]

AT_ONCE = 3
"""Research runs at a time; others wait."""
SECONDS = 300.0
TOKENS = 200_000
"""Tokens that the context of a research run may hold."""
MOST_KEPT = 20
"""Conversations of research runs that stay open, so that the user can look at them."""
MOST_CACHED = 200
LONGEST_QUESTION = 4_000
_MEMORY = "knowledge researches"
GRACE = 3.0
"""Seconds that the agent may continue after it has returned its findings."""


class Researches:
    def __init__(self, host: Host) -> None:
        self.seconds = SECONDS
        self.tokens = TOKENS
        self._host = host
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._cache: OrderedDict[tuple[str, ...], Research] = OrderedDict()
        self._kept: deque[Conversation] = deque()

    async def research(
        self,
        question: str,
        package: str,
        version: str | None = None,
        *,
        configuration: Configuration,
        authorize: Authorize | None = None,
        is_agreed: bool = False,
        on_findings: Callable[[Research], object] = lambda _: None,
    ) -> Research:
        """Answer *question* about *package*; *on_findings* is called as findings come."""
        question = question.strip()
        if not question or len(question) > LONGEST_QUESTION:
            raise UsageError(f"A question has 1 to {LONGEST_QUESTION:,} characters.", hint="Ask in a sentence or two.")
        if not configuration.spec.takes_mcp:
            title = configuration.spec.title
            raise UsageError(f"{title} does not support MCP, so it cannot do research.", hint="Use another agent.")
        ask = authorize or _refuse
        source = await self._source(package, version, _allow if is_agreed else ask)
        key = (configuration.spec.name, source.package, source.version, question)
        if (known := self._cache.get(key)) is not None:
            return replace(known, is_cached=True)
        async with self._slots:
            find = partial(self._source, authorize=ask)
            earlier = await asyncio.to_thread(earlier_findings, source)
            run = ResearchRun(
                self._host, configuration, find, source, question=question, earlier=earlier, on_findings=on_findings
            )
            self._keep(run.conversation)
            try:
                answer = await run.result(self.seconds, self.tokens)
            finally:
                await asyncio.to_thread(keep_findings, source, question, run.findings)
        if not source.is_editable and answer.is_checked:
            self._cache[key] = answer
            while len(self._cache) > MOST_CACHED:
                self._cache.popitem(last=False)
        return answer

    async def _source(self, package: str, version: str | None, authorize: Authorize) -> PackageSource:
        folder = sources_folder()
        try:
            source = await asyncio.to_thread(installed_source, package, unpack_to=folder)
        except UsageError:
            if version is None:
                raise
        else:
            if version is None or version == source.version:
                return source
        check_version(package, version)
        title = f"Fetch {package} {version} from the package index, to read its source"
        await authorize(PolicyRequest(kind="permission", title=title, asked="fetch"))
        return await fetched_source(package, version, folder)

    def forget(self, package: str | None = None, version: str | None = None) -> int:
        """Forget the findings about a package, or about all; returns how many had been kept."""
        for key in [*self._cache]:
            _, of_package, of_version, _ = key
            same = package is None or normal_name(of_package) == normal_name(package)
            if same and version in {None, of_version}:
                del self._cache[key]
        return forget_findings(package, version)

    def session_of(self, answer: Research) -> str | None:
        """Returns the URI of the conversation that produced *answer*; None once it is closed."""
        talks = (each for each in self._kept if each.tab_id == answer.session and not each.closed)
        return next((each.session.uri for each in talks), None)

    def _keep(self, conversation: Conversation) -> None:
        self._kept.append(conversation)
        while len(self._kept) > MOST_KEPT:
            oldest = self._kept.popleft()
            if not oldest.closed and oldest.is_hidden:
                self._host.loop.spawn(oldest.close())


def researches_of(host: Host) -> Researches:
    if _MEMORY not in host.plugin_memory:
        host.plugin_memory[_MEMORY] = Researches(host)
    researches: Researches = host.plugin_memory[_MEMORY]
    return researches


class ResearchRun:
    """One research run: its conversation and its two tools."""

    def __init__(
        self,
        host: Host,
        parent: Configuration,
        find: Callable[[str, str | None], Awaitable[PackageSource]],
        source: PackageSource,
        *,
        question: str,
        earlier: tuple[ResearchFinding, ...],
        on_findings: Callable[[Research], object],
    ) -> None:
        self._earlier = earlier
        self._on_findings = on_findings
        self._host = host
        self._find = find
        self._source = source
        self._sources = [source]
        self._question = question
        self.findings: tuple[ResearchFinding, ...] = ()
        self._ended = asyncio.Event()
        self._has_returned = False
        self._served = ToolsForAgent(ABOUT)
        self.conversation: Conversation = Conversation(
            host,
            _configuration(parent, source),
            tab_id=new_id(),
            mode="deny",
            title=f"Research: {source.package} {source.version}",
            tools=self,
            is_hidden=True,
        )
        self.conversation.permissions.limit = ResearchLimit(self._sources)

    async def result(self, seconds: float, tokens: int) -> Research:
        """Prompt the agent, and wait for its result; raises AgentError after *seconds*."""
        conversation, turn_id = self.conversation, new_id()
        self._host.adopt(conversation)
        unwatch = conversation.watch(lambda: self._look(turn_id, tokens))
        text = prompt_of(self._question, self._source.package, self._source.version, listed(self._earlier))
        try:
            conversation.prompt(turn_id, Message(text=text, origin=MessageOrigin(kind=MessageKind.TOOL.value)))
            try:
                await asyncio.wait_for(self._ended.wait(), seconds)
            except asyncio.TimeoutError:
                raise AgentError(f"The research took more than {seconds:g} s.", hint=self._hint()) from None
            if self._has_returned:
                await self._until_over(turn_id)
            return self._answer(turn_id, tokens)
        finally:
            unwatch()
            conversation.turns.cancel(turn_id)
            self._served.close()
            self._host.loop.spawn(conversation.lifecycle.leave())

    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        """The MCP server of the tools; see :meth:`agentnb.host.agents.tools.KernelTools.serve`."""
        del taken
        return await self._served.serve(agent, self, SERVER)

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Carry out a call of one of the two tools; returns an MCP ``CallToolResult``."""
        values = mapping(arguments)
        try:
            if name == "get_package_source":
                package, version = values.get("package"), values.get("version")
                if not isinstance(package, str) or not isinstance(version, str | None):
                    raise UsageError("get_package_source takes 'package' and 'version', both texts.")
                return text_result((await self._located(package, version)).described())
            findings = read_findings(values.get("findings"), self._sources)
        except AgentnbError as error:
            return text_result(str(error), failed=True)
        self.findings = tuple(dict.fromkeys([*self.findings, *findings]))[:MOST_FINDINGS]
        self._on_findings(self._about())
        if values.get("more") is True:
            return text_result("The user sees them. Go on, and return the others.")
        self._has_returned = True
        self._ended.set()
        return text_result("Returned. The research is over: say nothing more.")

    async def _located(self, package: str, version: str | None) -> PackageSource:
        own = self._source
        names = {normal_name(each) for each in (package, own.package)}
        if len(names) == 1 and version in (None, own.version):
            return own
        source = await self._find(package, version)
        if source not in self._sources:
            self._sources.append(source)
        return source

    def _look(self, turn_id: str, tokens: int) -> None:
        usage = self.conversation.session.state.context_usage
        if self._is_over(turn_id) or (usage is not None and usage.used > tokens):
            self._ended.set()

    def _is_over(self, turn_id: str) -> bool:
        return any(turn.id == turn_id for turn in self.conversation.chat.state.turns)

    async def _until_over(self, turn_id: str) -> None:
        over = asyncio.Event()
        unwatch = self.conversation.watch(lambda: over.set() if self._is_over(turn_id) else None)
        try:
            if not self._is_over(turn_id):
                await asyncio.wait_for(over.wait(), GRACE)
        except asyncio.TimeoutError:
            pass  # the research has returned its findings and is stopped
        finally:
            unwatch()

    def _hint(self) -> str:
        if not self.findings:
            return "Ask a smaller question."
        return f"What it found until then ({len(self.findings)}) is kept: ask again to continue from there."

    def _about(self) -> Research:
        return Research(
            question=self._question,
            package=self._source.package,
            version=self._source.version,
            findings=self.findings,
            session=self.conversation.tab_id,
            reused=len(self._earlier),
        )

    def _answer(self, turn_id: str, tokens: int) -> Research:
        conversation = self.conversation
        is_over = self._is_over(turn_id)
        if self._has_returned or (is_over and self.findings):
            return self._about()
        if not is_over:
            raise AgentError(f"The research took more than {tokens:,} tokens.", hint=self._hint())
        turn = find_turn(conversation.chat.state, turn_id)
        error = getattr(turn, "error", None)
        if error is not None:
            raise AgentError(f"The research failed: {error.message}")
        parts = turn.response_parts if turn is not None else ()
        text = "".join(part.content for part in parts if isinstance(part, MarkdownResponsePart)).strip()
        if not text:
            raise AgentError("The agent ended the research without an answer.", hint="Ask again, or another agent.")
        return replace(self._about(), findings=(ResearchFinding(text=text[:8_000]),), is_checked=False)


async def _allow(request: PolicyRequest) -> PolicyRequest:
    return request


async def _refuse(request: PolicyRequest) -> PolicyRequest:
    message = f"{request.title}: no one could be asked, so nothing was fetched."
    raise PermissionDenied(message, hint="The user can name the version: agentnb.research(question, package, version).")


def sources_folder() -> Path:
    """Returns the folder for copies of packages that are not installed, or are zipped."""
    return data_folder() / "research" / "sources"


def _configuration(parent: Configuration, source: PackageSource) -> Configuration:
    """Returns the configuration of a research agent: a process of its own, in an empty folder, without MCP servers."""
    folder = data_folder() / "research" / "empty"
    for each in (folder, sources_folder()):
        each.mkdir(parents=True, exist_ok=True, mode=0o700)
    directories = [*(place for place in source.places if place.is_dir()), sources_folder()]
    return Configuration(
        spec=parent.spec,
        cwd=folder,
        env=parent.env,
        directories=tuple(directories),
        network=parent.network,
        is_unasked=parent.is_unasked,
        apart=new_id(),
    )
