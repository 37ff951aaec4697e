/** Large content that arrived cut: its beginning with a button for the rest; pictures are fetched at once. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePlace, useView } from "../context";
import { TextButton } from "../controls";
import { bytes, pretty } from "../plain";
import type { ContentRef } from "../store";
import { Asked } from "./long-text";

interface Props {
  /** The object with the field; if the field was cut, `<field>Ref` is beside it. */
  of: object;
  field: string;
  /** True if a beginning alone is useless. */
  atOnce?: boolean;
  children: (text: string | undefined) => ComponentChildren;
}

export function Whole({ of, field, atOnce = false, children }: Props) {
  const { store } = useView();
  const { chat } = usePlace();
  const ref = refOf(of, field);
  const [state, setState] = useState<{ uri?: string; text?: string; failed?: string; busy?: boolean }>({});
  const mine = state.uri === ref?.uri ? state : {};
  const fetch = () => {
    if (!ref) return;
    const { uri } = ref;
    const settle = (result: object) => setState((now) => (now.uri === uri ? { uri, ...result } : now));
    setState({ uri, busy: true });
    store.content(chat, ref).then(
      (text) => settle({ text }),
      (error: Error) => settle({ failed: error.message }),
    );
  };
  useEffect(() => {
    if (atOnce) fetch();
  }, [ref?.uri, atOnce]);
  const cut = (of as Record<string, unknown>)[field];
  return (
    <>
      <Asked.Provider value={mine.text !== undefined}>
        {children(mine.text ?? (typeof cut === "string" ? cut : undefined))}
      </Asked.Provider>
      {ref && mine.text === undefined && (
        <TextButton disabled={mine.busy} onClick={fetch}>
          {mine.busy ? "Loading…" : `Show all (${bytes(ref.size)})`}
        </TextButton>
      )}
      {mine.failed && <p class="note">{mine.failed}</p>}
    </>
  );
}

/** Returns a JSON value as a field for `Whole`; a value that was cut is `{contentRef, preview}`. */
export function asField(value: unknown): { text: unknown; textRef?: unknown } {
  const { contentRef, preview } = (value ?? {}) as { contentRef?: unknown; preview?: unknown };
  return contentRef ? { text: preview, textRef: contentRef } : { text: pretty(value) };
}

/** Returns the reference beside a field that was cut. */
export function refOf(of: object, field: string): ContentRef | undefined {
  const ref = (of as Record<string, unknown>)[`${field}Ref`];
  return ref && typeof ref === "object" ? (ref as ContentRef) : undefined;
}
