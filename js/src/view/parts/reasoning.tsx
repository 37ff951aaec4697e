/** The agent's reasoning: shown in a box of limited height while it thinks, folded once it answers. */
import { useEffect, useState } from "preact/hooks";
import { useMemory } from "../context";
import { Fold } from "../fold";
import { Icon } from "../icons";
import { Markdown } from "../markdown/markdown";
import { duration, line } from "../plain";

const SHORTEST = 1000;

interface Props {
  id: string;
  content: string;
  /** True if the agent is thinking now. */
  live: boolean;
}

export function Reasoning({ id, content, live }: Props) {
  const took = useThinkingTime(id, live);
  const time = took >= SHORTEST ? duration(took) : "";
  const head = (
    <>
      <Icon name="think" />
      <span class={live ? "label shimmer" : "label"}>
        {live ? "Thinking…" : time ? `Thought for ${time}` : "Thought"}
      </span>
      {live && time && <span class="dim elapsed">{time}</span>}
      {!live && <span class="dim cut gist">{gist(content)}</span>}
    </>
  );
  return (
    <Fold id={id} className={`reasoning${live ? " is-live" : ""}`} open={live} head={head}>
      {live ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard
        <section class="thinking" tabIndex={0} aria-label="Thinking">
          <div>
            <Markdown text={content} live />
          </div>
        </section>
      ) : (
        <Markdown text={content} />
      )}
    </Fold>
  );
}

/**
 * Returns for how many milliseconds this view has seen the agent think, or 0. Agents do not report how long they
 * thought, so a transcript that nobody watched has no time.
 */
function useThinkingTime(id: string, live: boolean): number {
  const [seen, see] = useMemory<{ from: number; to: number } | undefined>(`thought ${id}`, undefined);
  const [now, tick] = useState(Date.now);
  useEffect(() => {
    if (!live) return;
    const from = seen?.from ?? Date.now();
    const update = () => {
      tick(Date.now());
      see({ from, to: Date.now() });
    };
    update();
    const timer = setInterval(update, 1000);
    return () => {
      clearInterval(timer);
      see({ from, to: Date.now() });
    };
  }, [live]);
  return seen ? (live ? now : seen.to) - seen.from : 0;
}

/** Returns the first words without their marks: many agents begin with a bold headline. */
export function gist(content: string): string {
  const first =
    content
      .slice(0, 2000)
      .split("\n")
      .find((text) => text.trim() !== "") ?? "";
  return line(first.replace(/^[#>\s*-]+|[*_`]+/g, ""), 120);
}
