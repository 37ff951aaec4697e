/** A conversation before its first message: what it can do, examples made of the user's notebook, and the keys. */
import { useState } from "preact/hooks";
import type { Answer } from "../state/answers";
import { usePlace, useView } from "./context";
import { TextButton } from "./controls";
import { Earlier } from "./earlier-conversations";
import { showPanel } from "./host-events";
import { Icon } from "./icons";
import { OfferedPrompts } from "./offered-prompts";
import { line } from "./plain";
import { useAnswer } from "./use-work";

const LONGEST = 200;
const MOST = 3;

export function EmptyChat({ agent }: { agent: string }) {
  const { prompts, ask } = useExamples();
  return (
    <div class="column empty" onPointerEnter={ask}>
      <Icon name="chat" className="large" />
      <h2>Ask {agent}</h2>
      <ul class="abilities">
        <li>
          Ask about your code, variables and errors: mention them with <kbd>@</kbd>.
        </li>
        <li>Have cells and files written or changed. You review each change and can undo it.</li>
        <li>Commands and edits wait for your permission, unless you allow them.</li>
        <Confinement />
      </ul>
      {prompts.length > 0 && <OfferedPrompts prompts={prompts} label="Examples" class="examples" />}
      <p class="row wraps dim small keys">
        <span>
          <kbd>@</kbd> mention
        </span>
        <span>
          <kbd>/</kbd> command
        </span>
        <span>
          <kbd>Enter</kbd> send
        </span>
        <span>
          <kbd>Shift</kbd>+<kbd>Enter</kbd> new line
        </span>
      </p>
      <Earlier />
    </div>
  );
}

/** What the agent can do beside what it asks for, once it runs. */
function Confinement() {
  const { store, root } = useView();
  const process = store.session(usePlace().session).value?.agentProcess;
  if (process?.state !== "running") return null;
  if (process.actsUnasked) return <li class="acts-unasked">{line(process.actsUnasked, 400)}</li>;
  if (!process.confined && !process.unconfined) return null;
  return (
    <li>
      {process.confined ? `It ${line(process.confined, 400)}.` : `Not confined. ${line(process.unconfined, 400)}`}{" "}
      <TextButton onClick={() => showPanel(root, "settings")}>Settings</TextButton>
    </li>
  );
}

/** The kernel's examples; `ask` has it look again, for cells may have run since. */
function useExamples() {
  const { store, visible } = useView();
  const { session } = usePlace();
  const [times, again] = useState(0);
  const { answer } = useAnswer(
    () => store.request("suggestPrompts", { channel: session }), // an older kernel: no examples
    [store, session, visible.value, times],
  );
  return { prompts: answer ? shortened(answer) : [], ask: () => again(times + 1) };
}

function shortened(answer: Answer<"suggestPrompts">): string[] {
  return [...new Set(answer.prompts.map((one) => line(one, LONGEST)).filter(Boolean))].slice(0, MOST);
}
