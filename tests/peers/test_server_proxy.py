"""A served kernel through the real jupyter-server-proxy, which the Makefile installs in a separate environment."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

import agentnb
from agentnb import HostUnavailable
from tests.conftest import ROOT
from tests.unit.server.websocket.client import Client

pytestmark = pytest.mark.peers
PROGRAM = Path(os.environ.get("AGENTNB_SERVER_PROXY", ROOT / ".venv-proxy/bin/jupyter"))
JUPYTER = "token-of-the-jupyter-server"
LISTENS = re.compile(r"http://127\.0\.0\.1:(\d+)/")
WRONG = "w" * 43


@pytest.fixture
def jupyter(tmp_path: Path) -> Iterator[str]:
    """The ``host:port`` of a Jupyter server with the proxy."""
    if not PROGRAM.exists():
        pytest.skip(f"no jupyter-server-proxy: {PROGRAM} is missing; `make test-peers` makes it")
    folders = {f"JUPYTER_{each}_DIR": str(tmp_path / each.lower()) for each in ("CONFIG", "DATA", "RUNTIME")}
    options = ["--allow-root", "--no-browser", "--ip=127.0.0.1", "--port=0", f"--ServerApp.root_dir={tmp_path}"]
    process = subprocess.Popen(
        [PROGRAM, "server", *options, f"--IdentityProvider.token={JUPYTER}"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **folders},
    )
    assert process.stderr is not None
    listens = next(match for line in process.stderr if (match := LISTENS.search(line)) is not None)
    reading = threading.Thread(target=process.stderr.read)
    reading.start()
    yield f"127.0.0.1:{listens[1]}"
    process.terminate()
    process.wait()
    reading.join()
    process.stderr.close()


def outcome(address: str, token: str, **headers: str) -> Any:
    """Returns the version in the answer, the HTTP status of a refusal, or "closed"."""
    try:
        client = Client(address, token, headers=headers)
    except InvalidStatus as refused:
        return refused.response.status_code
    try:
        return client.initialize("me")["protocolVersion"]
    except ConnectionClosed:
        return "closed"
    finally:
        client.close()


def cookie(page: str) -> str:
    """The cookie of a signed-in browser."""
    with urlopen(f"{page}/api/status?token={JUPYTER}", timeout=60) as answer:  # noqa: S310 - loopback
        header: str = answer.headers["Set-Cookie"]
    return header.partition(";")[0]


def test_proxy_path_needs_both_tokens_and_an_allowed_origin(jupyter: str) -> None:
    """The proxy needs its own token; the kernel needs its own, a name in `hosts`, and an origin in `origins`."""
    page = f"http://{jupyter}"

    def at(server: agentnb.Server, query: str = f"?token={JUPYTER}") -> str:
        return f"ws://{jupyter}/proxy/{server.address.rpartition(':')[2]}{query}"

    with agentnb.serve(hosts=[jupyter], origins=[page]) as server:
        both = at(server, f"?token={JUPYTER}&agentnb_token={server.token}")
        assert outcome(at(server), server.token) == "1.0.0"
        assert outcome(at(server), server.token, Origin=page) == "1.0.0"
        assert outcome(both, "", Authorization="") == "1.0.0"
        signed_in = at(server, f"?agentnb_token={server.token}")
        assert outcome(signed_in, "", Authorization="", Origin=page, Cookie=cookie(page)) == "1.0.0"
        assert outcome(signed_in, "", Authorization="", Origin=page) == 403
        assert outcome(at(server, ""), server.token) == 403
        assert outcome(at(server), WRONG) == "closed"
        assert outcome(at(server), server.token, Origin="https://evil.example") == "closed"
        for url, token in ((at(server), server.token), (both, None)):
            with agentnb.connect(url, token) as remote:
                assert remote.state == "connected"
        with pytest.raises(HostUnavailable, match="that the token belongs to it"):
            agentnb.connect(at(server), WRONG)
    with agentnb.serve() as server:
        assert outcome(at(server), server.token) == "closed"


def test_phone_loads_its_page_and_connects_through_the_proxy(jupyter: str) -> None:
    """It is signed in there; the code is in a header, never in a log; the page connects to its own path."""
    from tests.unit.plugins.phone.conftest import Phones

    page = f"http://{jupyter}"
    phones = Phones(origin=page)
    try:
        path, signed_in = f"{jupyter}/proxy/{phones.first['port']}/", {"Cookie": cookie(page), "Authorization": ""}
        with urlopen(Request(f"http://{path}", headers=signed_in), timeout=60) as answer:
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            assert b"<title>agentnb</title>" in answer.read()
        offered = ["agentnb", f"agentnb.token.{phones.token}"]
        phone = Client(f"ws://{path}", "", headers={**signed_in, "Origin": page}, subprotocols=offered)
        assert phone.socket.subprotocol == "agentnb"
        assert phone.initialize("me")["protocolVersion"] == "1.0.0"
        assert phone.ask("x-agentnb/listQuestions", {})["questions"] == []
        phone.close()
        wrong = ["agentnb", f"agentnb.token.{WRONG}"]
        other = Client(f"ws://{path}", "", headers={**signed_in, "Origin": page}, subprotocols=wrong)
        with pytest.raises(ConnectionClosed):
            other.initialize("me")
        other.close()
    finally:
        phones.unpair()
