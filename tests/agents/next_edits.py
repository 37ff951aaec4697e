"""Suggests edits (ACP `nes/…`) from the last comment `# fills: …` before the cursor.

A comment `# suggests: …` has other fields of the suggestion, as JSON. It answers a prompt with a journal of the
messages about the edits.
"""

import json
import re

import wire

journal = []
documents = {}
DOCUMENT = {"didOpen": {}, "didChange": {"syncKind": "full"}}
NES = {"events": {"document": DOCUMENT}, "context": {"relatedSnippets": {}}}


def suggest(request):
    params = request["params"]
    text, at = documents[params["uri"]], params["position"]
    lines = text.split("\n")
    before = "\n".join([*lines[: at["line"]], lines[at["line"]][: at["character"]]])
    fills = re.findall(r"# fills: (.*)", before)
    edit = {"range": {"start": at, "end": at}, "newText": fills[-1] if fills else ""}
    kind = "jump" if "# jumps" in before else "edit"
    suggestion = {"kind": kind, "id": f"s{len(journal)}", "uri": params["uri"], "edits": [edit]}
    others = re.findall(r"# suggests: (.*)", before)
    suggestion |= json.loads(others[-1] if others else "{}")
    snippets = params.get("context", {}).get("relatedSnippets", [])
    journal.append(["suggest", [each["excerpts"][0]["text"] for each in snippets]])
    wire.answer(request, {"suggestions": [suggestion] if fills or others else []})


while True:
    request = wire.receive()
    params = request.get("params", {})
    match request.get("method"):
        case "initialize":
            wire.initialize(request, nes=NES)
        case "session/new":
            wire.answer(request, {"sessionId": wire.SESSION})
        case "session/prompt":
            wire.say(json.dumps(journal))
            wire.answer(request, {"stopReason": "end_turn"})
        case "nes/start":
            journal.append(["start", params["workspaceUri"].startswith("file:///")])
            wire.answer(request, {"sessionId": "edits-1"})
        case "document/didOpen":
            journal.append(["open", params["languageId"]])
            documents[params["uri"]] = params["text"]
        case "document/didChange":
            journal.append(["change", params["version"]])
            documents[params["uri"]] = params["contentChanges"][-1]["text"]
        case "nes/suggest":
            suggest(request)
        case "nes/accept" | "nes/reject":
            journal.append([request["method"]])
        case _ if "id" in request and "method" in request:
            wire.refuse(request, -32601, "Method not found")
