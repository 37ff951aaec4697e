"""A language server that answers, and misbehaves as its argument says.

It finds one problem, ``MESSAGE``, in the first line of each document, and names its own process in it. Arguments:

- ``good``: it behaves.
- ``dies-at-start``, ``dies-at-question``: it ends, with a last word on stderr.
- ``hangs-at-start``, ``hangs-at-question``: it answers nothing more.
- ``deaf``: it reads nothing more after the greeting.
- ``floods``: instead of an answer it writes log messages without end.
- ``endless-header``, ``huge``, ``rubbish``: it writes invalid messages.
- ``out-of-order``: answers to other questions come first, then its own, twice.
- ``asks``: before it answers it asks the client, among other things, to change a file.
- ``refuses``: it answers every question with an error.
- ``lies``: its places do not exist.
- ``edits``: it offers code actions that cannot be made, and one that can; its formatting overlaps itself.
- ``pushes``: it publishes its problems by itself, first those of another version.
"""

import json
import os
import sys
import time

how = sys.argv[1]
MESSAGE = f"told by {os.getpid()}"


def receive():
    size = 0
    while (line := sys.stdin.buffer.readline()) not in {b"\r\n", b""}:
        if line.lower().startswith(b"content-length:"):
            size = int(line.partition(b":")[2])
    if not size:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(size))


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(**message):
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))


def wait_for_ever():
    while True:
        time.sleep(3600)  # noqa: TID251 - it hangs


def span(line=0, column=0):
    return {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + 1}}


def problem(message=MESSAGE):
    return {"range": span(), "severity": 2, "message": message, "code": "T1"}


def answer(method, uri):
    if method == "textDocument/diagnostic":
        wrong = [{"range": span(9_999)}, {"range": {"start": "x"}}, 7, None] if how == "lies" else []
        return {"kind": "full", "items": [*wrong, problem()]}
    if method == "textDocument/codeAction":
        return bad_actions(uri)
    if method == "textDocument/formatting":
        return bad_actions(uri)[0]["edit"]["changes"][uri]
    if how == "lies":
        far = [{"uri": each, "range": span(9_999, 3)} for each in (uri, "file:///nowhere.py", "untitled:x", "::", 7)]
        return [*far, {"uri": uri, "range": None}, 7, None, {"uri": uri, "range": span(0, 10**9)}]
    return [{"uri": uri, "range": span()}]


def change(start, end, text):
    return {"range": {"start": start, "end": end}, "newText": text}


def bad_actions(uri):
    """Returns code actions that must be refused, named after the reason, and a valid one."""
    begin, end, far = span()["start"], span()["end"], span(10**9)["end"]
    good = change(begin, end, "y")
    edits = {
        "overlaps": {"changes": {uri: [change(begin, end, "1"), change(begin, end, "2"), change(begin, end, "3")]}},
        "backwards": {"changes": {uri: [change(end, begin, "")]}},
        "outside": {"changes": {"file:///etc/passwd": [good]}},
        "no file": {"changes": {"untitled:x": [good]}},
        "makes a file": {"documentChanges": [{"kind": "create", "uri": "file:///tmp/x"}]},
        "both cells": {"changes": {uri: [change(begin, far, "gone")]}},
        "rubbish": {"changes": {uri: [{"range": 7}]}},
        "no edits": {"changes": 7},
        "well": {"documentChanges": [{"textDocument": {"uri": uri, "version": None}, "edits": [good]}]},
    }
    made = [{"title": title, "kind": "quickfix", "edit": edit} for title, edit in edits.items()]
    return [*made, {"title": "runs", "command": "evil"}, {"title": "disabled", "disabled": {"reason": ""}}, {}, 7, None]


def greet(message):
    if how == "dies-at-start":
        sys.exit("no heap left")
    if how == "hangs-at-start":
        wait_for_ever()
    provides = {} if how == "pushes" else {"diagnosticProvider": {}}
    if how == "edits":
        provides |= {"codeActionProvider": True, "documentFormattingProvider": {}}
    say(id=message["id"], result={"capabilities": provides})
    if how == "deaf":
        wait_for_ever()


def misbehave():
    if how == "dies-at-question":
        print("no heap left", file=sys.stderr, flush=True)
        sys.exit(3)
    if how == "hangs-at-question":
        wait_for_ever()
    while how == "floods":
        say(method="window/logMessage", params={"type": 3, "message": "x" * 100_000})
    while how == "endless-header":
        write(b"X-Header: " + b"x" * 10_000)
    if how == "huge":
        write(b"Content-Length: 99999999999\r\n\r\n")
        wait_for_ever()
    if how == "rubbish":
        write(b"Content-Length: 7\r\n\r\nhello!!")
        wait_for_ever()
    if how == "asks":
        ask()


def ask():
    for number, method in enumerate(
        ("workspace/applyEdit", "window/showDocument", "made/up", "workspace/configuration")
    ):
        say(id=number, method=method, params={"items": [{"section": "pylsp"}, {}], "uri": "file:///etc/passwd"})
    got = [receive() for _ in range(4)]
    *answers, (settings, error) = [
        (each.get("result"), each.get("error", {}).get("code")) for each in sorted(got, key=lambda one: one["id"])
    ]
    expected = [({"applied": False}, None), ({"success": False}, None), (None, -32601)]
    if answers != expected or error is not None or settings[0] is not None or not isinstance(settings[1], dict):
        sys.exit(f"the client answered {answers} and {settings}")


def main():
    while True:
        message = receive()
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            greet(message)
        elif method == "exit":
            sys.exit(0)
        elif method in {"textDocument/didOpen", "textDocument/didChange"} and how == "pushes":
            document = message["params"]["textDocument"]
            for version, what in ((document["version"] - 1, "old"), (document["version"], MESSAGE)):
                told_of = {"uri": document["uri"], "version": version, "diagnostics": [problem(what)]}
                say(method="textDocument/publishDiagnostics", params=told_of)
        elif number is not None and method.startswith("textDocument/"):
            misbehave()
            if how == "refuses":
                say(id=number, error={"code": -32603, "message": "not today"})
                continue
            if how == "out-of-order":
                say(id=number + 1_000, result={"items": [problem("not asked")]})
                say(id="text", result=None)
                say(id=None, result=None)
            for _ in range(2 if how == "out-of-order" else 1):
                say(id=number, result=answer(method, message["params"]["textDocument"]["uri"]))


main()
