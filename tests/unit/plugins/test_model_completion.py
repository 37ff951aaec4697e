"""Completions by a model server: the requests of each kind, their content, and what is dropped."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from agentnb.host import current_host
from agentnb.host.environment import current_environment
from agentnb.plugins.inline.completion import (
    CancelParams,
    CompleteParams,
    CompletionResult,
    cancel,
    complete,
    fitting,
)
from agentnb.plugins.inline.model_completion import close_servers, without_fence
from tests.unit.api.conftest import KernelSettings
from tests.unit.plugins.inline.conftest import SECONDS, Complete, ask, by
from tests.unit.plugins.local.conftest import Models, models

__all__ = ["ask", "by", "models"]

pytestmark = pytest.mark.slow
By = Callable[..., None]
KINDS = {"ollama": "prompt", "llama_cpp": "input_prefix", "vllm": "messages"}
"""The field for the text before the cursor, by kind of server."""


def test_completion_uses_the_method_of_each_kind_of_server(ask: Complete, by: By, models: Models) -> None:
    """Fill-in-the-middle with a suffix, llama.cpp's own method, or a chat, whose code fence is removed."""
    for kind, field in KINDS.items():
        by("local", models.url(kind))
        result = ask(f"# {kind}\n# fills: x = 1\n", suffix="\nprint(x)", above=("import math",))
        assert (result.text, result.error) == ("x = 1", ""), kind
        assert result.took > 0
        seen = [each for each in models.seen("") if f"# {kind}" in json.dumps(each)]
        assert "import math" in json.dumps(seen[-1][field])


def test_kernel_setting_of_the_server_overrides_variables(ask: Complete, by: By, models: Models) -> None:
    """`%config` sets it, for the built-in agent, too."""
    by("local", "http://127.0.0.1:9/v1", "nothing-of-the-kind")
    environment = current_environment()
    environment.connect(settings=KernelSettings(local_url=models.url("ollama"), local_model="fills"))
    try:
        result = ask("# fills: x = 1\n")
    finally:
        environment.connect(settings=None)
    assert (result.text, result.error) == ("x = 1", "")


def test_completion_uses_chat_when_the_model_cannot_fill_in(ask: Complete, by: By, models: Models) -> None:
    """Ollama answers with an error; the next completion does not try it again."""
    by("local", models.url("ollama"), "reasons")
    assert ask("x = ").text == "Because."
    assert [ask("x = ").text, "Because."] == ["Because.", "Because."]


def test_completion_masks_secrets(ask: Complete, by: By, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets are values of environment variables and literals assigned to a secret's name."""
    monkeypatch.setenv("SERVICE_API_KEY", "sk-abcdefghijklmnop1234")
    by("local", models.url("ollama"))
    result = ask("password = 'hunter2-and-more'\nkey = 'sk-abcdefghijklmnop1234'\n# fills: y\n", above=("pw = 1",))
    assert result.text == "y"
    requests = json.dumps([each for each in models.seen("") if "pw = 1" in json.dumps(each)])
    assert "***" in requests
    assert "hunter2" not in requests
    assert "sk-abcdefghijklmnop1234" not in requests
    assert ask("# fills: password = '***'\n").text == ""


def test_completion_is_off_by_default_and_reports_errors(ask: Complete, by: By, models: Models) -> None:
    assert ask("# fills: x\n") == CompletionResult()
    by("local", "http://127.0.0.1:9/v1")
    assert ask("# fills: x\n").error == "No server answers at 127.0.0.1:9. Start it, or check the base URL."
    by("local", models.url("vllm"), "nothing-of-the-kind")
    assert (
        ask("# fills: x\n").error == "The model nothing-of-the-kind is not available. Choose another in the settings."
    )
    by("local", models.url("ollama"), "broken")
    assert "CUDA out of memory" in ask("# fills: x\n").error


def test_new_completion_replaces_the_running_one(by: By, models: Models) -> None:
    """The next completion replaces it; a cancelled one ends, too."""
    by("local", models.url("ollama"))

    def begin(completion_id: str, text: str) -> Future[CompletionResult]:
        return current_host().loop.submit(complete(CompleteParams(id=completion_id, prefix=f"# fills: {text}\n")))

    first, second = begin("one", "..."), begin("two", "...")
    assert first.result(SECONDS) == CompletionResult()
    current_host().loop.call(cancel, CancelParams(id="one"))  # already ended
    third = begin("three", "...")
    assert second.result(SECONDS) == CompletionResult()
    current_host().loop.call(cancel, CancelParams(id="three"))
    assert third.result(SECONDS) == CompletionResult()
    assert begin("four", "z").result(SECONDS).text == "z"


def test_completion_replaced_during_model_lookup_is_empty(by: By, models: Models) -> None:
    """Each search begins anew, and is replaced after a random number of the loop's steps."""
    by("local", models.url("ollama"))
    chance = random.Random(20261129)

    async def replaced(steps: int) -> tuple[CompletionResult, CompletionResult]:
        await close_servers()
        first = asyncio.ensure_future(complete(CompleteParams(id="one", prefix="# fills: ...\n")))
        for _ in range(steps):
            await asyncio.sleep(0)
        second = complete(CompleteParams(id="two", prefix="# fills: z\n"))
        return await asyncio.gather(first, second)

    for _ in range(150):
        steps = chance.randrange(400)
        first, second = current_host().loop.submit(replaced(steps)).result(SECONDS)
        assert (first, second.text, second.error) == (CompletionResult(), "z", ""), steps


@pytest.mark.parametrize(
    ("text", "suffix", "expected"),
    [
        ("print(x)", ")", "print(x"),
        ("x)\n", ")\ny", "x"),
        ("a\n" * 40, "", ("a\n" * 12).rstrip()),
        ("x" * 5_000, "", "x" * 1_000),
        ("a = ***", "", ""),
        ("", "z", ""),
    ],
)
def test_completion_omits_text_that_follows_the_cursor(text: str, suffix: str, expected: str) -> None:
    assert fitting(text, suffix) == expected


@pytest.mark.parametrize(
    ("answer", "before", "text"),
    [
        ("```python\nx = 1\n```", "", "x = 1"),
        ("```\nx = 1\n```\nThis sets x.", "", "x = 1"),
        ("print(x)", "pri", "print(x)".removeprefix("pri")),
        ("    return 1", "def f():\n", "    return 1"),
    ],
)
def test_chat_completion_omits_fence_and_repeated_line(answer: str, before: str, text: str) -> None:
    """Models write both although the prompt forbids them."""
    assert without_fence(answer, before) == text
