"""The requests about settings, and about the folders to choose from.

A page asks for a change in answer to a gesture of its user. What would let agents do more is first answered with a
sentence that the user must confirm, and counts only when the page sends that very sentence back.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from agentnb.agent.mcp import mcp_servers
from agentnb.configuration.named_things import missing, missing_things
from agentnb.configuration.table import FIRST, is_wider, setting
from agentnb.configuration.write import UNKNOWN, change_setting, public_value, shown_value
from agentnb.errors import UsageError
from agentnb.host.history.restore import recorder_of
from agentnb.host.history.storage import limits_of, outdated
from agentnb.policy.workspace import PROJECT
from agentnb.server.agent_requests import AgentLaunch, OfferedModel, agent_commands, offered_models
from agentnb.server.notices import SettingsNotices
from agentnb.server.policy_requests import PolicyRule
from agentnb.server.request_table import Asker, ChangedResult, request
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from agentnb.configuration.setting import Setting
    from agentnb.configuration.sources import SettingValue
    from agentnb.host.host import Host

MOST_FOLDERS = 500
"""Folders of one answer."""


class SettingLayer(Wire, frozen=True, kw_only=True):
    """What another place says of a setting, and does not count.

    Attributes:
        source: The place.
        value: The value there, without secrets.
    """

    source: str
    value: Any


class SettingInfo(Wire, frozen=True, kw_only=True):
    """A setting as it is now.

    Attributes:
        name: Its name.
        title: What it is called, for people.
        about: What it does.
        kind: The kind of its value: `switch`, `choice`, `number`, `text`, `folder`, `agent`, `names` or `servers`.
        value: The value that counts; of MCP servers their names alone.
        source: Where that comes from: `site` (the administrator set it, nothing else counts), `%config`, `startup`,
            `environment`, `project`, `user` or `default`.
        where: The file or the variable; may be empty.
        below: What other places say, the one that would count next first.
        file: The user's file that a change is written to; empty where none can hold it.
        is_trait: Whether it can be set in this kernel alone.
        counts: When a change counts.
        choices: The values of a `choice`, each with what it is called.
        in_file: What the user's file says; absent where it says nothing.
        empty: What an empty value, or 0, means. Absent where that is clear, and from a kernel of an older version.
    """

    name: str
    title: str
    about: str
    kind: str
    value: Any
    source: str
    where: str
    below: tuple[SettingLayer, ...]
    file: str
    is_trait: bool
    counts: str
    choices: tuple[tuple[str, str], ...]
    in_file: Any = None
    empty: str | None = None


def _info(value: SettingValue) -> SettingInfo:
    """A setting for the page: nothing that may be secret is in it."""
    which = value.setting
    in_file = value.in_file
    layers = value.layers[1:]
    return SettingInfo(
        name=which.name,
        title=which.checks_title or which.title,
        about=which.about,
        kind=which.kind,
        value=public_value(which.name, value.value),
        source=value.source,
        where=value.where,
        below=tuple(SettingLayer(source=each.source, value=public_value(which.name, each.value)) for each in layers),
        file=str(value.file or ""),
        is_trait=which.trait,
        counts=which.counts,
        choices=tuple(value.choices.items()),
        in_file=public_value(which.name, in_file) if in_file is not None else None,
        empty=which.empty or None,
    )


class SettingsGroup(Wire, frozen=True, kw_only=True):
    """Settings that are shown together.

    Attributes:
        title: What they are about.
        settings: The settings, in the order in which they are shown.
    """

    title: str
    settings: tuple[SettingInfo, ...]


class ListSettingsResult(Wire, frozen=True, kw_only=True):
    """The settings.

    Attributes:
        groups: The settings by group.
        problems: What is wrong with files and variables; that does not count.
        rules: The rules of the user's policy file.
        project_rules: Those of the project's, on one line each.
        first: The names of the settings on the first screen, in order; `grants` is the list of rules and grants.
            Absent from a kernel of an older version.
        trusted: The trusted folders.
        folder: The kernel's current folder.
        policy_file: The user's policy file.
        project_file: The project's.
        agents: How agents are started: the user's own first. Absent from a kernel of an older version.
        models: The models that can be hidden. Absent from a kernel of an older version.
    """

    groups: tuple[SettingsGroup, ...]
    problems: tuple[str, ...]
    rules: tuple[PolicyRule, ...]
    project_rules: tuple[str, ...]
    trusted: tuple[str, ...]
    folder: str
    policy_file: str
    project_file: str
    agents: tuple[AgentLaunch, ...] | None = None
    models: tuple[OfferedModel, ...] | None = None
    first: tuple[str, ...] | None = None


@request("listSettings")
def list_settings(asker: Asker[Host]) -> ListSettingsResult:
    """List every setting, where its value comes from, the policy's rules and the trusted folders."""
    host = asker.host
    sources = host.environment.sources()
    files, folder = host.policy.files, Path.cwd()
    user, project = files.user, files.project(folder)
    host.take_settings()
    agents = agent_commands()
    problems = [
        *sources.problems,
        *missing_things(sources),
        *user.warnings,
        *project.warnings,
        *filter(None, [project.problem, *(each.problem for each in agents)]),
    ]
    return ListSettingsResult(
        groups=tuple(
            SettingsGroup(title=title, settings=tuple(map(_info, values))) for title, values in sources.grouped()
        ),
        problems=tuple(dict.fromkeys(problems)),
        rules=tuple(PolicyRule(number=at, text=each.rule.text) for at, each in enumerate(user.rules, 1)),
        project_rules=tuple(each.rule.text for each in project.rules),
        trusted=tuple(user.trusted),
        folder=str(folder),
        policy_file=str(files.user_path),
        project_file=str(folder / PROJECT),
        agents=agents,
        models=offered_models(host),
        first=FIRST,
    )


@request("watchSettings")
def watch_settings(asker: Asker[Host], *, on: bool) -> None:
    """Tell this page when what `listSettings` answers changes, or tell it no more.

    While it is on, the kernel says `settingsChanged` a second, at most, after a file or `%config` has changed.

    Args:
        on: Whether to tell it.
    """
    asker.service.notices(SettingsNotices, asker.host).watch(asker.client_id, on=on)


class ChangeSettingParams(Wire, frozen=True, kw_only=True):
    """``changeSetting``: the user changes a setting in the page.

    What would let agents do more is answered with a sentence to confirm, and changed when that comes back.

    Attributes:
        name: The setting's name.
        value: Its new value; null removes what is written in the user's file, or said in this kernel.
        here: Whether it holds in this kernel alone; else it is written into the user's file.
        was: What the file said when the user decided, with `checks`; null where it said nothing.
        checks: Whether `was` must still be so.
        confirmed: The sentence that the user confirmed.
    """

    name: str
    value: Any = None
    here: bool = False
    was: Any = None
    checks: bool = False
    confirmed: str = ""


@request("changeSetting", ChangeSettingParams, ChangedResult)
async def change_a_setting(asker: Asker[Host], params: ChangeSettingParams) -> ChangedResult:
    """Change a setting for the user."""
    host, value = asker.host, params.value
    which, now = setting(params.name), host.environment.sources()[params.name]
    if value is not None:
        value = which.check(value)
        now.demand_free(value)
        if (error := missing(which.name, value)) is not None:
            raise error
        question = _question(which, value) if is_wider(which, now.value, value) else ""
        question = question or await _deletion(host, which.name, value)
        if question and params.confirmed != question:
            return ChangedResult(confirm=question)
    was = UNKNOWN if which.kind == "servers" or not params.checks else params.was
    await _set(host, which.name, value, here=params.here, was=was)
    return ChangedResult()


async def _set(host: Host, name: str, value: Any, *, here: bool, was: Any = UNKNOWN) -> None:
    if here:
        chosen = host.environment.settings
        if chosen is None:
            message = "The extension is not loaded in this kernel, so a setting cannot be limited to it."
            raise UsageError(message, hint="%load_ext agentnb in a cell, or write it into your file.")
        chosen.choose(name, value)
    else:
        await asyncio.to_thread(change_setting, name, value, was=was)
    host.take_settings()


async def _deletion(host: Host, name: str, value: Any) -> str:
    """Returns what a limit of what is kept would delete, as a question; empty for another setting, or no limit."""
    if name not in {"log_days", "log_max"} or not value:
        return ""
    before, most = limits_of(value, "") if name == "log_days" else limits_of(0, value)
    count = 0
    if host.recorder is not None:
        store = recorder_of(host).store
        count = len(await asyncio.to_thread(outdated, store, before=before, most_bytes=most))
    what = f"{count:,} conversation{'' if count == 1 else 's'}"
    return (
        f"Each time a kernel starts, conversations beyond this limit are deleted for good (now: {what}). Pinned ones "
        "stay. Set the limit?"
    )


def _question(which: Setting, value: Any) -> str:
    label = which.choices.get(value) if which.choices else None
    return f"{which.title}: {label or shown_value(which.name, value):.200}. This lets agents do more. Change it?"


class McpServerChange(Wire, frozen=True, kw_only=True):
    """An MCP server as the page's user types it.

    Attributes:
        line: Its command with its arguments, as one types it in a shell, or its address. No shell reads it.
        env: Variables for the command, by name.
    """

    line: Annotated[str, msgspec.Meta(max_length=4_000)]
    env: dict[str, str] = msgspec.field(default_factory=dict)


@request("changeMcpServer")
async def change_mcp_server(
    asker: Asker[Host],
    *,
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)],
    server: McpServerChange | None = None,
    here: bool = False,
    confirmed: str = "",
) -> ChangedResult:
    """Add one MCP server to those of the settings, or remove one; the others stay as they are.

    A new one is answered with a sentence to confirm, and added when that comes back.

    Args:
        name: What agents call it.
        server: The server; absent to remove the one of that name.
        here: Whether it holds in this kernel alone; else it is written into the user's file.
        confirmed: The sentence that the user confirmed.
    """
    host = asker.host
    now = host.environment.sources()["mcp_servers"]
    known = (now.value if here else now.in_file) or {}
    if not isinstance(known, dict):
        message = f"The MCP servers are in the file {known}."
        raise UsageError(message, hint="Change them there, or reset this setting first.")
    inner = known.get("mcpServers", known)
    others = {key: each for key, each in inner.items() if key != name}
    was = UNKNOWN if here else now.in_file
    if server is None:
        await _set(host, "mcp_servers", others or None, here=here, was=was)
        return ChangedResult()
    servers = {**others, name: _server(server)}
    mcp_servers(servers)  # says what makes no sense
    line = f"{server.line.strip():.300}"
    question = (
        f"Add the MCP server “{name}” ({line})? New conversations start it with your permissions, and "
        "agents can use it."
    )
    if confirmed != question:
        return ChangedResult(confirm=question)
    await _set(host, "mcp_servers", servers, here=here, was=was)
    return ChangedResult()


def _server(typed: McpServerChange) -> dict[str, Any]:
    """The server as the settings keep it."""
    line = typed.line.strip()
    if line.startswith(("http://", "https://")):
        if typed.env:
            raise UsageError(
                "Variables can't be set for an agent that is given by its address.",
                hint="Add headers to settings.toml by hand.",
            )
        return {"url": line}
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"This isn't a command: {error}.", hint='For example: npx -y "my server".') from error
    if not words:
        raise UsageError("The command is missing.", hint="For example: uvx mcp-server-git.")
    server: dict[str, Any] = {"command": words[0]}
    if words[1:]:
        server["args"] = words[1:]
    return {**server, "env": typed.env} if typed.env else server


class ListFoldersResult(Wire, frozen=True, kw_only=True):
    """The folders in a folder.

    Attributes:
        path: The folder.
        folders: The names of those in it, without hidden ones.
        is_cut: Whether there are more.
        parent: The folder above it; absent where that is not listed.
    """

    path: str
    folders: tuple[str, ...]
    is_cut: bool
    parent: str | None = None


@request("listFolders")
async def list_folders(
    _: Asker[Host], *, path: Annotated[str, msgspec.Meta(max_length=4000)] = ""
) -> ListFoldersResult:
    """The folders in a folder of the home or the kernel's folder, to choose one.

    Args:
        path: The folder, absolute or with ``~/``; empty for the kernel's current one.
    """
    return await asyncio.to_thread(_folders_in, path)


def _folders_in(named: str) -> ListFoldersResult:
    try:
        path = Path(os.path.realpath(Path(named).expanduser() if named.strip() else Path.cwd()))
    except (OSError, RuntimeError, ValueError) as error:  # the folder is gone, nobody has that home, a NUL
        raise UsageError(f"{named!r:.200} isn't a folder.", hint="Type the path of one.") from error
    if not _may_list(path):
        message = f"{str(path)!r} is outside your home folder and the kernel's folder, so it can't be listed."
        raise UsageError(message, hint="Type the path of a folder.")
    try:
        with os.scandir(path) as entries:
            names = sorted((each.name for each in entries if _is_shown(each)), key=str.casefold)
    except OSError as error:
        message = f"{str(path)!r} can't be listed: {error.strerror or error}."
        raise UsageError(message, hint="Choose another folder.") from error
    return ListFoldersResult(
        path=str(path),
        folders=tuple(names[:MOST_FOLDERS]),
        is_cut=len(names) > MOST_FOLDERS,
        parent=str(path.parent) if path.parent != path and _may_list(path.parent) else None,
    )


def _may_list(path: Path) -> bool:
    roots = (os.path.realpath(Path.home()), os.path.realpath(Path.cwd()))
    return any(path.is_relative_to(root) for root in roots)


def _is_shown(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.name.isprintable() and entry.is_dir()
    except OSError:
        return False
