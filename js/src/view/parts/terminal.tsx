/** What a command has printed, live while it runs. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { TerminalView } from "../../state/types.gen";
import { ansiRuns } from "../ansi";
import { Spinner } from "../icons";
import { memo } from "../memo";
import { line } from "../plain";

export const Output = memo(({ text }: { text: string }) => {
  const runs = useMemo(() => ansiRuns(text), [text]);
  return <>{runs.map((run) => (run.style ? <span class={run.style}>{run.text}</span> : run.text))}</>;
});

/** Plain text of any length in a box that scrolls by itself. */
export function OutputBox({ text, follow = false }: { text: string; follow?: boolean }) {
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
      <Output text={text} />
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
    {terminal.truncated && <p class="note">The beginning is no longer kept.</p>}
    {terminal.output && <OutputBox text={terminal.output} follow={!terminal.exited} />}
  </div>
));

function TerminalEnd({ terminal }: { terminal: TerminalView }) {
  if (!terminal.exited) return <Spinner />;
  if (terminal.signal) return <span class="chip bad">{line(terminal.signal, 20)}</span>;
  const code = terminal.exitCode ?? 0;
  return <span class={`chip ${code === 0 ? "good" : "bad"}`}>exit {code}</span>;
}
