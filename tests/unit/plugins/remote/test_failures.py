"""Failures of a remote agent: each message says what to do, and shows no token."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentnb import AgentnbError, AgentStartFailed, Session
from tests.unit.api.conftest import PATIENCE
from tests.unit.forked import run_agentnb
from tests.unit.plugins.remote.serving import serving
from tests.unit.server.asking_page import Page

TOKEN = "t0ken-of-ada-5521"
Far = Callable[..., Session]


@pytest.fixture
def far(start: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    """Starts a session with the agent at an address, which a description names with *more* lines."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "conf"))
    description = tmp_path / "conf/agents/far.toml"
    description.parent.mkdir(parents=True)

    def begin(url: str, more: str = "", **options: object) -> Session:
        description.write_text(f'name = "far"\ntitle = "Far"\nurl = "{url}"\n{more}', encoding="utf-8")
        return start(agent="far", **options)

    return begin


def failure(session: Session) -> str:
    """Returns the reason why its agent does not start."""
    with pytest.raises(AgentStartFailed) as failed:
        session.open(PATIENCE)
    return str(failed.value)


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_unreachable_agent_is_reported(far: Far, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    message = failure(far(f"{scheme}://127.0.0.1:{port}/acp"))
    assert message.startswith(f"Far: 127.0.0.1:{port} cannot be reached: ")
    assert "Check that it is running" in message


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_redirect_is_not_followed(far: Far, scheme: str) -> None:
    """The token is sent to no other address."""
    with serving("odd_server", "redirects") as port:
        message = failure(far(f"{scheme}://127.0.0.1:{port}/acp"))
    assert "redirects to /elsewhere. The token is sent only to the address that you gave." in message
    assert "s3cret" not in message


@pytest.mark.parametrize(
    ("way", "says"),
    [("http", "answered with HTTP 200"), ("huge", "sent a message of more than 64 MiB")],
    ids=["a server without WebSockets", "a frame of more than 64 MiB"],
)
def test_server_that_breaks_the_protocol_is_reported(far: Far, way: str, says: str) -> None:
    with serving("odd_server", way) as port:
        assert says in failure(far(f"ws://127.0.0.1:{port}/"))


@pytest.mark.parametrize(("way", "scheme"), [("silent", "http"), ("mute", "ws")])
def test_server_that_never_answers_is_reported_after_timeout(far: Far, way: str, scheme: str) -> None:
    with serving("odd_server", way) as port:
        url = f"{scheme}://127.0.0.1:{port}/acp"
        message = failure(far(url, "initialize_timeout = 5.0"))
    assert message.startswith("Far did not answer within 5 s after it was started.")
    assert f"Check that an ACP agent answers at {url}." in message


def test_error_gives_the_reason_of_a_closed_connection(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason is cut to a readable length and never repeats the token."""
    monkeypatch.setenv("FAR_PASS", TOKEN)
    with serving("odd_server", "goes", ODD_TOKEN=TOKEN) as port:
        message = failure(far(f"ws://127.0.0.1:{port}/", 'token_variable = "FAR_PASS"'))
    assert "closed the connection (4001 maintenance ***)" in message
    assert TOKEN not in message


def test_invalid_frames_are_ignored(far: Far) -> None:
    """Invalid frames, binary ones, and messages over several lines."""
    with serving("odd_server", "rubbish") as port:
        assert far(f"ws://127.0.0.1:{port}/").prompt("hi").wait(PATIENCE).text == "still here"


def test_tls_requires_a_trusted_certificate(far: Far, certificate: tuple[Path, Path]) -> None:
    """The trusted certificates are the system's or those of SSL_CERT_FILE."""
    cert, key = map(str, certificate)
    with serving("sdk_server", "--certificate", cert, "--key", key) as port:
        for scheme in ("wss", "https"):
            url = f"{scheme}://localhost:{port}/acp"
            assert "certificate of localhost" in failure(far(url))
            far(url, env={"SSL_CERT_FILE": cert}).open(PATIENCE)
    with serving("odd_server", "mute") as port:
        assert "cannot be reached: it ended the connection" in failure(far(f"wss://localhost:{port}/"))


@pytest.mark.parametrize(
    ("url", "more", "message"),
    [
        ("ws://far.example.org/acp", "", "without TLS anyone between here and far.example.org can read along"),
        ("wss://ada:pw12345678@far.example.org/", "", "contains a credential"),
        ("wss://far.example.org/?token=abcdef1234567890", "", "contains a credential"),
        ("ftp://far.example.org/", "", "is not an address of an agent"),
        ("wss://", "", "is not an address of an agent"),
        ("wss://far.example.org:port/", "", "cannot be read"),
        ("wss://far.example.org/", 'command = ["x"]', "a command or a url, not both"),
    ],
)
def test_description_with_an_invalid_address_is_refused(far: Far, url: str, more: str, message: str) -> None:
    with pytest.raises(AgentnbError, match=message):
        far(url, more)


def test_description_can_allow_an_unencrypted_connection(far: Far) -> None:
    """On this machine it needs no permission."""
    assert far("ws://far.example.org/acp", "unencrypted = true").agent == "far"
    assert far("http://[::1]:80/acp").agent == "far"


def test_settings_accept_an_address_in_place_of_a_command(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings of the chat write it and read it back."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    state = ""
    for line in ("wss://far.example.org/acp", "my-agent --acp"):
        change = {"name": "far", "agent": {"line": line}, "state": state}
        confirmed = page.ask("changeOwnAgent", change)["result"]["confirm"]
        assert page.ask("changeOwnAgent", {**change, "confirmed": confirmed})["result"] == {}
        own = page.ask("listSettings", {})["result"]["agents"][0]
        assert (own["name"], own["line"], own.get("problem")) == ("far", line, None)
        state = own["state"]
    change = {"name": "far", "agent": {"line": "wss://far.example.org/acp --fast"}, "state": state}
    assert "takes no arguments" in page.ask("changeOwnAgent", change)["error"]["message"]


def test_remote_command_reports_invalid_arguments(tmp_path: Path) -> None:
    for words, message in (
        (["ws://far.example.org/"], "without TLS"),
        (["--token-variable", "NO_SUCH_VARIABLE", "ws://localhost:1/"], "NO_SUCH_VARIABLE, which holds the token"),
    ):
        done = run_agentnb("remote", *words, cwd=tmp_path)
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_disabled_plugin_refuses_to_connect(far: Far, monkeypatch: pytest.MonkeyPatch, notes: int) -> None:
    """A site may require this."""
    monkeypatch.setenv("AGENTNB_PLUGINS", "eliza")
    assert "remote" in failure(far(f"ws://127.0.0.1:{notes}/acp"))


def test_program_ends_when_its_client_closes_stdin() -> None:
    with serving("odd_server", "mute") as port:
        words = [sys.executable, "-m", "agentnb", "remote", f"ws://127.0.0.1:{port}/"]
        assert subprocess.run(words, input=b"", check=False, timeout=PATIENCE).returncode == 0
