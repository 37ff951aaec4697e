"""The page's requests about what agents keep themselves, and about what agentnb keeps on disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.agent.catalog import find
from agentnb.comm import history_messages as hm
from agentnb.errors import LogUnavailable, SessionError, UsageError
from agentnb.host.history.arrangement import LONGEST_TITLE
from agentnb.host.history.restore import recorder_of
from agentnb.host.history.storage import closed, forget, forget_batches, measured, oldest_kept, outdated, size_of
from agentnb.host.kept_sessions import holder, listed, opened
from agentnb.log import maintenance

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.acp.listing import Kept
    from agentnb.host.host import Host
    from agentnb.host.session_options import Configuration
    from agentnb.log.record import SessionRecord
    from agentnb.log.store import Store


class HistoryRequests:
    """Answers them, on the host's thread.

    Args:
        host: What they are about.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.methods: dict[str, Callable[[str, bytes], Any]] = {
            "listAgentSessions": self._list_agent_sessions,
            "openAgentSession": self._open_agent_session,
            "measureStorage": self._measure_storage,
            "changeStorage": self._change_storage,
        }

    async def _list_agent_sessions(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - as the others
        params = msgspec.json.decode(raw, type=hm.ListAgentSessionsParams)
        asked = self._configuration(params.agent, Path.cwd())
        page = await listed(self._host, asked, None if params.everywhere else str(asked.cwd), params.cursor)
        known = await asyncio.to_thread(self._known, params.agent, [each.session_id for each in page.sessions])
        theirs = [each for each in page.sessions if each.session_id not in known]
        theirs = [each for each in theirs if holder(self._host, asked.spec, each.session_id) is None]
        answer: dict[str, Any] = {"sessions": [_told(each) for each in theirs]}
        if page.next_cursor is not None:
            answer["cursor"] = page.next_cursor
        return answer

    async def _open_agent_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.OpenAgentSessionParams)
        cwd = await asyncio.to_thread(self._workspace, params.cwd)
        title = " ".join((params.title or "").split())[:LONGEST_TITLE] or None
        conversation = await opened(self._host, self._configuration(params.agent, cwd), params.id, title=title)
        return {"channel": conversation.session.uri, "chat": conversation.chat.uri}

    async def _measure_storage(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        msgspec.json.decode(raw, type=hm.MeasureStorageParams)
        store = await self._store()
        rows = await asyncio.to_thread(measured, store)
        return {"path": str(store.path), "rows": [row._asdict() for row in rows]}

    async def _change_storage(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.ChangeStorageParams)
        store = await self._store()
        if params.action in {"remove", "deleteAll"}:
            return await self._delete(store, params)
        message = await asyncio.to_thread(_CARE[params.action], store.path, params)
        return {"message": message, "count": 0}

    async def _delete(self, store: Store, params: hm.ChangeStorageParams) -> dict[str, Any]:
        records = await asyncio.to_thread(_meant, store, params)
        if not params.dry_run:
            await forget(store, self._host.stores, records)
            await asyncio.to_thread(_tidy, store, params)
        what = f"{len(records):,} conversation{'' if len(records) == 1 else 's'}"
        return {"message": f"{what} {'would be ' if params.dry_run else ''}deleted.", "count": len(records)}

    def _configuration(self, agent: str, cwd: Path) -> Configuration:
        options = self._host.environment.default_options(find(agent), cwd)
        return options.configuration(self._host.environment.cassette.apart())

    def _known(self, agent: str, ids: list[str]) -> set[str]:
        """Those of the agent's sessions that the log has."""
        return set() if self._host.recorder is None else recorder_of(self._host).store.known(agent, ids)

    def _workspace(self, said: str | None) -> Path:
        """The folder of an agent's session, where it may be the workspace: an agent may say any, such as the root."""
        here = Path.cwd()
        if not said:
            return here
        folder = Path(said)
        if folder.is_dir():
            real = folder.resolve()
            if real == here.resolve() or here.resolve() in real.parents:
                return folder
            recorder = None if self._host.recorder is None else recorder_of(self._host)
            if recorder is not None and recorder.store.sessions(cwd=str(folder), archived=None, limit=1):
                return folder
        message = (
            f"The session's folder {said!r} is not in this kernel's folder, and the log has no conversation in it."
        )
        raise SessionError(
            message, hint="Open it from a kernel that runs there, or by agentnb.start(…, session=…, cwd=…)."
        )

    async def _store(self) -> Store:
        return (await asyncio.to_thread(recorder_of, self._host)).store


def _meant(store: Store, params: hm.ChangeStorageParams) -> list[SessionRecord]:
    if params.action == "deleteAll":
        return closed(store)
    if not params.larger_than:
        return outdated(store, before=oldest_kept(params.older_than_days))
    most = size_of(params.larger_than)
    if most is None:
        raise UsageError(f"{params.larger_than!r} is no size.", hint="For example 500M or 2G.")
    return outdated(store, most_bytes=most)


def _tidy(store: Store, params: hm.ChangeStorageParams) -> None:
    """Batches go with the conversations that are as old; after all were deleted, the disk has its room again."""
    if params.action == "deleteAll":
        forget_batches(store)
        maintenance.compact(store.path)
    elif not params.larger_than:
        forget_batches(store, oldest_kept(params.older_than_days))


def _check(path: Path, _: hm.ChangeStorageParams) -> str:
    found = maintenance.faults(path) if path.exists() else []
    hint = "Repair makes a new log of what can be read, and keeps this one beside it."
    return " ".join([*found, hint]) if found else "The log is sound."


def _compact(path: Path, _: hm.ChangeStorageParams) -> str:
    if path.exists():
        maintenance.compact(path)
    return "The room of what was deleted is given back to the disk."


def _repair(path: Path, _: hm.ChangeStorageParams) -> str:
    if not path.exists():
        raise LogUnavailable(f"There is no session log at {path}.", hint="The first finished turn makes it.")
    done = maintenance.repair(path)
    whole = f"Of {len(done.lost):,} not all could be read." if done.lost else "All of them are whole."
    return f"The new log has {done.sessions:,} conversations. {whole} The old log is beside it: {done.aside}."


def _export(path: Path, params: hm.ChangeStorageParams) -> str:
    to = _file(params)
    if not path.exists():
        raise LogUnavailable(f"There is no session log at {path}.", hint="The first finished turn makes it.")
    said = f"{maintenance.copy_out(path, to):,} conversations are in {to}. Credentials in them are not masked."
    return f"{said} {maintenance.WITHOUT_CHANGES}"


def _import(path: Path, params: hm.ChangeStorageParams) -> str:
    new, known = maintenance.take_in(path, _file(params))
    return f"{new:,} conversations imported, without what turns changed; {known:,} were here already."


def _file(params: hm.ChangeStorageParams) -> Path:
    path = Path(params.path.strip()).expanduser()
    if not path.is_absolute():
        raise UsageError(f"{params.path!r} is not an absolute path.", hint="Begin it with / or ~/.")
    return path


_CARE = {"check": _check, "compact": _compact, "repair": _repair, "export": _export, "import": _import}


def _told(kept: Kept) -> dict[str, Any]:
    told: dict[str, Any] = {"id": kept.session_id, "title": kept.title, "cwd": kept.cwd}
    if kept.updated is not None:
        told["modifiedAt"] = int(kept.updated.timestamp() * 1000)
    return told
