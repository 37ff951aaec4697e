/** Drafts whose kernel was started anew: offered above the box, until they are taken or thrown away. */
import { useMemo, useState } from "preact/hooks";
import { useView } from "./context";
import { TextButton } from "./controls";
import { Icon, IconButton } from "./icons";
import { line } from "./plain";

const MOST = 3;

export function LostDrafts({ onRestore }: { onRestore: (text: string) => void }) {
  const { store, drafts } = useView();
  const [gone, setGone] = useState(0);
  const host = store.hostId.value;
  const lostDrafts = useMemo(() => drafts.lost().slice(0, MOST), [drafts, host, gone]);
  if (lostDrafts.length === 0) return null;
  return (
    <ul class="queue" aria-label="Unsent drafts from before the kernel restarted">
      {lostDrafts.map((draft) => (
        <li key={draft.key}>
          <Icon name="edit" />
          <span class="cut">{line(draft.text, 300)}</span>
          <TextButton
            onClick={() => {
              drafts.forget(draft);
              onRestore(draft.text);
            }}
          >
            Restore
          </TextButton>
          <IconButton
            name="Discard this draft"
            icon="cross"
            onClick={() => {
              drafts.forget(draft);
              setGone(gone + 1);
            }}
          />
        </li>
      ))}
    </ul>
  );
}
