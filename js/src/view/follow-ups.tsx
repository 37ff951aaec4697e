/** What the agent suggests to write next: a click writes it into the box. */
import type { ChatState } from "../state/types.gen";
import { OfferedPrompts } from "./offered-prompts";

/** How many suggestions are shown. */
const MOST = 3;

export function FollowUps({ chat, disabled }: { chat: ChatState; disabled: boolean }) {
  const suggested = chat.promptSuggestions?.filter((each) => typeof each === "string").slice(0, MOST) ?? [];
  if (chat.activeTurn || chat.queuedMessages?.length || disabled || suggested.length === 0) return null;
  return <OfferedPrompts prompts={suggested} label="Suggestions" class="row wraps follow-ups" />;
}
