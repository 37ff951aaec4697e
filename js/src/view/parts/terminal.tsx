/** The output of a command, live while it runs. */

import { useLayoutEffect, useRef } from "preact/hooks";
import type { TerminalView } from "../../state/types.gen";
import { ansiRuns, newPen, type Pen, type Run } from "../ansi";
import { Spinner } from "../icons";
import { memo } from "../memo";
import { line } from "../plain";
import { LongText } from "./long-text";

interface Slice {
  text: string;
  runs: Run[];
  /** The colours at the start of the next slice. */
  pen: Pen;
}

/** Coloured output; unchanged slices are not read again while it grows. */
function Output({ text, fromEnd }: { text: string; fromEnd: boolean }) {
  const read = useRef<Slice[]>([]);
  const draw = (slice: string, before: readonly string[]) => {
    const at = before.length;
    if (read.current[at]?.text !== slice) {
      const pen = copyOf(read.current[at - 1]?.pen);
      read.current.splice(at, Number.POSITIVE_INFINITY, { text: slice, runs: ansiRuns(slice, pen), pen });
    }
    return <Runs runs={(read.current[at] as Slice).runs} />;
  };
  return <LongText text={text} fromEnd={fromEnd} draw={draw} />;
}

const Runs = memo(({ runs }: { runs: Run[] }) => (
  <>{runs.map((run) => (run.style ? <span class={run.style}>{run.text}</span> : run.text))}</>
));

function copyOf(pen: Pen | undefined): Pen {
  return pen ? { ...pen, marks: new Set(pen.marks) } : newPen();
}

interface BoxProps {
  text: string;
  /** True if the box stays at its end while the text grows. */
  follow?: boolean;
  /** True if a long text shows its end first. */
  fromEnd?: boolean;
}

/** Plain text of any length in a scrolling box. */
export function OutputBox({ text, follow = false, fromEnd = false }: BoxProps) {
  const box = useRef<HTMLPreElement>(null);
  const pinned = useRef(true);
  useLayoutEffect(() => {
    if (follow && pinned.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const watch = () => {
    const pre = box.current as HTMLPreElement;
    pinned.current = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling block must be reachable by keyboard
    <pre class="output" ref={box} tabIndex={0} onWheel={watch} onKeyUp={watch} onPointerUp={watch}>
      <Output text={text} fromEnd={fromEnd} />
    </pre>
  );
}

export const Terminal = memo(({ terminal }: { terminal: TerminalView }) => (
  <div class="terminal">
    <div class="terminal-head">
      <span class="sign" aria-hidden="true">
        $
      </span>
      <span class="command">{line(terminal.command, 500)}</span>
      <TerminalEnd terminal={terminal} />
    </div>
    {terminal.truncated && <p class="note">The beginning is gone.</p>}
    {terminal.output && <OutputBox text={terminal.output} follow={!terminal.exited} fromEnd />}
  </div>
));

function TerminalEnd({ terminal }: { terminal: TerminalView }) {
  if (!terminal.exited) return <Spinner />;
  if (terminal.signal) return <span class="chip bad">{line(terminal.signal, 20)}</span>;
  const code = terminal.exitCode ?? 0;
  return <span class={`chip ${code === 0 ? "good" : "bad"}`}>exit {code}</span>;
}
