"""The requests about the sessions that agents keep themselves, and about what agentnb keeps on disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from agentnb.agent.catalog import find
from agentnb.configuration.setting import size_of
from agentnb.errors import SessionError, UsageError
from agentnb.host.history.arrangement import LONGEST_TITLE
from agentnb.host.history.restore import holder, listed, opened, recorder_of
from agentnb.host.history.storage import KeptStorage, closed, forget, forget_batches, measured, oldest_kept, outdated
from agentnb.log import maintenance
from agentnb.server.request_table import Asker, request
from agentnb.server.session_requests import TabChannels, channels_of
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from agentnb.acp.opening import AgentSession
    from agentnb.host.host import Host
    from agentnb.host.session_options import Configuration
    from agentnb.log.record import SessionRecord
    from agentnb.log.store import LogStore


class AgentKeptSession(Wire, frozen=True, kw_only=True):
    """A session that an agent keeps itself.

    Attributes:
        id: The agent's id of the session.
        title: Its title; empty if it has none.
        cwd: Its folder; empty if the agent does not report it.
        modified_at: The time of its last activity, in milliseconds since 1970, if the agent reports it.
    """

    id: str
    title: str
    cwd: str
    modified_at: int | None = None


class ListAgentSessionsResult(Wire, frozen=True, kw_only=True):
    """One page of sessions, in the agent's order.

    Attributes:
        sessions: The sessions that the log does not have.
        cursor: The start of the next page; absent on the last one.
    """

    sessions: tuple[AgentKeptSession, ...]
    cursor: str | None = None


@request("listAgentSessions")
async def list_agent_sessions(
    asker: Asker[Host], *, agent: str, everywhere: bool = False, cursor: str | None = None
) -> ListAgentSessionsResult:
    """List the sessions that an agent keeps itself and the log does not have (ACP ``session/list``).

    The agent is started for this if it is not running.

    Args:
        agent: The agent's name in the catalogue.
        everywhere: True if sessions of all folders are listed; otherwise only those of the kernel's folder.
        cursor: The start of the page: the `cursor` of the page before.
    """
    host = asker.host
    configuration = _configuration(host, agent, Path.cwd())
    page = await listed(host, configuration, None if everywhere else str(configuration.cwd), cursor)
    known = await asyncio.to_thread(_known, host, agent, [each.id for each in page.sessions])
    theirs = [each for each in page.sessions if each.id not in known]
    theirs = [each for each in theirs if holder(host, configuration.spec, each.id) is None]
    return ListAgentSessionsResult(sessions=tuple(map(_agent_session, theirs)), cursor=page.next_cursor)


def _agent_session(kept: AgentSession) -> AgentKeptSession:
    modified_at = None if kept.updated is None else int(kept.updated.timestamp() * 1000)
    return AgentKeptSession(id=kept.id, title=kept.title, cwd=kept.cwd, modified_at=modified_at)


@request("openAgentSession")
async def open_agent_session(
    asker: Asker[Host], *, agent: str, id: str, cwd: str | None = None, title: str | None = None
) -> TabChannels:
    """Open a session that an agent keeps itself, in its own tab (ACP ``session/load``).

    From then on the log keeps it, too. Its folder becomes the workspace: it must be in the kernel's folder, or be one
    in which the log has conversations.

    Args:
        agent: The agent's name in the catalogue.
        id: The agent's id of the session.
        cwd: Its folder, as the agent reports it; the kernel's if absent.
        title: Its title, as the agent reports it.
    """
    folder = await asyncio.to_thread(_workspace, asker.host, cwd)
    words = " ".join((title or "").split())[:LONGEST_TITLE] or None
    configuration = _configuration(asker.host, agent, folder)
    return channels_of(await opened(asker.host, configuration, id, title=words))


def _configuration(host: Host, agent: str, cwd: Path) -> Configuration:
    options = host.environment.default_options(find(agent), cwd)
    return options.configuration(host.environment)


def _known(host: Host, agent: str, ids: list[str]) -> set[str]:
    """Those of the agent's sessions that the log has."""
    return set() if host.recorder is None else recorder_of(host).store.known(agent, ids)


def _workspace(host: Host, named: str | None) -> Path:
    """The folder of an agent's session, where it may be the workspace: an agent may say any, such as the root."""
    here = Path.cwd()
    if not named:
        return here
    folder = Path(named)
    if folder.is_dir():
        real = folder.resolve()
        if real == here.resolve() or here.resolve() in real.parents:
            return folder
        recorder = None if host.recorder is None else recorder_of(host)
        if recorder is not None and recorder.store.sessions(cwd=str(folder), archived=None, limit=1):
            return folder
    raise SessionError(
        f"The session's folder {named!r} is not in this kernel's folder, and the log has no conversation in it.",
        hint="Open it from a kernel that runs there, or with agentnb.start(…, session=…, cwd=…).",
    )


class MeasureStorageResult(Wire, frozen=True, kw_only=True):
    """The storage that agentnb uses.

    Attributes:
        path: The log's file.
        rows: The kinds, then agents and folders, the largest first.
    """

    path: str
    rows: tuple[KeptStorage, ...]


@request("measureStorage")
async def measure_storage(asker: Asker[Host]) -> MeasureStorageResult:
    """Measure how much agentnb keeps on disk, by kind, agent and folder."""
    store = await _store(asker.host)
    rows = await asyncio.to_thread(measured, store)
    return MeasureStorageResult(path=str(store.path), rows=tuple(rows))


class ChangeStorageParams(Wire, frozen=True, kw_only=True):
    """``changeStorage``: compact, check, repair, export or import the log, or delete conversations from it.

    Conversations are deleted by age or size, or all of them. Open ones stay; so do pinned ones, unless all are deleted.

    Attributes:
        action: The operation.
        older_than_days: With `remove`: the days without activity after which a conversation is deleted.
        larger_than: With `remove`, instead of the age: the size, as `2G`, to which the data is reduced by deleting the
            oldest conversations.
        dry_run: True if `remove` and `deleteAll` only count the conversations.
        path: With `export` and `import`: the file on the kernel's machine, absolute or with `~/`; a new one to export.
    """

    action: Literal["compact", "check", "repair", "export", "import", "remove", "deleteAll"]
    older_than_days: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 90
    larger_than: Annotated[str, msgspec.Meta(max_length=40)] = ""
    dry_run: bool = True
    path: Annotated[str, msgspec.Meta(max_length=4_000)] = ""


class ChangeStorageResult(Wire, frozen=True, kw_only=True):
    """The result.

    Attributes:
        message: The result, in one or more sentences.
        count: The number of conversations that were deleted, or would be.
    """

    message: str
    count: Count


@request("changeStorage", ChangeStorageParams, ChangeStorageResult)
async def change_storage(asker: Asker[Host], params: ChangeStorageParams) -> ChangeStorageResult:
    """Compact, check, repair, export or import the log, or delete conversations of it."""
    store = await _store(asker.host)
    if params.action in {"remove", "deleteAll"}:
        return await _delete(asker.host, store, params)
    return ChangeStorageResult(message=await asyncio.to_thread(_CARE[params.action], store.path, params), count=0)


async def _delete(host: Host, store: LogStore, params: ChangeStorageParams) -> ChangeStorageResult:
    records = await asyncio.to_thread(_meant, store, params)
    if not params.dry_run:
        await forget(store, host.stores, records)
        await asyncio.to_thread(_tidy, store, params)
    what = f"{len(records):,} conversation{'' if len(records) == 1 else 's'}"
    message = f"{what} {'would be ' if params.dry_run else ''}deleted."
    return ChangeStorageResult(message=message, count=len(records))


async def _store(host: Host) -> LogStore:
    return (await asyncio.to_thread(recorder_of, host)).store


def _meant(store: LogStore, params: ChangeStorageParams) -> list[SessionRecord]:
    if params.action == "deleteAll":
        return closed(store)
    if not params.larger_than:
        return outdated(store, before=oldest_kept(params.older_than_days))
    most = size_of(params.larger_than)
    if most is None:
        raise UsageError(f"{params.larger_than!r} isn't a size.", hint="Use, for example, 500M or 2G.")
    return outdated(store, most_bytes=most)


def _tidy(store: LogStore, params: ChangeStorageParams) -> None:
    """Batches go with the conversations that are as old; after all were deleted, the disk has its room again."""
    if params.action == "deleteAll":
        forget_batches(store)
        maintenance.compact(store.path)
    elif not params.larger_than:
        forget_batches(store, oldest_kept(params.older_than_days))


def _check(path: Path, _: ChangeStorageParams) -> str:
    faults = maintenance.faults(path)
    hint = "Repair copies what can be read to a new log, and keeps this one beside it."
    return " ".join([*faults, hint]) if faults else "The log is intact."


def _compact(path: Path, _: ChangeStorageParams) -> str:
    maintenance.compact(path)
    return "Compacted."


def _repair(path: Path, _: ChangeStorageParams) -> str:
    done = maintenance.repair(path)
    whole = f"{len(done.lost):,} of them are incomplete." if done.lost else "All are complete."
    return f"The new log has {done.sessions:,} conversations. {whole} The old log is kept as {done.aside}."


def _export(path: Path, params: ChangeStorageParams) -> str:
    to = _file(params)
    answer = f"Exported {maintenance.copy_out(path, to):,} conversations to {to}. Credentials in them are not masked."
    return f"{answer} {maintenance.WITHOUT_CHANGES}"


def _import(path: Path, params: ChangeStorageParams) -> str:
    new, known = maintenance.take_in(path, _file(params))
    return f"Imported {new:,} conversations, without undo history; {known:,} were here already."


def _file(params: ChangeStorageParams) -> Path:
    path = Path(params.path.strip()).expanduser()
    if not path.is_absolute():
        raise UsageError(f"{params.path!r} is not an absolute path.", hint="Start it with / or ~/.")
    return path


_CARE = {"check": _check, "compact": _compact, "repair": _repair, "export": _export, "import": _import}
