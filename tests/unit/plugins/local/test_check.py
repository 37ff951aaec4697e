"""The messages and exit codes of `agentnb local --check` and `--pull`."""

from __future__ import annotations

import pytest

from agentnb.acp.doctor import examine
from agentnb.agent.catalog import find
from agentnb.plugins.local.connection_check import ConnectionResult, check_connection, find_and_pull
from agentnb.plugins.local.server import ServerTrouble
from agentnb.plugins.local.settings import read_settings
from tests.unit.forked import run_agentnb
from tests.unit.plugins.local.conftest import KEY, Models
from tests.unit.running import run


def check(models: Models, settings: dict[str, str]) -> ConnectionResult:
    """Checks the connection with *settings*, whose URL may be a kind of server and a path."""
    environ = {"AGENTNB_CONFIG_DIR": "/nowhere", "AGENTNB_LOCAL_PORTS": "1", "WRONG": "sk-wrong-key", "RIGHT": KEY}
    for name, value in settings.items():
        kind, _, path = value.partition("/")
        environ[f"AGENTNB_LOCAL_{name}"] = value
        if kind in models.ports:
            where = {"URL": f"{models.url(kind)}{path and '/'}{path}", "PORTS": str(models.ports[kind])}
            environ[f"AGENTNB_LOCAL_{name}"] = where.get(name, value)
    return run(check_connection(read_settings(None, environ)))


GOOD = {
    "ollama": ["Ollama at {url}: ", "echo answers. Tools: yes, images: no, thinking: yes", "only 4,096 tokens"],
    "lm_studio": ["LM Studio at {url}: ", "Tools: yes, images: yes", "context: 8,192 tokens"],
    "vllm": ["vLLM at {url}: ", "Tools: yes, images: not known", "context: 4,096 tokens"],
    "llama_cpp": ["llama.cpp at {url}: ", "Tools: yes, images: no", "context: 16,384 tokens"],
    "bare": ["OpenAI-compatible server at {url}: 2 models", "context: not known"],
}


@pytest.mark.parametrize("kind", GOOD)
def test_check_reports_the_abilities_of_the_model(kind: str, models: Models) -> None:
    """Its answers identify each kind of server; found by its port, it needs no setting."""
    checked = check(models, {"PORTS": str(models.ports[kind])})
    text = "\n".join(checked.lines)
    assert [each for each in GOOD[kind] if each.format(url=models.url(kind)) not in text] == []
    assert checked.works
    assert "nomic-embed-text" not in text


BAD = {
    "nothing there": ({"URL": "http://127.0.0.1:1/v1"}, "No server answers at 127.0.0.1:1. Start it"),
    "loading": ({"PORTS": "loading"}, "HTTP status 503 (X). It says: Loading model. Wait a moment, then try again."),
    "nothing found": ({}, "No model server was found on this machine. Start one: Ollama"),
    "no models": ({"URL": "empty"}, "has no models. Type `/pull qwen3:4b`"),
    "no key": ({"URL": "keyed"}, "requires a key (HTTP status 401). Put it in a variable"),
    "unset key": ({"URL": "keyed", "KEY_VARIABLE": "NOT_SET"}, "and the variable NOT_SET is empty. Set it before"),
    "wrong key": ({"URL": "keyed", "KEY_VARIABLE": "WRONG"}, "does not accept the key in WRONG (HTTP status 401)"),
    "wrong path": ({"URL": "bare/elsewhere"}, "There is no OpenAI-compatible interface at"),
    "a page": ({"URL": "page"}, "the response is not JSON. The base URL usually ends in /v1"),
    "moved": ({"URL": "moved", "KEY_VARIABLE": "WRONG"}, "redirects to another server, 203.0.113.7: not followed"),
    "no such model": ({"URL": "bare", "MODEL": "gpt"}, "There is no model gpt"),
    "dies": ({"URL": "ollama", "MODEL": "dies"}, "dies does not answer: The connection to"),
    "fails": ({"URL": "ollama", "MODEL": "broken"}, "broken does not answer:"),
}


@pytest.mark.parametrize("case", BAD)
def test_check_reports_a_failure_without_secrets(case: str, models: Models) -> None:
    settings, message = BAD[case]
    checked = check(models, settings)
    text = " ".join(checked.lines)
    assert message in text
    assert not checked.works
    assert "sk-" not in text


def test_check_adds_a_missing_version_to_the_url(models: Models) -> None:
    """People type the address without /v1."""
    url = models.url("keyed").removesuffix("/v1")
    checked = check(models, {"URL": url, "KEY_VARIABLE": "RIGHT", "MODEL": "echo"})
    assert (checked.works, f"at {url}/v1: " in checked.lines[0]) == (True, True)


def test_check_command_fails_for_an_unknown_model(models: Models) -> None:
    """Flags take precedence over variables."""
    words = ("local", "--check", "--url", models.url("bare"), "--model", "gpt")
    done = run_agentnb(*words, AGENTNB_LOCAL_MODEL="echo")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "There is no model gpt. Set AGENTNB_LOCAL_MODEL to one of these."


async def steps_of(models: Models, name: str) -> list[str]:
    """Returns the messages while a model is downloaded."""
    settings = read_settings(None, {"AGENTNB_CONFIG_DIR": "/nowhere", "AGENTNB_LOCAL_URL": models.url("empty")})
    return [str(progress) async for progress in find_and_pull(settings, name)]


def test_pull_reports_its_progress(models: Models) -> None:
    steps = ["pulling 0a1b: 0 %", "pulling 0a1b: 50 %", "pulling 0a1b: 100 %"]
    assert run(steps_of(models, "qwen3:4b")) == ["pulling manifest", *steps, "success"]


def test_pull_of_an_unknown_model_raises_an_error(models: Models) -> None:
    """The error has the server's own words."""
    with pytest.raises(ServerTrouble, match="cannot download nothing: pull model manifest: file does not exist Look"):
        run(steps_of(models, "nothing"))


@pytest.mark.parametrize(
    ("kind", "state", "message"),
    [
        ("ollama", "ready", "It answers."),
        ("empty", "broken", "has no models. Type `/pull qwen3:4b`"),
        ("", "broken", "No model server was found on this machine. Start one: Ollama"),
    ],
)
def test_doctor_reports_the_state_of_the_model_server(
    models: Models, kind: str, state: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", "/nowhere")
    monkeypatch.setenv("AGENTNB_LOCAL_PORTS", str(models.ports[kind] if kind else 1))
    checkup = run(examine(find("local")))
    assert (checkup.state, message in checkup.message, "echo" in checkup.models) == (state, True, kind == "ollama")
