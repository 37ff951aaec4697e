/** The chat's buttons, fields and forms. */
import type { ButtonHTMLAttributes, FormHTMLAttributes, Ref, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { plain } from "./plain";

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "class"> & { class?: string };

/** A small button with a border. */
export function Button({ class: more = "", ...rest }: ButtonProps) {
  return <button type="button" class={`button small${more && ` ${more}`}`} {...rest} />;
}

/** A button that looks like a link. */
export function TextButton({ class: more = "", ...rest }: ButtonProps) {
  return <button type="button" class={`text-button${more && ` ${more}`}`} {...rest} />;
}

interface ActionButtonProps {
  word: string;
  /** The object of the action; absent for all. */
  of?: string;
  disabled: boolean;
  onClick: () => void;
}

/** A disabled one keeps the focus: it is disabled only until the kernel answers. */
export function ActionButton({ word, of, disabled, onClick }: ActionButtonProps) {
  return (
    <button
      type="button"
      class="change-action"
      aria-label={of === undefined ? undefined : `${word} ${of}`}
      aria-disabled={disabled}
      onClick={() => !disabled && onClick()}
    >
      {word}
    </button>
  );
}

/** Limit of a field, in characters. */
const LONGEST_TEXT = 4_000;

/** Returns why a text is too long; "" if it is not. */
export const tooLong = (text: unknown, most = LONGEST_TEXT) =>
  typeof text === "string" && text.length > most
    ? `This text is too long: ${text.length.toLocaleString("en")} characters, where ${most.toLocaleString("en")} fit.`
    : "";

/** Refuses too long text pasted or dropped into a field, before the browser lays it out. */
export function longInput(refuse: (why: string, field: HTMLElement) => void) {
  return (event: InputEvent): void => {
    const field = event.target as HTMLElement;
    const why = tooLong(
      event.data ?? event.dataTransfer?.getData("text/plain"),
      field.tagName === "TEXTAREA" ? 100_000 : undefined,
    );
    if (!why) return;
    event.preventDefault();
    refuse(why, field);
  };
}

interface TextFieldProps {
  label: string;
  value: string;
  placeholder?: string;
  type?: "text" | "search";
  ref?: Ref<HTMLInputElement>;
  onText: (text: string) => void;
}

/** A one-line field; only screen readers get its label. */
export function TextField({ label, type = "text", onText, ...rest }: TextFieldProps) {
  return (
    <input
      class="field"
      type={type as "text"}
      aria-label={label}
      onInput={(event) => onText(event.currentTarget.value)}
      {...rest}
    />
  );
}

export interface ChoiceProps<T extends string | number> {
  label: string;
  options: readonly (readonly [value: T, name: string])[];
  value: T;
  disabled?: boolean;
  ref?: Ref<HTMLSelectElement>;
  onChoose: (value: T) => void;
}

/** A list to choose from; it shows `value` until the caller passes another one. */
export function Choice<T extends string | number>({ label, options, value, onChoose, ...rest }: ChoiceProps<T>) {
  return (
    <select
      class="field"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => {
        const chosen = options[currentTarget.selectedIndex];
        currentTarget.value = String(value);
        if (chosen) onChoose(chosen[0]);
      }}
      {...rest}
    >
      {options.map(([each, name]) => (
        <option key={each} value={each}>
          {name}
        </option>
      ))}
    </select>
  );
}

export type FormProps = Omit<FormHTMLAttributes<HTMLFormElement>, "label" | "onSubmit"> & {
  label?: string;
  onSubmit: () => void;
};

/** A form that the page submits itself. */
export function Form({ label, onSubmit, ...rest }: FormProps) {
  return (
    <form
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      {...rest}
    />
  );
}

/** Renders the `code` in a text as code; a lone backtick stays as it is. */
export function coded(text: string) {
  return text.split(/`([^`]+)`/).map((piece, at) => (at % 2 ? <code key={at}>{piece}</code> : piece));
}

/** Shows an error and has screen readers read it; shows nothing if there is none. */
export function Trouble({ text, class: name = "error-text" }: { text: string | undefined; class?: string }) {
  return text ? (
    <p class={name} role="alert">
      {plain(text)}
    </p>
  ) : null;
}

/** Handles the Escape key and hides it from the elements around. */
export function onEscape(leave: () => void) {
  return (event: TargetedKeyboardEvent<HTMLElement>): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    leave();
  };
}

/** Calls `leave` at a click outside of `box`, while `isOpen`. */
export function useClickOutside(box: { current: HTMLElement | null }, isOpen: boolean, leave: () => void): void {
  useLayoutEffect(() => {
    if (!isOpen) return;
    const onClick = (event: Event) => {
      if (!event.composedPath().includes(box.current as EventTarget)) leave();
    };
    window.addEventListener("click", onClick, true);
    return () => window.removeEventListener("click", onClick, true);
  }, [isOpen]);
}

/** Returns a ref for an element that takes the focus when it appears. */
export function useFocused<E extends HTMLElement>() {
  const ref = useRef<E>(null);
  useLayoutEffect(() => ref.current?.focus(), []);
  return ref;
}
