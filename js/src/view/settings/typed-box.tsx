/** The text box of a setting. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { readTyped, type Setting, typed } from "./list";

interface Props {
  setting: Setting;
  isFixed: boolean;
  label: string;
  onChange: (value: unknown) => void;
}

/** What is typed counts with Enter, when the focus leaves the box, or when the settings are closed. */
export function TypedBox({ setting, isFixed, label, onChange }: Props) {
  const { kind, value } = setting;
  const before = typed(value);
  const box = useRef<HTMLInputElement>(null);
  const previous = useRef(before);
  /** What the box had when the kernel was asked last, or when it said what is set. */
  const known = useRef(before);
  const commit = () => {
    const said = box.current?.value;
    if (said === undefined || said === before) return;
    known.current = said;
    onChange(readTyped(kind, said));
  };
  const leave = () => {
    if (box.current?.value !== known.current) commit();
  };
  const latest = useRef(leave);
  latest.current = leave;
  useLayoutEffect(() => {
    // Another value is set: it is shown, unless the reader has typed another one yet.
    const said = box.current?.value ?? "";
    if (box.current && (said === previous.current || typed(readTyped(kind, said)) === before)) {
      box.current.value = before;
      known.current = before;
    }
    previous.current = before;
  }, [before]);
  useLayoutEffect(() => () => latest.current(), []);
  return (
    <input
      ref={box}
      class="field"
      inputMode={kind === "number" ? "decimal" : "text"}
      aria-label={label}
      defaultValue={before}
      disabled={isFixed}
      placeholder={
        kind === "names"
          ? "names, with commas"
          : kind === "folder"
            ? "the kernel's folder"
            : kind === "servers"
              ? "or the path of an mcp.json"
              : ""
      }
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.isComposing) commit();
      }}
      onBlur={leave}
    />
  );
}
