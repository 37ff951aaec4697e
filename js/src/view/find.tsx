/** Finds words in the whole conversation, including turns that are not drawn, and steps through the matching turns. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ChatState, Turn } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { TextField, useFocused } from "./controls";
import { allTurns, fetchAll, turnMarkdown } from "./export";
import { IconButton } from "./icons";
import { count } from "./plain";
import type { AnyTurn } from "./store";
import type { Jump } from "./transcript";

interface Props {
  chat: ChatState;
  onJump: (jump: Jump) => void;
  onDone: () => void;
}

export function Find({ chat, onJump, onDone }: Props) {
  const { root, store } = useView();
  const place = usePlace();
  const box = useFocused<HTMLInputElement>();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const older = store.older(place.chat).value.turns;
  const matches = useMemo(() => findTurns(chat, older, words), [chat, older, words]);
  const number = matches.length === 0 ? 0 : ((at % matches.length) + matches.length) % matches.length;
  const turn = matches[number];
  useEffect(() => void fetchAll(store, place.chat).catch(() => undefined), [store, place.chat]);
  useEffect(() => {
    if (turn === undefined) return unmark(root);
    onJump({ turnId: turn, nonce: Date.now() });
    const draw = () => mark(root, turn, words);
    const timers = [80, 400].map((delay) => setTimeout(draw, delay));
    return () => timers.forEach(clearTimeout);
  }, [turn, at, words, place.chat]);
  useEffect(() => () => unmark(root), [root]);
  const status =
    words.trim() === ""
      ? ""
      : matches.length === 0
        ? "Nothing found"
        : `${number + 1} of ${count(matches.length)} turn${matches.length === 1 ? "" : "s"}`;
  return (
    <div
      class="row bar-form find"
      role="search"
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey) return; // the chat handles Ctrl+F
        event.stopPropagation();
        if (event.key === "Escape") onDone();
        else if (event.key === "Enter") setAt(number + (event.shiftKey ? -1 : 1));
      }}
    >
      <TextField
        ref={box}
        type="search"
        label="Find in the conversation"
        placeholder="Find in conversation"
        value={words}
        onText={(text) => {
          setWords(text);
          setAt(-1);
        }}
      />
      <span class="dim small" role="status">
        {status}
      </span>
      <IconButton name="Previous turn (Shift+Enter)" icon="up" disabled={!turn} onClick={() => setAt(number - 1)} />
      <IconButton name="Next turn (Enter)" icon="down" disabled={!turn} onClick={() => setAt(number + 1)} />
      <IconButton name="Close (Escape)" icon="cross" onClick={onDone} />
    </div>
  );
}

const texts = new WeakMap<AnyTurn, string>();

function textOfTurn(turn: AnyTurn, chat: ChatState): string {
  let text = texts.get(turn);
  if (text === undefined) {
    text = turnMarkdown(turn, chat).toLowerCase();
    texts.set(turn, text);
  }
  return text;
}

/** Returns the ids of the turns that contain `words`, in order. */
export function findTurns(chat: ChatState, older: readonly Turn[], words: string): string[] {
  const wanted = words.trim().toLowerCase();
  if (wanted === "") return [];
  return allTurns(chat, older)
    .filter((turn) => textOfTurn(turn, chat).includes(wanted))
    .map((turn) => turn.id);
}

/** The name of the marks on found words (CSS Custom Highlight API); a browser without it only scrolls to the turn. */
const NAME = "agentnb-find";
const MOST = 200;

function unmark(root: ShadowRoot): void {
  const ranges = globalThis.CSS?.highlights?.get(NAME);
  for (const range of ranges ?? []) if ((range as Range).startContainer.getRootNode() === root) ranges?.delete(range);
}

function mark(root: ShadowRoot, turnId: string, words: string): void {
  unmark(root);
  const turn = [...root.querySelectorAll<HTMLElement>("[data-turn]")].find((one) => one.dataset.turn === turnId);
  const wanted = words.trim().toLowerCase();
  if (!globalThis.CSS?.highlights || !turn || wanted === "") return;
  const ranges = CSS.highlights.get(NAME) ?? new Highlight();
  const walker = document.createTreeWalker(turn, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.size < MOST; node = walker.nextNode()) {
    const { length } = node.nodeValue ?? "";
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, Math.min(at, length));
      range.setEnd(node, Math.min(at + wanted.length, length));
      ranges.add(range);
    }
  }
  CSS.highlights.set(NAME, ranges);
}
