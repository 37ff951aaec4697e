"""TLS, and a proxy that serves under a path."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

import agentnb
from agentnb import HostUnavailable
from tests.unit.server.websocket.client import Client
from tests.unit.server.websocket.relay import Relay


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine, and its key, made by openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed, which makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-out", str(files[0]), "-keyout", str(files[1]), "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return files


def test_certificate_serves_tls_to_clients_that_trust_it(certificate: tuple[Path, Path]) -> None:
    """Clients without trust or TLS cannot connect, and send no token."""
    cert, key = certificate
    with agentnb.serve(certificate=cert, key=key) as server:
        assert server.address.startswith("wss://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=cert)
        client = Client(server.address, server.token, ssl=trusting)
        assert client.initialize("me")["protocolVersion"] == "1.0.0"
        client.close()
        with agentnb.connect(server.url, certificate=cert) as remote:
            assert remote.state == "connected"
        with pytest.raises(HostUnavailable, match="certificate"):
            agentnb.connect(server.url)
        with pytest.raises(HostUnavailable):
            agentnb.connect(server.url.replace("wss:", "ws:"))


def test_client_connects_through_a_proxy_with_a_path(relay: Relay) -> None:
    """Like jupyter-server-proxy, which keeps its host name, path and own token in the address."""
    with agentnb.serve(hosts=[relay.place]) as server:
        relay.lead_to(server.address)
        address = f"ws://{relay.place}/user/ada/proxy/8765/?token=of-jupyter"
        client = Client(address, server.token)
        client.initialize("me")
        client.close()
        with agentnb.connect(address, server.token) as remote:
            assert (remote.state, remote.address) == ("connected", address.partition("?")[0])
