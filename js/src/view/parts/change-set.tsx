/** One line with the totals of a set of changes and buttons for all of them; on demand, the list of the changes. */
import { useComputed } from "@preact/signals";
import { useId, useMemo, useState } from "preact/hooks";
import type { Turn } from "../../state/types.gen";
import { type Operations, useOperations } from "../change-operations";
import { changesOf, inWords, many, type Tally, tallyOf, tallyOfAll, totalOf } from "../change-set";
import { useMemory, usePlace, useView } from "../context";
import { ActionButton, onEscape, Trouble, useFocused } from "../controls";
import { IconButton, Spacer } from "../icons";
import { changesChannel } from "../identity";
import { memo } from "../memo";
import { Fetched } from "../on-demand";
import { line } from "../plain";
import { isOver } from "../store";
import { useAfter } from "../use-work";
import { LineCount } from "./diff";
import { Files } from "./files";

/** The wait before a message says that it takes time, in milliseconds. */
const PATIENCE = 300;

/** The prefix of the ids of changed cells. */
const CELL = "cell:";

/** Returns a function that runs, in order, the cells that the last turn changed and that have not run since, if any. */
function useRun(turn: Turn): (() => void) | undefined {
  const { store, announce } = useView();
  const { chat, session } = usePlace();
  const [hasRun, setRun] = useState(false);
  const isLast = useComputed(() => {
    const state = store.chat(chat).value;
    return !state?.activeTurn && state?.turns.at(-1)?.id === turn.id;
  }).value;
  const { notebook } = store;
  if (!turn.changes?.cells || !isLast || hasRun || !notebook?.runCells || isOver(store.connection.value))
    return undefined;
  const cells = changesOf(store.changeset(changesChannel(session, turn.id)).value)
    .filter(({ kind, state, status }) => kind === "cell" && state === "open" && status !== "deleted")
    .map(({ id }) => id.slice(CELL.length))
    .filter((id) => !notebook.hasRun?.(id));
  if (cells.length === 0) return undefined;
  return () => {
    setRun(true);
    notebook.runCells?.(cells);
    announce(`Running ${many(cells.length, "cell")}.`);
  };
}

/** The changes of a turn; for a turn of an older kernel, the changes that its tool calls show. */
export const TurnChanges = memo(({ turn }: { turn: Turn }) => {
  const { store } = useView();
  const { session } = usePlace();
  const { changes } = turn;
  const run = useRun(turn);
  if (!changes) return <Files turn={turn} />;
  if (changes.status === "computing") return <Computing />;
  if (changes.status === "error")
    return (
      <>
        <p class="note">What this turn changed is not known: {line(changes.error?.message, 600)}</p>
        <Files turn={turn} />
      </>
    );
  const tally = tallyOf(changes);
  if (totalOf(tally) === 0) return null;
  const channel = changesChannel(session, turn.id);
  const title = line(turn.message.text, 40);
  return (
    <>
      <ChangeSet
        id={`${turn.id} changes`}
        channel={channel}
        title={title}
        tally={tally}
        notes={changes.notes}
        onRun={run}
      />
      {changes.dataChecks && (
        <Fetched name="data-checks" what="the data checks" isQuiet>
          {({ DataChecks }) => <DataChecks id={turn.id} checks={changes.dataChecks ?? []} />}
        </Fetched>
      )}
      <div ref={(into) => void (into && store.notebook?.verification?.(into, turn.id))} />
    </>
  );
});

function Computing() {
  const [isLong, setLong] = useState(false);
  useAfter(PATIENCE, () => setLong(true), []);
  return isLong ? <p class="note">Comparing…</p> : null;
}

interface Props {
  id: string;
  channel: string;
  title: string;
  tally: Tally;
  /** Notes on changes that are not covered, or cannot be undone. */
  notes?: readonly string[] | undefined;
  /** True if the list is open from the start. */
  always?: boolean;
  onRun?: (() => void) | undefined;
}

export function ChangeSet({ id, channel, title, tally, notes = [], always = false, onRun }: Props) {
  const { store } = useView();
  const list = useId();
  const operations = useOperations(channel);
  const [isOpen, open] = useMemory(`fold ${id}`, false);
  const [atOnce, setAtOnce] = useState(false);
  const review = () => {
    setAtOnce(!isOpen); // not when a reload finds the list open
    open(!isOpen);
  };
  const lines = tally.added + tally.removed > 0;
  return (
    <section class="change-set" aria-label="Changes">
      <div class="row wraps change-line">
        <span class="change-counts">
          {inWords(tally).map((words, at) => (
            <span key={words}>
              {at > 0 && <span class="dim"> · </span>}
              {words}
              {at === 0 && tally.files > 0 && lines && (
                <>
                  {" "}
                  <LineCount {...tally} />
                </>
              )}
            </span>
          ))}
        </span>
        <span class="dim">{standing(tally)}</span>
        <span class="change-line-actions">
          {!always && (
            <button type="button" class="change-action" aria-expanded={isOpen} aria-controls={list} onClick={review}>
              Review
            </button>
          )}
          <AllActions tally={tally} operations={operations} all={always} disabled={isOver(store.connection.value)} />
          {onRun && (
            <button type="button" class="change-action" aria-label="Run the changed cells" onClick={onRun}>
              Run
            </button>
          )}
        </span>
        <Spacer />
      </div>
      <Trouble text={operations.failed} class="note" />
      {operations.said && <p class="note">{operations.said}</p>}
      {operations.conflicts && (
        <Fetched name="review" what="the versions">
          {({ ConflictChoices }) => <ConflictChoices id={id} operations={operations} />}
        </Fetched>
      )}
      <div id={list} class="change-list">
        {(isOpen || always) && notes.length > 0 && (
          <ul class="change-notes">
            {notes.map((note) => (
              <li>{line(note, 600)}</li>
            ))}
          </ul>
        )}
        {(isOpen || always) && (
          <Fetched name="review" what="the changes">
            {({ ChangeList }) => (
              <ChangeList
                id={id}
                channel={channel}
                title={title}
                operations={operations}
                atOnce={atOnce}
                allUndone={tally.undone === totalOf(tally)}
                byHunks={!always}
              />
            )}
          </Fetched>
        )}
      </div>
    </section>
  );
}

/** Returns how many are kept and undone, if any. */
function standing(tally: Tally): string {
  const { undone, kept } = tally;
  const total = totalOf(tally);
  const phrase = (number: number, word: string) =>
    number === 0 ? [] : [number === total ? word : `${number} ${word}`];
  return [...phrase(kept, "kept"), ...phrase(undone, "undone")].join(", ");
}

interface AllProps {
  tally: Tally;
  operations: Operations;
  /** True if the buttons say that they mean all: the same words are beside each change, too. */
  all: boolean;
  disabled: boolean;
}

function AllActions({ tally, operations, all, disabled }: AllProps) {
  const { undone, undoable } = tally;
  const isUndo = undoable > 0;
  const off = disabled || operations.isBusy;
  if (!isUndo && undone === 0) return null;
  return (
    <ActionButton
      word={(isUndo ? "Undo" : "Redo") + (all ? " all" : "")}
      disabled={off}
      onClick={() => operations.invoke({ operationId: isUndo ? "undo" : "redo" })}
    />
  );
}

/** All changes of the conversation, merged by path: a panel above its messages. */
export function AllChanges({ title, onDone }: { title: string; onDone: () => void }) {
  const { store } = useView();
  const { session } = usePlace();
  const box = useFocused<HTMLElement>();
  const channel = changesChannel(session);
  const state = store.changeset(channel).value;
  const tally = useMemo(() => tallyOfAll(changesOf(state)), [state]);
  return (
    <section
      ref={box}
      class="all-changes"
      tabIndex={-1}
      aria-label="Changes in this conversation"
      onKeyDown={onEscape(onDone)}
    >
      <div class="row all-changes-head">
        <h3>Changes in this conversation</h3>
        <Spacer />
        <IconButton name="Close (Escape)" icon="cross" onClick={onDone} />
      </div>
      <ChangeSet id={channel} channel={channel} title={title} tally={tally} always />
    </section>
  );
}
