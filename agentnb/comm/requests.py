"""The requests of the protocol: what a page can ask for.

Runs on the host's thread. What cannot be done is raised; the service makes the answer of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp.doctor import examine
from agentnb.agent.catalog import find
from agentnb.agent.process import startable
from agentnb.comm import changes, files
from agentnb.comm import file_messages as fm
from agentnb.comm import history_messages as hm
from agentnb.comm import messages as m
from agentnb.comm.client_requests import Bytes, ClientRequests
from agentnb.errors import AgentnbError, SessionError
from agentnb.host import intents
from agentnb.host.environment import LOOK_SECONDS
from agentnb.host.history.arrangement import arrange, delete, duplicate
from agentnb.host.history.restore import LOG_OFF, had_kernel_tools, kept, read_back, recorder_of, restore, spec_of
from agentnb.host.host import agent_infos
from agentnb.host.kept_sessions import forked
from agentnb.host.turns.mention_resolution import previews
from agentnb.log.location import VARIABLE
from agentnb.state import to_json
from agentnb.state.versions import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.comm.delivery import Delivery
    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host
    from agentnb.host.session_options import SessionOptions
    from agentnb.log.record import TurnRecord
    from agentnb.log.search_index import Hit
    from agentnb.log.store import Which
    from agentnb.state.versions import Window

DEFAULT_AGENT = "eliza"
MAX_LISTED = 200
EXPORT_SECONDS = 120.0
PREVIEWED_TURNS = 5
PREVIEWED_CHARACTERS = 4_000
"""Of each prompt and each answer."""


class Requests:
    """Answers requests, each with the method's result or a coroutine of it.

    Args:
        host: What they are about.
        delivery: The clients.
        drafts: What was typed and not sent, by chat.
        versions: The versions of the protocol that are spoken.
    """

    def __init__(self, host: Host, delivery: Delivery, drafts: dict[str, str], versions: Window = WINDOW) -> None:
        self._host = host
        self._delivery = delivery
        self._drafts = drafts
        self._versions = versions
        clients = self._clients = ClientRequests(host, delivery, drafts, versions)
        self.methods: dict[str, Callable[[str, bytes], Any]] = {
            "initialize": self._initialize,
            "subscribe": clients.subscribe,
            "unsubscribe": clients.unsubscribe,
            "createSession": self._create_session,
            "openSession": self._open_session,
            "disposeSession": self._dispose_session,
            "restartAgent": self._restart_agent,
            "stopToolCall": self._stop_tool_call,
            "rehearseToolCall": self._rehearse_tool_call,
            "forkSession": self._fork_session,
            "complete": self._complete,
            "previewMentions": self._preview_mentions,
            "suggestPrompts": self._suggest_prompts,
            "refreshAgents": self._refresh_agents,
            "installAgent": self._install_agent,
            "stopInstall": self._stop_install,
            "checkAgent": self._check_agent,
            "fetchContent": clients.fetch_content,
            "listFiles": self._list_files,
            "readFile": self._read_file,
            "fetchModule": clients.fetch_module,
            "invokeChangesetOperation": self._invoke_changeset_operation,
            "readChange": self._read_change,
            "fetchTurns": clients.fetch_turns,
            "listSessions": self._list_sessions,
            "resumeSession": self._resume_session,
            "previewSession": self._preview_session,
            "updateSession": self._update_session,
            "duplicateSession": self._duplicate_session,
            "exportSession": self._export_session,
            "deleteSession": self._delete_session,
        }

    def _initialize(self, client_id: str, raw: bytes) -> dict[str, Any]:
        self._host.take_settings()
        kernel = "run" if self._host.environment.default_kernel_access() else "off"
        return {**self._clients.initialize(client_id, raw), "kernel": kernel}

    def _create_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - same for every client
        params = msgspec.json.decode(raw, type=m.CreateSessionParams)
        environment = self._host.environment
        for known in self._host.conversations.values():  # another window of the notebook was first, after a restart
            if known.tab_id == params.tab_id:
                return {"channel": known.session.uri, "chat": known.chat.uri}
        spec, cwd = find(params.agent or DEFAULT_AGENT), environment.default_workspace()
        startable(spec, cwd, os.environ.get("PATH"))
        options = environment.default_options(spec, cwd)
        options = msgspec.structs.replace(options, mode=environment.default_mode())
        if params.kernel is not None:
            options = msgspec.structs.replace(options, kernel_tools=params.kernel != "off")
        if params.tab_id is None and (empty := self._empty(options, params.kernel)) is not None:
            return {"channel": empty.session.uri, "chat": empty.chat.uri}
        conversation = self._host.open_session(options, tab_id=params.tab_id)
        if params.kernel == "look":
            intents.use_kernel(conversation, "look", None, "user")
        self._host.loop.spawn(_started(conversation))
        return {"channel": conversation.session.uri, "chat": conversation.chat.uri}

    def _empty(self, options: SessionOptions, kernel: str | None) -> Conversation | None:
        """An open conversation with the same options in which nothing was said or typed, and which has no trouble."""
        wanted = kernel or ("run" if options.kernel_tools else "off")
        same = options.configuration(self._host.environment.cassette.apart())
        for conversation in self._host.conversations.values():
            chat, state = conversation.chat.state, conversation.session.state
            is_new = not (chat.turns or chat.active_turn or chat.queued_messages or chat.steering_message)
            is_quiet = conversation.closing is None and not self._drafts.get(conversation.chat.uri)
            is_same = msgspec.structs.replace(conversation.configuration, kernel="") == msgspec.structs.replace(
                same, kernel=""
            )
            has_same = conversation.mode == options.mode and conversation.channels.kernel_access == wanted
            if is_new and is_quiet and is_same and has_same and state.lifecycle in {"creating", "ready"}:
                return conversation
        return None

    def _open_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.OpenSessionParams)
        self._host.loop.spawn(_started(self._host.find(params.channel)))
        return {}

    def _dispose_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.DisposeSessionParams)
        self._host.loop.spawn(intents.close(self._host.find(params.channel)))
        return {}

    async def _restart_agent(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.RestartAgentParams)
        await intents.restart(self._host.find(params.channel))
        return {}

    def _stop_tool_call(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.StopToolCallParams)
        self._host.find(params.channel).stop_tool_call(params.tool_call_id)
        return {}

    def _rehearse_tool_call(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.RehearseToolCallParams)
        self._host.find(params.channel).permissions.rehearse(params.tool_call_id, params.input)
        return {}

    async def _fork_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.ForkSessionParams)
        copy = await forked(self._host.find(params.channel))
        return {"channel": copy.session.uri, "chat": copy.chat.uri}

    async def _complete(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.CompleteParams)
        cwd, shell = self._host.find(params.channel).cwd, self._host.environment.shell
        if shell is None:
            return {"items": []}
        try:
            look = asyncio.to_thread(lambda: shell.mentions.suggest(params.start, cwd))
            found = await asyncio.wait_for(look, LOOK_SECONDS)
        except asyncio.TimeoutError:
            return {"items": []}
        return {"items": [msgspec.to_builtins(one) for one in found]}

    async def _preview_mentions(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.PreviewMentionsParams)
        conversation, shell = self._host.find(params.channel), self._host.environment.shell
        if shell is None:
            return {"items": []}
        try:
            look = asyncio.to_thread(lambda: shell.mentions.attach(params.text, conversation.cwd))
            attached = await asyncio.wait_for(look, LOOK_SECONDS)
        except asyncio.TimeoutError:
            return {"items": []}
        return {"items": previews(attached, conversation.agent, params.label)}

    async def _suggest_prompts(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.SuggestPromptsParams)
        self._host.find(params.channel)
        shell = self._host.environment.shell
        if shell is None:
            return {"prompts": []}

        def look() -> list[str]:
            return list(shell.mentions.examples())  # what it needs is loaded here, on this thread

        try:
            return {"prompts": await asyncio.wait_for(asyncio.to_thread(look), LOOK_SECONDS)}
        except asyncio.TimeoutError:
            return {"prompts": []}

    async def _refresh_agents(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        msgspec.json.decode(raw, type=m.RefreshAgentsParams)
        infos = await asyncio.to_thread(agent_infos)
        self._host.take_agents(infos)
        return {"installed": [info.provider for info in infos if not info.missing]}

    def _install_agent(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.InstallAgentParams)
        self._host.installs.start(params.agent, params.command)
        return {}

    def _stop_install(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.StopInstallParams)
        self._host.installs.stop(params.agent)
        return {}

    async def _check_agent(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.CheckAgentParams)
        found = await examine(find(params.agent))
        told: dict[str, Any] = {
            "state": found.state,
            "message": found.message,
            "version": found.version,
            "todo": found.todo,
        }
        told |= {"startMs": None if found.seconds is None else round(found.seconds * 1000)}
        told |= {"models": list(found.models) or None}
        return {name: value for name, value in told.items() if value is not None}

    async def _list_files(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=fm.ListFilesParams)
        return await asyncio.to_thread(files.folder, self._host.find(params.channel).cwd, params)

    async def _read_file(self, client_id: str, raw: bytes) -> Bytes:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=fm.ReadFileParams)
        conversation = self._host.find(params.channel)
        patterns = conversation.policy.situation().patterns
        return Bytes(*await asyncio.to_thread(files.piece, conversation.cwd, params, patterns))

    async def _invoke_changeset_operation(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=fm.InvokeChangesetOperationParams)
        return await changes.invoke(self._host.find(params.changeset), params)

    async def _read_change(self, client_id: str, raw: bytes) -> Bytes:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=fm.ReadChangeParams)
        return Bytes(*await changes.read(self._host.find(params.changeset), params))

    async def _list_sessions(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.ListSessionsParams)
        if self._host.recorder is None:
            return {"sessions": [], "note": LOG_OFF}
        return await asyncio.to_thread(_listed, self._host, params)

    async def _resume_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.ResumeSessionParams)
        stored = await asyncio.to_thread(lambda: read_back(recorder_of(self._host), params.channel))
        options = self._host.environment.default_options(spec_of(stored.record), Path(stored.record.cwd))
        if had_kernel_tools(stored):
            options = msgspec.structs.replace(options, kernel_tools=True)
        conversation = restore(self._host, stored, options)
        return {"channel": conversation.session.uri, "chat": conversation.chat.uri}

    async def _preview_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.PreviewSessionParams)
        return await asyncio.to_thread(_preview, self._host, params.channel)

    async def _update_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.UpdateSessionParams)
        await arrange(
            self._host,
            lambda recorder: kept(recorder, params.channel),
            title=params.title,
            pinned=params.pinned,
            archived=params.archived,
        )
        return {}

    async def _duplicate_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.DuplicateSessionParams)
        channel, is_open = await duplicate(self._host, lambda recorder: kept(recorder, params.channel))
        return {"channel": channel, "open": is_open}

    async def _export_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.ExportSessionParams)
        return {"text": await asyncio.to_thread(_exported, self._host, params)}

    async def _delete_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=hm.DeleteSessionParams)
        await delete(self._host, lambda recorder: kept(recorder, params.channel))
        return {}


async def _started(conversation: Conversation) -> None:
    """Start the agent of a tab that someone will write in: its commands, modes and options are wanted by then."""
    with contextlib.suppress(AgentnbError):  # the session's state says what went wrong
        await conversation.ready()


def _listed(host: Host, params: hm.ListSessionsParams) -> dict[str, Any]:
    recorder = recorder_of(host)
    which: Which = {"limit": min(params.limit, MAX_LISTED), "offset": params.offset}
    which |= {"agent": params.agent, "since": params.since, "until": params.until}
    which |= {"state": params.state, "archived": params.archived}
    which |= {"cwd": str(Path.cwd())} if params.folder else {}
    which |= recorder.here() if params.here else {}
    found = recorder.store.find(params.search, **which)
    held = recorder.store.held(found.sessions)
    answer: dict[str, Any] = {
        "sessions": [to_json(record) for record in found.sessions],
        "elsewhere": [record.uri for record in found.sessions if record.uri in held],
    }
    if params.search:
        answer["hits"] = {uri: [_hit(hit) for hit in hits] for uri, hits in found.hits.items()}
    if found.left:
        answer["left"] = found.left
    if recorder.note:
        answer["note"] = recorder.note
    return answer


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "number": hit.number,
        "turnId": hit.turn_id,
        "where": hit.where,
        "before": hit.before,
        "text": hit.text,
        "after": hit.after,
    }


def _exported(host: Host, params: hm.ExportSessionParams) -> str:
    """Made by the command that a shell uses: documents stand above this layer, and a long one takes a while."""
    recorder = recorder_of(host)
    tab_id = kept(recorder, params.channel).tab_id
    command = [sys.executable, "-m", "agentnb", "export", tab_id, "--to", params.form]
    env = {**os.environ, VARIABLE: str(recorder.store.path)}
    try:
        done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=EXPORT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"The conversation could not be exported: {error}"
        raise SessionError(message, hint=f"Try `agentnb export {tab_id[:8]}` in a terminal.") from error
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().removeprefix("agentnb: ")
        raise SessionError(f"The conversation could not be exported: {why[-500:]}")
    return done.stdout.decode("utf-8", "replace")


def _preview(host: Host, uri: str) -> dict[str, Any]:
    recorder = recorder_of(host)
    record = kept(recorder, uri)
    turns = recorder.store.latest_turns(uri, PREVIEWED_TURNS)
    return {"title": record.title, "total": record.turns, "turns": [_previewed(turn) for turn in turns]}


def _previewed(turn: TurnRecord) -> dict[str, Any]:
    prompt, answer = turn.prompt[:PREVIEWED_CHARACTERS], turn.answer[:PREVIEWED_CHARACTERS]
    cut = (prompt, answer) != (turn.prompt, turn.answer)
    return {"number": turn.number, "turnId": turn.turn_id, "prompt": prompt, "answer": answer, "cut": cut}
