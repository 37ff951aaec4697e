"""Completions by a model server: the requests of each kind, their content, and what is dropped."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.thorough import examples
from tests.unit.api.conftest import KernelSettings
from tests.unit.plugins.inline.conftest import SECONDS, by
from tests.unit.plugins.local.conftest import Models, models
from tests.unit.server.asking_page import Page

__all__ = ["by", "models"]

pytestmark = pytest.mark.slow
By = Callable[..., None]
KINDS = {"ollama": "prompt", "llama_cpp": "input_prefix", "vllm": "messages"}
"""The field for the text before the cursor, by kind of server."""
NOTHING = {"text": "", "took": 0, "error": ""}


def completed(page: Page, prefix: str, **fields: object) -> dict[str, Any]:
    """Returns the answer to a page's request for a completion."""
    result: dict[str, Any] = page.ask("inline/complete", {"id": "one", "prefix": prefix, **fields})["result"]
    return result


def filled(page: Page, text: str, before: str = "", suffix: str = "") -> str:
    """Returns the completion if the model inserts *text* behind *before*."""
    escaped = text.replace("\n", "\\n")
    result = completed(page, f"# fills: {escaped}\n{before}", suffix=suffix)
    assert result["error"] == ""
    return str(result["text"])


def test_completion_uses_the_method_of_each_kind_of_server(page: Page, by: By, models: Models) -> None:
    """Fill-in-the-middle with a suffix, llama.cpp's own method, or a chat, whose code fence is removed."""
    for kind, field in KINDS.items():
        by("local", models.url(kind))
        result = completed(page, f"# {kind}\n# fills: x = 1\n", suffix="\nprint(x)", above=("import math",))
        assert (result["text"], result["error"], result["took"] > 0) == ("x = 1", "", True), kind
        seen = [each for each in models.seen("") if f"# {kind}" in json.dumps(each)]
        assert "import math" in json.dumps(seen[-1][field])


def test_kernel_setting_of_the_server_overrides_variables(page: Page, by: By, models: Models) -> None:
    """`%config` sets it, for the built-in agent, too."""
    by("local", "http://127.0.0.1:9/v1", "nothing-of-the-kind")
    settings = KernelSettings(local_url=models.url("ollama"), local_model="fills")
    before = page.host.environment.settings
    page.host.environment.connect(settings=settings)
    try:
        assert filled(page, "x = 1") == "x = 1"
    finally:
        page.host.environment.connect(settings=before)


def test_completion_uses_chat_when_the_model_cannot_fill_in(page: Page, by: By, models: Models) -> None:
    """Ollama answers with an error; the next completion does not try it again."""
    by("local", models.url("ollama"), "reasons")
    assert [completed(page, "x = ")["text"] for _ in range(3)] == ["Because."] * 3


def test_completion_masks_secrets(page: Page, by: By, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets are values of environment variables and literals assigned to a secret's name."""
    monkeypatch.setenv("SERVICE_API_KEY", "sk-abcdefghijklmnop1234")
    by("local", models.url("ollama"))
    code = "password = 'hunter2-and-more'\nkey = 'sk-abcdefghijklmnop1234'\n# fills: y\n"
    assert completed(page, code, above=("pw = 1",))["text"] == "y"
    requests = json.dumps([each for each in models.seen("") if "pw = 1" in json.dumps(each)])
    assert "***" in requests
    assert "hunter2" not in requests
    assert "sk-abcdefghijklmnop1234" not in requests
    assert filled(page, "password = '***'") == ""


def test_completion_is_off_by_default_and_reports_errors(page: Page, by: By, models: Models) -> None:
    assert completed(page, "# fills: x\n") == NOTHING
    missing = "The model nothing-of-the-kind is not available. Choose another in the settings."
    for url, model, error in (
        ("http://127.0.0.1:9/v1", "fills", "No server answers at 127.0.0.1:9. Start it, or check the base URL."),
        (models.url("vllm"), "nothing-of-the-kind", missing),
        (models.url("ollama"), "broken", "CUDA out of memory"),
    ):
        by("local", url, model)
        assert error in completed(page, "# fills: x\n")["error"]


def test_new_completion_replaces_the_running_one(page: Page, by: By, models: Models) -> None:
    """The next completion replaces it; a cancelled one ends, too."""
    by("local", models.url("ollama"))

    def begin(completion_id: str) -> None:
        page.say("inline/complete", {"id": completion_id, "prefix": "# fills: ...\n"}, id=completion_id)

    def ended() -> tuple[str, dict[str, Any]]:
        answer = page.hear("result")
        return answer["id"], answer["result"]

    def cancel(completion_id: str) -> None:
        page.say("inline/cancel", {"id": completion_id}, id="cancelled")
        assert ended() == ("cancelled", {})

    begin("one")
    begin("two")
    assert ended() == ("one", NOTHING)
    cancel("one")  # already ended
    begin("three")
    assert ended() == ("two", NOTHING)
    cancel("three")
    assert ended() == ("three", NOTHING)
    assert filled(page, "z") == "z"


def test_completion_replaced_during_model_lookup_is_empty(
    page: Page, by: By, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each search begins anew, and is replaced after a random number of the loop's steps."""
    by("local", models.url("ollama"))
    chance = random.Random(20261129)

    async def pass_steps(number: int) -> None:
        for _ in range(number):
            await asyncio.sleep(0)

    for attempt in range(examples(150)):
        monkeypatch.setenv("AGENTNB_LOCAL_PORTS", str(1 + attempt))  # other settings: the model is looked up again
        steps = chance.randrange(400)
        page.say("inline/complete", {"id": "one", "prefix": "# fills: ...\n"}, id="first")
        page.host.loop.submit(pass_steps(steps)).result(SECONDS)
        page.say("inline/complete", {"id": "two", "prefix": "# fills: z\n"}, id="second")
        results = {answer["id"]: answer["result"] for answer in (page.hear("result"), page.hear("result"))}
        assert results["first"] == NOTHING, steps
        assert (results["second"]["text"], results["second"]["error"]) == ("z", ""), steps


@pytest.mark.parametrize(
    ("text", "suffix", "expected"),
    [
        ("print(x)", ")", "print(x"),
        ("x)\n", ")\ny", "x"),
        ("a\n" * 40, "", ("a\n" * 12).rstrip()),
        ("x" * 3_000, "", "x" * 1_000),
        ("a = ***", "", ""),
        ("", "z", ""),
    ],
    ids=["one bracket", "two lines", "too many lines", "too long", "a hidden secret", "nothing"],
)
def test_completion_omits_text_that_follows_the_cursor(
    page: Page, by: By, models: Models, *, text: str, suffix: str, expected: str
) -> None:
    by("local", models.url("ollama"))
    assert filled(page, text, suffix=suffix) == expected


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("x = 1", "", "x = 1"),
        ("x = 1\n```\nThis sets x.", "", "x = 1"),
        ("print(x)", "pri", "nt(x)"),
        ("    return 1", "def f():\n", "    return 1"),
    ],
    ids=["fence", "words behind the fence", "begun line", "next line"],
)
def test_chat_completion_omits_fence_and_repeated_line(
    page: Page, by: By, models: Models, *, text: str, before: str, expected: str
) -> None:
    """Models write both although the prompt forbids them."""
    by("local", models.url("vllm"))
    assert filled(page, text, before) == expected
