/** A question in the page before something that widens or undoes a lot; Escape is its no. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { onEscape } from "./controls";

interface Props {
  title: string;
  /** What happens on yes, read out with the title. */
  what: ComponentChildren;
  onNo: () => void;
  /** The buttons, and what belongs to them. */
  children: ComponentChildren;
}

export function ConfirmCard({ title, what, onNo, children }: Props) {
  const id = useId();
  return (
    <div
      class="confirm card"
      role="alertdialog"
      aria-labelledby={id}
      aria-describedby={`${id}-what`}
      onKeyDown={onEscape(onNo)}
    >
      <strong id={id}>{title}</strong>
      <div id={`${id}-what`}>{what}</div>
      {children}
    </div>
  );
}
