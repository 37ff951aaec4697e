"""Requests of a client: the parameters of ACP's agent methods."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, ValidationError

from agentnb.plugins.acp_agent.content import Acp, Lenient, SessionParams, read

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
Version = Annotated[int, Meta(ge=0, le=65535)]


class FileCapabilities(Lenient):
    """The ways in which a client handles files for an agent."""

    read_text_file: bool | None = None
    write_text_file: bool | None = None


class ConfigOptionCapabilities(Lenient):
    """The kinds of options that a client knows besides the choice."""

    boolean: dict[str, Any] | None = None


class SessionCapabilities(Lenient):
    """The options of sessions that a client knows."""

    config_options: ConfigOptionCapabilities | None = None


class ElicitationCapabilities(Lenient):
    """The ways in which a client asks its user."""

    form: dict[str, Any] | None = None


class ClientCapabilities(Lenient):
    """The capabilities of a client."""

    fs: FileCapabilities | None = None
    terminal: bool | None = None
    session: SessionCapabilities | None = None
    elicitation: ElicitationCapabilities | None = None

    @property
    def knows_switches(self) -> bool:
        """True if it knows options of type boolean."""
        options = self.session.config_options if self.session else None
        return options is not None and options.boolean is not None

    @property
    def shows_forms(self) -> bool:
        """True if it asks its user to fill in forms."""
        return self.elicitation is not None and self.elicitation.form is not None


class Initialize(Lenient):
    """ACP `initialize`; some clients send a date for the version, and whatever it is, 1 is spoken."""

    protocol_version: Version | float | str | bool | list[Any] | dict[str, Any] | None
    client_capabilities: ClientCapabilities | None = None


class Authenticate(Acp):
    """ACP `authenticate`."""

    method_id: str


class NewSession(Acp):
    """ACP `session/new`; for the servers see :func:`reachable`."""

    cwd: str
    mcp_servers: list[Any]


class LoadSession(SessionParams):
    """ACP `session/load`."""

    cwd: str
    mcp_servers: list[Any]


class OpenSession(SessionParams):
    """ACP `session/resume` and `session/fork`."""

    cwd: str
    mcp_servers: list[Any] | None = None


class ListSessions(Acp):
    """ACP `session/list`."""

    cwd: str | None = None
    cursor: str | None = None


class SetMode(SessionParams):
    """ACP `session/set_mode`."""

    mode_id: str


class SetConfigOption(SessionParams):
    """ACP `session/set_config_option`: the value is a boolean where the type says so, and text otherwise."""

    config_id: str
    value: str | bool
    type: Any = None

    def __post_init__(self) -> None:
        """Refuse a value of the other kind."""
        wanted = "bool" if self.type == "boolean" else "str"
        if type(self.value).__name__ != wanted:
            raise ValueError(f"Expected `{wanted}`, got `{type(self.value).__name__}` - at `$.value`")


class Prompt(SessionParams):
    """ACP `session/prompt`; for the blocks see :func:`agentnb.plugins.acp_agent.content.read_blocks`."""

    prompt: list[Any]


class EnvVariable(Acp):
    """A variable of the environment."""

    name: str
    value: str


class StdioServer(Acp):
    """An MCP server that the agent starts."""

    name: str
    command: str
    args: list[str]
    env: list[EnvVariable]


class AcpServer(Acp):
    """An MCP server of the client's own, reached over ACP."""

    name: str
    server_id: str
    type: Literal["acp"]


McpServer = StdioServer | AcpServer


def reachable(servers: list[Any] | None) -> tuple[McpServer, ...]:
    """Those of the client's *servers* that are reached over stdio or over ACP. Others, and what is none, are left."""
    return tuple(server for value in servers or () if (server := _server(value)) is not None)


def _server(value: object) -> McpServer | None:
    kinds: tuple[type[McpServer], ...] = (AcpServer, StdioServer)
    for kind in kinds:
        try:
            return read(kind, value)
        except ValidationError:
            continue
    return None
