/** Above the list of conversations: what can be done with those that are selected, and what was deleted just now. */
import { PlainBanner } from "../cards";
import { Button } from "../controls";
import { count, line } from "../plain";
import type { Deletion } from "./deletion";

interface SelectionProps {
  number: number;
  /** What archiving is called: those that are archived come back. */
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

/** What was deleted and can be brought back, and how far the deletion of several has come; `onKept` hears what is kept. */
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
