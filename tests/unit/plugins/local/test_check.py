"""The messages and exit codes of `agentnb local --check` and `--pull`, and its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

import agentnb
from tests.unit.forked import run_script
from tests.unit.plugins.local.conftest import KEY, Models

PROGRAM = """
import contextlib, io, json, os, runpy, sys
inherited, results = dict(os.environ), []
for words, variables in json.loads(sys.argv[1]):
    os.environ.clear()
    os.environ.update(inherited | variables)
    sys.argv = ["agentnb", "local", *words]
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(output):
        try:
            code = runpy.run_module("agentnb", run_name="__main__", alter_sys=True) and 0
        except SystemExit as ended:
            code = ended.code or 0
    results.append([code, output.getvalue()])
print(json.dumps(results))
"""
"""Types the commands of its argument one after another, in one process: its start takes longest."""


class Typed(NamedTuple):
    """One `agentnb local …`, and its variables: ``URL`` and the like for ``AGENTNB_LOCAL_URL``."""

    words: tuple[str, ...] = ("--check",)
    variables: Mapping[str, str] = MappingProxyType({})
    config: str = "/nowhere"


def outputs(models: Models, *commands: Typed) -> list[tuple[int, str]]:
    """Returns the exit code and the output of each; a URL may be a kind of server and a path."""
    cases: list[Any] = []
    for words, variables, config in commands:
        environ = {"AGENTNB_CONFIG_DIR": config, "AGENTNB_LOCAL_PORTS": "1", "WRONG": "sk-wrong-key", "RIGHT": KEY}
        environ["OPENAI_API_KEY"] = "sk-of-openai"
        for name, value in variables.items():
            kind, _, path = value.partition("/")
            if kind in models.ports:
                url = f"{models.url(kind)}{path and '/'}{path}"
                value = {"URL": url, "PORTS": str(models.ports[kind])}.get(name, value)  # noqa: PLW2901 - its address
            environ[name if name == "OLLAMA_HOST" else f"AGENTNB_LOCAL_{name}"] = value
        cases.append([words, environ])
    done = run_script(PROGRAM, json.dumps(cases))
    assert done.returncode == 0, done.stderr
    return [(code, text) for code, text in json.loads(done.stdout)]


GOOD = {
    "ollama": ["Ollama at {url}: ", "echo answers. Tools: yes, images: no, thinking: yes", "only 4,096 tokens"],
    "lm_studio": ["LM Studio at {url}: ", "Tools: yes, images: yes", "context: 8,192 tokens"],
    "vllm": ["vLLM at {url}: ", "Tools: yes, images: not known", "context: 4,096 tokens"],
    "llama_cpp": ["llama.cpp at {url}: ", "Tools: yes, images: no", "context: 16,384 tokens"],
    "bare": ["OpenAI-compatible server at {url}: 2 models", "context: not known"],
}


def test_check_reports_the_abilities_of_the_model(models: Models) -> None:
    """Its answers identify each kind of server; found by its port, it needs no setting and gets no other key."""
    results = outputs(models, *(Typed(variables={"PORTS": kind}) for kind in GOOD))
    for kind, (code, text) in zip(GOOD, results, strict=True):
        assert [each for each in GOOD[kind] if each.format(url=models.url(kind)) not in text] == []
        assert code == 0
        assert "nomic-embed-text" not in text
    assert {each["key"] for each in models.seen("Answer with the word") if each["kind"] in GOOD} == {""}


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
    "no URL": ({"URL": "of-ollama"}, "The URL in AGENTNB_LOCAL_URL is not a server's URL"),
    "a file": ({"URL": "file:///etc/passwd"}, "The URL in AGENTNB_LOCAL_URL is not a server's URL"),
    "no port": ({"URL": "http://host:port/v1"}, "The URL in AGENTNB_LOCAL_URL is not a server's URL"),
    "a password": ({"URL": "http://me:sk-x@host/v1"}, "The URL in AGENTNB_LOCAL_URL contains a password"),
    "two lines": ({"MODEL": "a\nb"}, "model in AGENTNB_LOCAL_MODEL must be text on one line"),
    "a name": ({"PORTS": "of-ollama"}, "The ports in AGENTNB_LOCAL_PORTS must be numbers"),
    "port 0": ({"PORTS": "0"}, "The ports in AGENTNB_LOCAL_PORTS must be numbers"),
    "port 70000": ({"PORTS": "70000"}, "The ports in AGENTNB_LOCAL_PORTS must be numbers"),
}


def test_check_reports_a_failure_without_secrets(models: Models) -> None:
    """An invalid setting is named with its place."""
    results = outputs(models, *(Typed(variables=variables) for variables, _ in BAD.values()))
    for (case, (_, message)), (code, text) in zip(BAD.items(), results, strict=True):
        assert message in " ".join(text.splitlines()), (case, text)
        assert code == 1, case
        assert "sk-" not in text, case


@pytest.mark.parametrize("text", ["url = ", 'key = "sk-secret"', "url = 5"])
def test_invalid_settings_file_is_reported_without_secrets(models: Models, tmp_path: Path, text: str) -> None:
    """It may hold a key instead of a variable's name."""
    (tmp_path / "local.toml").write_text(text)
    ((code, output),) = outputs(models, Typed(config=str(tmp_path)))
    assert (code, "local.toml" in output, "sk-secret" in output) == (1, True, False)


def test_settings_prefer_command_line_over_variables_over_file(models: Models, tmp_path: Path) -> None:
    """An address without its version gets it, as people type none; a key comes from the variable that is named."""
    url = models.url("keyed").removesuffix("/v1")
    (tmp_path / "local.toml").write_text('url = "http://file/v1"\nmodel = "file"\nkey_variable = "RIGHT"\n')
    of_file, of_variables, typed = outputs(
        models,
        Typed(config=str(tmp_path)),
        Typed(variables={"URL": f"{url}/", "MODEL": "gpt"}, config=str(tmp_path)),
        Typed(("--check", "--model", "echo"), {"URL": url, "MODEL": "gpt"}, str(tmp_path)),
    )
    assert "No server answers at file" in of_file[1]
    assert of_variables[1].endswith("There is no model gpt. Set AGENTNB_LOCAL_MODEL to one of these.\n")
    assert (typed[0], f"at {url}/v1: " in typed[1]) == (0, True)


def test_port_set_for_ollama_is_tried_first(models: Models) -> None:
    ((_, output),) = outputs(models, Typed(variables={"PORTS": "", "OLLAMA_HOST": "0.0.0.0:1"}))
    assert "Checked these ports on this machine: 1, 11434, 1234, 8000, 8080." in output


def test_pull_reports_its_progress(models: Models) -> None:
    """A failure has the server's own words."""
    pulled, unknown = outputs(models, *(Typed(("--pull", name), {"URL": "empty"}) for name in ("qwen3:4b", "nothing")))
    steps = ["pulling 0a1b: 0 %", "pulling 0a1b: 50 %", "pulling 0a1b: 100 %"]
    assert pulled == (0, "\n".join(["pulling manifest", *steps, "success", ""]))
    assert "cannot download nothing: pull model manifest: file does not exist Look" in unknown[1]
    assert unknown[0] == 1


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
    (checkup,) = agentnb.doctor("local")
    assert (checkup.state, message in checkup.message, "echo" in checkup.models) == (state, True, kind == "ollama")
