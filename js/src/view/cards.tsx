/** Cards and lines that say something and offer what can be done about it. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { onEscape } from "./controls";
import { Icon, Spacer } from "./icons";
import { LongText } from "./parts/long-text";
import { plain } from "./plain";

interface ErrorCardProps {
  title: string;
  message: string;
  action?: ComponentChildren;
}

/** Where the first sentence of an error ends; a short message stays whole. */
const FIRST = /^[\s\S]{20,}?[.!?](?=\s)/;
const SHORT = 200;

/** Says what went wrong, in a sentence, and what can be done; the rest is folded. */
export function ErrorCard({ title, message, action }: ErrorCardProps) {
  const said = message.length > SHORT ? (FIRST.exec(message)?.[0] ?? "") : message;
  const more = message.slice(said.length).trim();
  return (
    <div class="error-card" role="note">
      <Icon name="alert" />
      <div>
        <strong>{title}</strong>
        {said && <div class="plain">{plain(said)}</div>}
        {action}
        {more && (
          <details class="error-more">
            <summary>Details</summary>
            <div class="plain">
              <LongText text={more} draw={plain} />
            </div>
          </details>
        )}
      </div>
    </div>
  );
}

interface ConfirmCardProps {
  title: string;
  /** What happens on yes, read out with the title. */
  what: ComponentChildren;
  onNo: () => void;
  /** The buttons, and what belongs to them. */
  children: ComponentChildren;
}

/** A question in the page before something that widens or undoes a lot; Escape is its no. */
export function ConfirmCard({ title, what, onNo, children }: ConfirmCardProps) {
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

interface BannerProps {
  class?: string;
  icon: ComponentChildren;
  children: ComponentChildren;
  action?: ComponentChildren;
}

/** A line above the conversation: what it says, and what can be done. */
export function Banner({ class: more = "", icon, children, action }: BannerProps) {
  return (
    <div class={`banner${more && ` ${more}`}`} role="status">
      {icon}
      <div>{children}</div>
      {action}
    </div>
  );
}

interface PlainBannerProps {
  /** What it is called, where it is a group. */
  label?: string;
  text: ComponentChildren;
  children: ComponentChildren;
}

/** The same without a mark: one line, cut, and the buttons at its end. */
export function PlainBanner({ label, text, children }: PlainBannerProps) {
  return (
    <div class="banner plain-banner" {...(label && { role: "group", "aria-label": label })}>
      <span class="cut">{text}</span>
      <Spacer />
      {children}
    </div>
  );
}
