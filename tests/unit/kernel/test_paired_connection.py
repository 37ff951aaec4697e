"""The connection of a program to a paired kernel."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentnb.kernel.paired_kernels import KernelGone, PairedConnection
from tests.unit.api.conftest import PATIENCE


async def test_unreadable_answer_ends_the_connection_with_the_reason(tmp_path: Path) -> None:
    writers: list[asyncio.StreamWriter] = []

    def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"{not json}\n")
        writers.append(writer)

    path = str(tmp_path / "socket")
    async with await asyncio.start_unix_server(answer, path):
        connection = await PairedConnection.opened(path, "token")
        with pytest.raises(KernelGone, match="The kernel's answer could not be read"):
            await asyncio.wait_for(connection.request("tools/list", {}), PATIENCE)
        await connection.close()
        for each in writers:
            each.close()
