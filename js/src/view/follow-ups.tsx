/** What the agent suggests to write next: a click writes it into the box. */
import type { ChatState } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Button } from "./controls";
import { line, plain } from "./plain";

/** How many suggestions are shown. */
const MOST = 3;

export function FollowUps({ chat, disabled }: { chat: ChatState; disabled: boolean }) {
  const suggested = chat.promptSuggestions?.filter((each) => typeof each === "string").slice(0, MOST) ?? [];
  if (chat.activeTurn || chat.queuedMessages?.length || disabled || suggested.length === 0) return null;
  return <OfferedPrompts prompts={suggested} label="Suggestions" class="row wraps follow-ups" />;
}

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
