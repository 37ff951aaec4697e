/** A line to give the conversation another name in. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { usePlace, useView } from "./context";
import { Button, Form } from "./controls";
import { IconButton } from "./icons";

export function Rename({ title, onDone }: { title: string; onDone: () => void }) {
  const { store } = useView();
  const { session } = usePlace();
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => box.current?.select(), []);
  const rename = () => {
    const name = box.current?.value.trim() ?? "";
    if (name !== "" && name !== title) store.dispatch(session, { type: "session/titleChanged", title: name });
    onDone();
  };
  return (
    <Form
      class="row bar-form"
      onSubmit={rename}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") onDone();
      }}
    >
      <input ref={box} class="field" aria-label="Name of the conversation" maxLength={200} defaultValue={title} />
      <Button type="submit" class="primary">
        Rename
      </Button>
      <IconButton name="Cancel" icon="cross" onClick={onDone} />
    </Form>
  );
}
