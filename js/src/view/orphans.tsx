/** Drafts whose kernel was started anew: offered above the box, until they are taken or thrown away. */
import { useMemo, useState } from "preact/hooks";
import { useView } from "./context";
import { Icon, IconButton } from "./icons";
import { line } from "./plain";

const MOST = 3;

export function Orphans({ onRestore }: { onRestore: (text: string) => void }) {
  const { store, drafts } = useView();
  const [gone, setGone] = useState(0);
  const host = store.hostId.value;
  const orphans = useMemo(() => drafts.orphans().slice(0, MOST), [drafts, host, gone]);
  if (orphans.length === 0) return null;
  return (
    <ul class="queue" aria-label="Unsent drafts from before the kernel restarted">
      {orphans.map((orphan) => (
        <li key={orphan.key}>
          <Icon name="edit" />
          <span class="cut">{line(orphan.text, 300)}</span>
          <button
            type="button"
            class="text-button"
            onClick={() => {
              drafts.forget(orphan);
              onRestore(orphan.text);
            }}
          >
            Restore
          </button>
          <IconButton
            name="Discard this draft"
            icon="cross"
            onClick={() => {
              drafts.forget(orphan);
              setGone(gone + 1);
            }}
          />
        </li>
      ))}
    </ul>
  );
}
