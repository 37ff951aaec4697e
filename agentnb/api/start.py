"""Starting a session, and showing the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from agentnb.api.arguments import check_text, mode_of
from agentnb.api.configured import DEFAULT_AGENT, check_kernel, configuration_of, configured
from agentnb.api.session import CALLBACK_SECONDS, Session, session_of
from agentnb.errors import UsageError
from agentnb.host import current_host
from agentnb.host.history.arrangement import checked_title
from agentnb.host.history.restore import opened

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from agentnb.acp.opening import AgentSession
    from agentnb.api.session import Permissions
    from agentnb.policy.keys import Freedom

__all__ = ["DEFAULT_AGENT", "chat", "start", "warm"]


def start(
    agent: str | None = None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    model: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    permissions: Permissions = "ask",
    permission_timeout: float = CALLBACK_SECONDS,
    freedom: Freedom | None = None,
    title: str | None = None,
    mcp_servers: Sequence[Any] | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    directories: Sequence[str | os.PathLike[str]] = (),
    components: Sequence[Any] | None = None,
    kernel_tools: bool | None = None,
    confine: bool | None = None,
    network: Literal["all", "none"] | Sequence[str] = "all",
    verify: bool = False,
    budget: str | None = None,
    session: str | AgentSession | None = None,
) -> Session:
    """Start a session with an agent; returns at once, while the agent's process starts in the background.

    Args:
        agent: An agent's name in the catalogue (see :func:`agentnb.agents`); the built-in ``"eliza"`` by default.
        command: The command of any other ACP agent, as a list of words; *agent* is then only its name.
        env: Environment variables for the agent's process, besides this kernel's own.
        model: The agent's model, by its id or its name; the agent's own choice by default. It is set before the first
            prompt, also if *session* is already open in a tab. If the agent does not offer it, the first turn, or
            :meth:`Session.open`, fails with an error that names the models offered.
        cwd: The workspace: the folder in which the agent works. It may not touch a file outside of it without a rule or
            your approval. The current folder by default.
        permissions: How permission requests are answered: ``"ask"`` the user (denied if no front end is attached),
            ``"allow"``, ``"deny"``, or a function, sync or async. The function gets each
            :class:`agentnb.PermissionRequest` that would ask the user, and returns ``"allow"``, ``"deny"``, ``"ask"``
            (the user decides) or one of the request's options. It runs on its own thread. If it raises, returns
            anything else, or takes longer than *permission_timeout*, the request is denied, and the transcript says
            why. The policy comes first: the function is not called if a rule decides, and its yes is not enough for
            critical or unreadable commands, sensitive files, anything outside the workspace, or if a rule asks. Then
            the user is asked; if no front end is attached, the request is denied.
        permission_timeout: Seconds that such a function may take.
        freedom: How freely the agent works if *permissions* is ``"ask"`` or a function: ``"ask"`` (edits and commands
            need approval), ``"edit"`` (edits of files and cells are made at once, and can be reviewed and undone
            afterwards) or ``"auto"`` (commands and code also run at once, if the agent is confined or a preview was
            harmless). Critical commands, sensitive files and anything outside the workspace always ask. A policy file
            can allow less. :attr:`Session.freedom` changes it.
        title: The tab's title, one line of at most 200 characters; the first prompt's words by default.
        mcp_servers: MCP servers that the agent may use: mappings with ``name`` and ``command`` (``args``, ``env``) or
            ``url`` (``headers``; ``type="sse"``), or the mapping of names to servers that other tools store in
            ``mcp.json``, or the path of such a file; if None, those of ``%config Agentnb.mcp_servers``. Servers that
            the agent cannot reach are left out, with a notice.
        directories: More folders to work in, if the agent supports that.
        components: The chain of components between you and the agent, the one next to you first: names of shipped
            components (``"rules"``), commands of programs that are ACP proxies (a text or a list of words), instances
            and classes of :class:`agentnb.plugins.chain.components.Component`; if None, those of
            ``%config Agentnb.components``. Components in the agent's own description come after them.
        kernel_tools: True if the agent may use this kernel: look at variables, run code, read and change the notebook's
            cells. Running or changing something asks like everything else. If None, the setting ``kernel_tools``
            decides, if IPython runs here. :attr:`Session.kernel_tools` changes it.
        confine: True if the agent and everything that it starts, including commands that it runs through agentnb, can
            read and change only what they need: the system, the agent's install, the workspace, *directories*, its own
            settings, and a temporary folder. If None, your policy file, the setting ``confine`` or the agent's
            description decides, the first of them that says something. It fails if nothing can confine the agent.
        network: The network access of a confined agent: ``"all"``, ``"none"``, or a list of the only hosts, such as
            ``["pypi.org", "*.example.org", "localhost:11434"]``, which it then reaches through a proxy of agentnb.
        verify: True if a turn is done only when the notebooks that it is about are verified (:func:`agentnb.verify`):
            the kernel's own, and those in the workspace that the turn changed. Findings go back to the agent, at most
            three times; then it is your turn.
        budget: The limits of the conversation: some of tokens, money, time and turns, such as ``"200k tokens, $5, 30
            min, 20 turns"``. You are warned from 80 % on; at the limit the turn stops, and the user is asked whether to
            continue. If nobody can be asked, it fails with :class:`agentnb.BudgetExceeded`. If None, the setting
            ``budget`` applies. It is stored with the conversation; :attr:`Session.budget` changes it.
        session: A session that the agent keeps, to continue it: a row of ``history(kept_by=agent)``, or its id. If the
            agent can, it loads the session, which is shown as it was; if not, it resumes the session. The session is
            open when this function returns, which takes as long as the agent needs to start (its
            ``initialize_timeout`` at most).

    Returns:
        The session.

    Raises:
        UnknownAgent: If the catalogue has no such agent.
        AgentNotFound: If its command is not installed.
        UsageError: If *permissions*, *title*, *command*, *env*, *model*, *cwd*, *mcp_servers*, *directories*,
            *components* or *budget* is not valid, or *kernel_tools* is True outside of IPython.
        NotOffered: With *session*, if the agent cannot open old sessions.
        AgentError: With *session*, if the agent cannot be started, does not open it, or does not offer *model*.

    Example:
        >>> session = agentnb.start("eliza")  # doctest: +SKIP
        >>> session = agentnb.start("claude", model="haiku")  # doctest: +SKIP
        >>> session = agentnb.start(command=["opencode", "acp"], permissions="deny")  # doctest: +SKIP
    """
    mode = mode_of(permissions, freedom)
    if title is not None:
        check_text("title", title, example='title="Residuals"')
        title = checked_title(title)
    named = agent if agent is not None or session is None or isinstance(session, str) else session.agent
    host = current_host()
    if kernel_tools:
        check_kernel(host)
    elif kernel_tools is None:
        kernel_tools = host.environment.default_kernel_access()
    kept: str | None = None
    kept_title: str | None = None
    if session is not None:
        kept, kept_title = (session, None) if isinstance(session, str) else (session.id, session.title or None)
    configuration = configured(
        named,
        command,
        env,
        cwd,
        mcp_servers=mcp_servers,
        directories=directories,
        components=components,
        kernel_tools=kernel_tools,
        mode=mode,
        title=title or kept_title,
        confine=confine,
        network=network,
        verify=verify,
        budget=budget,
        model=model,
    )
    if kept is not None:
        work = opened(host, configuration_of(configuration), kept, mode=mode, title=configuration.title)
        conversation = host.loop.submit(work).result()
    else:
        conversation = host.loop.call(host.open_session, configuration)
    return session_of(conversation, permissions, permission_timeout)


def warm(
    agent: str | None = None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    mcp_servers: Sequence[Any] | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    directories: Sequence[str | os.PathLike[str]] = (),
    components: Sequence[Any] | None = None,
) -> None:
    """Start an agent's process before it is needed; returns at once.

    The next :func:`start` with the same arguments uses it. A process that nobody uses within ten minutes is stopped.
    A failed start is reported by the session that needs it.

    Args:
        agent: As for :func:`start`.
        command: As for :func:`start`.
        env: As for :func:`start`.
        cwd: As for :func:`start`.
        mcp_servers: As for :func:`start`.
        directories: As for :func:`start`.
        components: As for :func:`start`.

    Raises:
        UnknownAgent: If the catalogue has no such agent.
        AgentNotFound: If its command is not installed.
        UsageError: If *command*, *env* or *cwd* is invalid.

    Example:
        >>> agentnb.warm("claude")  # doctest: +SKIP
    """
    host = current_host()
    configuration = configured(
        agent,
        command,
        env,
        cwd,
        mcp_servers=mcp_servers,
        directories=directories,
        components=components,
        kernel_tools=host.environment.default_kernel_access(),
    )
    host.loop.post(host.agents.begin, configuration_of(configuration))


def chat(session: Session | None = None) -> Any:
    """Returns the chat widget with every tab, opened on *session*'s tab if one is given.

    Raises:
        UsageError: If *session* is not a session.

    Example:
        >>> agentnb.chat()  # doctest: +SKIP
    """
    from agentnb.server.comm import frontend

    if session is not None and not isinstance(session, Session):
        raise UsageError(f"{session!r} is not a session.", hint="agentnb.start() gives one.")
    return frontend.chat_view(session.tab_id if session is not None else None)
