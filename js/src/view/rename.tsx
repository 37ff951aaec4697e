/** A line to give the conversation another name in. */
import type { TargetedSubmitEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { usePlace, useView } from "./context";
import { IconButton } from "./icons";

export function Rename({ title, onDone }: { title: string; onDone: () => void }) {
  const { store } = useView();
  const { session } = usePlace();
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => box.current?.select(), []);
  const rename = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = box.current?.value.trim() ?? "";
    if (name !== "" && name !== title) store.dispatch(session, { type: "session/titleChanged", title: name });
    onDone();
  };
  return (
    <form
      class="bar-form"
      onSubmit={rename}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") onDone();
      }}
    >
      <input ref={box} class="field" aria-label="Name of the conversation" maxLength={200} defaultValue={title} />
      <button type="submit" class="button small primary">
        Rename
      </button>
      <IconButton name="Cancel" icon="cross" onClick={onDone} />
    </form>
  );
}
