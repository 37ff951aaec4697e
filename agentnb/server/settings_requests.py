"""Requests about settings, and about the folders to choose from.

A page asks for a change when its user makes one. If the change would let agents do more, the kernel first answers with
a sentence that the user must confirm, and makes the change only when the page sends that exact sentence back.
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
"""The most folders in one answer."""


class SettingLayer(Wire, frozen=True, kw_only=True):
    """A value of a setting from another place, which has no effect.

    Attributes:
        source: The place.
        value: The value there, without secrets.
    """

    source: str
    value: Any


class SettingInfo(Wire, frozen=True, kw_only=True):
    """A setting with its current value.

    Attributes:
        name: Its name.
        title: Its name for people.
        about: Its description.
        kind: The kind of its value: `switch`, `choice`, `number`, `text`, `folder`, `agent`, `names` or `servers`.
        value: The value in effect; of MCP servers only their names.
        source: The place of that value: `site` (the administrator set it, nothing else has an effect), `%config`,
            `startup`, `environment`, `project`, `user` or `default`.
        where: The file or the variable; may be empty.
        below: The values from other places, next in effect first.
        file: The user's file that a change is written to; empty if none can contain it.
        is_trait: True if it can be set in this kernel alone.
        counts: The time when a change takes effect.
        choices: The values of a `choice`, each with its label.
        in_file: The value in the user's file; absent if it has none.
        empty: The meaning of an empty value, or 0. Absent if that is clear, and from a kernel of an older version.
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
        title: The group's title.
        settings: The settings, in the order in which they are shown.
    """

    title: str
    settings: tuple[SettingInfo, ...]


class ListSettingsResult(Wire, frozen=True, kw_only=True):
    """The settings.

    Attributes:
        groups: The settings by group.
        problems: The problems in files and variables; the values concerned are ignored.
        rules: The rules of the user's policy file.
        project_rules: The rules of the project's policy file, on one line each.
        first: The names of the settings on the first screen, in order; `grants` is the list of rules and grants.
            Absent from a kernel of an older version.
        trusted: The trusted folders.
        folder: The kernel's current folder.
        policy_file: The user's policy file.
        project_file: The project's policy file.
        agents: The agents' start commands, the user's own first. Absent from a kernel of an older version.
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
    """Start or stop telling this page when the answer of `listSettings` changes.

    While it is on, the kernel sends `settingsChanged` at most a second after a file or `%config` has changed.

    Args:
        on: True if the page wants notices.
    """
    asker.service.notices(SettingsNotices, asker.host).watch(asker.client_id, on=on)


class ChangeSettingParams(Wire, frozen=True, kw_only=True):
    """``changeSetting``: change a setting for the user.

    If this would let agents do more or limits what the log keeps, the kernel first answers with a sentence to confirm,
    and makes the change when the page sends that sentence back.

    Attributes:
        name: The setting's name.
        value: The new value; null removes the value from the user's file, or from this kernel.
        here: True if it applies to this kernel alone; otherwise it is written into the user's file.
        was: With `checks`: the file's value when the user decided; null if there was none.
        checks: True if `was` must still be the file's value.
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
        line: The server's command with its arguments, as typed in a shell, or its address. No shell reads it.
        env: The variables for the command, by name.
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
    """Add one MCP server to the settings, or remove one; the others stay unchanged.

    To add one, the kernel first answers with a sentence to confirm, and adds it when the page sends that sentence back.

    Args:
        name: The server's name for agents.
        server: The server; absent to remove the one of that name.
        here: True if it applies to this kernel alone; otherwise it is written into the user's file.
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
    mcp_servers(servers)  # raises for invalid settings
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
        folders: The names of the folders in it, without hidden ones.
        is_cut: True if it has more.
        parent: The parent folder; absent if it may not be listed.
    """

    path: str
    folders: tuple[str, ...]
    is_cut: bool
    parent: str | None = None


@request("listFolders")
async def list_folders(
    _: Asker[Host], *, path: Annotated[str, msgspec.Meta(max_length=4000)] = ""
) -> ListFoldersResult:
    """List the folders in a folder, to choose one; only in the home folder and the kernel's folder.

    Args:
        path: The folder, absolute or with ``~/``; the kernel's current one if empty.
    """
    return await asyncio.to_thread(_folders_in, path)


def _folders_in(named: str) -> ListFoldersResult:
    try:
        path = Path(os.path.realpath(Path(named).expanduser() if named.strip() else Path.cwd()))
    except (OSError, RuntimeError, ValueError) as error:  # the folder is gone, the home is unknown, or a NUL
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
