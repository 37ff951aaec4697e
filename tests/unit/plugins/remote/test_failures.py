"""Failures of a remote agent: each message says what to do, and shows no token."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentnb.acp.agent import Agent
from agentnb.acp.opening import OpenRequest
from agentnb.agent.catalog import AgentSpec, custom, read
from agentnb.agent.own_agents import own_agents, write_agent
from agentnb.errors import AgentDied, AgentStartFailed, UsageError
from tests.unit.acp.recording_listener import RecordingListener, Talk
from tests.unit.plugins.remote.serving import serving

TOKEN = "t0ken-of-ada-5521"


def at(url: str, **fields: object) -> AgentSpec:
    return replace(custom([url], name="far"), title="Far", **fields)


async def failure(spec: AgentSpec, cwd: Path) -> str:
    """Returns the reason why *spec* does not start."""
    with pytest.raises(AgentStartFailed) as failed:
        await Agent.launch(spec, cwd=cwd)
    return str(failed.value)


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_unreachable_agent_is_reported(tmp_path: Path, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    message = await failure(at(f"{scheme}://127.0.0.1:{port}/acp"), tmp_path)
    assert message.startswith(f"Far: 127.0.0.1:{port} cannot be reached: ")
    assert "Check that it is running" in message


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_redirect_is_not_followed(tmp_path: Path, scheme: str) -> None:
    """The token is sent to no other address."""
    with serving("odd_server", "redirects") as port:
        message = await failure(at(f"{scheme}://127.0.0.1:{port}/acp"), tmp_path)
    assert "redirects to /elsewhere. The token is sent only to the address that you gave." in message
    assert "s3cret" not in message


async def test_server_without_websockets_is_reported(tmp_path: Path) -> None:
    with serving("odd_server", "http") as port:
        message = await failure(at(f"ws://127.0.0.1:{port}/"), tmp_path)
    assert "answered with HTTP 200" in message


@pytest.mark.parametrize(("way", "scheme"), [("silent", "http"), ("mute", "ws")])
async def test_server_that_never_answers_is_reported_after_timeout(tmp_path: Path, way: str, scheme: str) -> None:
    with serving("odd_server", way) as port:
        url = f"{scheme}://127.0.0.1:{port}/acp"
        message = await failure(at(url, initialize_timeout=5.0), tmp_path)
    assert message.startswith("Far did not answer within 5 s after it was started.")
    assert f"Check that an ACP agent answers at {url}." in message


async def test_error_gives_the_reason_of_a_closed_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason is cut to a readable length and never repeats the token."""
    monkeypatch.setenv("FAR_PASS", TOKEN)
    with serving("odd_server", "goes", ODD_TOKEN=TOKEN) as port:
        text = f'name = "far"\ntitle = "Far"\nurl = "ws://127.0.0.1:{port}/"\ntoken_variable = "FAR_PASS"'
        message = await failure(read(text), tmp_path)
    assert "closed the connection (4001 maintenance ***)" in message
    assert TOKEN not in message


async def test_frame_of_more_than_64_mib_ends_the_connection(tmp_path: Path) -> None:
    with serving("odd_server", "huge") as port:
        message = await failure(at(f"ws://127.0.0.1:{port}/"), tmp_path)
    assert "sent a message of more than 64 MiB" in message


async def test_invalid_frames_are_ignored(tmp_path: Path) -> None:
    """Invalid frames, binary ones, and messages over several lines."""
    with serving("odd_server", "rubbish") as port:
        agent = await Agent.launch(at(f"ws://127.0.0.1:{port}/"), cwd=tmp_path)
        try:
            listener = RecordingListener()
            opened = await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener)
            await Talk(agent, opened.session_id, listener).prompt("hi")
            assert listener.text == "still here"
        finally:
            await agent.stop(patience=0.5)


async def test_turn_fails_when_the_connection_is_closed(tmp_path: Path) -> None:
    """The turn ends with it; the next request connects again."""
    with serving("sdk_server") as port:
        agent = await Agent.launch(at(f"ws://127.0.0.1:{port}/acp"), cwd=tmp_path)
        listener = RecordingListener()
        opened = await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener)
        answer = Talk(agent, opened.session_id, listener).begin("wait")
        await listener.spoken.wait()
    with pytest.raises(AgentDied, match=r"Far: 127.0.0.1:\d+ closed the connection|Far: The connection to .* was lost"):
        await answer
    await agent.wait_closed()


async def test_tls_requires_a_trusted_certificate(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    """The trusted certificates are the system's or those of SSL_CERT_FILE."""
    cert, key = map(str, certificate)
    with serving("sdk_server", "--certificate", cert, "--key", key) as port:
        for scheme in ("wss", "https"):
            url = f"{scheme}://localhost:{port}/acp"
            assert "certificate of localhost" in await failure(at(url), tmp_path)
            agent = await Agent.launch(at(url), cwd=tmp_path, env={"SSL_CERT_FILE": cert})
            assert agent.name == "Notes"
            await agent.stop(patience=0.5)
    with serving("odd_server", "mute") as port:
        assert "cannot be reached: it ended the connection" in await failure(at(f"wss://localhost:{port}/"), tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('url = "ws://far.example.org/acp"', "without TLS anyone between here and far.example.org can read along"),
        ('url = "wss://ada:pw12345678@far.example.org/"', "contains a credential"),
        ('url = "wss://far.example.org/?token=abcdef1234567890"', "contains a credential"),
        ('url = "ftp://far.example.org/"', "is not an address of an agent"),
        ('url = "wss://"', "is not an address of an agent"),
        ('url = "wss://far.example.org:port/"', "cannot be read"),
        ('url = "wss://far.example.org/"\ncommand = ["x"]', "a command or a url, not both"),
    ],
)
def test_description_with_an_invalid_address_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(f'name = "far"\ntitle = "Far"\n{text}')


def test_description_can_allow_an_unencrypted_connection() -> None:
    """On this machine it needs no permission."""
    allowed = read('name = "far"\ntitle = "Far"\nurl = "ws://far.example.org/acp"\nunencrypted = true')
    assert "--unencrypted" in allowed.command
    assert read('name = "far"\ntitle = "Far"\nurl = "http://[::1]:80/acp"').line == "http://[::1]:80/acp"


def test_settings_accept_an_address_in_place_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of the chat write it and read it back."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    write_agent("far", "wss://far.example.org/acp", {"FAR_TOKEN": "t-1"}, state="")
    (own,) = own_agents()
    assert (own.line, own.problem) == ("wss://far.example.org/acp", "")
    write_agent("far", "my-agent --acp", {}, state=own.state)
    (own,) = own_agents()
    assert (own.line, own.problem) == ("my-agent --acp", "")
    with pytest.raises(UsageError, match="takes no arguments"):
        write_agent("far", "wss://far.example.org/acp --fast", {}, state=own.state)


def test_remote_command_reports_invalid_arguments(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentnb", "remote"]
    for words, message in (
        (["ws://far.example.org/"], "without TLS"),
        (["--token-variable", "NO_SUCH_VARIABLE", "ws://localhost:1/"], "NO_SUCH_VARIABLE, which holds the token"),
    ):
        done = subprocess.run(
            [*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


async def test_disabled_plugin_refuses_to_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notes: int) -> None:
    """A site may require this."""
    monkeypatch.setenv("AGENTNB_PLUGINS", "eliza")
    message = await failure(at(f"ws://127.0.0.1:{notes}/acp"), tmp_path)
    assert "remote" in message


def test_program_ends_when_its_client_closes_stdin() -> None:
    assert asyncio.run(_ended()) == 0


async def _ended() -> int:
    with serving("odd_server", "mute") as port:
        words = [sys.executable, "-m", "agentnb", "remote", f"ws://127.0.0.1:{port}/"]
        process = await asyncio.create_subprocess_exec(*words, stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.close()
        return await process.wait()
