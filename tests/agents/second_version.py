"""Speaks version 2 of ACP, a draft, by its published schema; ``second_version.py 1`` answers with version 1.

A prompt is ``work`` (messages, a tool call with its terminal, a diff, a notice), ``ask`` (asks about a
command), ``fail`` (its work ends with an error), ``refuse`` (it refuses the prompt), ``die`` or ``wait``.
"""

import base64
import sys

import wire

OPTIONS = [
    {
        "configId": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
    }
]
ALLOW = [
    {"optionId": "yes", "name": "Run", "kind": "allow_once"},
    {"optionId": "no", "name": "Leave", "kind": "reject_once"},
]
prompts = []
cwd = "/"


def coded(words):
    return base64.b64encode(words.encode()).decode()


def work():
    wire.update("agent_message_chunk", messageId="a1", content={"type": "text", "text": "Work"})
    wire.update("agent_message", messageId="a1", content=[{"type": "text", "text": "Working."}])
    wire.update("terminal_update", terminalId="t1", command="make", cwd="/srv")
    wire.update(
        "tool_call_update",
        toolCallId="c1",
        title="Build",
        kind="execute",
        status="in_progress",
        content=[{"type": "terminal", "terminalId": "t1"}],
    )
    wire.update("terminal_output_chunk", terminalId="t1", data=coded("built\n"))
    wire.update("terminal_update", terminalId="t1", output={"data": coded("built\n")}, exitStatus={"exitCode": 0})
    change = {"operation": "modify", "path": "/srv/a.py"}
    patch = {"format": "git_patch", "text": "-old\n+new"}
    wire.update(
        "tool_call_content_chunk", toolCallId="c1", content={"type": "diff", "changes": [change], "patch": patch}
    )
    wire.update("tool_call_update", toolCallId="c1", status="completed")
    wire.update(
        "plan_update", plan={"type": "items", "planId": "p", "entries": [{"content": "Build", "status": "completed"}]}
    )
    wire.update("notice", severity="warning", title="Fallback model", description="The first one is busy.")
    wire.update("_own_thing", value=1)


def idle(**fields):
    wire.update("state_update", state="idle", **fields)


def prompt(request):
    words = request["params"]["prompt"][0]["text"]
    prompts.append(words)
    if words == "refuse":
        wire.refuse(request, -32602, "No more prompts")
        return
    wire.answer(request, {"messageId": f"u{len(prompts)}"})
    wire.update("user_message", messageId=f"u{len(prompts)}", content=[{"type": "text", "text": words}])
    wire.update("state_update", state="running")
    match words:
        case "work":
            work()
        case "ask":
            subject = {"type": "command", "command": "ls -l", "cwd": cwd}
            number = "ask-1"
            wire.send(
                {
                    "id": number,
                    "method": "session/request_permission",
                    "params": {"sessionId": wire.SESSION, "title": "List files", "subject": subject, "options": ALLOW},
                }
            )
            answer = wire.receive()["result"]["outcome"]
            wire.update(
                "agent_message_chunk", messageId="a2", content={"type": "text", "text": str(answer.get("optionId"))}
            )
        case "fail":
            idle(stopReason="error", error={"code": -32603, "message": "The model is gone"})
            return
        case "die":
            sys.exit(3)
        case "wait":
            return
    idle(stopReason="end_turn")


while True:
    message = wire.receive()
    method, params = message.get("method"), message.get("params") or {}
    match method:
        case "initialize" if "1" in sys.argv:
            assert params["clientInfo"]["name"]
            wire.initialize(message)
        case "initialize":
            assert (params["protocolVersion"], "fs" in params["capabilities"]) == (2, False)
            info = {"name": "second", "title": "Second", "version": "2.0"}
            session = {"prompt": {"image": {}}, "mcp": {"stdio": {}}}
            wire.answer(message, {"protocolVersion": 2, "info": info, "capabilities": {"session": session}})
        case "session/new":
            cwd = params["cwd"]
            assert all(each["type"] == "stdio" for each in params["mcpServers"])
            wire.answer(message, {"sessionId": wire.SESSION, **({} if "1" in sys.argv else {"configOptions": OPTIONS})})
        case "session/resume":
            again = params.get("replayFrom") == {"type": "start"}
            if again:
                old = params["sessionId"]
                wire.update("user_message", old, messageId="u0", content=[{"type": "text", "text": "before"}])
                wire.update("agent_message", old, messageId="a0", content=[{"type": "text", "text": "Earlier."}])
            idle()
            wire.answer(message, {"configOptions": OPTIONS})
        case "session/set_config_option":
            OPTIONS[0]["currentValue"] = params["value"]
            wire.answer(message, {"configOptions": OPTIONS} if params["type"] == "id" else {})
        case "session/cancel":
            idle(stopReason="cancelled")
        case "session/prompt" if "1" in sys.argv:
            wire.say("Of the first version.")
            wire.answer(message, {"stopReason": "end_turn"})
        case "session/prompt":
            prompt(message)
        case _ if "id" in message and method:
            wire.answer(message, {})
