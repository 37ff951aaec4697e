/** Shows the agent's suggestions for the next message: a click puts one into the message box. */
import type { ChatState } from "../state/types.gen";
import { usePlace, useView } from "./context";
import { Button } from "./controls";
import { line, plain } from "./plain";

const MOST = 3;

export function FollowUps({ chat, disabled }: { chat: ChatState; disabled: boolean }) {
  const suggested = chat.promptSuggestions?.filter((each) => typeof each === "string").slice(0, MOST) ?? [];
  if (chat.activeTurn || chat.queuedMessages?.length || disabled || suggested.length === 0) return null;
  return <OfferedPrompts prompts={suggested} label="Suggestions" class="row wraps follow-ups" />;
}

/** Length of the longest prompt that a kernel offers, in characters. */
const LONGEST = 2000;

interface Props {
  prompts: readonly string[];
  /** Their name for screen readers. */
  label: string;
  class: string;
}

/**
 * Offers prompts to click. A prompt replaces the box's text if that is one of them; otherwise it is added to the user's
 * text.
 */
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
