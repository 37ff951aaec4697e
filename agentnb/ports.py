"""Ports: the extension points that a plug-in can implement.

A plug-in is a :class:`Plugin` that an installed package names in the entry-point group ``agentnb.plugins``::

    [project.entry-points."agentnb.plugins"]
    weather = "agentnb_weather:PLUGIN"

agentnb loads a plug-in at its first use. If a plug-in cannot be loaded, or raises in a port, `agentnb plugins`,
`agentnb doctor` and, once, the chat name it; everything else works. `docs/how-to/plugins.md` shows how to write one.
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
    from agentnb.host.environment import Environment
    from agentnb.host.host import Host
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
        authorize: Asks the policy, and the user if necessary, whether the tool may do what its arguments say: takes a
            title for the card and the command or the file's path that the user should see. Raises
            :class:`agentnb.PermissionDenied`.
        ask: The same for a policy request, such as to read a file.
        code_runner: Returns the kernel; None if there is none.
        setting: Returns the current value of a setting.
        show: Shows details on the card of the call.
        kernel_tool: Calls another kernel tool, such as ``replace_cell``, which asks the policy itself; returns its MCP
            ``CallToolResult``. For tools that are made ``with_kernel``.
        host: The host of the session; None if the agent has no conversation.
        configuration: The agent's configuration at its start; None likewise.
        memory: Data of plug-ins for this session; begin the names with the plug-in's name.
    """

    session: str
    folder: str
    authorize: Callable[[str, str], Awaitable[None]]
    ask: Callable[[PolicyRequest], Awaitable[PolicyRequest]]
    code_runner: Callable[[], CodeRunner | None]
    setting: Callable[[str], Any]
    show: Callable[[ToolCallDetails], object] = lambda _details: None
    kernel_tool: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None
    host: Host | None = None
    configuration: Configuration | None = None
    memory: dict[str, Any] = field(default_factory=dict)


class Tool(NamedTuple):
    """One tool for agents (MCP ``Tool``).

    Attributes:
        name: Its name.
        description: What it does and when to use it, for the agent.
        parameters: The JSON schema of its arguments, of type object.
        call: Carries out a call; takes the session and the arguments, returns text or an MCP ``CallToolResult``. The
            agent gets the text of an :class:`agentnb.AgentnbError`.
        reads_only: True if it changes nothing.
        title: Its name for people; if empty, the name.
        with_kernel: True if it is a kernel tool, for agents that have access to the kernel; it then asks the policy
            before it does anything. Otherwise it comes from a server with the plug-in's name.
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
        name: Its name on the wire; a plug-in's begins with the plug-in's name and a slash, such as ``weather/look``.
        params: The msgspec struct of its parameters.
        result: The msgspec struct of its answer.
        answer: Carries it out; takes the decoded parameters, returns the result or a coroutine of it. The caller gets
            an :class:`agentnb.AgentnbError` as an error.
    """

    name: str
    params: type[Any]
    result: type[Any]
    answer: Callable[[Any], Any]


class Magic(NamedTuple):
    """A word of ``%agents``.

    Attributes:
        name: The word.
        run: Takes the rest of the line; its return value is displayed.
    """

    name: str
    run: Callable[[str], Any]


class PromptWord(NamedTuple):
    """A first word of a ``%%agent`` prompt that begins something other than a turn.

    Attributes:
        name: The word.
        begin: Takes the arguments of the magic, the shell and the settings; returns the work that it began, None if the
            prompt is for the agent. ``-o NAME`` is bound to that work. Call ``arguments.refuse`` for options that make
            no sense with the word.
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
        given: The part of ``env`` that the description and the session set.
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
    """Starts agents with access only to what they need. agentnb uses the first confiner that a plug-in offers.

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
        """Prepare the confinement *asked* for an agent that is about to start.

        Raises:
            AgentStartFailed: If it cannot be confined in this way.
        """
        ...


class Previewer(Protocol):
    """Runs a command or code in an isolated copy and returns its effect. agentnb uses the first that a plug-in offers.

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
        """Returns the effect that *command* would have, run by the shell in *folder*.

        Args:
            command: The command line.
            folder: The folder that it runs in.
            env: Its environment; None means that of this process.
            seconds: The time limit.
            descriptors: Open files and pipes that it gets under the same numbers, to read its task and to report.
            hosts: The hosts that it may reach, named as in ``confine=``; it has no network otherwise.
        """
        ...

    def code(self, shell: Any, code: str, folder: str, *, seconds: float) -> Callable[[], Rehearsal]:
        """Begin to run *code* as a cell of *shell*; called on the main thread.

        Args:
            shell: The IPython shell; None if there is none.
            code: The code.
            folder: The workspace.
            seconds: The time limit.

        Returns:
            A function that waits for the end and returns the effect; call it once, on any thread.
        """
        ...


class Launcher(Protocol):
    """Starts agents behind components, which stand between the client and the agent.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def check(self, components: Sequence[Any], *, are_installed: bool) -> None:
        """Check that *components* are valid and, if *are_installed*, that their programs are installed.

        Raises:
            UsageError: If they are not.
        """

    def spawn(self, components: Sequence[Any], session: ToolSession, confine: Confine | None) -> Spawn:
        """Returns the function that starts an agent behind *components*.

        Args:
            components: Names, commands, classes and instances; the first one is next to the client.
            session: The session that their tools are for.
            confine: The confinement of the agent; its components are not confined.
        """
        ...


class Customizer(Protocol):
    """Lists what it gives to a session's agent (AHP ``Customization``).

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def customizations(
        self, configuration: Configuration, environment: Environment, *, asks: bool
    ) -> Iterable[dict[str, Any]]:
        """Returns what the agent of *configuration* gets; called on a separate thread.

        Args:
            configuration: The agent's configuration.
            environment: The host's environment.
            asks: True if a customization that is not enabled can ask the user.
        """
        ...

    def decide(self, action: str, package: str, *, shown: str) -> bool:
        """Carry out the user's answer to its question about *package*; called on a separate thread.

        Args:
            action: ``"trust"``, ``"refuse"`` or ``"revoke"``.
            package: The package.
            shown: The digest of what the user saw of the package.

        Returns:
            True if the question was its own.
        """
        ...


class TurnCheck(NamedTuple):
    """The outcome of checking a turn.

    Attributes:
        passed: True if nothing is left to do.
        summary: The outcome for the user, a sentence or some lines; empty if there is nothing to say.
        task: The remaining work, for the agent; empty if there is none.
    """

    passed: bool
    summary: str = ""
    task: str = ""


class AgentReadiness(NamedTuple):
    """Checks if an agent can work, before agentnb chooses it for a user who names none.

    Attributes:
        name: The agent's name in the catalogue.
        problem: Takes the agent's environment variables; returns why it cannot work now, empty if it may.
    """

    name: str
    problem: Callable[[Mapping[str, str]], Awaitable[str]]


class StepComparison(Protocol):
    """Compares the user's tables before and after the steps of one turn. Both methods run on the main thread."""

    def begin(self, variables: Mapping[str, Any], as_it_is: Callable[[Any], Any]) -> None:
        """Remember the tables as they are; called before a step runs.

        Args:
            variables: The user's variables.
            as_it_is: Returns an object for reading that stays as its argument is now, whatever the step does; it uses
                what undo keeps. Returns the argument itself if the step cannot reach it, or if only its parts are kept;
                None if there is no room.
        """
        ...

    def end(self, variables: Mapping[str, Any], changed: Collection[str]) -> tuple[DataCheck, ...]:
        """Returns possible mistakes in the tables that the steps so far changed; called after a step has ended.

        Args:
            variables: The user's variables as they are now.
            changed: The names that the step added or bound again, or whose values it changed in place.
        """
        ...


class DataChecker(Protocol):
    """Checks what steps did to tables. agentnb uses the first checker that a plug-in offers.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    def comparison(self, *, is_fork: bool = False) -> StepComparison:
        """Returns what compares the steps of one turn; *is_fork*: in a copy of the kernel, for a preview."""
        ...


class TurnChecker(Protocol):
    """Checks an agent's work before its turn is done. agentnb uses all checkers that plug-ins offer.

    Attributes:
        name: Its name, for `agentnb plugins`.
    """

    name: str

    async def check(self, session: ToolSession, since: float) -> TurnCheck:
        """Check the turn that began at *since*.

        Args:
            session: The session.
            since: The start of the turn, in seconds since 1970.
        """
        ...


@dataclass(frozen=True)
class Plugin:
    """The offers of one plug-in.

    Args:
        name: Its name: a word in lower case, equal to the entry point's name.
        summary: What it adds, one sentence.
        ports: The version of the ports that it supports.
        commands: Commands of the command line.
        magics: Words of ``%agents``.
        prompt_words: First words of prompts of ``%%agent``.
        tools: Tools for agents; each agent that takes MCP servers gets them from a server with the plug-in's name.
        requests: Requests of the protocol.
        exporters: Forms of export.
        confiners: Ways to confine agents.
        previewers: Ways to preview the effect of a command or code.
        launchers: Ways to start an agent behind components.
        customizers: List what agents get in addition.
        checkers: Check an agent's work before its turn is done.
        data_checkers: Check what steps did to tables.
        readiness: Check if agents can work.

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
