/** The text box of a setting. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { kernelText } from "../kernel-text";
import { inBox, readTyped, type Setting } from "./list";

interface Props {
  setting: Setting;
  isFixed: boolean;
  label: string;
  onChange: (value: unknown) => void;
  /** What was typed and refused is typed no more. */
  onBack: () => void;
}

/** What is typed counts with Enter, when the focus leaves the box, or when the settings are closed. */
export function TypedBox({ setting, isFixed, label, onChange, onBack }: Props) {
  const { kind, empty } = setting;
  const before = inBox(setting);
  const box = useRef<HTMLInputElement>(null);
  const previous = useRef(before);
  /** What the box had when the kernel was asked last, or when it said what is set. */
  const known = useRef(before);
  const commit = () => {
    const said = box.current?.value;
    if (said === undefined) return;
    if (said === before && known.current !== before) onBack();
    known.current = said;
    if (said !== before) onChange(readTyped(setting, said));
  };
  const leave = () => {
    if (box.current?.value !== known.current) commit();
  };
  const latest = useRef(leave);
  latest.current = leave;
  useLayoutEffect(() => {
    // Another value is set: it is shown, unless the reader has typed another one yet.
    const said = box.current?.value ?? "";
    if (
      box.current &&
      (said === previous.current || inBox({ ...setting, value: readTyped(setting, said) }) === before)
    ) {
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
      placeholder={empty ? kernelText(empty) : kind === "names" ? "names, with commas" : ""}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.isComposing) commit();
      }}
      onBlur={leave}
    />
  );
}
