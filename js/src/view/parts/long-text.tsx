/**
 * Plain text of any length. Draws its beginning (or its end); the rest comes on a click, some slices per frame.
 *
 * Each slice is a separate block: the browser lays out only those near the screen, and a line of megabytes, which would
 * take it seconds, is broken.
 */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { TextButton } from "../controls";
import { bytes } from "../plain";
import { useAfter } from "../use-work";

/** True if the user has already fetched all of the text: one click is enough. */
export const Asked = createContext(false);

/** In characters. */
const SLICE = 4_000;
const SHOWN = 24_000;
const PER_FRAME = 16_000;

/** Returns `text` in pieces of at most `SLICE` characters, cut at line ends if there are any. */
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
  /** True if the end is more useful than the beginning. */
  fromEnd?: boolean;
  /** True if all of it is drawn without a click. */
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
