"""Version 2 of the protocol, a draft: translates an agent's messages to version 1, and ours to version 2.

One table then reads both (:mod:`agentnb.acp.mapper`). Not supported: batches, and `tool_call/cancel`,
`terminal/cancel`. Draft: https://agentclientprotocol.com/protocol/v2/overview
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping, objects, text
from agentnb.acp.sessions import client_capabilities
from agentnb.errors import AgentRefused

if TYPE_CHECKING:
    from agentnb.acp.peer import Done
    from agentnb.agent.catalog import AgentSpec
    from agentnb.errors import AgentnbError

VERSION = 2
_METHODS = {"session/load": "session/resume", "authenticate": "auth/login", "logout": "auth/logout"}
_MESSAGES = {"user_message", "agent_message", "agent_thought"}
_SESSION_EXTRAS = ("delete", "fork", "additionalDirectories")


class SecondVersion:
    """Translates the messages of one agent that speaks version 2."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._prompts: dict[str, list[Done]] = {}
        self._busy: set[str] = set()
        self._texts: dict[tuple[str, str], str] = {}

    # --- what we send ---

    def translated_request(self, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """One of our requests, translated to version 2."""
        if method == "session/load":
            params = {**params, "replayFrom": {"type": "start"}}
        if method == "authenticate":
            params = {"methodId": params.get("methodId")}
        if method == "session/set_config_option":
            params = {"type": "id", **params}
        if "mcpServers" in params:
            servers = [{"type": "stdio", **each} for each in objects(params["mcpServers"])]
            params = {**params, "mcpServers": [each for each in servers if each["type"] != "sse"]}
        return _METHODS.get(method, method), params

    def accepted(self, params: dict[str, Any], done: Done) -> Done:
        """Returns the callback for the answer that accepts a prompt; *done* is called when the turn ends."""
        session = str(params.get("sessionId"))
        self._prompts.setdefault(session, []).append(done)

        def taken(_: Any, error: AgentnbError | None) -> None:
            waiting = self._prompts.get(session, [])
            if error is not None and done in waiting:
                waiting.remove(done)
                done(None, error)

        return taken

    def answered(self, result: Any) -> Any:
        """The answer to one of our requests, translated to version 1."""
        answer = mapping(result)
        if "configOptions" in answer:
            return {**answer, "configOptions": _options(answer["configOptions"])}
        return result

    def lost(self, error: AgentnbError) -> None:
        """End the prompts with *error*: the agent is gone."""
        prompts, self._prompts = self._prompts, {}
        for done in (each for waiting in prompts.values() for each in waiting):
            done(None, error)

    # --- what it sends ---

    def notifications(self, received: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """The agent's notifications, translated to version 1, without state updates (see :meth:`ended`)."""
        return [each for method, params in received for each in self._notification(method, params)]

    def _notification(self, method: str, params: Any) -> list[tuple[str, Any]]:
        update = mapping(mapping(params).get("update"))
        if method != "session/update" or not update:
            return [(method, params)]
        session = str(params.get("sessionId"))
        return [(method, {**params, "update": each}) for each in self._updates(session, update)]

    def ended(self, received: list[tuple[str, Any]]) -> list[tuple[Done, Any, AgentnbError | None]]:
        ends: list[tuple[Done, Any, AgentnbError | None]] = []
        for method, params in received:
            update = mapping(mapping(params).get("update"))
            if method != "session/update" or update.get("sessionUpdate") != "state_update":
                continue
            session = str(params.get("sessionId"))
            if update.get("state") != "idle":
                self._busy.add(session)
            elif session in self._busy or "stopReason" in update:
                self._busy.discard(session)
                ends += [(done, *self._end(update)) for done in self._prompts.pop(session, [])]
        return ends

    def _end(self, update: dict[str, Any]) -> tuple[Any, AgentnbError | None]:
        reason = text(update.get("stopReason")) or "end_turn"
        if reason != "error":
            return {"stopReason": reason}, None
        message = text(mapping(update.get("error")).get("message")) or "It gave no reason"
        return None, AgentRefused(f"{self._title} returned an error: {message.rstrip('.')}.")

    def _updates(self, session: str, update: dict[str, Any]) -> list[dict[str, Any]]:
        kind = str(update.get("sessionUpdate"))
        if kind == "state_update":
            return []
        if kind in _MESSAGES:
            return self._whole(session, kind, update)
        if kind.removesuffix("_chunk") in _MESSAGES:
            words = mapping(update.get("content")).get("text")
            self._add(session, str(update.get("messageId")), words if isinstance(words, str) else "")
        if kind == "config_option_update":
            return [{**update, "configOptions": _options(update.get("configOptions"))}]
        return [_with_contents(update)]

    def _whole(self, session: str, kind: str, update: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the chunks of a whole message that have not arrived yet; a rewritten message is kept as it is."""
        message, blocks = str(update.get("messageId")), objects(update.get("content"))
        known = self._texts.get((session, message), "")
        words = "".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
        if not words.startswith(known):
            return [update]
        chunk = {"sessionUpdate": f"{kind}_chunk", "messageId": message}
        if not known:
            self._add(session, message, words)
            return [{**chunk, "content": block} for block in blocks]
        self._add(session, message, words[len(known) :])
        return [{**chunk, "content": {"type": "text", "text": words[len(known) :]}}] if words != known else []

    def _add(self, session: str, message: str, words: str) -> None:
        key = session, message
        self._texts[key] = self._texts.get(key, "") + words


def requested(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of one of the agent's requests, translated to version 1."""
    if method != "session/request_permission":
        return params
    subject = mapping(params.get("subject"))
    call = mapping(subject.get("toolCall"))
    if subject.get("type") == "command":
        command = {"command": subject.get("command"), "cwd": subject.get("cwd")}
        call = {"toolCallId": subject.get("toolCallId"), "kind": "execute", "rawInput": command}
    detail = text(params.get("description"))
    described = {"content": [{"type": "content", "content": {"type": "text", "text": detail}}]} if detail else {}
    title = text(params.get("title"))
    return {**params, "toolCall": {**described, **_with_contents(call), **({"title": title} if title else {})}}


def introduction(spec: AgentSpec, client_info: dict[str, str]) -> dict[str, Any]:
    """The parameters of ``initialize``; if draft version 2 is enabled, they suit agents of either version."""
    able = client_capabilities(spec.capabilities)
    params = {"protocolVersion": spec.protocol, "clientCapabilities": able, "clientInfo": client_info}
    if spec.protocol != VERSION:
        return params
    capabilities = {"elicitation": able["elicitation"]} if "elicitation" in able else {}
    if "auth" in able:
        capabilities["auth"] = {"terminal": {}}
    return {**params, "info": client_info, "capabilities": capabilities}


def initialized(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer to ``initialize`` in version 1's form."""
    session = mapping(answer.get("capabilities")).get("session")
    offered, has_sessions = mapping(session), session is not None
    baseline: dict[str, Any] = {"list": {}, "resume": {}, "close": {}} if has_sessions else {}
    extras = {name: offered[name] for name in _SESSION_EXTRAS if offered.get(name) is not None}
    methods = [{"id": each.get("methodId"), **each} for each in objects(answer.get("authMethods"))]
    capabilities: dict[str, Any] = {
        "loadSession": has_sessions,
        "promptCapabilities": _present(offered.get("prompt")),
        "mcpCapabilities": _present(offered.get("mcp")),
        "sessionCapabilities": baseline | extras,
        "auth": {"logout": {}} if methods else {},
        "_meta": answer.get("_meta"),
    }
    return {"agentInfo": answer.get("info"), "agentCapabilities": capabilities, "authMethods": methods}


def _present(capabilities: Any) -> dict[str, bool]:
    return {name: True for name, value in mapping(capabilities).items() if value is not None}


def _with_contents(update: dict[str, Any]) -> dict[str, Any]:
    return {**update, "content": _contents(update["content"])} if "content" in update else update


def _options(options: Any) -> list[dict[str, Any]]:
    return [{"id": each.get("configId"), **each} for each in objects(options)]


def _contents(content: Any) -> Any:
    """A tool call's content, or a part of it; diffs are shown as text."""
    if isinstance(content, list):
        return [_contents(each) for each in content]
    patch = mapping(mapping(content).get("patch"))
    if mapping(content).get("type") != "diff" or not isinstance(patch.get("text"), str):
        return content
    return {"type": "content", "content": {"type": "text", "text": f"```diff\n{patch['text']}\n```"}}
