"""What can go wrong with a connection to an agent elsewhere, in words."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus

from agentnb.event_lines import LineTooLong

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 64 * 1024 * 1024
"""How many bytes a message of an agent elsewhere may have."""
OPEN_SECONDS = 20.0
"""How long it may take to connect."""
_TOO_BIG, _NO_PONG = 1009, 1011
_REFUSED = (401, 403)
_REASONS: dict[type[OSError], str] = {ConnectionResetError: "it ended the connection"}
_CLEAN = 120  # characters of a reason that the other side gives


class LinkFailed(Exception):
    """There is no connection, or no more: why, and what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Failures:
    """Says what went wrong with the connection to one address."""

    def __init__(self, url: str, variable: str | None) -> None:
        self._host = urlsplit(url).netloc
        self._variable = variable

    def of(self, error: BaseException) -> LinkFailed:
        """*error* in words."""
        if isinstance(error, LinkFailed):
            return error
        if isinstance(error, InvalidStatus):
            return self.status(error.response.status_code, error.response.headers.get("Location"))
        if isinstance(error, ConnectionClosed):
            return self._closed(error)
        if isinstance(error, LineTooLong):
            return self.too_long()
        if isinstance(error, InvalidHandshake | InvalidMessage):
            return LinkFailed(f"{self._host} does not speak WebSocket.", "Check the address.")
        return self._of_system(error)

    def status(self, code: int, location: str | None = None) -> LinkFailed:
        """The failure for the HTTP status *code*."""
        if code in _REFUSED and self._variable is None:
            hint = "Set a variable to the token, and name it with token_variable."
            return LinkFailed(f"{self._host} wants a token (HTTP {code}).", hint)
        if code in _REFUSED:
            return LinkFailed(f"{self._host} refused the token (HTTP {code}).", f"The token is in {self._variable}.")
        if 300 <= code < 400:  # noqa: PLR2004 - redirects
            place = urlunsplit((*urlsplit(location or "")[:3], "", ""))[:_CLEAN] or "another address"
            hint = (
                "The token is sent only to the address that you gave. If you trust the other address, use it "
                "as the agent's url."
            )
            return LinkFailed(f"{self._host} redirects to {place}.", hint)
        if code == 404:  # noqa: PLR2004
            return LinkFailed(f"There is no agent at this address of {self._host} (HTTP 404).", "Check the path.")
        return LinkFailed(f"{self._host} answered with HTTP {code}.", "Its log may say why.")

    def too_long(self) -> LinkFailed:
        """The failure where a message is too long."""
        return LinkFailed(f"{self._host} sent a message of more than {LONGEST >> 20} MiB.")

    def ended(self) -> LinkFailed:
        """The failure where the other side has ended the connection without a word."""
        return LinkFailed(f"{self._host} ended the connection.")

    def _closed(self, error: ConnectionClosed) -> LinkFailed:
        own, theirs = error.sent, error.rcvd
        if own is not None and own.code == _TOO_BIG and not error.rcvd_then_sent:
            return self.too_long()
        if own is not None and own.code == _NO_PONG and not error.rcvd_then_sent:
            return LinkFailed(f"{self._host} no longer answers.")
        if theirs is None:
            return LinkFailed(f"The connection to {self._host} was lost.")
        reason = "".join(each for each in theirs.reason if each.isprintable())[:_CLEAN]
        return LinkFailed(f"{self._host} closed the connection ({theirs.code}{' ' if reason else ''}{reason}).")

    def _of_system(self, error: BaseException) -> LinkFailed:
        causes = [*_causes(error)]
        for each in causes:
            if isinstance(each, ssl.SSLCertVerificationError):
                hint = "SSL_CERT_FILE can name a file with the certificate to trust."
                return LinkFailed(f"The certificate of {self._host} is not trusted: {each.verify_message}.", hint)
        for each in causes:
            if isinstance(each, ssl.SSLError):
                return LinkFailed(
                    f"There is no TLS connection to {self._host}: {each.reason}.", "Check that it supports TLS."
                )
        if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in causes):
            return LinkFailed(f"{self._host} did not answer within {OPEN_SECONDS:g} s.", "Check that it is running.")
        reasons = [each.strerror or _REASONS.get(type(each), "") for each in causes if isinstance(each, OSError)]
        words = f"{self._host} cannot be reached: {next(filter(None, reasons), 'the connection failed')}."
        return LinkFailed(words, "Check that it is running and that the address is right.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
