/** What the agent thought: shown while it thinks, folded once it answers. */
import { Fold } from "../fold";
import { Icon } from "../icons";
import { Markdown } from "../markdown/markdown";
import { line } from "../plain";

interface Props {
  id: string;
  content: string;
  /** Whether it is thinking right now. */
  live: boolean;
}

export function Reasoning({ id, content, live }: Props) {
  const head = (
    <>
      <Icon name="think" />
      <span class={live ? "label shimmer" : "label"}>{live ? "Thinking" : "Thought"}</span>
      {!live && <span class="dim cut gist">{gist(content)}</span>}
    </>
  );
  return (
    <Fold id={id} className="reasoning" open={live} head={head}>
      <Markdown text={content} live={live} />
    </Fold>
  );
}

/** The first words, without their marks: many agents begin with a bold headline. */
export function gist(content: string): string {
  const first =
    content
      .slice(0, 2000)
      .split("\n")
      .find((text) => text.trim() !== "") ?? "";
  return line(first.replace(/^[#>\s*-]+|[*_`]+/g, ""), 120);
}
