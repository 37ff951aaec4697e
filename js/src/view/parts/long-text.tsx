/**
 * Plain text of any length. Its beginning (or its end) is drawn; the rest comes on a click, some slices per frame.
 *
 * Each slice is a block of its own: the browser lays out only those near the screen, and a line of megabytes, which
 * it would need seconds for, is broken.
 */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { TextButton } from "../controls";
import { bytes } from "../plain";
import { useAfter } from "../use-work";

/** Whether somebody has asked for all of the text already, where it was fetched: one click is enough. */
export const Asked = createContext(false);

/** In characters. */
const SLICE = 4_000;
const SHOWN = 24_000;
const PER_FRAME = 16_000;

/** `text` in pieces of at most `SLICE` characters, cut at line ends where there are any. */
export function slicesOf(text: string): string[] {
  const slices: string[] = [];
  for (let from = 0; from < text.length; ) {
    const most = from + SLICE;
    const lineEnd = most < text.length ? text.lastIndexOf("\n", most - 1) + 1 : 0;
    const end = lineEnd > from ? lineEnd : most;
    slices.push(text.slice(from, end));
    from = end;
  }
  return slices;
}

interface Props {
  text: string;
  /** Whether the end is of more use than the beginning. */
  fromEnd?: boolean;
  /** Whether all of it is drawn without a click. */
  whole?: boolean;
  /** Draws one slice; `before` are the slices drawn before it. */
  draw?: (slice: string, before: readonly string[]) => ComponentChildren;
}

export function LongText({ text, fromEnd = false, whole = false, draw = (slice) => slice }: Props) {
  const [wanted, want] = useState(SHOWN);
  const [clicked, click] = useState(false);
  const all = useContext(Asked) || whole || clicked;
  const isCut = text.length > wanted;
  useAfter(all && isCut ? 16 : undefined, () => want((now) => now + PER_FRAME), [all, isCut, wanted]);
  if (text.length <= SLICE) return <>{draw(text, [])}</>;
  const slices = slicesOf(isCut ? (fromEnd ? endOf(text, wanted) : text.slice(0, wanted)) : text);
  const more = isCut && !all && (
    <TextButton onClick={() => click(true)}>
      {fromEnd ? "Show the beginning" : "Show all"} ({bytes(text.length)})
    </TextButton>
  );
  return (
    <>
      {fromEnd && more}
      {slices.map((slice, index) => (
        <span key={index} class="slice">
          {draw(slice, slices.slice(0, index))}
        </span>
      ))}
      {!fromEnd && more}
    </>
  );
}

function endOf(text: string, length: number): string {
  const from = text.length - length;
  const lineEnd = text.indexOf("\n", from);
  return text.slice(lineEnd >= 0 && lineEnd < from + SLICE ? lineEnd + 1 : from);
}
