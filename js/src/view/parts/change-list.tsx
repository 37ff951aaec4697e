/** The changes of a set, by kind: each with its difference to unfold, and its buttons. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { own, table } from "../../state/object";
import type { Operations } from "../change-operations";
import { type Change, changesOf, DURING, KINDS } from "../change-set";
import { useMemory, useOpenFile, useView } from "../context";
import { ActionButton, TextButton } from "../controls";
import { FoldHead } from "../fold";
import { Icon, IconButton, type IconName, Spacer, Spinner } from "../icons";
import { bytes, count, line } from "../plain";
import { type ChangeText, type Comparison, isOver, type Review, type Standing, type Store } from "../store";
import { useAnswer } from "../use-work";
import { Hunks, LineCount, PathName } from "./diff";
import { Download } from "./files";
import { compare } from "./line-diff";

/** The number of changes drawn at first, and then with each click. */
const FIRST = 20;
const MORE = 100;
const ICONS: Record<Change["kind"], IconName> = table({ file: "file", cell: "execute", variable: "variable" });
const CHIPS: Record<string, string> = table({ added: "new", deleted: "deleted", moved: "moved" });
const STATES: Record<Change["state"], string> = table({
  open: "",
  kept: "kept",
  undone: "undone",
  offered: "only in the file",
});

interface Props {
  id: string;
  channel: string;
  title: string;
  operations: Operations;
  /** True if the differences open side by side at once, provided the front end has room for that. */
  atOnce?: boolean;
  /** True if the line above already shows that all are undone. */
  allUndone?: boolean;
  /** True if the user can decide on parts of files: only for a single turn. */
  byHunks?: boolean;
}

export function ChangeList(props: Props) {
  const { id, channel, title, operations, atOnce = false, allUndone = false, byHunks = false } = props;
  const { store } = useView();
  const [limit, show] = useState(FIRST);
  const state = store.changeset(channel).value;
  const changes = useMemo(() => changesOf(state), [state]);
  const compareFrom = useComparing(channel, title, changes, useStandings(changes, operations, byHunks));
  const first = changes.find(isComparable)?.id;
  useEffect(() => {
    if (atOnce && first !== undefined) compareFrom?.(first);
  }, [atOnce, first !== undefined]);
  const gap = own(store.gaps.value, channel);
  if (!state) return gap ? <p class="note">{line(gap, 600)}</p> : <Loading text="Loading the changes…" />;
  return (
    <>
      {state.error && <p class="note">{line(state.error.message, 600)}</p>}
      {(["file", "cell", "variable"] as const).map((kind) => {
        const all = changes.filter((change) => change.kind === kind);
        return (
          all.length > 0 && (
            <section key={kind} class="change-group" aria-label={KINDS[kind]}>
              <h4>{KINDS[kind]}</h4>
              {kind === "cell" && all.some(isOffered) && (
                <ActionButton
                  word="Apply to the notebook"
                  disabled={operations.isBusy || isOver(store.connection.value)}
                  onClick={() => operations.invoke({ operationId: "apply" })}
                />
              )}
              <ul class="list">
                {all.slice(0, limit).map((change) => (
                  <ChangeItem
                    key={change.id}
                    id={`${id} ${change.id}`}
                    channel={channel}
                    change={change}
                    operations={operations}
                    onCompare={compareFrom}
                    stateText={allUndone ? "" : STATES[change.state]}
                  />
                ))}
              </ul>
              {all.length > limit && (
                <TextButton onClick={() => show(limit + MORE)}>
                  Show {count(Math.min(MORE, all.length - limit))} more of {count(all.length)}
                </TextButton>
              )}
            </section>
          )
        );
      })}
      {changes.length === 0 && !state.error && <p class="note">No changes.</p>}
    </>
  );
}

const isOffered = ({ state, undoable }: Change): boolean => state === "offered" && undoable;
const isComparable = ({ kind, isBinary }: Change): boolean => kind !== "variable" && !isBinary;

/** Returns an address without its scheme: the host's name for the version. */
const digest = (address: string): string => address.slice(address.lastIndexOf("/") + 1);

type Follow = NonNullable<Review["follow"]>;
const NOTHING: Standing = { said: "", isBusy: false, actions: [], version: "" };

/** Reports the changes' states after each drawing of the list; offers no actions once the list is gone. */
function useStandings(changes: readonly Change[], operations: Operations, byHunks: boolean): Follow {
  const { store } = useView();
  const listeners = useRef(new Set<Parameters<Follow>[0]>()).current;
  const latest = useRef<(id: string) => Standing>(() => NOTHING);
  const isBusy = operations.isBusy || isOver(store.connection.value);
  const tell = () => {
    for (const listener of listeners) listener(latest.current);
  };
  useEffect(() => {
    latest.current = (id) => {
      const change = changes.find((one) => one.id === id);
      if (!change) return NOTHING;
      const { failed, conflicts } = operations;
      const decide: Standing["decide"] = (operationId, { before, after }) =>
        operations.invoke({
          operationId,
          target: id,
          hunk: {
            beforeStart: before[0],
            beforeEnd: before[1],
            afterStart: after[0],
            afterEnd: after[1],
            before: digest(change.before),
            after: digest(change.after),
          },
        });
      return {
        version: `${change.before} ${change.after} ${change.isDivisible}`,
        decide: byHunks && change.isDivisible ? decide : undefined,
        said: failed || (conflicts ? "Changed since: choose its version in the chat." : STATES[change.state]),
        isBusy,
        actions: actionsOf(change).map((operationId) => ({
          word: operationId === "redo" && change.state === "open" ? "Redo part" : WORDS[operationId],
          run: () => operations.invoke({ operationId, target: id }),
        })),
      };
    };
    tell();
  });
  useEffect(
    () => () => {
      latest.current = () => NOTHING;
      tell();
    },
    [],
  );
  return (listener) => {
    listeners.add(listener);
    listener(latest.current);
    return () => void listeners.delete(listener);
  };
}

/** Returns a function that compares the changes side by side, from one on; undefined if there is no room for that. */
function useComparing(channel: string, title: string, changes: readonly Change[], follow: Follow) {
  const { store } = useView();
  const notebook = store.notebook;
  const openFile = useOpenFile();
  const latest = useRef(changes);
  latest.current = changes;
  if (!notebook?.compare) return undefined;
  return (first: string) => {
    const all = changes.filter(isComparable).map(
      (change): Comparison => ({
        id: change.id,
        name: change.name,
        // In its latest state: parts of it may have been decided.
        load: () => textsOf(store, channel, latest.current.find(({ id }) => id === change.id) ?? change),
        ...(change.kind === "file" && change.after !== "" ? { open: () => openFile?.(change.path) } : {}),
      }),
    );
    notebook.compare?.({ key: channel, title, changes: all, first, follow });
  };
}

/** Returns both sides; a missing side is empty. */
async function textsOf(store: Store, channel: string, change: Change): Promise<{ before: string; after: string }> {
  const nothing: ChangeText = { text: "", size: 0, isCut: false, isBinary: false };
  const side = (name: "before" | "after") => (change[name] === "" ? nothing : store.change(channel, change.id, name));
  const [before, after] = await Promise.all([side("before"), side("after")]);
  if (before.isBinary || after.isBinary)
    throw new Error(`Not text: ${bytes(before.size)} before, ${bytes(after.size)} after.`);
  if (before.isCut || after.isCut)
    throw new Error(`Too large to compare here: ${bytes(before.size)} before, ${bytes(after.size)} after.`);
  return { before: before.text, after: after.text };
}

interface ItemProps {
  id: string;
  channel: string;
  change: Change;
  operations: Operations;
  onCompare: ((first: string) => void) | undefined;
  /** Its state, if it must be shown. */
  stateText: string;
}

function ChangeItem({ id, channel, change, operations, onCompare, stateText }: ItemProps) {
  const { store } = useView();
  const [isOpen, open] = useMemory(`fold ${id}`, false);
  const { name, status, state, remarks, lines, was } = change;
  const hasBody = isComparable(change);
  const label = (
    <>
      <Icon name={ICONS[change.kind]} />
      <PathName path={name} title={name} isWhole={change.kind !== "file"} />
    </>
  );
  const all = [...(was ? [`was ${was}`] : []), ...remarks];
  const about = all.join(" · ");
  const after = (
    <>
      {[CHIPS[status], stateText].map((word) => word && <span class="chip">{word}</span>)}
      {about && (
        <span class="dim small cut" title={about}>
          {all.filter((one) => one !== DURING).join(" · ")}
        </span>
      )}
      <Spacer />
      {lines && <LineCount {...lines} />}
    </>
  );
  const toggle = () => open(!isOpen);
  return (
    <li class={`change is-${state}`} data-open={isOpen} title={about || undefined}>
      <div class="row change-row">
        {hasBody && !onCompare ? (
          <FoldHead isOpen={isOpen} onToggle={toggle}>
            <span class="sr-only">Show change of </span>
            {label}
            {after}
          </FoldHead>
        ) : (
          <div class={hasBody ? "row fold-head" : "row fold-head bare"}>
            {hasBody && (
              <button
                type="button"
                class="fold-toggle"
                aria-expanded={isOpen}
                aria-label={`Show change of ${name}`}
                onClick={toggle}
              >
                <Icon name="chevron" className="fold-mark" />
              </button>
            )}
            {hasBody && onCompare ? (
              <button
                type="button"
                class="row compare"
                title="Compare side by side"
                onClick={() => onCompare(change.id)}
              >
                {label}
              </button>
            ) : (
              label
            )}
            {after}
          </div>
        )}
        <Actions change={change} operations={operations} disabled={isOver(store.connection.value)} />
      </div>
      {hasBody && isOpen && (
        <div class="diff">
          {about && <p class="dim small about">{about}</p>}
          <Difference channel={channel} change={change} />
        </div>
      )}
    </li>
  );
}

const WORDS = table({ keep: "Keep", undo: "Undo", redo: "Redo", apply: "Apply" });

/** Returns the actions that are possible for a change now. */
function actionsOf({ state, undoable, undoneParts }: Change): readonly (keyof typeof WORDS)[] {
  const back = state === "offered" ? "apply" : state === "undone" ? "redo" : "undo";
  const canGoBack = undoable && state !== "kept";
  if (state !== "open" && state !== "offered") return canGoBack ? [back] : [];
  const again = state === "open" && undoneParts > 0 ? (["redo"] as const) : [];
  return canGoBack ? ["keep", back, ...again] : ["keep"];
}

type ActionsProps = Pick<ItemProps, "change" | "operations"> & { disabled: boolean };

function Actions({ change, operations, disabled }: ActionsProps) {
  const { id, name, path, state, kind } = change;
  const openFile = useOpenFile();
  const isPart = (operationId: string) => operationId === "redo" && state === "open";
  const isThere = kind === "file" && (state === "undone" ? change.before : change.after) !== "";
  return (
    <div class="row change-actions">
      {isThere && openFile && <IconButton name={`Open ${name}`} icon="link" onClick={() => openFile(path)} />}
      {isThere && <Download path={path} />}
      {actionsOf(change)
        .filter((operationId) => operationId !== "keep")
        .map((operationId) => (
          <ActionButton
            key={isPart(operationId) ? "part" : "back"} // one button, so that the focus stays
            word={isPart(operationId) ? "Redo part" : WORDS[operationId]}
            of={name}
            disabled={disabled || operations.isBusy}
            onClick={() => operations.invoke({ operationId, target: id })}
          />
        ))}
    </div>
  );
}

const Loading = ({ text }: { text: string }) => (
  <p class="note">
    <Spinner /> {text}
  </p>
);

/** The lines that differ, fetched when the user opens them. */
function Difference({ channel, change }: { channel: string; change: Change }) {
  const { store } = useView();
  const inputs = [store, channel, change.id, change.before, change.after];
  const { answer: texts, trouble } = useAnswer(() => textsOf(store, channel, change), inputs);
  const difference = useMemo(() => texts && compare(texts.before, texts.after), [texts?.before, texts?.after]);
  if (trouble !== undefined) return <p class="note">{line(trouble, 600)}</p>;
  if (!texts) return <Loading text="Loading…" />;
  return difference ? <Hunks change={difference} /> : <p class="note">Too large to compare here.</p>;
}
