/** Shows tries side by side in their current state: the tries of one cell, or all. */
import { useEffect, useRef } from "preact/hooks";
import { useView } from "../context";
import { Trouble } from "../controls";
import { Spinner } from "../icons";
import { chatChannel, ROOT } from "../identity";
import { line } from "../plain";
import { isOver } from "../store";
import { useAnswer, useWork } from "../use-work";
import { Card } from "./card";
import { type TrySet, triesOf } from "./requests";

export interface BranchesProps {
  /** The id of the tries; if absent, all are shown. */
  id?: string;
  /** True if the text of the message box starts new tries. */
  begins?: boolean;
  /** The conversation of the message box. */
  session?: string | undefined;
  onOpen?: (resource: string) => void;
}

export function Branches({ id = "", begins = false, session, onOpen }: BranchesProps) {
  const { store } = useView();
  const isGone = isOver(store.connection.value);
  const begun = useBeginning(begins, session);
  const { answer, trouble } = useAnswer(
    () => (isGone ? undefined : triesOf(store).look(id)),
    [id, store.root.value?.config?.values.branches, isGone],
  );
  useHiddenTable(!isGone && answer ? id : "");
  if (isGone) return null;
  const open = onOpen ?? store.notebook?.showConversation;
  return (
    <div class="tries">
      {begun.isBusy && (
        <p class="note" role="status">
          <Spinner /> Copying the kernel and the workspace…
        </p>
      )}
      <Trouble text={begun.trouble || (answer ? "" : trouble)} />
      {begins && begun.isEmpty && <p class="note">Enter what to try in the message box, then choose Try 3 ways.</p>}
      {answer?.map((set) => (
        <OneSet key={set.id} set={set} onOpen={open} isAlone={id !== ""} />
      ))}
    </div>
  );
}

interface SetProps {
  set: TrySet;
  isAlone: boolean;
  onOpen: ((resource: string) => void) | undefined;
}

function OneSet({ set, isAlone, onOpen }: SetProps) {
  const left = set.tries.filter(({ state }) => state !== "discarded");
  return (
    <section class="try-set" aria-label={`Tries: ${line(set.prompt, 80)}`}>
      {!isAlone && <p class="try-task">{line(set.prompt, 300)}</p>}
      {set.note && <p class="note">{line(set.note, 300)}</p>}
      <div class="try-grid">
        {left.map((one) => (
          <Card key={one.number} set={set} one={one} onOpen={onOpen} />
        ))}
      </div>
      {left.length === 0 && <p class="note">All were discarded.</p>}
    </section>
  );
}

/** Starts tries with the text of the message box, once; the text stays there if that fails. */
function useBeginning(begins: boolean, session: string | undefined) {
  const { store, drafts, announce } = useView();
  const { isBusy, trouble, run } = useWork();
  const draft = useRef<string>(undefined);
  useEffect(() => {
    if (!begins || draft.current !== undefined) return;
    const chat = session ? (store.session(session).peek()?.defaultChat ?? chatChannel(session)) : ROOT;
    draft.current = drafts.of(chat).peek();
    const prompt = draft.current.trim();
    if (prompt === "") return;
    void run(async () => {
      await triesOf(store).begin(prompt, session ?? "");
      if (drafts.of(chat).peek().trim() === prompt) drafts.set(chat, "");
      announce("Three tries have begun.");
    });
  }, [begins]);
  return { isBusy, trouble, isEmpty: draft.current?.trim() === "" };
}

/** Hides the saved notebook's table of these tries: nobody needs both. */
function useHiddenTable(id: string): void {
  useEffect(() => {
    if (!/^[\w-]+$/.test(id)) return;
    const style = document.createElement("style");
    style.textContent = `.agentnb-branches-${id}{display:none}`;
    document.head.append(style);
    return () => style.remove();
  }, [id]);
}
