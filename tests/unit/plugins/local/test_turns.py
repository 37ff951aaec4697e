"""Turns of `agentnb local` with a scripted model server: streams, failures, and their messages."""

from __future__ import annotations

import base64
import contextlib
import json
import os
from pathlib import Path

import pytest

from agentnb import Session, TurnFailed
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.local.conftest import KEY, Chat, Models

FAKE_CALL = '<tool_call>\n{"name": "write_file", "arguments": {"path": "owned.txt", "content": "x"}}\n</tool_call>'
WRITTEN = (
    "> **fake-call has only written a tool call as text; nothing was run.** The server does not read it as a call: the"
    " model or its chat template has no tools. Type `/chat` to continue without tools, or choose another model.\n\n"
)
ANSWERS = {
    "echo": ("Hello there", ""),
    "reasons": ("Because.", "I wonder."),
    "reasons-content": ("Because.", "I wonder."),
    "tags": ("Because </think> is a tag.", "I wonder, is 1 < 2?\n"),
    "whole": ("All at once.", ""),
    "wrong": ("Hello.> 3 parts of the answer could not be read and are missing.\n\n", ""),
    "half": ("Hello.> 1 part of the answer could not be read and is missing.\n\n", ""),
    "no-usage": ("Hello there", ""),
    "fake-call": (FAKE_CALL + WRITTEN, ""),
}
FAILURES = {
    "dies": ("Half an ans", "The connection to 127.0.0.1:{port} broke. Check that the server is still running"),
    "error": ("Half", "127.0.0.1:{port} interrupted the answer: the engine died"),
    "broken": ("", "CUDA out of memory. Wait a moment, then try again"),
}


@pytest.mark.parametrize("model", ANSWERS)
def test_every_kind_of_stream_gives_text_and_thoughts(chat: Chat, model: str, folder: Path) -> None:
    """Pieces are joined, thoughts separated, and only unreadable parts lost; nothing is run."""
    turn = chat(model).prompt("Hello there").wait(PATIENCE)
    assert (turn.text, turn.thoughts) == ANSWERS[model]
    assert [call.title for call in turn.tool_calls if call.kind not in {"think", "other"}] == []
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("model", FAILURES)
def test_interrupted_answer_fails_the_turn_and_keeps_its_text(chat: Chat, models: Models, model: str) -> None:
    """The error explains it; the next prompt works, and the model never gets two prompts in a row."""
    session = chat(model)
    text, message = FAILURES[model]
    with pytest.raises(TurnFailed) as failed:
        session.prompt(f"Fail, {model}").wait(PATIENCE)
    assert message.format(port=models.ports["ollama"]) in str(failed.value)
    assert failed.value.turn.text == text
    session.set_option("model", "echo")
    assert session.prompt("And now?").wait(PATIENCE).text == "And now?"
    roles = [message["role"] for message in models.seen(f"Fail, {model}")[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


def test_busy_server_is_retried_visibly(chat: Chat) -> None:
    """After a 429 the next attempt waits for the pause that the server wants."""
    turn = chat("busy").prompt("Busy?").wait(PATIENCE)
    assert turn.text == "Busy?"
    calls = [(call.title.partition(": ")[2] or call.title, call.status) for call in turn.tool_calls]
    assert ("Rate limit reached. Attempt 2 of 4 in 0 s.", "completed") in calls


def test_failing_server_gets_four_attempts(chat: Chat, models: Models) -> None:
    """Each failed attempt is shown."""
    turn = chat("broken").prompt("For ever").wait(PATIENCE, check=False)
    assert len(models.seen("For ever")) == 4
    assert [call.status for call in turn.tool_calls if "Attempt" in call.title] == ["failed"] * 3


def test_answer_line_of_ten_megabytes_is_read(chat: Chat) -> None:
    assert len(chat("long").prompt("Much").wait(PATIENCE).text) == 10_000_000


def test_cancel_ends_the_request_at_once(chat: Chat, models: Models) -> None:
    """The server sees its client leave, and the text so far stays."""
    session = chat("slow")
    turn = session.prompt("Tell me a story")
    for _ in turn:
        if turn.text.startswith("Once upon a time"):
            break
    turn.cancel()
    models.until_left()
    assert turn.wait(PATIENCE).stop_reason == "cancelled"
    assert turn.text.startswith("Once upon a time")


def test_answer_cut_off_at_the_token_limit_says_so(chat: Chat) -> None:
    assert chat("cut").prompt("More").wait(PATIENCE).stop_reason == "max_tokens"


def test_tokens_and_context_are_counted(chat: Chat) -> None:
    """The turn's usage has the server's token counts, the session its use of the context."""
    session = chat("echo")
    turn = session.prompt("Count").wait(PATIENCE)
    assert turn.usage is not None
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (90, 10)
    context = session.state.context_usage
    assert context is not None
    assert (context.used, context.size) == (100, 4096)  # Ollama's context, not the model's maximum


@pytest.mark.parametrize(("kind", "model"), [("ollama", "no-tools"), ("llama_cpp", "no-template")])
def test_choosing_a_model_without_tools_shows_a_warning(chat: Chat, kind: str, model: str) -> None:
    """The server reports it; other models get no warning. llama.cpp accepts tools that the model does not get."""

    def warnings(session: Session) -> list[object]:
        return [option.get("_meta") for option in session.state.config_options or ()]

    session = chat("echo", kind)
    assert warnings(session) == [None]
    session.set_option("model", model)
    (meta,) = warnings(session)
    assert isinstance(meta, dict)
    assert meta["agentnb"]["warning"].startswith(f"{model} cannot use tools: it answers in text only.")
    assert session.chat.turns == ()


@pytest.mark.parametrize("kind", ["ollama", "bare"])
def test_first_answer_notes_that_the_model_has_no_tools(chat: Chat, models: Models, kind: str) -> None:
    """The server says so or refuses a try: the user reads it above the first answer only."""
    session = chat("no-tools", kind)
    turn = session.prompt(f"First on {kind}").wait(PATIENCE)
    assert turn.text.startswith("> **no-tools cannot use tools.** It answers in text only")
    assert turn.text.endswith(f"First on {kind}")
    assert session.prompt("Second").wait(PATIENCE).text == "Second"
    assert "tools" not in models.seen(f"First on {kind}")[0]


def test_model_abilities_are_looked_up_once_and_saved(chat: Chat, home: Path) -> None:
    """A new session with the same model does not ask the server; only the owner can read the file."""
    titles = [call.title for call in chat("cut", "llama_cpp").prompt("One").wait(PATIENCE).tool_calls]
    assert titles == ["cut: tools: yes, images: no, thinking: not known, context: 16,384 tokens"]
    assert chat("cut", "llama_cpp").prompt("Two").wait(PATIENCE).tool_calls == ()
    file = home / "jupyter/data/agentnb/local/models.json"
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("model", "tried_again"), [("no-tools", True), ("echo", False)])
def test_new_session_tests_a_model_without_tools_again(chat: Chat, model: str, tried_again: bool) -> None:
    """The server may have restarted with tools; a model that has them is not tried again."""
    chat(model, "vllm").prompt("One").wait(PATIENCE)
    session = chat(model, "vllm")
    tries = [session.prompt(text).wait(PATIENCE).tool_calls for text in ("Two", "Three")]
    assert [len(each) for each in tries] == [int(tried_again), 0]


TOO_LONG = (
    "too long for the context of full. 127.0.0.1:{port} says: request (1820 tokens) exceeds the available context size"
    " (512 tokens), try increasing it."
)


def test_too_small_context_error_says_how_to_enlarge_it(chat: Chat, models: Models) -> None:
    """At a first message, earlier ones are not the cause."""
    session = chat("full", "llama_cpp")
    too_long = TOO_LONG.format(port=models.ports["llama_cpp"])
    with pytest.raises(TurnFailed) as first:
        session.prompt("Hello").wait(PATIENCE)
    assert f"The message and the descriptions of the tools are {too_long} Start the server with" in str(first.value)
    with pytest.raises(TurnFailed) as second:
        session.prompt("Again").wait(PATIENCE)
    assert f"The conversation and the descriptions of the tools are {too_long} Start a new conv" in str(second.value)
    assert "with a larger context, as in `llama-server -c 16384`." in str(second.value)


def test_key_is_sent_to_the_server_and_saved_in_no_file(
    chat: Chat, models: Models, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings name the variable; the server's error about a wrong key does not show it."""
    environ = {"AGENTNB_LOCAL_URL": models.url("keyed"), "AGENTNB_LOCAL_KEY_VARIABLE": "LAB_KEY", "LAB_KEY": KEY}
    session = chat(env=environ)
    assert session.prompt("With the key").wait(PATIENCE).text == "With the key"
    assert models.seen("With the key")[0]["key"] == KEY
    session.close()
    files = [Path(folder, name) for folder, _, names in os.walk(home) for name in names]
    assert [path for path in files if holds(path, KEY)] == []
    assert len(files) > 1


def holds(path: Path, text: str) -> bool:
    """Returns True if the file at *path* exists and holds *text*."""
    with contextlib.suppress(FileNotFoundError):  # a database's auxiliary files come and go
        return text.encode() in path.read_bytes()
    return False


def test_missing_server_error_says_what_to_start(chat: Chat, models: Models) -> None:
    """A session opens, and its first prompt fails."""
    with pytest.raises(TurnFailed, match=r"No model server was found on this machine\. Start one: Ollama"):
        chat(kind="page").prompt("Anybody?").wait(PATIENCE)


def test_slash_commands_check_the_server_and_pull_a_model(chat: Chat) -> None:
    """Without a model the check says what to type; the download shows progress, and fails like a turn."""
    session = chat(kind="empty")
    checked = session.prompt("/check").wait(PATIENCE)
    assert "has no models.\n\nType `/pull qwen3:4b`" in checked.text
    assert [call.status for call in checked.tool_calls] == ["failed"]
    pulled = session.prompt("/pull qwen3:4b").wait(PATIENCE)
    assert [(call.title, call.status) for call in pulled.tool_calls] == [("Downloaded qwen3:4b", "completed")]
    with pytest.raises(TurnFailed, match="cannot download nothing"):
        session.prompt("/pull nothing").wait(PATIENCE)
    with pytest.raises(TurnFailed, match="Give the model after /pull"):
        session.prompt("/pull ../x; rm").wait(PATIENCE)


def test_image_is_sent_only_to_a_model_that_accepts_images(chat: Chat) -> None:
    """The model repeats what it gets."""
    picture = b"\x89PNG\r\n\x1a\n" + bytes(16)
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    turn = chat("echo", "lm_studio").prompt("Look", context=[picture]).wait(PATIENCE)
    assert json.loads(turn.text) == [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": url}}]
    text = chat("echo").prompt("Look", context=[picture]).wait(PATIENCE).text
    assert "echo cannot see images" in text
    assert text.endswith("Look")


def test_restarted_session_keeps_its_messages(chat: Chat, models: Models) -> None:
    """After its process ended, a conversation continues: the model gets the earlier messages."""
    session = chat("echo")
    session.prompt("My name is Ada").wait(PATIENCE)
    session.restart(PATIENCE)
    session.prompt("What is my name?").wait(PATIENCE)
    messages = [message["content"] for message in models.seen("What is my name?")[-1]["messages"][1:]]
    assert messages == ["My name is Ada", "My name is Ada", "What is my name?"]


def test_tool_call_written_as_text_gets_a_note_once(chat: Chat, models: Models) -> None:
    """`/chat` withholds the tools from the model, and `/tools` gives them back."""
    session = chat("fake-call")
    assert session.prompt("First written").wait(PATIENCE).text == FAKE_CALL + WRITTEN
    assert session.prompt("Second written").wait(PATIENCE).text == FAKE_CALL
    assert session.prompt("/chat").wait(PATIENCE).text.startswith("The model gets no tools")
    session.prompt("Third written").wait(PATIENCE)
    assert session.prompt("/tools").wait(PATIENCE).text == "The model gets its tools again."
    session.prompt("Fourth written").wait(PATIENCE)
    assert ["tools" in models.seen(each)[0] for each in ("Second written", "Third written", "Fourth written")] == [
        True,
        False,
        True,
    ]
