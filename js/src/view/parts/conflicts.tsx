/** Changes that cannot be undone because something changed since: the user compares the versions and chooses. */

import { useId, useMemo, useState } from "preact/hooks";
import { own } from "../../state/object";
import type { ChangeConflict } from "../../state/requests.gen";
import type { Choice, Operations } from "../change-operations";
import { many } from "../change-set";
import { Button, Form, useFocused } from "../controls";
import { Fold } from "../fold";
import { line } from "../plain";
import { Hunks, LineCount } from "./diff";
import { compare } from "./line-diff";
import { LongText } from "./long-text";

export function ConflictChoices({ id, operations }: { id: string; operations: Operations }) {
  const name = useId();
  const form = useFocused<HTMLFormElement>();
  const [choices, choose] = useState<Readonly<Record<string, Choice>>>({});
  const conflicts = operations.conflicts;
  if (!conflicts) return null;
  const { operationId } = conflicts.operation;
  const isRedo = operationId === "redo" || operationId === "apply";
  const [done, word] =
    operationId === "apply" ? ["applied", "Apply"] : isRedo ? ["redone", "Redo"] : ["undone", "Undo"];
  const versions = ["Before the turn", "As the agent left it"] as const;
  const [old, left] = isRedo ? [versions[1], versions[0]] : versions;
  const isChosen = conflicts.all.every(({ path }) => Object.hasOwn(choices, path));
  return (
    <Form
      ref={form}
      class="conflicts card"
      tabIndex={-1}
      aria-labelledby={name}
      onSubmit={() => isChosen && operations.invoke(conflicts.operation, choices)}
    >
      <strong id={name}>
        {many(conflicts.all.length, "conflict")}: changed since. Nothing was {done} yet.
      </strong>
      {conflicts.all.map((conflict) => {
        const option = (choice: Choice, text: string, hint: string) => (
          <label class="check">
            <input
              type="radio"
              name={`${name} ${conflict.id}`}
              checked={own(choices, conflict.path) === choice}
              onChange={() => choose({ ...choices, [conflict.path]: choice })}
            />
            <span>
              {text} <span class="dim small">{hint}</span>
            </span>
          </label>
        );
        return (
          <fieldset key={conflict.id} class="column choices">
            <legend class="path">{line(conflict.path, 500)}</legend>
            {option("mine", "Keep mine", "It stays as it is.")}
            {option(
              "theirs",
              isRedo ? "Use the agent's" : "Use the old version",
              "The current version is saved first.",
            )}
            <Versions id={`${id} ${conflict.id}`} conflict={conflict} old={old} left={left} />
          </fieldset>
        );
      })}
      <div class="row wraps restart">
        <Button type="submit" class="primary" disabled={!isChosen || operations.isBusy}>
          {word}
        </Button>
        <Button onClick={operations.cancel}>Cancel</Button>
      </div>
    </Form>
  );
}

/** The three versions: the old one as text, the two others as differences. */
function Versions({ id, conflict, old, left }: { id: string; conflict: ChangeConflict; old: string; left: string }) {
  const { base, target, current } = conflict;
  return (
    <>
      <Fold id={`${id} old`} className="diff" head={<span>{old}</span>}>
        {typeof target === "string" ? (
          <pre class="version">
            <LongText text={target} />
          </pre>
        ) : (
          <p class="note">{NOTHING}</p>
        )}
      </Fold>
      <Compared id={`${id} left`} name={left} to={old} before={target} after={base} />
      <Compared id={`${id} now`} name="Now" to={left} before={base} after={current} open />
    </>
  );
}

const NOTHING = "Missing or not text.";

interface ComparedProps {
  id: string;
  name: string;
  /** The name of the version that it is compared to. */
  to: string;
  before: string | null | undefined;
  after: string | null | undefined;
  open?: boolean;
}

function Compared({ id, name, to, before, after, open = false }: ComparedProps) {
  const change = useMemo(() => compare(before ?? "", after ?? ""), [before, after]);
  const head = (
    <>
      <span>{name}</span>
      <span class="dim small">compared with: {to.toLowerCase()}</span>
      {change && <LineCount {...change} />}
    </>
  );
  const isThere = typeof after === "string";
  return (
    <Fold id={id} className="diff" open={open} head={head}>
      {!isThere && <p class="note">{NOTHING}</p>}
      {change ? <Hunks change={change} /> : <p class="note">Too large to compare here.</p>}
    </Fold>
  );
}
