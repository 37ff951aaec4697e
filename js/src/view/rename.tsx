/** A form to rename a conversation. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, Form, type FormProps } from "./controls";

type Props = Pick<FormProps, "class" | "onKeyDown"> & {
  title: string;
  onRename: (title: string) => void;
  /** Called also if the name is unchanged. */
  onDone: () => void;
  cancel: ComponentChildren;
};

export function RenameForm({ title, onRename, onDone, cancel, ...rest }: Props) {
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    box.current?.focus();
    box.current?.select();
  }, []);
  const rename = () => {
    const name = box.current?.value.trim() ?? "";
    onDone();
    if (name !== "" && name !== title) onRename(name);
  };
  return (
    <Form onSubmit={rename} {...rest}>
      <input ref={box} class="field" aria-label="Name of the conversation" maxLength={200} defaultValue={title} />
      <Button type="submit" class="primary">
        Rename
      </Button>
      {cancel}
    </Form>
  );
}
