"""Starting a session, and showing the chat."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentnb.agent import mcp
from agentnb.agent.catalog import custom, find
from agentnb.agent.process import find_program
from agentnb.api.arguments import check_environment, check_permissions, check_text, folders
from agentnb.api.session import Session
from agentnb.cassette.switch import SWITCH
from agentnb.errors import UsageError
from agentnb.host import current_host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentnb.agent.catalog import AgentSpec

DEFAULT_AGENT = "eliza"


def start(
    agent: str | None = None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    permissions: Literal["ask", "allow", "deny"] = "ask",
    title: str | None = None,
    mcp_servers: Sequence[Any] | Mapping[str, Any] = (),
    directories: Sequence[str | os.PathLike[str]] = (),
) -> Session:
    """Start a session with an agent; returns at once, the agent's process starts in the background.

    Args:
        agent: An agent's name in the catalogue (see :func:`agentnb.agents`); the built-in ``"eliza"`` by default.
        command: The command of any other ACP agent, as a list of words; then *agent* only names it.
        env: Environment variables for the agent's process, besides this kernel's own.
        cwd: The workspace: where the agent works, and the wall round its file access. The current folder by default.
        permissions: What answers the agent's permission requests: ``"ask"`` the user (denied where no front end is
            attached), ``"allow"`` or ``"deny"``.
        title: The tab's title; the first prompt's words by default.
        mcp_servers: MCP servers that the agent may use: mappings with ``name`` and ``command`` (``args``, ``env``) or
            ``url`` (``headers``; ``type="sse"``), or the mapping of names to servers that other tools keep in
            ``mcp.json``. What an agent cannot reach is left out, and said.
        directories: More folders to work in, where the agent takes some.

    Returns:
        The session.

    Raises:
        UnknownAgent: If the catalogue has no such agent.
        AgentNotFound: If its command is not installed.
        UsageError: If *permissions*, *command*, *env*, *cwd*, *mcp_servers* or *directories* makes no sense.

    Example:
        >>> session = agentnb.start("eliza")  # doctest: +SKIP
        >>> session = agentnb.start(command=["opencode", "acp"], permissions="deny")  # doctest: +SKIP
    """
    check_permissions(permissions)
    check_environment(env)
    if title is not None:
        check_text("title", title, example='title="Residuals"')
    spec, folder = _spec(agent, command), _folder(cwd, "cwd")
    servers = mcp.mcp_servers(mcp_servers)
    more = [_folder(directory, "directories") for directory in folders(directories)]
    find_program(SWITCH.standing_in(spec), folder, {**os.environ, **spec.env, **(env or {})}.get("PATH"))
    host = current_host()
    conversation = host.loop.call(
        lambda: host.open(
            spec, cwd=folder, env=env, mode=permissions, title=title, mcp_servers=servers, directories=more
        )
    )
    return Session(conversation)


def warm(
    agent: str | None = None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> None:
    """Start an agent's process before it is needed; returns at once.

    The next :func:`start` of the same agent, environment and folder finds it running. One that nobody uses within ten
    minutes is stopped again. A start that fails is told by the session that needs it.

    Args:
        agent: As for :func:`start`.
        command: As for :func:`start`.
        env: As for :func:`start`.
        cwd: As for :func:`start`.

    Raises:
        UnknownAgent: If the catalogue has no such agent.
        AgentNotFound: If its command is not installed.
        UsageError: If *command*, *env* or *cwd* makes no sense.

    Example:
        >>> agentnb.warm("claude")  # doctest: +SKIP
    """
    check_environment(env)
    spec, folder = _spec(agent, command), _folder(cwd, "cwd")
    find_program(SWITCH.standing_in(spec), folder, {**os.environ, **spec.env, **(env or {})}.get("PATH"))
    host = current_host()
    host.loop.post(host.agents.begin, spec, folder, {**(env or {}), **SWITCH.apart()})


def chat(session: Session | None = None) -> Any:
    """The chat widget with every tab; on *session*'s tab where one is given.

    Raises:
        UsageError: If *session* is something else.

    Example:
        >>> agentnb.chat()  # doctest: +SKIP
    """
    from agentnb.comm import frontend

    if session is not None and not isinstance(session, Session):
        raise UsageError(f"{session!r} is not a session.", hint="agentnb.start() gives one.")

    return frontend.chat_view(session)


def _folder(given: str | os.PathLike[str] | None, name: str) -> Path:
    try:
        folder = Path(given if given is not None else os.getcwd()).expanduser().resolve()  # noqa: PTH109 - kept as the kernel has it
    except FileNotFoundError:
        raise UsageError("The current folder is gone.", hint="Go to another one, or give cwd=.") from None
    except (TypeError, RuntimeError) as error:
        raise UsageError(f"{name}={given!r} names no folder: {error}.", hint="Give a path.") from None
    if not folder.is_dir():
        message = f"{name}={str(given)!r} is not a folder."
        raise UsageError(message, hint="Give the folder that the agent shall work in.")
    return folder


def _spec(agent: str | None, command: Sequence[str] | None) -> AgentSpec:
    if agent is not None:
        check_text("agent", agent, example='"claude"')
    return find(agent or DEFAULT_AGENT) if command is None else custom(command, name=agent)
