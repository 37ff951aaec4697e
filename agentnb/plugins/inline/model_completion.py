"""Completions by the model of the user's model server: fill-in-the-middle where the server has it, else a chat."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.plugins.inline.completion import LONGEST_COMPLETION, CodeContext, Stopwatch
from agentnb.plugins.local.completion import AnswerTooLong
from agentnb.plugins.local.discovery import LLAMA_CPP, OLLAMA, Model, find_servers
from agentnb.plugins.local.server import ServerTrouble
from agentnb.plugins.local.settings import BadSettings, LocalSettings, read_settings

if TYPE_CHECKING:
    from agentnb.plugins.inline.completion import CompleteParams
    from agentnb.plugins.local.server import ModelServer

MOST_TOKENS = 160
MISSING_FOR = 30.0
"""Seconds until the next search for a model that was not found."""
SYSTEM = (
    "You complete Python code in a notebook cell. Answer with the code that comes at <CURSOR>, and nothing else: no "
    "explanation, no code fence, nothing of what stands before or behind it. Answer with nothing if nothing fits."
)


class _ModelSearch:
    def __init__(self) -> None:
        self.settings: LocalSettings | None = None
        self.until = 0.0
        self.model: Model | None = None
        self.problem = ""
        self.servers: dict[str, ModelServer] = {}
        self.without_fill: set[str] = set()


_search = _ModelSearch()


async def complete_with_model(params: CompleteParams) -> tuple[str, float]:
    """Returns what the model inserts, and how long it took, in seconds."""
    from agentnb.host.environment import current_environment

    of_kernel = current_environment().default_variables("local")
    try:
        model = await _model(read_settings(environ={**os.environ, **of_kernel}))
        context = CodeContext(params)
        watch = Stopwatch()
        with watch.running():
            text = await _fill(model, context)
    except (BadSettings, ServerTrouble, AnswerTooLong) as trouble:
        if isinstance(trouble, ServerTrouble) and trouble.status is None:
            _search.model, _search.until = None, 0.0  # the server may have moved: search again
        raise UsageError(str(trouble)) from None
    return text, watch.took


async def _model(settings: LocalSettings) -> Model:
    if settings != _search.settings:
        await close_servers()
        # Noted before the search, so that a completion that begins during it does not close its connections.
        _search.settings, _search.model, _search.until = settings, None, 0.0
    if _search.model is None and time.monotonic() > _search.until:
        servers = await find_servers(settings, _search.servers)
        names = {settings.model, f"{settings.model}:latest"}
        fitting = [each for each in servers.models if settings.model is None or each.model_id in names]
        _search.model = fitting[0] if fitting else None
        missing = (f"The model {settings.model} is not available.", "Choose another in the settings.")
        _search.problem = " ".join(servers.problem() or missing)
        _search.until = time.monotonic() + MISSING_FOR
    if _search.model is None:
        raise UsageError(_search.problem)
    return _search.model


async def close_servers() -> None:
    """Close the connections to the servers that were found."""
    servers = [*_search.servers.values()]
    _search.servers.clear()
    _search.settings = None
    for server in servers:
        await server.close()


async def _fill(model: Model, context: CodeContext) -> str:
    fill = {LLAMA_CPP: _infill, OLLAMA: _with_suffix}.get(model.kind)
    if fill is not None and model.key not in _search.without_fill:
        try:
            return await fill(model, context)
        except ServerTrouble as trouble:
            if trouble.status is None or trouble.transient:
                raise
            _search.without_fill.add(model.key)  # this model has no fill-in-the-middle
    return await _chat(model, context)


async def _infill(model: Model, context: CodeContext) -> str:
    """Complete with llama.cpp's own method."""
    body = {
        "input_prefix": context.preamble + context.before,
        "input_suffix": context.behind,
        "n_predict": MOST_TOKENS,
        "temperature": 0,
        "stream": False,
    }
    answer = await model.server.post(f"{model.server.root}/infill", body)
    return _text(answer, "content")


async def _with_suffix(model: Model, context: CodeContext) -> str:
    """Complete with OpenAI's completions and a ``suffix``, as Ollama supports them."""
    body = {
        "model": model.model_id,
        "prompt": context.preamble + context.before,
        "suffix": context.behind,
        "max_tokens": MOST_TOKENS,
        "temperature": 0,
        "stream": False,
    }
    answer = await model.server.post(f"{model.server.url}/completions", body)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    return _text(choices[0], "text") if isinstance(choices, list) and choices else ""


async def _chat(model: Model, context: CodeContext) -> str:
    body = {
        "model": model.model_id,
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"{context.preamble}{context.before}<CURSOR>{context.behind}"},
        ],
        "max_tokens": MOST_TOKENS,
        "temperature": 0,
        "stream": True,
    }
    answer, _ = await model.server.answer(body)
    return without_fence(answer.text, context.before)


def without_fence(text: str, before: str) -> str:
    """Returns *text* without the fence that models write despite instructions, and the line that they repeat."""
    stripped = text.strip("\n")
    if stripped.startswith("```"):
        lines = stripped.splitlines()[1:]
        end = next((at for at, line in enumerate(lines) if line.startswith("```")), len(lines))
        text = "\n".join(lines[:end])
    line = before.rpartition("\n")[2]
    return text.removeprefix(line) if line.strip() else text


def _text(value: Any, name: str) -> str:
    text = value.get(name) if isinstance(value, dict) else None
    return text[: LONGEST_COMPLETION * 2] if isinstance(text, str) else ""
