/** A markdown text, streaming or finished, drawn block by block. */

import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ViewContext } from "../context";
import { TextButton } from "../controls";
import { memo } from "../memo";
import { bytes } from "../plain";
import { MarkdownStream } from "./stream";
import type { Token } from "./token";
import { drawToken } from "./tokens";

/** The number of blocks that the browser skips together off screen: watching each one costs more than it saves. */
const CHUNK = 20;
const CHUNK_LENGTH = 4_000;
/** The layout cost of a list item or table row, in characters. */
const ITEM_LENGTH = 25;
/** The time for reading a long text before it is drawn, in milliseconds; the rest is read after a pause. */
const BUDGET = 8;
/** The pause in milliseconds, for the browser's layout: one long layout would be as bad as one long task. */
const PAUSE = 16;
/** A longer text, once finished, shows its rest on a click, in characters. */
const LONGEST = 100_000;
/** The length of a text far from the screen that the browser's search can find, in characters. */
const WAITING = 20_000;

interface Props {
  text: string;
  /** True if more text may come: an unfinished end is then completed for display. */
  live?: boolean;
}

export const Markdown = memo(({ text, live = false }: Props) => {
  const { near } = useContext(ViewContext);
  const [isDrawn, show] = useState(live || near === undefined);
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!isDrawn && element.current) return near?.(element.current, () => show(true));
  }, [isDrawn, near]);
  const [all, showAll] = useState(live);
  const isCut = isDrawn && !all && text.length > LONGEST + WAITING;
  const cut = isCut ? text.slice(0, text.lastIndexOf("\n", LONGEST) + 1 || LONGEST) : text;
  if (isDrawn)
    return (
      <>
        <Drawn text={cut} live={live} />
        {isCut && <TextButton onClick={() => showAll(true)}>Show all ({bytes(text.length)})</TextButton>}
      </>
    );
  // The raw text, invisible but findable, holds the place until it comes near the screen.
  return (
    <div ref={element} class="md waiting">
      {text.slice(0, WAITING)}
    </div>
  );
});

function Drawn({ text, live }: { text: string; live: boolean }) {
  const kept = useRef<MarkdownStream | undefined>(undefined);
  kept.current ??= new MarkdownStream();
  const stream = kept.current;
  const [, goOn] = useState(0);
  const isRead = stream.update(text, performance.now() + BUDGET);
  useEffect(() => {
    if (isRead) return;
    const timer = setTimeout(() => goOn((steps) => steps + 1), PAUSE);
    return () => clearTimeout(timer);
  });
  const { growth } = useContext(ViewContext);
  useLayoutEffect(() => {
    if (live) growth.grew();
  }, [live, text, growth]);
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const last = element.current?.lastElementChild?.lastElementChild;
    if (live && last) keepSelections(last);
  });
  const chunks = chunksOf([...stream.frozen, ...stream.open(isRead && !live)]);
  return (
    <div class="md" ref={element}>
      {chunks.map((chunk, index) => (
        <Chunk key={index} tokens={chunk} />
      ))}
    </div>
  );
}

function chunksOf(tokens: Token[]): Token[][] {
  const chunks: Token[][] = [];
  let length = CHUNK_LENGTH;
  for (const token of tokens) {
    const last = chunks.at(-1);
    if (last && last.length < CHUNK && length < CHUNK_LENGTH) last.push(token);
    else {
      chunks.push([token]);
      length = 0;
    }
    length += token.raw.length + ITEM_LENGTH * ((token.items ?? token.rows)?.length ?? 0);
  }
  return chunks;
}

const Chunk = memo(
  ({ tokens }: { tokens: Token[] }) => (
    <div class="chunk">
      {tokens.map((token, index) => (
        <Block key={index} token={token} />
      ))}
    </div>
  ),
  (before, after) =>
    before.tokens.length === after.tokens.length && before.tokens.every((token, at) => token === after.tokens[at]),
);

const Block = memo(({ token }: { token: Token }) => <div class={`block of-${token.type}`}>{drawToken(token)}</div>);

/*
 * Text nodes that grow: new text is appended, so that a selection in them survives. Preact replaces `data`, which
 * collapses every range inside; the nodes of the block that is being written get a setter that touches only the change.
 */
const DATA = Object.getOwnPropertyDescriptor(CharacterData.prototype, "data") as Required<
  Pick<PropertyDescriptor, "get" | "set">
>;
const made = new WeakSet<Node>();

const GROWING: PropertyDescriptor = {
  configurable: true,
  get(this: Text): string {
    return DATA.get.call(this) as string;
  },
  set(this: Text, next: string) {
    const old = DATA.get.call(this) as string;
    let same = next.startsWith(old) ? old.length : 0;
    if (same === 0) while (same < old.length && old[same] === next[same]) same += 1;
    this.replaceData(same, old.length - same, next.slice(same));
  },
};

/** Makes the text nodes in `element` keep a selection inside them. */
function keepSelections(element: Element): void {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (made.has(node)) continue;
    made.add(node);
    Object.defineProperty(node, "data", GROWING);
  }
}
