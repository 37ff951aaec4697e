/** Everything that the conversation changed, merged by path: a panel above its messages. */
import { useMemo } from "preact/hooks";
import { changesOf, tallyOfAll } from "./change-set";
import { usePlace, useView } from "./context";
import { onEscape, useFocused } from "./controls";
import { IconButton, Spacer } from "./icons";
import { changesChannel } from "./identity";
import { ChangeSet } from "./parts/change-set";

export function AllChanges({ title, onDone }: { title: string; onDone: () => void }) {
  const { store } = useView();
  const { session } = usePlace();
  const box = useFocused<HTMLElement>();
  const channel = changesChannel(session);
  const state = store.changeset(channel).value;
  const tally = useMemo(() => tallyOfAll(changesOf(state)), [state]);
  return (
    <section
      ref={box}
      class="all-changes"
      tabIndex={-1}
      aria-label="Changes of the conversation"
      onKeyDown={onEscape(onDone)}
    >
      <div class="row all-changes-head">
        <h3>Changes of the conversation</h3>
        <Spacer />
        <IconButton name="Close (Escape)" icon="cross" onClick={onDone} />
      </div>
      <ChangeSet id={channel} channel={channel} title={title} tally={tally} always />
    </section>
  );
}
