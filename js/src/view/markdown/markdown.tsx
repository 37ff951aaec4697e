/** A markdown text, streaming or finished, drawn block by block. */

import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ViewContext } from "../context";
import { memo } from "../memo";
import { keepSelections } from "./growing";
import { MarkdownStream } from "./stream";
import type { Token } from "./token";
import { drawToken } from "./tokens";

/** Blocks that the browser skips together when they are off screen: watching each of them costs more than it saves. */
const CHUNK = 20;

interface Props {
  text: string;
  /** Whether more may come: then an unfinished end is drawn finished. */
  live?: boolean;
}

export const Markdown = memo(({ text, live = false }: Props) => {
  const { near } = useContext(ViewContext);
  const [shown, show] = useState(live || near === undefined);
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!shown && element.current) return near?.(element.current, () => show(true));
  }, [shown, near]);
  if (shown) return <Drawn text={text} live={live} />;
  // The raw text, unseen but findable, holds the place until it comes near the screen.
  return (
    <div ref={element} class="md waiting">
      {text}
    </div>
  );
});

function Drawn({ text, live }: { text: string; live: boolean }) {
  const kept = useRef<MarkdownStream | undefined>(undefined);
  kept.current ??= new MarkdownStream();
  const stream = kept.current;
  stream.update(text);
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const last = element.current?.lastElementChild?.lastElementChild;
    if (live && last) keepSelections(last);
  });
  const tokens = [...stream.frozen, ...stream.open(!live)];
  const chunks: Token[][] = [];
  for (let at = 0; at < tokens.length; at += CHUNK) chunks.push(tokens.slice(at, at + CHUNK));
  return (
    <div class="md" ref={element}>
      {chunks.map((chunk, index) => (
        <Chunk key={index} tokens={chunk} />
      ))}
    </div>
  );
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
