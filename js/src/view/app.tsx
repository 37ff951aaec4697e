/** The root of a view: what it shows, and the one line that screen readers listen to. */
import type { ReadonlySignal } from "@preact/signals";
import { Chat } from "./chat";
import { type View, ViewContext } from "./context";
import type { What } from "./store";
import { TurnView } from "./turn-view";

export function App({ view, what, said }: { view: View; what: What; said: ReadonlySignal<string> }) {
  return (
    <ViewContext.Provider value={view}>
      {what.kind === "chat" ? <Chat tab={what.tab} /> : <TurnView channel={what.channel} turnId={what.turnId} />}
      <div class="sr-only" role="status" aria-live="polite">
        {said}
      </div>
    </ViewContext.Provider>
  );
}
