/** Cards and banners with a message and the actions for it. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { coded, onEscape, TextButton } from "./controls";
import { Icon, Spacer } from "./icons";
import { LongText } from "./parts/long-text";
import { line, plain } from "./plain";

interface ErrorCardProps {
  title: string;
  message: string;
  action?: ComponentChildren;
}

/** In characters: the message's first line is shown up to this length. */
const LONGEST_SENTENCE = 300;

/** Shows what went wrong in a sentence, and what to do; the rest of the message is folded. */
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
  /** The effect of a yes; screen readers read it with the title. */
  what: ComponentChildren;
  onNo: () => void;
  /** The buttons and their options. */
  children: ComponentChildren;
}

/** Asks in the page before an action that widens access or undoes a lot; Escape means no. */
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

/** Shows a message above the conversation, with an action. */
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
  /** The name of the banner's group; without it there is no group. */
  label?: string;
  text: ComponentChildren;
  children: ComponentChildren;
}

/** A banner without an icon: one line, cut to fit, with the buttons at its end. */
export function PlainBanner({ label, text, children }: PlainBannerProps) {
  return (
    <div class="banner plain-banner" {...(label && { role: "group", "aria-label": label })}>
      <span class="cut">{text}</span>
      <Spacer />
      {children}
    </div>
  );
}
