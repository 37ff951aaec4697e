/** Shows the user's actions that the kernel rejected, and why, until they are dismissed. */
import { table } from "../state/object";
import { useView } from "./context";
import { Icon, IconButton, Spacer } from "./icons";
import { line } from "./plain";
import type { Refusal } from "./store";

const WHAT: Readonly<Record<string, string>> = table({
  "chat/turnStarted": "Your message wasn't accepted; it is back in the message box.",
  "chat/pendingMessageSet": "Your message wasn't accepted; it is back in the message box.",
  "chat/pendingMessageRemoved": "The queued message wasn't removed.",
  "chat/queuedMessagesReordered": "The queue wasn't changed.",
  "chat/turnCancelled": "The turn wasn't stopped.",
  "chat/toolCallConfirmed": "Your answer wasn't accepted.",
  "chat/inputAnswerChanged": "Your answer wasn't accepted.",
  "chat/inputCompleted": "Your answer wasn't accepted.",
  "session/titleChanged": "The conversation wasn't renamed.",
  "session/isArchivedChanged": "The conversation wasn't closed or reopened.",
  "session/configChanged": "The permissions weren't changed.",
  "x-agentnb/modeChanged": "The mode wasn't changed.",
  "x-agentnb/configOptionChosen": "The option wasn't changed.",
});

/** Not an action of the user. */
const UNASKED = "session/isReadChanged";

interface Props {
  /** True if rejections of this channel belong here. */
  here: (channel: string) => boolean;
}

export function Refusals({ here }: Props) {
  const { store } = useView();
  const refusals = store.refusals.value.filter(({ channel, action }) => here(channel) && action.type !== UNASKED);
  return (
    <div class="refusals" role="status">
      {refusals.map((refusal) => (
        <Refused key={refusal.id} refusal={refusal} />
      ))}
    </div>
  );
}

function Refused({ refusal: { id, action, reason } }: { refusal: Refusal }) {
  const { store } = useView();
  return (
    <div class="row refusal">
      <Icon name="alert" />
      <span>
        {WHAT[action.type] ?? "That action was rejected."} <span class="dim">{line(reason, 400)}</span>
      </span>
      <Spacer />
      <IconButton name="Dismiss" icon="cross" onClick={() => store.dismiss(id)} />
    </div>
  );
}
