"""A TypeScript component, with the official SDK, in a chain with a Python one."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from agentnb.agent import AgentSpec
from tests.conftest import ROOT
from tests.peers.agents import CACHE, Peer
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.chain.conducted import conducted, proxy

pytestmark = pytest.mark.peers

ESBUILD = ROOT / "js/node_modules/.bin/esbuild"


@pytest.fixture
def typescript(peer: Peer, program: str, tmp_path: Path) -> AgentSpec:
    """The component, built with the SDK in the agent's npm package."""
    missing = [name for name, there in (("node", shutil.which("node")), ("esbuild", ESBUILD.exists())) if not there]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed here (AGENTNB_PEERS, {CACHE})")
    sdk = Path(program).parents[1] / "@agentclientprotocol/sdk"
    assert sdk.is_dir(), f"{peer.package} {peer.version} brings the SDK no more: name an agent that does"
    source, built = tmp_path / "proxy_sdk.mts", tmp_path / "proxy_sdk.mjs"
    shutil.copy(ROOT / "tests/agents/proxy_sdk.mts", source)
    (tmp_path / "node_modules").symlink_to(sdk.parents[1])
    bundle = [str(ESBUILD), str(source), "--bundle", "--platform=node", "--format=esm", f"--outfile={built}"]
    subprocess.run(bundle, check=True, capture_output=True)
    return AgentSpec(name="shouts", title="shouts", command=("node", str(built)))


@pytest.mark.parametrize("peer", ["codex"], indirect=True)
async def test_typescript_component_changes_prompts_in_a_chain(typescript: AgentSpec) -> None:
    """It is initialized in the form that it knows, changes the prompt, and forwards all else, a cancel too."""
    async with conducted(proxy(), typescript, proxy("plain", "old")) as client:
        assert await client.prompt("hi") == {"stopReason": "end_turn"}
        while client.text != "HI":  # newer versions of the SDK forward the answer before earlier messages
            client.spoken.clear()
            await asyncio.wait_for(client.spoken.wait(), PATIENCE)
    async with conducted(typescript, agent="asks_unknown_call") as client:
        assert await client.prompt("hi") == {"stopReason": "end_turn"}
        assert client.asked[0][0] == "session/request_permission"
