"""A real JupyterHub: two users without access to each other, and the chat through the hub's proxy."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import nbformat
import psutil
import pytest
from playwright.sync_api import BrowserContext, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import Server
from tests.browser.side import Side
from tests.conftest import ROOT
from tests.hub.hub import USERS, Hub, UserKernel, channels_of

ALICE = """
import agentnb, json, os
from pathlib import Path
session = agentnb.start("eliza")
session.prompt("/say alice's secret plan").wait(90)
server = agentnb.serve()
agentnb.pair()
from agentnb.folders import data_folder
from agentnb.kernel.paired_kernels import registrations_folder
from agentnb.server.websocket.access import runtime_folder
from ipykernel.connect import get_connection_file
import tempfile
sockets = [each for each in Path(tempfile.gettempdir()).glob("agentnb-*") if each.stat().st_uid == os.getuid()]
assert sockets
places = [data_folder(), registrations_folder(), runtime_folder(), Path(get_connection_file()), *sockets]
private = [str(each) for place in places for each in [place, *place.rglob("*")]]
"""
PROBE = """
import json, os, socket, subprocess, sys
from pathlib import Path
reached = []
for each in private:
    try:
        if os.path.isdir(each):
            os.listdir(each)
        elif Path(each).is_socket():
            socket.socket(socket.AF_UNIX).connect(each)
        else:
            open(each, "rb").read()
    except OSError:
        continue
    reached.append(each)
names = []
for process in Path("/proc").glob("[0-9]*"):
    for name in ("cmdline", "environ"):
        try:
            names.append((process / name).read_bytes().decode(errors="replace"))
        except OSError:
            pass
seen = [secret for secret in secrets for text in names if secret in text]
own = [subprocess.run([sys.executable, "-m", "agentnb", *words], capture_output=True, text=True).stdout
       for words in (["history", "--json"], ["serve", "--json"], ["usage", "--json"])]
"""


@pytest.fixture(scope="module")
def alice(hub: Hub, tokens: dict[str, str]) -> Iterator[UserKernel]:
    """Her kernel, with a conversation, served and paired."""
    with contextlib.closing(UserKernel(hub, "alice", tokens["alice"])) as kernel:
        kernel.run(ALICE)
        yield kernel


@pytest.fixture(scope="module")
def bob(hub: Hub, tokens: dict[str, str]) -> Iterator[UserKernel]:
    with contextlib.closing(UserKernel(hub, "bob", tokens["bob"])) as kernel:
        yield kernel


def test_user_cannot_reach_the_server_or_kernel_of_another(hub: Hub, tokens: dict[str, str], alice: UserKernel) -> None:
    """The proxy refuses requests and sockets, even with the other user's valid token."""
    assert hub.ask("/user/bob/api/status", token=tokens["bob"])["started"]
    for path in ("api/status", "api/kernels", "api/contents", f"api/kernels/{alice.id}"):
        assert hub.ask(f"/user/alice/{path}", token=tokens["bob"]) in {403, 404}
    address, headers = channels_of(hub, "alice", alice.id), {"Authorization": f"token {tokens['bob']}"}
    with pytest.raises(InvalidStatus) as refused, connect(address, additional_headers=headers):
        pass
    assert refused.value.response.status_code in {403, 404}


def test_user_cannot_read_the_private_data_of_another(hub: Hub, alice: UserKernel, bob: UserKernel) -> None:
    """The other user's kernel tries files, sockets, processes, and agentnb's commands."""
    if not hub.has_own_users:
        pytest.skip("another user may not run this Python")
    private = alice.run("", "private")
    assert {Path(each).suffix for each in private} >= {".db", ".json"}
    secret = [alice.run("", "server.token"), "alice's secret plan"]
    assert bob.run("import os", "[os.getuid(), os.environ['HOME']]") == [USERS["bob"], str(hub.homes["bob"])]
    seen = bob.run(f"private = {private!r}\nsecrets = {secret!r}\n{PROBE}", "[reached, seen, own]")
    assert seen[:2] == [[], []]
    assert not any("secret plan" in text or secret[0] in text for text in seen[2])
    assert json.loads(seen[2][1]) == []


def test_served_kernel_refuses_another_user_without_its_token(alice: UserKernel) -> None:
    """All users share this machine's loopback."""
    address = alice.run("", "server.address").replace("ws", "http", 1)
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    for token in ("", "guessed"):
        headers = {**upgrade, "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Authorization": f"Bearer {token}"}
        with pytest.raises(HTTPError) as refused:
            urlopen(Request(address, headers=headers), timeout=60)  # noqa: S310 - loopback
        refused.value.close()
        assert refused.value.code == 401


def test_site_policy_and_audit_hold_for_every_user(hub: Hub, alice: UserKernel, bob: UserKernel) -> None:
    """A user's variables and files do not widen it; each user has an audit file that others cannot read."""
    code = """
import os, agentnb
os.environ["JUPYTER_CONFIG_DIR"] = os.environ["AGENTNB_CONFIG_DIR"] = os.path.expanduser("~/own")
try:
    agentnb.start("local")
except agentnb.AgentnbError as error:
    said = str(error)
kept = agentnb.settings()
try:
    kept.set("log_days", 0)
except agentnb.AgentnbError as error:
    locked = str(error)
session = agentnb.start("eliza")
session.prompt("/ask edit").wait(90, check=False)
"""
    policy = hub.folder / "etc/agentnb/policy.toml"
    message, locked = bob.run(code, "[said, locked]")
    assert message == f"The agent 'local' is not allowed here: set by your administrator ({policy}, line 7)."
    assert locked == f"log_days is 365.0: set by your administrator ({policy}, line 10)."
    uid = USERS["bob"] if hub.has_own_users else os.getuid()
    stream = hub.folder / "audit" / f"{uid}.jsonl"
    assert stream.stat().st_mode & 0o077 == 0
    last = json.loads(stream.read_text().splitlines()[-1])
    assert (last["uid"], last["agent"], last["outcome"], "what" in last) == (uid, "eliza", "deny", False)
    doctor = alice.run(
        "import subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'agentnb', 'site-policy'], capture_output=True, text=True)",
        "done.stdout + done.stderr",
    )
    assert "Only these agents are allowed: eliza (line 7)." in doctor
    assert "You can change" not in doctor or not hub.has_own_users


def test_chat_survives_a_hub_restart_and_a_culled_server(
    hub: Hub, tokens: dict[str, str], profile: BrowserContext
) -> None:
    """Sign in, run a cell, prompt; then without the hub, after a reload, after a proxy cut, after the culler."""
    work = hub.homes["alice"] / "work"
    nbformat.write(notebook("6 * 7", kernel="python3"), work / "work.ipynb")
    if hub.has_own_users:
        os.chown(work / "work.ipynb", USERS["alice"], USERS["alice"])
    page = profile.new_page()
    page.goto(f"{hub.url}/hub/login")
    page.locator("#username_input").fill("alice")
    page.locator("#password_input").fill(hub.token)
    page.locator("#login_submit").click()
    page.wait_for_url(re.compile("/team/user/alice/lab"), timeout=PATIENCE_MS)
    lab = Lab(page, _server(hub), ROOT / "test-results")
    lab.open("work.ipynb")
    lab.cell(0).run()
    lab.cell(0).expect_text("42")
    side = Side(page)
    if not side.panel.is_visible():
        side.open()
    side.expect_chat()
    side.expect_text("Agents work here for the physics group.")
    lab.picture("hub-message")
    side.start()
    side.say("/say through the proxy")
    side.expect_answer("through the proxy")

    hub.stop()
    side.say("/say without the hub")
    side.expect_answer("without the hub")
    hub.start()
    side.say("/say and with it again")
    side.expect_answer("and with it again")

    lab.reload()
    side.expect_answer("without the hub")
    side.say("/slow 100000 20")
    side.expect_text("5 6 7")
    working = hub.agents_of("alice")
    assert working
    hub.cull("alice")
    assert psutil.wait_procs(working, timeout=60)[1] == []
    expect(
        side.session.get_by_text(re.compile("Disconnected|kernel ended|connection", re.IGNORECASE)).first
    ).to_be_visible(timeout=PATIENCE_MS)
    hub.spawn("alice")
    page.goto("about:blank")
    lab.workspace = ""
    lab.open("work.ipynb")
    if not side.panel.is_visible():
        side.open()
    side.chat.get_by_role("region", name="Earlier conversations").get_by_role("button").first.click()
    side.expect_text("The kernel ended while this turn ran.")
    side.say("/say after the culling")
    side.expect_answer("after the culling")
    page.close()


def _server(hub: Hub) -> Server:
    """Returns Alice's server for the page object of the browser tests."""

    class OfAlice:
        url = f"{hub.url}/user/alice"
        folder = hub.homes["alice"] / "work"

    return OfAlice()  # type: ignore[return-value]
