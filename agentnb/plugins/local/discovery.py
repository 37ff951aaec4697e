"""Finds model servers, and lists their models.

Not checked: who listens on this machine's ports; on a machine that you share, set the base URL.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.plugins.local.server import UNAVAILABLE, ModelServer, ServerTrouble, objects
from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping

    from agentnb.plugins.local.settings import LocalSettings

Result = TypeVar("Result")

OLLAMA, LM_STUDIO, VLLM, LLAMA_CPP, OTHER = "Ollama", "LM Studio", "vLLM", "llama.cpp", "OpenAI-compatible server"
LOOK_SECONDS, ASKED_SECONDS = 6.0, 30.0
"""Seconds that a server may take to list its models: one that agentnb searches for, and one that the user has named."""
START = (
    "Start one: Ollama (`ollama serve`, then `ollama pull qwen3:4b`), LM Studio, vLLM or llama.cpp's `llama-server`;"
    " for one elsewhere, write its address into the setting *Model server* (in code: AGENTNB_LOCAL_URL)."
)

_OF_THE_MODEL = ("root", "max_model_len", "meta")
"""Fields in which vLLM and llama.cpp describe a model, and which differ between models."""

LARGER_CONTEXT = {
    OLLAMA: "`OLLAMA_CONTEXT_LENGTH=16384 ollama serve`",
    LM_STUDIO: "`lms load MODEL --context-length 16384`",
    VLLM: "`--max-model-len 16384`",
    LLAMA_CPP: "`llama-server -c 16384`",
}
"""The setting of each server for a context that is large enough for an agent with tools."""


@dataclass(frozen=True)
class Model:
    """One model of one server."""

    model_id: str
    server: ModelServer
    kind: str
    listed: Mapping[str, Any]

    @property
    def key(self) -> str:
        """A name that also differs from another model that the server later has under the same name."""
        if self.kind == OLLAMA:
            version = str(self.listed.get("digest") or self.listed.get("created", ""))
        else:
            fields = {name: self.listed[name] for name in _OF_THE_MODEL if self.listed.get(name)}
            version = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16] if fields else ""
        return f"{self.server.url} {self.model_id} {version}".strip()


@dataclass(frozen=True)
class FoundServer:
    """A server that lists its models."""

    server: ModelServer
    kind: str
    models: tuple[Model, ...]


@dataclass(frozen=True)
class FoundModels:
    """The servers and models that were found."""

    servers: tuple[FoundServer, ...] = ()
    troubles: tuple[ServerTrouble, ...] = ()

    @property
    def models(self) -> list[Model]:
        return [model for server in self.servers for model in server.models]

    def problem(self) -> tuple[str, str] | None:
        """The reason there is no model, and what to do; None if there is one."""
        if self.models:
            return None
        if self.servers:
            first = self.servers[0]
            how = (
                "Type `/pull qwen3:4b`, or `agentnb local --pull qwen3:4b` in a terminal" if self.pulls else "Load one"
            )
            return f"{first.kind} at {first.server.place} has no models.", f"{how}."
        if self.troubles:
            return self.troubles[0].message, self.troubles[0].todo
        return "No model server was found on this machine.", START

    @property
    def pulls(self) -> ModelServer | None:
        """The server that can pull a model."""
        return next((each.server for each in self.servers if each.kind == OLLAMA), None)


@contextlib.asynccontextmanager
async def found_models(settings: LocalSettings) -> AsyncIterator[FoundModels]:
    """Look for servers; the connections to them are closed after the block."""
    known: dict[str, ModelServer] = {}
    try:
        yield await find_servers(settings, known)
    finally:
        for server in known.values():
            await server.close()


async def find_servers(settings: LocalSettings, known: dict[str, ModelServer]) -> FoundModels:
    """Look for servers: at the base URL of *settings*, else on its ports on loopback."""
    if settings.url is not None:
        server = known.setdefault(settings.url, ModelServer(settings.url, settings.key, settings.key_variable))
        looks = [_look(server, ASKED_SECONDS)]
    else:
        urls = [f"http://127.0.0.1:{port}/v1" for port in settings.ports]
        looks = [_look(known.setdefault(url, ModelServer(url)), LOOK_SECONDS) for url in urls]
    results = await asyncio.gather(*looks)
    listed = tuple(each for each in results if isinstance(each, FoundServer))
    troubles = [each for each in results if isinstance(each, ServerTrouble)]
    if settings.url is None:  # most ports have no server or a different one: not worth reporting
        troubles = [each for each in troubles if each.status in {401, 403} or each.forbidden or _is_loading(each)]
    return FoundModels(listed, tuple(troubles))


async def _look(server: ModelServer, patience: float) -> FoundServer | ServerTrouble:
    try:
        listed = await _within(patience, server.models())
        kind = await _within(patience, _kind(server, listed))
    except ServerTrouble as trouble:
        return trouble
    except asyncio.TimeoutError:
        return ServerTrouble(f"{server.place} took too long to answer.", "Check the server's own log.")
    if kind == OLLAMA:
        listed = await _with_digests(server, listed, patience)
    models = tuple(Model(each["id"], server, kind, each) for each in listed if "embed" not in each["id"].lower())
    policy = site_policy()
    allowed = (each for each in models if policy.why_not("models", each.model_id, f"local/{each.model_id}") is None)
    return FoundServer(server, kind, tuple(allowed))


async def _within(seconds: float, work: Coroutine[Any, Any, Result]) -> Result:
    """Like ``asyncio.wait_for``, which before Python 3.12 ignores a cancellation that comes as the work ends."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise asyncio.TimeoutError
        return task.result()
    finally:
        task.cancel()


async def _with_digests(server: ModelServer, listed: list[dict[str, Any]], patience: float) -> list[dict[str, Any]]:
    """Returns Ollama's models with their digests, which distinguish models of the same name."""
    try:
        tags = await _within(patience, server.get(f"{server.root}/api/tags"))
    except (ServerTrouble, asyncio.TimeoutError):
        return listed
    digests = {
        each["name"]: each.get("digest") for each in objects(tags, "models") if isinstance(each.get("name"), str)
    }
    return [{**each, "digest": digests.get(each["id"])} for each in listed]


def _is_loading(trouble: ServerTrouble) -> bool:
    """True if a server exists but cannot answer until its model is loaded, as llama.cpp's reports."""
    return trouble.status == UNAVAILABLE and "loading" in trouble.reason.lower()


async def _kind(server: ModelServer, listed: list[dict[str, Any]]) -> str:
    """Returns the kind of server: by the owner that its models name, else by a method that only that kind has."""
    owners = {str(each.get("owned_by")).lower() for each in listed}
    if owners & {"vllm"}:
        return VLLM
    if owners & {"llamacpp"}:
        return LLAMA_CPP
    for path, key, kind in (("/api/version", "version", OLLAMA), ("/api/v0/models", "data", LM_STUDIO)):
        try:
            answer = await server.get(f"{server.root}{path}")
        except ServerTrouble:
            continue
        if isinstance(answer, dict) and key in answer:
            return kind
    return OTHER
