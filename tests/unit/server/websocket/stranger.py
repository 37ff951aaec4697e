"""A proxy between two agentnb kernels that hides from each that the other is agentnb."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websockets


class Stranger:
    """Forwards to a served kernel."""

    def __init__(self, address: str, version: str, *, hides_new: bool = False) -> None:
        self.address, self.version, self.hides_new = address, version, hides_new
        self.takes_numbers = False
        """True if it removes the numbers of actions, which makes the actions unreadable."""
        self._made: set[str] = set()
        self._open: list[ServerConnection] = []

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        """Serves; yields the address to connect to."""
        with serve_websockets(self._lead, "127.0.0.1", 0, max_size=None, compression=None) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
            self.cut()
            server.shutdown()
            thread.join()

    def cut(self) -> None:
        """Ends every connection."""
        for each in self._open:
            each.close()

    def _lead(self, near: ServerConnection) -> None:
        assert near.request is not None
        headers = {"Authorization": near.request.headers["Authorization"]}
        self._open.append(near)
        with connect(self.address, additional_headers=headers, max_size=None, compression=None, proxy=None) as far:
            back = threading.Thread(target=self._carry_back, args=(far, near))
            back.start()
            with contextlib.suppress(ConnectionClosed):
                for text in near:
                    far.send(self._changed(str(text)))
            far.close()
            back.join()
        self._open.remove(near)

    def _carry_back(self, far: ClientConnection, near: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            for text in far:
                if (filtered := self._filtered(str(text))) is not None:
                    near.send(filtered)
        near.close()

    def _changed(self, text: str) -> str:
        message = json.loads(text)
        params = message.get("params", {})
        params.pop("_meta", None)
        if self.hides_new and message.get("method") == "createSession":
            self._made.add(params["channel"])
        if "protocolVersions" in params:
            assert self.version in params["protocolVersions"]
            params["protocolVersions"] = [self.version]
        return json.dumps(message)

    def _filtered(self, text: str) -> str | None:
        message = json.loads(text)
        summary = message.get("params", {}).get("summary", {})
        if message.get("method") == "root/sessionAdded" and summary["resource"] in self._made:
            return None
        if self.takes_numbers and message.get("method") == "action":
            del message["params"]["serverSeq"]
            return json.dumps(message)
        result = message.get("result")
        if isinstance(result, dict) and "items" in result:
            result["items"] = [each for each in result["items"] if each["resource"] not in self._made]
            return json.dumps(message)
        return text
