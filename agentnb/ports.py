"""Ports: what a plug-in can offer to agentnb.

A plug-in is a :class:`Plugin` that an installed package names in the entry-point group ``agentnb.plugins``::

    [project.entry-points."agentnb.plugins"]
    weather = "agentnb_weather:PLUGIN"

agentnb loads plug-ins at their first use. A plug-in that cannot be loaded, or that raises in a port, is named by
`agentnb plugins`, by `agentnb doctor` and once in the chat; everything else works. `docs/how-to/plugins.md` shows how
to write one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from agentnb.acp.peer import Spawn
    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.confinement import Confine, Network, RefusedAccess
    from agentnb.api.unattended import AwaitableWork
    from agentnb.command import Command
    from agentnb.host.conversation import SessionOwner
    from agentnb.host.environment import Environment
    from agentnb.host.session_options import Configuration
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import DataCheck, ToolCallDetails

PORTS_VERSION = 1
"""The version of this module's interface. A plug-in made for another one is not loaded."""


@dataclass
class ToolSession:
    """The session whose agent calls a tool.

    Attributes:
        session: The session's URI.
        folder: Its workspace.
        authorize: Asks the policy, and if need be the user, whether the tool may do what its arguments say: takes a
            title for the card and the command or the file's path that the user should see. Raises
            :class:`agentnb.PermissionDenied`.
        ask: The same for a request of the policy's own form, such as to read a file.
        code_runner: Gives the kernel; None where there is none.
        setting: Gives the value that a setting has now.
        show: Shows details on the card of the call.
        kernel_tool: Calls another kernel tool, as ``replace_cell``, which asks the policy itself; returns its MCP
            ``CallToolResult``. For tools that are made ``with_kernel``.
        host: The host of the session; None where the agent has no conversation.
        configuration: What the agent was started with; None likewise.
        memory: What the plug-in keeps for this session; begin its names with the plug-in's.
    """

    session: str
    folder: str
    authorize: Callable[[str, str], Awaitable[None]]
    ask: Callable[[PolicyRequest], Awaitable[PolicyRequest]]
    code_runner: Callable[[], CodeRunner | None]
    setting: Callable[[str], Any]
    show: Callable[[ToolCallDetails], object] = lambda _details: None
    kernel_tool: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None
    host: SessionOwner | None = None
    configuration: Configuration | None = None
    memory: dict[str, Any] = field(default_factory=dict)


class Tool(NamedTuple):
    """One tool for agents (MCP ``Tool``).

    Attributes:
        name: Its name.
        description: What it does and when to use it, for the agent.
        parameters: The JSON schema of its arguments, an object's.
        call: Carries out a call; takes the session and the arguments, returns text or an MCP ``CallToolResult``.
            An :class:`agentnb.AgentnbError` is told to the agent.
        reads_only: Whether it changes nothing.
        title: Its name for people; where empty, the name.
        with_kernel: Whether it is one of the kernel tools, for agents that have access to the kernel; it then asks the
            policy before it does anything. Otherwise it comes from a server with the plug-in's name.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[ToolSession, dict[str, Any]], Awaitable[Any]]
    reads_only: bool = False
    title: str = ""
    with_kernel: bool = False


class Request(NamedTuple):
    """One request that the page, a program on a socket, and Python can make.

    Attributes:
        name: Its name on the wire; a plug-in's begins with its own name and a slash, as ``weather/look``.
        params: The msgspec struct of its parameters.
        result: The msgspec struct of its answer.
        answer: Carries it out; takes the decoded parameters, returns the result or a coroutine of it. An
            :class:`agentnb.AgentnbError` is told to whoever asked.
    """

    name: str
    params: type[Any]
    result: type[Any]
    answer: Callable[[Any], Any]


class Magic(NamedTuple):
    """A word of ``%agents``.

    Attributes:
        name: The word.
        run: Takes the rest of the line; what it returns is displayed.
    """

    name: str
    run: Callable[[str], Any]


class PromptWord(NamedTuple):
    """A first word of a prompt of ``%%agent`` that begins something else than a turn.

    Attributes:
        name: The word.
        begin: Takes the arguments of the magic, the shell and the settings; gives what was begun, None where the
            prompt is one for the agent. ``-o NAME`` is bound to what it gives; options that make no sense with the
            word are refused with ``arguments.refuse``.
    """

    name: str
    begin: Callable[[Arguments, Any, Agentnb], AwaitableWork | None]


class Exporter(NamedTuple):
    """A form in which a conversation can be exported.

    Attributes:
        name: The form's name, as typed after ``--to``.
        export: Takes the conversation as Markdown, and returns the text in this form.
    """

    name: str
    export: Callable[[str], str]


class AgentStart(NamedTuple):
    """An agent that is about to start.

    Attributes:
        spec: Its description.
        program: Its program.
        cwd: Its workspace.
        env: Its environment.
        given: What of that the description and the session give.
    """

    spec: AgentSpec
    program: str
    cwd: Path
    env: Mapping[str, str]
    given: Mapping[str, str]


class Confined(Protocol):
    """One agent that is confined."""

    @property
    def summary(self) -> str:
        """Returns what it is confined to, in a line."""
        ...

    @property
    def network(self) -> Network:
        """Returns what it has of the network."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables that it gets besides: its folders for temporary files and caches."""
        ...

    def command(self, command: Sequence[str]) -> list[str]:
        """The command that runs *command* with its limits."""
        ...

    def refused(self, text: str) -> tuple[RefusedAccess, ...]:
        """Returns what it was refused, by *text*, which it or a command of it has printed."""
        ...

    def close(self) -> None:
        """It has ended: delete its temporary folder."""


class Confiner(Protocol):
    """Starts agents so that they reach only what they need. The first that a plug-in offers does it.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def way(self) -> tuple[str | None, str]:
        """The name of what it confines with here; None and why it cannot."""
        ...

    def unchecked(self) -> str:
        """Returns what it does not look at on this system, in words; empty where there is nothing of that kind."""
        ...

    async def confine(self, start: AgentStart, asked: Confine) -> Confined:
        """Prepare everything for an agent that is to start confined as *asked*.

        Raises:
            AgentStartFailed: If it cannot be confined so.
        """
        ...


class Previewer(Protocol):
    """Runs a command or code in a closed-in copy, and tells what it would do. The first that a plug-in offers does it.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def command(
        self,
        command: str,
        folder: str,
        *,
        env: Mapping[str, str] | None,
        seconds: float,
        descriptors: Sequence[int] = (),
        hosts: tuple[str, ...] = (),
    ) -> Rehearsal:
        """Returns what *command* would do, run by the shell in *folder*.

        Args:
            command: The command line.
            folder: The folder that it runs in.
            env: Its environment; this process's where None.
            seconds: How long it may take.
            descriptors: Open files and pipes that it gets under the same numbers, to read its task and to report.
            hosts: The hosts that it may reach, as ``confine=`` names them; it has no network otherwise.
        """
        ...

    def code(self, shell: Any, code: str, folder: str, *, seconds: float) -> Callable[[], Rehearsal]:
        """Begin to run *code* as a cell of *shell*; called on the main thread.

        Args:
            shell: The IPython shell; None where there is none.
            code: The code.
            folder: The workspace.
            seconds: How long it may take.

        Returns:
            What waits for its end and tells what it would do; to be called once, on any thread.
        """
        ...


class Launcher(Protocol):
    """Starts agents behind components: what stands between the client and the agent.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def check(self, components: Sequence[Any], *, are_installed: bool) -> None:
        """Check that *components* make sense, and where *are_installed* that their programs are here.

        Raises:
            UsageError: If not.
        """

    def spawn(self, components: Sequence[Any], session: ToolSession, confine: Confine | None) -> Spawn:
        """Returns what starts an agent behind *components*.

        Args:
            components: Names, commands, classes and instances; the first one is next to the client.
            session: The session that their tools are for.
            confine: How the agent is confined; its components are not.
        """
        ...


class Customizer(Protocol):
    """Says what it gives a session's agent (AHP ``Customization``).

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def customizations(
        self, configuration: Configuration, environment: Environment, *, asks: bool
    ) -> Iterable[dict[str, Any]]:
        """Returns what the agent of *configuration* is given; called on a thread of its own.

        Args:
            configuration: What the agent is started with.
            environment: What surrounds the host.
            asks: Whether the user can be asked, by one that is not enabled.
        """
        ...

    def decide(self, action: str, package: str, *, shown: str) -> bool:
        """Do what the user chose about *package*, which it asked about; called on a thread of its own.

        Args:
            action: ``"trust"``, ``"refuse"`` or ``"revoke"``.
            package: The package.
            shown: The digest of what the user was shown of it.

        Returns:
            Whether it was its question.
        """
        ...


class TurnCheck(NamedTuple):
    """The outcome of checking a turn.

    Attributes:
        passed: Whether nothing is left to do.
        summary: The outcome for the user, a sentence or some lines; empty where there is nothing to say.
        task: What is left to do, for the agent; empty where nothing is.
    """

    passed: bool
    summary: str = ""
    task: str = ""


class AgentReadiness(NamedTuple):
    """Finds out whether an agent could work, before it is chosen for a user who names none.

    Attributes:
        name: The agent's name in the catalogue.
        problem: Takes the agent's environment variables; returns why it cannot work now, empty where it may.
    """

    name: str
    problem: Callable[[Mapping[str, str]], Awaitable[str]]


class StepComparison(Protocol):
    """Compares the user's tables before and after the steps of one turn. Both methods run on the main thread."""

    def begin(self, variables: Mapping[str, Any], as_it_is: Callable[[Any], Any]) -> None:
        """A step is about to run: remember how the tables are.

        Args:
            variables: The user's variables.
            as_it_is: Gives an object for reading that stays as its argument is now, whatever the step does; what undo
                keeps serves for it. The argument itself where the step cannot reach it, or only its parts are kept;
                None where there is no room.
        """
        ...

    def end(self, variables: Mapping[str, Any], changed: Collection[str]) -> tuple[DataCheck, ...]:
        """A step has ended: returns what may be wrong with the tables that the steps so far changed.

        Args:
            variables: The user's variables as they are now.
            changed: The names that the step added, bound anew, or whose values it changed in place.
        """
        ...


class DataChecker(Protocol):
    """Checks what steps did to tables. The first that a plug-in offers does it.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def comparison(self, *, is_fork: bool = False) -> StepComparison:
        """Returns what compares the steps of one turn; *is_fork*: in a copy of the kernel, for a preview."""
        ...


class TurnChecker(Protocol):
    """Checks what an agent did, before its turn is done. All that plug-ins offer do it.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    async def check(self, session: ToolSession, since: float) -> TurnCheck:
        """Check the turn that has run since *since* (seconds since 1970).

        Args:
            session: The session.
            since: When the turn began.
        """
        ...


@dataclass(frozen=True)
class Plugin:
    """What one plug-in offers.

    Args:
        name: Its name: a word in lower case, the same as the entry point's.
        summary: What it adds, a sentence.
        ports: The version of the ports that it was made for.
        commands: Commands of the command line.
        magics: Words of ``%agents``.
        prompt_words: First words of prompts of ``%%agent``.
        tools: Tools for agents; each agent that takes MCP servers gets them from a server with the plug-in's name.
        requests: Requests of the protocol.
        exporters: Forms of export.
        confiners: Ways to confine agents.
        previewers: Ways to see what a command or code would do.
        launchers: Ways to start an agent behind components.
        customizers: Say what agents are given besides.
        checkers: Check what an agent did, before its turn is done.
        data_checkers: Check what steps did to tables.
        readiness: Find out whether agents could work.

    Example:
        >>> Plugin(name="weather", summary="Adds the weather.").offers
        {}
    """

    name: str
    summary: str
    ports: int = PORTS_VERSION
    commands: tuple[Command, ...] = ()
    magics: tuple[Magic, ...] = ()
    prompt_words: tuple[PromptWord, ...] = ()
    tools: tuple[Tool, ...] = ()
    requests: tuple[Request, ...] = ()
    exporters: tuple[Exporter, ...] = ()
    confiners: tuple[Confiner, ...] = ()
    previewers: tuple[Previewer, ...] = ()
    launchers: tuple[Launcher, ...] = ()
    customizers: tuple[Customizer, ...] = ()
    checkers: tuple[TurnChecker, ...] = ()
    data_checkers: tuple[DataChecker, ...] = ()
    readiness: tuple[AgentReadiness, ...] = ()

    @property
    def offers(self) -> dict[str, list[str]]:
        """The names of its offers, by port; ports without an offer are left out."""
        names = {port: [each.name for each in getattr(self, port)] for port in PORTS}
        return {port: offered for port, offered in names.items() if offered}


PORTS = (
    *("commands", "magics", "prompt_words", "tools", "requests", "exporters"),
    *("confiners", "previewers", "launchers", "customizers", "checkers", "data_checkers", "readiness"),
)
"""The names of the ports."""
