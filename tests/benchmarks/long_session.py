"""Fills a session with the turns of a working day; copied beside the benchmark's notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.host import current_host
from agentnb.state import (
    ChatResponsePart,
    ChatToolCallComplete,
    ChatToolCallReady,
    ChatToolCallStart,
    ChatTurnComplete,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    ToolCallResult,
    ToolResultTextContent,
)

if TYPE_CHECKING:
    from agentnb import Session
    from agentnb.host.conversation import Conversation

ANSWER = """The residuals of **run {n}** are in `df`; three of them stand out.

- index 12: the sensor was off
- index 407: a *typing error*, see [the log](https://example.org/log)
- index 988: nobody knows

```python
outliers = df[abs(df.residual) > 3 * df.residual.std()]
print(outliers.describe())
```

{sentences}⟦answer {n}⟧"""
SENTENCES = "They do not change the fit by more than a percent. " * 12
TABLE = "index,residual\n" + "12,4.31\n" * 60


def fill(session: Session, turns: int) -> None:
    """Adds *turns* turns, each with a prompt, a tool call and an answer of about a kilobyte."""
    host = current_host()

    def happen() -> None:
        conversation = host.find(session.chat.resource)
        for number in range(1, turns + 1):
            _turn(conversation, number)

    host.loop.call(happen)


def _turn(conversation: Conversation, number: int) -> None:
    turn, call = f"turn-{number}", f"call-{number}"
    prompt = Message(text=f"Look at run {number}", origin=MessageOrigin(kind="user"))
    answer = MarkdownResponsePart(id=f"part-{number}", content=ANSWER.format(n=number, sentences=SENTENCES))
    done = ToolCallResult(
        success=True, past_tense_message="Read runs.csv", content=(ToolResultTextContent(text=TABLE),)
    )
    for action in (
        ChatTurnStarted(turn_id=turn, message=prompt),
        ChatToolCallStart(turn_id=turn, tool_call_id=call, tool_name="read", display_name="Read runs.csv"),
        ChatToolCallReady(turn_id=turn, tool_call_id=call, invocation_message="runs.csv", confirmed="not-needed"),
        ChatToolCallComplete(turn_id=turn, tool_call_id=call, result=done),
        ChatResponsePart(turn_id=turn, part=answer),
        ChatTurnComplete(turn_id=turn),
    ):
        conversation.dispatch(action)
