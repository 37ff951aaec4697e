/** What fits after a turn, one click each: what the agent suggests; run what changed, explain what failed. */
import { useState } from "preact/hooks";
import type { ChatState, Turn } from "../state/types.gen";
import { changesOf, many, tallyOf } from "./change-set";
import { usePlace, useView } from "./context";
import { Button } from "./controls";
import { changesChannel, uuid } from "./identity";
import { OfferedPrompts } from "./offered-prompts";
import { failed } from "./parts/tool";
import { toolTitle } from "./parts/tool-body";
import { line } from "./plain";

const CELL = "cell:";
/** How many suggestions of the agent are shown. */
const MOST = 3;

export function FollowUps({ chat, disabled }: { chat: ChatState; disabled: boolean }) {
  const turn = chat.turns.at(-1);
  const suggested = chat.promptSuggestions?.filter((each) => typeof each === "string").slice(0, MOST) ?? [];
  if (chat.activeTurn || chat.queuedMessages?.length || disabled) return null;
  return (
    <>
      {suggested.length > 0 && <OfferedPrompts prompts={suggested} label="Suggestions" class="row wraps follow-ups" />}
      {turn && <AfterTurn key={turn.id} turn={turn} />}
    </>
  );
}

function AfterTurn({ turn }: { turn: Turn }) {
  const { store, announce } = useView();
  const { chat, session } = usePlace();
  const [hasRun, setRun] = useState(false);
  const channel = changesChannel(session, turn.id);
  const tally = turn.changes?.status === "ready" ? tallyOf(turn.changes) : undefined;
  const { notebook } = store;
  const changed = tally?.cells && notebook?.runCells && !hasRun ? changesOf(store.changeset(channel).value) : [];
  const cells = changed
    .filter(({ kind, state, status }) => kind === "cell" && state === "open" && status !== "deleted")
    .map(({ id }) => id.slice(CELL.length))
    .filter((id) => !notebook?.hasRun?.(id));
  const run = () => {
    setRun(true);
    notebook?.runCells?.(cells);
    announce(`Running ${many(cells.length, "cell")}.`);
  };
  // One that failed before others was the agent's to see to.
  const last = turn.responseParts.findLast((part) => part.kind === "toolCall");
  const wrong = last?.kind === "toolCall" && failed(last.toolCall) ? last.toolCall : undefined;
  const explain = () => {
    if (!wrong) return;
    const text = `Explain the error of “${line(toolTitle(wrong), 200)}”: what went wrong, and what can be done about it?`;
    const message = { text, origin: { kind: "user" } } as const;
    store.dispatch(chat, { type: "chat/turnStarted", turnId: uuid(), message, time: Date.now() });
  };
  const all: [string, () => void][] = [];
  if (cells.length > 0) all.push([cells.length > 1 ? "Run the changed cells" : "Run the changed cell", run]);
  if (wrong) all.push(["Explain the error", explain]);
  if (all.length === 0) return null;
  return (
    <div class="row wraps follow-ups" role="group" aria-label="Next">
      {all.map(([name, act]) => (
        <Button key={name} onClick={act}>
          {name}
        </Button>
      ))}
    </div>
  );
}
