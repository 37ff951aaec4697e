/** Back to before a message: undoes what its turn and all turns after it changed, once the reader has seen what that is. */
import { useRef, useState } from "preact/hooks";
import type { Turn } from "../state/types.gen";
import { ConfirmCard } from "./cards";
import { useOperations } from "./change-operations";
import { changesOf, inWords, many, tallyOf, tallyOfAll } from "./change-set";
import { usePlace, useView } from "./context";
import { Button, Trouble, useFocused } from "./controls";
import { Icon } from "./icons";
import { changesChannel } from "./identity";
import { Menu, type MenuItem } from "./menu";
import { ConflictChoices } from "./parts/conflicts";
import { line } from "./plain";

const NAMED = 12;

const canUndo = ({ changes }: Turn): boolean => changes?.status === "ready" && tallyOf(changes).undoable > 0;

export function GoBack({ turn }: { turn: Turn }) {
  const { store } = useView();
  const { chat } = usePlace();
  const [isAsking, ask] = useState(false);
  const holder = useRef<HTMLSpanElement>(null);
  if (!turn.changes) return null;
  const all = [...store.older(chat).value.turns, ...(store.chat(chat).value?.turns ?? [])];
  const at = all.findIndex(({ id }) => id === turn.id);
  const later = at < 0 ? [] : all.slice(at).filter(canUndo);
  if (later.length === 0 && !isAsking) return null;
  const back: MenuItem = {
    name: "Back to before this message",
    detail: "Undo what this turn and all after it changed",
    onSelect: () => ask(true),
  };
  const leave = () => {
    ask(false);
    holder.current?.querySelector("button")?.focus();
  };
  return (
    <>
      <span ref={holder}>
        <Menu label="Turn" items={[back]}>
          <Icon name="more" />
        </Menu>
      </span>
      {isAsking && <Confirm turn={turn} later={later} onDone={leave} />}
    </>
  );
}

function Confirm({ turn, later, onDone }: { turn: Turn; later: readonly Turn[]; onDone: () => void }) {
  const { store } = useView();
  const { session } = usePlace();
  const go = useFocused<HTMLButtonElement>();
  const operations = useOperations(changesChannel(session, turn.id), onDone);
  const changes = new Map(
    later
      .flatMap(({ id }) => changesOf(store.changeset(changesChannel(session, id)).value))
      .filter(({ undoable, state }) => undoable && state === "open")
      .map((change) => [change.id, change]),
  );
  const named = [...changes.values()];
  const words = inWords(tallyOfAll(named)).join(", ");
  const what = (
    <>
      <p>
        Undoes what {many(later.length, "turn")} changed{words && `: ${words}`}. The messages stay. What was changed
        since is not overwritten.
      </p>
      <ul class="change-notes">
        {named.slice(0, NAMED).map((change) => (
          <li key={change.id} class="path">
            {change.name}
          </li>
        ))}
        {named.length > NAMED && <li>and {named.length - NAMED} more</li>}
      </ul>
    </>
  );
  return (
    <ConfirmCard title={`Back to before “${line(turn.message.text, 60)}”?`} what={what} onNo={onDone}>
      <Trouble text={operations.failed} class="note" />
      {operations.conflicts && <ConflictChoices id={`${turn.id} back`} operations={operations} />}
      {!operations.conflicts && (
        <div class="row wraps restart">
          <Button
            ref={go}
            class="primary"
            aria-disabled={operations.isBusy || later.length === 0}
            onClick={() => later.length > 0 && operations.invoke({ operationId: "undo", onwards: true })}
          >
            Undo {many(later.length, "turn")}
          </Button>
          <Button onClick={onDone}>Cancel</Button>
        </div>
      )}
    </ConfirmCard>
  );
}
