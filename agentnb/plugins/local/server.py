"""One model server, over HTTP: its models, its answers, and its errors in words.

The key goes only to the address that the user has set: a redirect to another host is an error.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from agentnb.event_lines import LineTooLong, lines
from agentnb.plugins.local.completion import ModelAnswer
from agentnb.plugins.local.settings import is_loopback
from agentnb.safe_json import read_json
from agentnb.site_policy import site_policy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from agentnb.plugins.local.completion import AnswerPart


RUNS_STILL = "Check that the server is still running; its own log says what happened."
"""Advice after an interrupted answer."""
CONNECT_SECONDS = 5.0
READ_SECONDS = 600.0
"""Seconds that a server may be silent: it may have to load the model first."""
LARGEST_BODY = 32 * 1024 * 1024
LONGEST_REASON = 400
LONGEST_PAUSE = 60.0
MOST_REDIRECTS = 3
MOST_MODELS = 500
LONGEST_NAME = 200

NOT_FOUND, NOT_ALLOWED, UNAVAILABLE = 404, 405, 503
_REFUSED = (401, 403)
_ENDS = (".", "!", "?", "…")
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(eq=False)
class ServerTrouble(Exception):
    """A server cannot be used as it is; the message says what happened."""

    message: str
    todo: str = ""
    status: int | None = None
    pause: float | None = None
    transient: bool = False
    reason: str = ""
    forbidden: bool = False

    def __str__(self) -> str:
        return f"{self.message} {self.todo}".strip()


async def _ignore(_: AnswerPart) -> None:
    """Show nothing."""


class ModelServer:
    def __init__(self, url: str, key: str | None = None, key_variable: str | None = None) -> None:
        self.url: str = url.rstrip("/")
        self._key = key
        self._key_variable = key_variable
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            follow_redirects=False,
            trust_env=not is_loopback(url),
        )

    @property
    def root(self) -> str:
        """The address without ``/v1``, where a server has its own methods."""
        return self.url.removesuffix("/v1")

    @property
    def place(self) -> str:
        """The host and port, for people."""
        return urlsplit(self.url).netloc

    async def close(self) -> None:
        await self._client.aclose()

    async def get(self, url: str) -> Any:
        async with self._request("GET", url) as response:
            return await self._json(response)

    async def post(self, url: str, body: dict[str, Any]) -> Any:
        """POST *body* to *url*; returns the JSON answer."""
        async with self._request("POST", url, body) as response:
            return await self._json(response)

    async def lines(self, url: str, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """POST *body* to *url*, whose answer has one JSON object per line."""
        async with self._request("POST", url, body) as response, self._naming_errors():
            async for line in response.aiter_lines():
                with contextlib.suppress(ValueError):
                    value = read_json(line)
                    if isinstance(value, dict):
                        yield value

    async def answer(
        self, body: dict[str, Any], show: Callable[[AnswerPart], Awaitable[None]] = _ignore
    ) -> tuple[ModelAnswer, int]:
        """Request an answer from the model, and *show* its parts as they come; also returns how many are unreadable."""
        answer = ModelAnswer()
        async with self._request("POST", f"{self.url}/chat/completions", body) as response, self._naming_errors():
            stream = EventStream(_as_events(response))
            async for event in stream.events():
                for part in answer.add(event):
                    await show(part)
                if answer.problem is not None:
                    raise ServerTrouble(f"{self.place} interrupted the answer: {answer.problem}")
        for part in answer.end():
            await show(part)
        if answer.finish is None and not stream.done:
            raise ServerTrouble(f"{self.place} ended the answer before it was complete.", RUNS_STILL, transient=True)
        return answer, stream.unreadable

    async def models(self) -> list[dict[str, Any]]:
        """Returns the models as the server lists them; the base URL is corrected if only ``/v1`` is missing."""
        try:
            return await self._models(self.url)
        except ServerTrouble as trouble:
            if trouble.status not in {NOT_FOUND, NOT_ALLOWED} or self.url.endswith("/v1"):
                raise
            try:
                models = await self._models(f"{self.url}/v1")
            except ServerTrouble:
                raise trouble from None
        self.url = f"{self.url}/v1"
        return models

    async def _models(self, url: str) -> list[dict[str, Any]]:
        listed = await self.get(f"{url}/models")
        data = listed.get("data", ()) if isinstance(listed, dict) else ()
        if not isinstance(data, list | None):  # Ollama lists no models as null
            raise self._no_interface("the response is not a list of models")
        models = [each for each in data or () if isinstance(each, dict) and _is_name(each.get("id"))]
        return models[:MOST_MODELS]

    # --- inside ---

    @contextlib.asynccontextmanager
    async def _request(
        self, method: str, url: str, body: dict[str, Any] | None = None
    ) -> AsyncIterator[httpx.Response]:
        if (why := site_policy().why_not("endpoints", self.url, self.place)) is not None:
            raise ServerTrouble(why, forbidden=True)
        for _ in range(MOST_REDIRECTS + 1):
            async with self._naming_errors():
                response = await self._client.send(self._client.build_request(method, url, json=body), stream=True)
            try:
                if response.status_code not in _REDIRECTS:
                    await self._check(response)
                    yield response
                    return
                url = self._redirected(response)
            finally:
                await response.aclose()
        raise ServerTrouble(f"{self.place} redirects without end.", "Check the base URL.")

    def _redirected(self, response: httpx.Response) -> str:
        """Returns where *response* redirects to, on the same server."""
        target = response.url.join(response.headers.get("location", ""))
        if (target.scheme, target.host, target.port) != (response.url.scheme, response.url.host, response.url.port):
            raise ServerTrouble(
                f"{self.place} redirects to another server, {target.host}: not followed.",
                "If you want that one, set the base URL to it.",
            )
        return str(target)

    async def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if response.is_success:
            return
        async with self._naming_errors():
            reason = _reason(await _body(response, limit=64 * 1024))
        if self._key:
            reason = reason.replace(self._key, "…")
        words = f" It says: {reason}{'' if reason.endswith(_ENDS) else '.'}" if reason else ""
        if status in _REFUSED:
            raise self._unauthorized(status, reason)
        if status == NOT_FOUND and not reason:
            raise self._no_interface("the answer is 404 (not found)")
        todo = "Wait a moment, then try again." if status in _TRANSIENT else ""
        raise ServerTrouble(
            f"{self.place} answered with HTTP status {status} ({response.reason_phrase or 'error'}).{words}",
            todo,
            status=status,
            pause=_pause(response.headers.get("retry-after")),
            transient=status in _TRANSIENT,
            reason=reason,
        )

    def _unauthorized(self, status: int, reason: str) -> ServerTrouble:
        if self._key:
            message = f"{self.place} does not accept the key in {self._key_variable} (HTTP status {status})."
            return ServerTrouble(message, "Check the key and the base URL.", status=status, reason=reason)
        if self._key_variable:
            message = (
                f"{self.place} requires a key (HTTP status {status}), and the variable {self._key_variable} is empty."
            )
            todo = "Set it before Jupyter starts."
        else:
            message = f"{self.place} requires a key (HTTP status {status})."
            todo = "Put it in a variable, and the variable's name in the settings (or AGENTNB_LOCAL_KEY_VARIABLE)."
        return ServerTrouble(message, todo, status=status, reason=reason)

    def _no_interface(self, why: str) -> ServerTrouble:
        return ServerTrouble(
            f"There is no OpenAI-compatible interface at {self.url}: {why}.",
            "The base URL usually ends in /v1, as in http://127.0.0.1:11434/v1.",
            status=NOT_FOUND,
        )

    async def _json(self, response: httpx.Response) -> Any:
        async with self._naming_errors():
            body = await _body(response)
        try:
            return read_json(body)
        except ValueError:
            raise self._no_interface("the response is not JSON") from None

    @contextlib.asynccontextmanager
    async def _naming_errors(self) -> AsyncIterator[None]:
        """Turn connection errors into messages in words."""
        try:
            yield
        except httpx.ConnectTimeout:
            raise ServerTrouble(
                f"{self.place} does not answer.", "Check the address, and that the server is running."
            ) from None
        except httpx.ConnectError as error:
            raise self._unreachable(error) from None
        except httpx.TimeoutException:
            message = f"{self.place} took too long to answer."
            raise ServerTrouble(message, "Check the server's own log.", transient=True) from None
        except (httpx.HTTPError, httpx.InvalidURL):
            message = f"The connection to {self.place} broke."
            raise ServerTrouble(message, RUNS_STILL, transient=True) from None
        except LineTooLong as error:
            raise ServerTrouble(str(error)) from None

    def _unreachable(self, error: httpx.ConnectError) -> ServerTrouble:
        reason = str(error)
        if "CERTIFICATE" in reason.upper() or "SSL" in reason.upper():
            message = f"The certificate of {self.place} is not trusted, or it does not speak TLS."
            return ServerTrouble(message, "Check the base URL, or set SSL_CERT_FILE to your own certificates.")
        message = f"No server answers at {self.place}."
        return ServerTrouble(message, "Start it, or check the base URL.")


async def _as_events(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yields the bytes of an event stream; an answer that came whole is turned into one event."""
    if not response.headers.get("content-type", "").startswith("application/json"):
        async for piece in response.aiter_bytes():
            yield piece
        return
    body = await _body(response)
    with contextlib.suppress(ValueError):
        import msgspec

        yield b"data: " + msgspec.json.encode(read_json(body)) + b"\n\ndata: [DONE]\n\n"


async def _body(response: httpx.Response, limit: int = LARGEST_BODY) -> bytes:
    pieces, size = [], 0
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            break
    return b"".join(pieces)[:limit]


def _reason(body: bytes) -> str:
    """Returns the server's reason from the *body* of an error, in one line."""
    try:
        value = read_json(body)
    except ValueError:
        return ""
    error = value.get("error", value.get("message", value.get("detail"))) if isinstance(value, dict) else None
    reason = error.get("message") if isinstance(error, dict) else error
    text = " ".join(reason.split()) if isinstance(reason, str) else ""
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"


def objects(answer: object, key: str) -> list[dict[str, Any]]:
    """Returns the objects in the list *key* of a server's answer."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _pause(header: str | None) -> float | None:
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return min(max(seconds, 0.0), LONGEST_PAUSE)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable()


LONGEST_LINE = 32 * 1024 * 1024
"""Bytes that a line of the stream may have."""
DONE = b"[DONE]"


class EventStream:
    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.done: bool = False
        self.unreadable: int = 0

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        async for line in lines(self._pieces, LONGEST_LINE):
            name, _, value = line.partition(b":")
            if name.strip() != b"data":
                continue
            if value.strip() == DONE:
                self.done = True
                return
            try:
                event = read_json(value)
            except ValueError:
                event = None
            if isinstance(event, dict):
                yield event
            else:
                self.unreadable += 1
