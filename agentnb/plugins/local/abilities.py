"""Abilities of models (tools, images, thinking) and their context length: determined once, and stored.

If no server reports whether tools work, one short request with a tool is tried: servers refuse it if they do not.
llama.cpp accepts such a request even if the model's chat template has no place for tools, so that the model never sees
them; therefore its template is checked first.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from agentnb.folders import data_folder
from agentnb.plugins.local.discovery import LLAMA_CPP, LM_STUDIO, LOOK_SECONDS, OLLAMA
from agentnb.plugins.local.server import ServerTrouble, objects
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.plugins.local.discovery import Model

SAY_TOOLS = frozenset({OLLAMA, LM_STUDIO, LLAMA_CPP})
"""The servers that report by themselves whether a model supports tools, or at least that it does not."""
MOST_KEPT = 500
_PROBE: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "answer",
        "description": "Gives the answer.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
}


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """The abilities of a model; each is None if it is not known."""

    tools: bool | None = None
    images: bool | None = None
    thinking: bool | None = None
    context: int | None = None

    def __str__(self) -> str:
        words = {True: "yes", False: "no", None: "not known"}
        can = {"tools": self.tools, "images": self.images, "thinking": self.thinking}
        size = f"{self.context:,} tokens" if self.context else "not known"
        return f"{', '.join(f'{name}: {words[value]}' for name, value in can.items())}, context: {size}"


def kept_abilities(model: Model) -> Abilities | None:
    try:
        return msgspec.convert(_all_kept().get(model.key), Abilities)
    except msgspec.ValidationError:
        return None


def keep_abilities(model: Model, abilities: Abilities) -> None:
    """Store *model*'s abilities, readable by the owner only; a file that cannot be written is no error."""
    known = {**_all_kept(), model.key: msgspec.to_builtins(abilities)}
    kept = dict([*known.items()][-MOST_KEPT:])
    with contextlib.suppress(OSError):
        _file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(_file(), json.dumps(kept, indent=1).encode())


async def look_up(model: Model) -> None:
    """Store what the server reports about *model*'s tools, if it does so without having a model answer."""
    known = kept_abilities(model)
    if model.kind not in SAY_TOOLS or is_unloaded(model) or (known is not None and known.tools is not False):
        return
    with contextlib.suppress(ServerTrouble, asyncio.TimeoutError):
        abilities = await asyncio.wait_for(told_abilities(model), LOOK_SECONDS)
        if abilities.tools is not None or known is not None:
            keep_abilities(model, abilities)


async def find_out(model: Model) -> Abilities:
    answer = Abilities()
    with contextlib.suppress(ServerTrouble):  # the next request shows if the server is away
        answer = await told_abilities(model)
    if answer.tools is None:
        return msgspec.structs.replace(answer, tools=await _takes_tools(model))
    return answer


async def effective_context(model: Model) -> int | None:
    """Returns the current context length of a loaded model, if the server reports it."""
    with contextlib.suppress(ServerTrouble):
        if model.kind != OLLAMA:
            return (await told_abilities(model)).context
        for running in objects(await model.server.get(f"{model.server.root}/api/ps"), "models"):
            if model.model_id in {running.get("name"), running.get("model")}:
                return _size(running.get("context_length"))
    return None


def refuses_tools(trouble: ServerTrouble) -> bool:
    """True if a server refuses a request because of its tools."""
    reason = trouble.reason.lower()
    return trouble.status in {400, 404, 422, 500, 501} and ("tool" in reason or "function call" in reason)


async def told_abilities(model: Model) -> Abilities:
    try:
        if model.kind == OLLAMA:
            return _from_ollama(await model.server.post(f"{model.server.root}/api/show", {"model": model.model_id}))
        if model.kind == LM_STUDIO:
            for each in objects(await model.server.get(f"{model.server.root}/api/v0/models"), "data"):
                if each.get("id") == model.model_id:
                    return _from_lm_studio(each)
        if model.kind == LLAMA_CPP:
            which = quote(model.model_id, safe="")  # needed if the server has several models
            return _from_llama_cpp(await model.server.get(f"{model.server.root}/props?model={which}"))
    except ServerTrouble as trouble:
        if trouble.status is None:  # the server is away; otherwise it lacks the method
            raise
    return Abilities(context=_size(model.listed.get("max_model_len")))


def _from_ollama(answer: object) -> Abilities:
    details = answer if isinstance(answer, dict) else {}
    listed = details.get("capabilities")
    info = details.get("model_info")
    sizes = info.items() if isinstance(info, dict) else ()
    context = next((_size(value) for key, value in sizes if str(key).endswith(".context_length")), None)
    if not isinstance(listed, list):
        return Abilities(context=context)
    return Abilities(tools="tools" in listed, images="vision" in listed, thinking="thinking" in listed, context=context)


def _from_lm_studio(details: dict[str, Any]) -> Abilities:
    listed = details.get("capabilities")
    return Abilities(
        tools="tool_use" in listed if isinstance(listed, list) else None,
        images=details.get("type") == "vlm" if "type" in details else None,
        context=_size(details.get("loaded_context_length")) or _size(details.get("max_context_length")),
    )


def _from_llama_cpp(props: object) -> Abilities:
    details = props if isinstance(props, dict) else {}
    settings = details.get("default_generation_settings")
    modalities = details.get("modalities")
    template = details.get("chat_template_caps")
    return Abilities(
        tools=False if isinstance(template, dict) and template.get("supports_tools") is False else None,
        images=modalities.get("vision") is True if isinstance(modalities, dict) else None,
        context=_size(settings.get("n_ctx")) if isinstance(settings, dict) else None,
    )


async def _takes_tools(model: Model) -> bool | None:
    """Try a short request with a tool; None if it failed for another reason than the tool."""
    body = {"model": model.model_id, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    try:
        await model.server.post(f"{model.server.url}/chat/completions", {**body, "tools": [_PROBE]})
    except ServerTrouble as trouble:
        if refuses_tools(trouble):
            return False
        if trouble.status is None:
            raise
        return None
    return True


def is_unloaded(model: Model) -> bool:
    """True if llama.cpp, with several models, would have to load this one only to answer a question about it."""
    status = model.listed.get("status")
    return isinstance(status, dict) and status.get("value") != "loaded"


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _file() -> Path:
    return data_folder() / "local" / "models.json"


def _all_kept() -> dict[str, Any]:
    """Returns the file's content, read again only if the file changed: a list of models needs it for each of them."""
    try:
        status = _file().stat()
        return _read(_file(), (status.st_ino, status.st_mtime_ns, status.st_size))
    except OSError:
        return {}


@functools.lru_cache(maxsize=1)
def _read(path: Path, _state: tuple[int, ...]) -> dict[str, Any]:
    try:
        kept = read_json(path.read_bytes())
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}
