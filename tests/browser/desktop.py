"""A desktop for notifications of a browser on Linux: a separate message bus and a notification service."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageType,
    message_bus,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.io.threading import DBusConnection, ReceiveStopped, open_dbus_connection

if TYPE_CHECKING:
    from typing_extensions import Self

PATIENCE_SECONDS = 60
NAME = "org.freedesktop.Notifications"
DESKTOP = DBusAddress("/org/freedesktop/Notifications", interface=NAME)
CONFIG = """<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>"""
"""Defines no services, so that the bus starts no other program."""
CLOSED_BY_PROGRAM = 3


@dataclass(frozen=True)
class Notification:
    number: int
    title: str
    text: str


class Desktop:
    """A notification service; a context manager."""

    def __init__(self, folder: Path, daemon: str) -> None:
        config, socket = folder / "bus.conf", folder / "bus"
        config.write_text(CONFIG.format(socket=socket), encoding="utf-8")
        self.address = f"unix:path={socket}"
        self._bus = subprocess.Popen(
            [daemon, f"--config-file={config}", "--print-address", "--nofork"], stdout=subprocess.PIPE
        )
        assert self._bus.stdout is not None
        self._bus.stdout.readline()  # until it listens
        self._notifications: list[Notification] = []
        self._closed: list[int] = []
        self._changed = threading.Condition()
        self._link: DBusConnection = open_dbus_connection(self.address, auth_timeout=PATIENCE_SECONDS)
        self._link.send(message_bus.RequestName(NAME))
        self._thread = threading.Thread(target=self._serve, name="desktop")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._link.interrupt()
        self._thread.join()
        self._link.close()
        self._bus.terminate()
        self._bus.communicate()

    @property
    def notifications(self) -> tuple[Notification, ...]:
        """Returns all notifications in order."""
        with self._changed:
            return tuple(self._notifications)

    def wait_shown(self, count: int) -> Notification:
        """Waits for *count* notifications; returns the last."""
        self._wait(lambda: len(self._notifications) >= count, f"{count} notifications")
        return self.notifications[count - 1]

    def wait_closed(self, number: int) -> None:
        """Waits until the browser has closed one."""
        self._wait(lambda: number in self._closed, f"the end of notification {number}")

    def click(self, number: int) -> None:
        self._link.send(new_signal(DESKTOP, "ActionInvoked", "us", (number, "default")))

    def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(is_so, PATIENCE_SECONDS), (
                f"no {what}: {self._notifications}, closed {self._closed}"
            )

    def _serve(self) -> None:
        while True:
            try:
                message = self._link.receive()
            except ReceiveStopped:
                return
            if message.header.message_type is MessageType.method_call:
                self._link.send(self._answer(message))

    def _answer(self, message: Message) -> Message:
        method = message.header.fields[HeaderFields.member]
        if method == "GetCapabilities":
            return new_method_return(message, "as", (["actions", "body", "persistence"],))
        if method == "GetServerInformation":
            return new_method_return(message, "ssss", ("desktop", "agentnb", "1", "1.2"))
        if method == "Notify":
            _, _, _, title, text, *_ = message.body
            with self._changed:
                self._notifications.append(Notification(len(self._notifications) + 1, title, text))
                self._changed.notify_all()
                return new_method_return(message, "u", (len(self._notifications),))
        if method == "CloseNotification":
            [number] = message.body
            with self._changed:
                self._closed.append(number)
                self._changed.notify_all()
            self._link.send(new_signal(DESKTOP, "NotificationClosed", "uu", (number, CLOSED_BY_PROGRAM)))
            return new_method_return(message)
        return new_error(message, "org.freedesktop.DBus.Error.UnknownMethod")
