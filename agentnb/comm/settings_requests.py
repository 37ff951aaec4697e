"""The page's requests about settings, policy rules and trusted folders.

A page asks for a change in answer to a gesture of its user. What would let agents do more is first answered with a
sentence that the user must confirm, and counts only when the page sends that very sentence back.
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.agent.mcp import mcp_servers
from agentnb.comm import settings_messages as sm
from agentnb.comm.folder_listing import folders_in
from agentnb.comm.own_agent_requests import listed_agents, offered_models
from agentnb.configuration.named_things import missing, missing_things
from agentnb.configuration.shown import public_value, shown_value
from agentnb.configuration.table import is_wider, setting
from agentnb.configuration.what_if import in_words, what_if
from agentnb.configuration.write import UNKNOWN, change_setting
from agentnb.errors import UsageError
from agentnb.host.history.restore import recorder_of
from agentnb.host.history.storage import limits_of, outdated
from agentnb.policy.places import PROJECT
from agentnb.policy.trust import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.configuration.sources import Value
    from agentnb.host.host import Host


class SettingsRequests:
    """Answers them, on the host's thread.

    Args:
        host: Whose settings they are about.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.methods: dict[str, Callable[[str, bytes], Any]] = {
            "listSettings": self._list_settings,
            "changeSetting": self._change_setting,
            "changeMcpServer": self._change_mcp_server,
            "changePolicy": self._change_policy,
            "testPolicy": self._test_policy,
            "listFolders": self._list_folders,
        }

    def _list_settings(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - same for every client
        msgspec.json.decode(raw, type=sm.ListSettingsParams)
        sources = self._host.environment.sources()
        files, folder = self._host.policy.files, Path.cwd()
        user, project = files.user, files.project(folder)
        problems = [
            *sources.problems,
            *missing_things(sources),
            *user.warnings,
            *project.warnings,
            *filter(None, [project.problem]),
        ]
        self._host.take_settings()
        agents = listed_agents()
        problems += [each["problem"] for each in agents if "problem" in each]
        return {
            "groups": [
                {"title": title, "settings": [_told(value) for value in values]} for title, values in sources.grouped()
            ],
            "problems": list(dict.fromkeys(problems)),
            "rules": [{"number": at, "text": each.rule.text} for at, each in enumerate(user.rules, 1)],
            "projectRules": [each.rule.text for each in project.rules],
            "grants": grants_of(self._host),
            "trusted": list(user.trusted),
            "folder": str(folder),
            "policyFile": str(files.user_path),
            "projectFile": str(folder / PROJECT),
            "agents": agents,
            "models": offered_models(self._host),
        }

    async def _change_setting(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=sm.ChangeSettingParams)
        which, environment = setting(params.name), self._host.environment
        value = params.value
        now = environment.sources()[which.name]
        if value is not None:
            value = which.check(value)
            if (error := missing(which.name, value)) is not None:
                raise error
            question = _question(which.title, which.name, value) if is_wider(which, now.value, value) else ""
            question = question or await self._deletion(which.name, value)
            if question and params.confirmed != question:
                return {"confirm": question}
        was = UNKNOWN if which.kind == "servers" or not params.checks else params.was
        await self._set(which.name, value, here=params.here, was=was)
        return {}

    async def _set(self, name: str, value: Any, *, here: bool, was: Any = UNKNOWN) -> None:
        if here:
            chosen = self._host.environment.settings
            if chosen is None:
                message = "The extension is not loaded in this kernel, so nothing can hold here alone."
                raise UsageError(message, hint="%load_ext agentnb in a cell, or write it into your file.")
            chosen.choose(name, value)
        else:
            await asyncio.to_thread(change_setting, name, value, was=was)
        self._host.take_settings()

    async def _change_mcp_server(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=sm.ChangeMcpServerParams)
        now = self._host.environment.sources()["mcp_servers"]
        known = (now.value if params.here else now.in_file) or {}
        if not isinstance(known, dict):
            message = f"The MCP servers are in the file {known}."
            raise UsageError(message, hint="Change them there, or reset this setting first.")
        inner = known.get("mcpServers", known)
        others = {name: each for name, each in inner.items() if name != params.name}
        was = UNKNOWN if params.here else now.in_file
        if params.server is None:
            await self._set("mcp_servers", others or None, here=params.here, was=was)
            return {}
        servers = {**others, params.name: _server(params.server)}
        mcp_servers(servers)  # says what makes no sense
        line = f"{params.server.line.strip():.300}"
        question = f"Give agents the MCP server “{params.name}” ({line})? New conversations start it, with your rights."
        if params.confirmed != question:
            return {"confirm": question}
        await self._set("mcp_servers", servers, here=params.here, was=was)
        return {}

    async def _deletion(self, name: str, value: Any) -> str:
        """What a limit of what is kept would delete, as a question; empty for another setting, or no limit."""
        if name not in {"log_days", "log_max"} or not value:
            return ""
        before, most = limits_of(value, "") if name == "log_days" else limits_of(0, value)
        count = 0
        if self._host.recorder is not None:
            store = recorder_of(self._host).store
            count = len(await asyncio.to_thread(outdated, store, before=before, most_bytes=most))
        what = f"{count:,} conversation{'' if count == 1 else 's'}"
        return (
            f"Delete what is beyond this limit whenever a kernel starts? Now that would be {what}. Pinned ones stay; "
            "what is deleted can't be brought back."
        )

    def _change_policy(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=sm.ChangePolicyParams)
        files = self._host.policy.files
        match params.action:
            case "add" if params.rule is not None:
                rule = params.rule
                question = f"Add the rule “{rule.text}”? Agents may do this without asking, in folders that you trust."
                if rule.action == "allow" and params.confirmed != question:
                    return {"confirm": question}
                files.remember(rule)
            case "remove" if params.number is not None:
                question = f"Remove the rule “{params.text}”? What it denied or asked may be allowed then."
                if not params.text.startswith("allow") and params.confirmed != question:
                    return {"confirm": question}
                files.forget(params.number, params.text)
            case "revoke" if (conversation := self._host.conversations.get(params.session)) is not None:
                conversation.permissions.revoke(params.text)
            case "trust" | "untrust" if params.folder.strip():
                folder = Path(params.folder).expanduser()
                if not folder.is_absolute():
                    raise UsageError(f"{params.folder!r} is not an absolute path.", hint="Begin it with / or ~/.")
                question = f"Trust {shown(folder)} and everything in it? Your allow rules apply there."
                if params.action == "trust" and not folder.is_dir():
                    raise UsageError(f"{params.folder!r} is not a folder.", hint="Name one that is there.")
                if params.action == "trust" and params.confirmed != question:
                    return {"confirm": question}
                (files.trust if params.action == "trust" else files.untrust)(folder)
            case _:
                raise UsageError(f"{params.action} lacks what it is about.")
        return {}

    def _test_policy(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=sm.TestPolicyParams)
        sources, environment = self._host.environment.sources(), self._host.environment
        verdict = what_if(
            self._host.policy.files,
            environment.default_workspace(),
            command=params.command,
            path=params.path,
            tool=params.tool,
            agent=params.agent or sources["agent"].value,
            mode=sources["permissions"].value,
        )
        return {"outcome": verdict.outcome, "message": in_words(verdict)}

    async def _list_folders(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=sm.ListFoldersParams)
        return await asyncio.to_thread(folders_in, params.path)


def grants_of(host: Host) -> list[dict[str, str]]:
    """What was answered on cards and still holds in open conversations (`ConversationGrant`)."""
    return [
        {"session": uri, "title": conversation.channels.title, "scope": str(each.source), "text": each.rule.text}
        for uri, conversation in host.conversations.items()
        for each in conversation.permissions.grants
    ]


def _server(said: sm.McpServerChange) -> dict[str, Any]:
    """The server as the settings keep it."""
    line = said.line.strip()
    if line.startswith(("http://", "https://")):
        if said.env:
            raise UsageError("An address takes no variables.", hint="Headers can be written into the file by hand.")
        return {"url": line}
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"This is no command: {error}.", hint='For example: npx -y "my server".') from error
    if not words:
        raise UsageError("The command is missing.", hint="For example: uvx mcp-server-git.")
    server: dict[str, Any] = {"command": words[0]}
    if words[1:]:
        server["args"] = words[1:]
    return {**server, "env": said.env} if said.env else server


def _question(title: str, name: str, value: Any) -> str:
    text = shown_value(name, value)
    return f"Set “{title}” to “{text:.200}”? Agents may do more then than now."


def _told(value: Value) -> dict[str, Any]:
    """A setting for the page: nothing that may be secret is in it."""
    which = value.setting
    in_file = value.in_file
    own = [{"source": each.source, "value": public_value(which.name, each.value)} for each in value.layers[1:]]
    told: dict[str, Any] = {
        "name": which.name,
        "title": which.title,
        "about": which.about,
        "kind": which.kind,
        "value": public_value(which.name, value.value),
        "source": value.source,
        "where": value.where,
        "below": own,
        "inFile": public_value(which.name, in_file) if in_file is not None else None,
        "file": str(value.path) if value.path is not None else "",
        "isTrait": which.trait,
        "counts": which.counts,
        "choices": [list(each) for each in zip(which.choices, which.labels or which.choices, strict=True)],
    }
    return {name: each for name, each in told.items() if each is not None}
