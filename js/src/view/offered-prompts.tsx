/** Prompts to begin from, one line each: a click writes one into the box; it is not sent. */
import { usePlace, useView } from "./context";
import { Button } from "./controls";
import { line, plain } from "./plain";

/** Characters of the longest prompt that a kernel offers. */
const LONGEST = 2000;

interface Props {
  prompts: readonly string[];
  /** What they are, for screen readers. */
  label: string;
  class: string;
}

/** The box's text is replaced where it is one of them; what the reader wrote stays, and the prompt follows it. */
export function OfferedPrompts({ prompts, label, class: name }: Props) {
  const { drafts, root } = useView();
  const { chat } = usePlace();
  const write = (prompt: string) => {
    const written = drafts.of(chat).peek().trimEnd();
    drafts.set(chat, written === "" || prompts.includes(written) ? prompt : `${written} ${prompt}`);
    root.querySelector<HTMLElement>(".prompt textarea")?.focus();
  };
  return (
    <div class={name} role="group" aria-label={label}>
      {prompts.map((prompt) => (
        <Button key={prompt} title={plain(prompt)} onClick={() => write(prompt)}>
          <span class="cut">{line(prompt, LONGEST)}</span>
        </Button>
      ))}
    </div>
  );
}
