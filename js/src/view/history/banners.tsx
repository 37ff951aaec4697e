/** Banners above the list of conversations: actions for the selected ones, and *Undo* for those just deleted. */
import { PlainBanner } from "../cards";
import { Button } from "../controls";
import { count, line } from "../plain";
import type { Deletion } from "./deletion";

interface SelectionProps {
  number: number;
  /** The label of the archive button; for archived conversations it is *Unarchive*. */
  archive: string;
  onAll: () => void;
  onArchive: () => void;
  onDelete: () => void;
  onCancel: () => void;
}

export function Selection({ number, archive, onAll, onArchive, onDelete, onCancel }: SelectionProps) {
  return (
    <PlainBanner label="Selected conversations" text={`${count(number)} selected`}>
      <Button onClick={onAll}>Select all</Button>
      <Button disabled={number === 0} onClick={onArchive}>
        {archive}
      </Button>
      <Button class="danger" disabled={number === 0} onClick={onDelete}>
        Delete
      </Button>
      <Button onClick={onCancel}>Cancel</Button>
    </PlainBanner>
  );
}

/** Deletions that can be undone, and the progress of deleting several; `onKept` gets a sentence after an undo. */
export function Deletions({ deletion, onKept }: { deletion: Deletion; onKept: (sentence: string) => void }) {
  const { undoable, progress } = deletion;
  return (
    <>
      {undoable.map(({ id, conversations }) => {
        const isOne = conversations.length === 1;
        const what = isOne ? line(conversations[0]?.title, 60) : several(conversations.length);
        const undo = () => {
          deletion.undo(id);
          onKept(`Restored ${what}.`);
        };
        return (
          <PlainBanner key={id} text={`Deleted ${isOne ? `“${what}”` : what}`}>
            <Button data-undo={id} aria-label={`Undo: keep ${what}`} onClick={undo}>
              Undo
            </Button>
          </PlainBanner>
        );
      })}
      {progress && (
        <div class="banner plain-banner">
          <span class="cut">
            Deleted {count(progress.done)} of {several(progress.total)}
          </span>
          <progress aria-label="Deleting" max={progress.total} value={progress.done} />
        </div>
      )}
    </>
  );
}

export function several(number: number): string {
  return `${count(number)} ${number === 1 ? "conversation" : "conversations"}`;
}
