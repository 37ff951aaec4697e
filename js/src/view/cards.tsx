/** Cards and lines that say something and offer what can be done about it. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { coded } from "./coded";
import { onEscape, TextButton } from "./controls";
import { Icon, Spacer } from "./icons";
import { LongText } from "./parts/long-text";
import { line, plain } from "./plain";

interface ErrorCardProps {
  title: string;
  message: string;
  action?: ComponentChildren;
}

/** What stands in sight of a message: its first line, up to this length. */
const LONGEST_SENTENCE = 300;

/** Says what went wrong in a sentence, and what can be done; the rest of the message is folded. */
export function ErrorCard({ title, message, action }: ErrorCardProps) {
  const [isOpen, open] = useState(false);
  const first = (message.trimStart().split("\n", 1)[0] ?? "").replace(/ Last output:\s*$/, "");
  const isLong = message.trim().length > first.length || first.length > LONGEST_SENTENCE;
  return (
    <div class="error-card" role="note">
      <Icon name="alert" />
      <div>
        <strong>{title}</strong>
        <div class="plain">{coded(line(first, LONGEST_SENTENCE))}</div>
        {isLong && (
          <TextButton aria-expanded={isOpen} onClick={() => open(!isOpen)}>
            {isOpen ? "Hide details" : "Details"}
          </TextButton>
        )}
        {isLong && isOpen && (
          <div class="plain details">
            <LongText text={message} draw={plain} />
          </div>
        )}
        {action}
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
