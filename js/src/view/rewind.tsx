/**
 * The menu of a turn, and the question before turns are removed: go back to before a message, edit it, or clear the
 * conversation.
 */
import { useComputed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import type { RewindContext } from "../rewind";
import type { ChatState, Turn } from "../state/types.gen";
import { changesOf, inWords, tallyOf, tallyOfAll } from "./change-set";
import { usePlace, useView } from "./context";
import { copyText } from "./copy";
import { turnMarkdown } from "./export";
import { failed } from "./failure";
import { Icon } from "./icons";
import { changesChannel, isReadOnly, isRemote, lookOf, uuid } from "./identity";
import { Menu, type MenuItem } from "./menu";
import { OnDemand } from "./on-demand";
import { toolTitle } from "./parts/tool-body";
import { refOf } from "./parts/whole";
import { line } from "./plain";
import { isOver, type Store } from "./store";

/** The menu of a turn that has ended. */
export function TurnMenu({ turn, inCell }: { turn: Turn; inCell: boolean }) {
  const { store, announce } = useView();
  const { chat, session } = usePlace();
  const [wanted, want] = useState<"back" | "edit">();
  const holder = useRef<HTMLSpanElement>(null);
  const copy = async () =>
    announce((await copyText(turnMarkdown(turn, store.chat(chat).peek()))) ? "Turn copied." : "Couldn't copy.");
  const isOurs = !isRemote(store.root.value) && !isReadOnly(session);
  const item = (name: string, detail: string, kind: "back" | "edit", isThere: boolean): MenuItem[] =>
    isThere ? [{ name, detail, onSelect: () => want(kind) }] : [];
  const wrong = useComputed(() => failedLast(turn, store.chat(chat).value)).value;
  const explain = (what: string) => {
    const text = `Explain the error of “${what}”: what went wrong, and what can be done about it?`;
    const message = { text, origin: { kind: "user" } } as const;
    store.dispatch(chat, { type: "chat/turnStarted", turnId: uuid(), message, time: Date.now() });
  };
  const items: MenuItem[] = [
    ...(wrong && !isOver(store.connection.value)
      ? [{ name: "Explain the error", onSelect: () => explain(wrong) }]
      : []),
    { name: "Copy turn as Markdown", onSelect: () => void copy() },
    ...item("Edit and send again", "Replaces everything from here on", "edit", isOurs && !inCell),
    ...item("Go back to before this message", "This turn and all later ones will be removed", "back", isOurs),
  ];
  const leave = () => {
    want(undefined);
    holder.current?.querySelector("button")?.focus();
  };
  return (
    <>
      <span ref={holder} class="turn-menu">
        <Menu label="Turn" items={items} placement="in-flow">
          <Icon name="more" />
        </Menu>
      </span>
      {wanted && <Rewind key={wanted} kind={wanted} turn={turn} onDone={leave} />}
    </>
  );
}

/**
 * Returns the title of the last turn's last tool call if it failed; the agent has dealt with earlier failures itself.
 */
function failedLast(turn: Turn, state: ChatState | undefined): string | undefined {
  if (state?.activeTurn || state?.turns.at(-1)?.id !== turn.id) return undefined;
  const last = turn.responseParts.findLast((part) => part.kind === "toolCall");
  return last?.kind === "toolCall" && failed(last.toolCall) ? line(toolTitle(last.toolCall), 200) : undefined;
}

interface Props {
  kind: RewindContext["kind"];
  /** The first turn to remove; absent for all. */
  turn?: Turn;
  onDone: () => void;
}

export function Rewind({ kind, turn, onDone }: Props) {
  const { store, drafts, announce, toBox } = useView();
  const { chat, session } = usePlace();
  const context: RewindContext = {
    kind,
    needsCtrl: lookOf(store.root.peek()).send_key === "ctrl-enter",
    later: useComputed(() => laterOf(store, chat, session, turn)),
    text: async () => {
      const { message } = turn as Turn;
      const ref = refOf(message, "text");
      return ref ? store.content(chat, ref) : message.text;
    },
    go: (changes, choices) => {
      const more = { ...(turn && { turnId: turn.id }), ...(choices && { choices }) };
      return store.request("rewindSession", { channel: session, changes, ...more });
    },
    done: (text) => {
      const { message } = turn ?? {};
      onDone();
      if (kind === "edit") send(store, chat, text, message);
      else if (message && drafts.of(chat).peek().trim() === "") drafts.set(chat, message.text);
      announce(kind === "clear" ? "Conversation cleared." : kind === "back" ? "Went back." : "Sent again.");
      toBox();
    },
    leave: onDone,
  };
  return <OnDemand name="rewind" what="what would be removed" context={context} className="rewind" />;
}

/** Sends a message with the pictures of another one; mentions are resolved again. */
function send(store: Store, chat: string, text: string, other: Turn["message"] | undefined): void {
  const own = other?.attachments?.filter(
    (each) => each.type === "embeddedResource" && !each.range && !refOf(each, "data"),
  );
  const message = { text, origin: { kind: "user" }, ...(own?.length && { attachments: own }) } as const;
  store.dispatch(chat, { type: "chat/turnStarted", turnId: uuid(), message, time: Date.now() });
}

function turnsFrom(store: Store, chat: string, turn: Turn | undefined): readonly Turn[] {
  const all = [...store.older(chat).value.turns, ...(store.chat(chat).value?.turns ?? [])];
  const at = turn ? all.findIndex(({ id }) => id === turn.id) : 0;
  return at < 0 ? [] : all.slice(at);
}

function laterOf(store: Store, chat: string, session: string, turn: Turn | undefined) {
  const turns = turnsFrom(store, chat, turn);
  const those = turns.filter(({ changes }) => changes?.status === "ready" && tallyOf(changes).undoable > 0);
  const changes = new Map(
    those
      .flatMap(({ id }) => changesOf(store.changeset(changesChannel(session, id)).value))
      .filter(({ undoable, state }) => undoable && state === "open")
      .map((change) => [change.id, change]),
  );
  const named = [...changes.values()];
  return {
    turns: turns.length + (turn ? 0 : store.older(chat).value.left),
    canUndo: those.length > 0,
    words: inWords(tallyOfAll(named)).join(", "),
    names: named.map(({ name }) => name),
  };
}
