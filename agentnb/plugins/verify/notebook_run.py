"""The program that runs a notebook's cells in its own kernel, isolated: see :mod:`agentnb.plugins.verify.run`.

Its arguments are two file descriptors: it reads its input from the first (JSON), and writes events to the second (a
JSON object a line).
"""

from __future__ import annotations

import json
import os
import re
import resource
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = __file__.rpartition("/agentnb/")[0]

from agentnb.plugins.verify.kernel_client import GRACE_SECONDS, STEP, Kernel, KernelLost, KernelMessage
from agentnb.plugins.verify.widget_states import VIEW, Models, add_states, follow_model
from agentnb.processes import descendants
from agentnb.safe_json import read_json

LARGEST_OUTPUT = 8 * 1024 * 1024
"""Characters of one cell's outputs that are kept."""
LOOK_SECONDS = 0.2
MOST_WITHOUT_MEMORY = 15
"""Consecutive checks, every ``LOOK_SECONDS``, in which a kernel may have no address space left."""
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_TRACE = Path(__file__).with_name("kernel_trace.txt")
_TAKE = {"agentnb": "__import__('sys')._agentnb_taken()"}


class Cut(Exception):
    """The run ends here; the error has the cause, and its details in words."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail


class ShownOutputs:
    """The outputs of one cell, as a front end collects them."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self._size = 0
        self._clear = False
        self.is_cut: bool = False
        self.is_updated: bool = False

    def take(self, message: KernelMessage) -> None:
        content = message.content
        if message.kind == "clear_output":
            self._clear = bool(content.get("wait"))
            if not self._clear:
                self.outputs.clear()
            return
        if message.kind not in {"stream", "display_data", "execute_result", "error"}:
            return
        if self._clear:
            self.outputs.clear()
            self._clear = False
        self._size += len(json.dumps(content)) if message.kind != "stream" else len(content.get("text", ""))
        if self._size > LARGEST_OUTPUT and message.kind != "error":
            self.is_cut = True
            return
        last = self.outputs[-1] if self.outputs else {}
        if message.kind == "stream" and last.get("name") == content.get("name") and "text" in last:
            last["text"] += content["text"]
            return
        self.outputs.append({"output_type": message.kind, **(_short(content) if message.kind == "error" else content)})

    def update(self, display_id: str, data: dict[str, Any]) -> None:
        for each in self.outputs:
            if each.get("transient", {}).get("display_id") == display_id:
                each["data"] = data
                self.is_updated = True


class NotebookRun:
    def __init__(self, task: dict[str, Any], report: int) -> None:
        self._task = task
        self._report = report
        self._kernel: Kernel | None = None
        self._until = time.monotonic() + task["seconds"]
        self._looked_at = 0.0
        self._all: dict[int, ShownOutputs] = {}
        self._models: Models = {}
        self._without_memory = 0

    def run(self) -> None:
        ended: dict[str, Any] = {"event": "ended", "why": ""}
        try:
            self._start()
            self._tell(event="started")
            for cell in self._task["cells"]:
                self._cell(cell)
            ended["why"] = "done"
        except Cut as cut:
            ended.update(why=cut.why, detail=cut.detail)
        except KernelLost as lost:
            ended.update(why="no-kernel", detail=str(lost))
        except FileNotFoundError as error:
            ended.update(why="no-kernel", detail=f"the program {error.filename} is not there")
        except OSError as error:
            ended.update(why="no-kernel", detail=error.strerror or str(error))
        finally:
            if self._kernel is not None:
                self._kernel.end()
                ended["status"] = self._kernel.process.returncode
            ended["outputs"] = self._final_outputs()
            self._tell(**ended)

    def _final_outputs(self) -> dict[int, list[dict[str, Any]]]:
        """Returns the outputs that a later cell can have changed: displays with an id, and widgets."""
        changed = {}
        for index, stored in self._all.items():
            add_states(stored.outputs, self._models)
            if stored.is_updated or any(VIEW in each.get("data", {}) for each in stored.outputs):
                changed[index] = stored.outputs
        return changed if len(json.dumps(changed)) < LARGEST_OUTPUT else {}

    def _start(self) -> None:
        task = self._task
        environment = {**os.environ, **task["environment"]}
        for name in ("MPLBACKEND", "JPY_SESSION_NAME", "JPY_API_TOKEN"):
            if name not in task["environment"]:
                environment.pop(name, None)
        self._kernel = Kernel(task["command"], task["folder"], environment, task["limits"])
        self._kernel.wait_until_ready()
        hosts = tuple(task["hosts"]) if task["block_network"] else None
        trace = _TRACE.read_text("utf-8").replace("ALLOWED_HOSTS", repr(hosts))
        self._execute(f"exec(compile({trace!r}, '<agentnb>', 'exec'), {{}})", ShownOutputs(), is_silent=True)

    def _tell(self, **event: Any) -> None:
        data = memoryview(json.dumps(event).encode() + b"\n")
        while data:
            data = data[os.write(self._report, data) :]

    def _cell(self, cell: dict[str, Any]) -> None:
        index = cell["index"]
        self._tell(event="begin", index=index)
        stored = self._all[index] = ShownOutputs()
        cut: Cut | None = None
        trace: dict[str, Any] = {}
        status = "cut"
        try:
            status, trace = self._execute(cell["source"], stored)
            if status == "error":
                _, trace = self._execute("", ShownOutputs(), is_silent=True)
        except Cut as error:
            cut = error
            status = "ok" if error.why == "exit" else "cut"
        self._tell(
            event="cell",
            index=index,
            status=status,
            outputs=stored.outputs,
            is_cut=stored.is_cut,
            trace=trace,
        )
        if cut is not None:
            raise cut
        if status == "error" and not cell["may_fail"]:
            raise Cut("failed")

    def _execute(self, code: str, stored: ShownOutputs, *, is_silent: bool = False) -> tuple[str, dict[str, Any]]:
        assert self._kernel is not None  # noqa: S101 - started before
        content = {
            "code": code,
            "silent": is_silent,
            "store_history": not is_silent,
            "user_expressions": _TAKE if not is_silent or not code else {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        request = self._kernel.send("execute_request", content)
        reply: dict[str, Any] | None = None
        is_idle = False
        while reply is None or not is_idle:
            for message in self._kernel.receive(STEP):
                if message.parent == request and message.kind == "execute_reply":
                    reply = message.content
                elif message.parent == request and message.kind == "status":
                    is_idle = is_idle or message.content["execution_state"] == "idle"
                else:
                    self._take(message, stored if message.parent == request else None)
            self._look()
        if reply["status"] == "error" and not any(each["output_type"] == "error" for each in stored.outputs):
            stored.outputs.append({"output_type": "error", **_short(reply)})  # a misused magic only prints its error
        if any(each.get("source") == "ask_exit" and not each.get("keepkernel") for each in reply.get("payload", ())):
            raise Cut("exit")
        return reply["status"], _trace_of(reply)

    def _take(self, message: KernelMessage, stored: ShownOutputs | None) -> None:
        if message.kind == "update_display_data":
            display = message.content.get("transient", {}).get("display_id", "")
            for each in self._all.values():
                each.update(display, message.content.get("data", {}))
        elif message.kind in {"comm_open", "comm_msg"}:
            follow_model(self._models, message)
        elif stored is not None:
            stored.take(message)

    def _look(self) -> None:
        """Raise Cut if the run must be cut off here."""
        assert self._kernel is not None  # noqa: S101 - started before
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        status = self._kernel.process.poll()
        if status is not None:
            raise Cut("died", self._kernel.last_words)
        if now > self._until:
            self._interrupt()
            raise Cut("time")
        if self._is_unheard():
            raise Cut("stopped")
        below = [self._kernel.process.pid, *(pid for pid, _ in descendants(self._kernel.process.pid))]
        if len(below) > self._task["processes"]:
            raise Cut("processes", f"{len(below) - 1} processes ran at once")
        if _is_address_space_used_up(self._kernel.process.pid):
            self._without_memory += 1
            if self._without_memory > MOST_WITHOUT_MEMORY:  # it may be unable to raise a MemoryError
                raise Cut("memory", "no memory was left to it")
        else:
            self._without_memory = 0
        resident = sum(map(_used_memory, below))
        if resident > self._task["memory"]:
            raise Cut("memory", f"{resident / 1e9:.1f} GB were in use")

    def _is_unheard(self) -> bool:
        """True if nobody reads the reports any more, since the verification was stopped."""
        poll = select.poll()
        poll.register(self._report, 0)
        return bool(poll.poll(0))

    def _interrupt(self) -> None:
        assert self._kernel is not None  # noqa: S101 - started before
        self._kernel.interrupt()
        until = time.monotonic() + GRACE_SECONDS / 4
        while time.monotonic() < until:
            self._kernel.receive(STEP)


def _short(error: dict[str, Any]) -> dict[str, Any]:
    """An error with the line of the cell in place of its traceback."""
    lines = re.findall(
        r"(?:In ?\[\d+\]|<ipython-input[^>]*>)[^\n]*?(?:line |:)(\d+)",
        _ANSI.sub("", "\n".join(error.get("traceback", []))),
    )
    line = int(lines[0]) if lines else 0
    return {"ename": error.get("ename", ""), "evalue": error.get("evalue", ""), "line": line}


def _trace_of(reply: dict[str, Any]) -> dict[str, Any]:
    value = reply.get("user_expressions", {}).get("agentnb", {})
    text = value.get("data", {}).get("text/plain", "")
    with suppress(ValueError, SyntaxError):
        import ast

        trace = read_json(ast.literal_eval(text))
        return trace if isinstance(trace, dict) else {}
    return {}


def _is_address_space_used_up(pid: int) -> bool:
    try:
        limit = resource.prlimit(pid, resource.RLIMIT_AS)[0]
    except OSError:
        return False
    return limit != resource.RLIM_INFINITY and _used_memory(pid, 0) > 0.9 * limit


def _used_memory(pid: int, field: int = 1) -> int:
    """Returns the bytes of a process's memory: field 0 is its address space, 1 what is resident; 0 once it ended."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123 - no file of the user's
            return int(file.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def main(reading: int, report: int) -> None:
    """Run the task that is read from the descriptor *reading*, and report to *report*."""
    for each in (reading, report):
        os.set_inheritable(each, False)
    with open(reading, encoding="utf-8") as file:
        task = read_json(file.read(), repair=False)
    with suppress(BrokenPipeError):  # the caller has gone
        NotebookRun(task, report).run()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
