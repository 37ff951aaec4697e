/** Small line drawings, 16 × 16, in the colour of the text around them. */

import type { ButtonHTMLAttributes } from "preact";
import { table } from "../state/object";

const PATHS = table({
  read: "M3.5 2.5h6l3 3v8h-9zM9.5 2.5v3h3M5.5 8h5M5.5 10.5h5",
  edit: "M11 2.5 13.5 5 6 12.5 3 13l.5-3zM9.5 4 12 6.5",
  delete: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4",
  move: "M2.5 8h11M10.5 5l3 3-3 3",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2l3.3 3.3",
  execute: "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10.2h3",
  think: "M8 2.2a4.3 4.3 0 0 0-2.3 7.9v1.7h4.6v-1.7A4.3 4.3 0 0 0 8 2.2zM6.3 13.8h3.4",
  fetch:
    "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM2.2 8h11.6M8 2.2c-3.4 3.6-3.4 8 0 11.6M8 2.2c3.4 3.6 3.4 8 0 11.6",
  switch_mode: "M2.5 5.5h9M9 3l2.5 2.5L9 8M13.5 10.5h-9M7 8l-2.5 2.5L7 13",
  other: "M9.8 2.6a3.3 3.3 0 0 0-3.5 4.5l-4 4 2.1 2.3 4.2-4.2a3.3 3.3 0 0 0 4.4-4L11 7.2 9 6.8l-.3-2z",
  chevron: "M6 4l4 4-4 4",
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  variable: "M5.5 3C3.5 3 5 7 3 8c2 1 .5 5 2.5 5M10.5 3c2 0 .5 4 2.5 5-2 1-.5 5-2.5 5M6.5 6.5l3 3M9.5 6.5l-3 3",
  folder: "M2 4h4l1.5 1.5H14v7H2z",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  clipboard: "M6 3.5H3.5v10h9v-10H10M6 2.3h4v2.4H6zM6 7.5h4M6 10.3h4",
  stop: "M4.5 4.5h7v7h-7z",
  pause: "M5.5 4v8M10.5 4v8",
  send: "M8 13V3.5M4 7.3l4-4 4 4",
  plus: "M8 3v10M3 8h10",
  down: "M8 3v9.5M4 8.7l4 4 4-4",
  shield: "M8 2l5 1.8v4c0 3-2 5.2-5 6.2-3-1-5-3.2-5-6.2v-4z",
  alert: "M8 2.5 14.2 13H1.8zM8 6.5v3M8 11.2v.2",
  info: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 7.2v3.6M8 5v.2",
  clock: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 4.8V8l2.2 1.5",
  plan: "M6.5 4h7M6.5 8h7M6.5 12h7M2.5 4l.8.8L4.8 3.2M2.5 8l.8.8 1.5-1.6M2.5 12l.8.8 1.5-1.6",
  list: "M2.5 4h11M2.5 8h11M4.5 11l3.5 3 3.5-3",
  filter: "M2.5 3.5h11L9.3 8.6v4.4l-2.6-1.4v-3z",
  file: "M4 2.5h5.5l2.5 2.5v8.5H4zM9.5 2.5V5H12",
  link: "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2-2a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.2 6.8a2.6 2.6 0 0 0-3.7 0l-2 2a2.6 2.6 0 0 0 3.7 3.7l.9-.9",
  more: "M3.5 7.6a.4.4 0 1 0 .01 0zM8 7.6a.4.4 0 1 0 .01 0zM12.5 7.6a.4.4 0 1 0 .01 0z",
  now: "M4.5 3.2v9.6l8-4.8z",
  up: "M8 12.5V3M4 7l4-4 4 4",
  image: "M2.5 3h11v10h-11zM2.5 11l3-3 2.5 2.5 2-2 3.5 3.5M10.5 6h.01",
  insert: "M2.5 3h11v5h-11zM8 10v4M6 12h4",
  replace: "M2.5 3h11v5h-11zM12.5 10.5H4M6.5 8.3 4 10.5l2.5 2.2",
  save: "M8 2.5v8M5 7.5l3 3 3-3M3 13.5h10",
  restart: "M13 8a5 5 0 1 1-1.6-3.7M13.2 2.5v2.8h-2.8",
  question: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM6.3 6.5A1.7 1.7 0 1 1 8 8.3v.9M8 11.2v.1",
  chat: "M2.5 3h11v8H7l-3 2.5V11H2.5z",
  agent: "M3.5 5.5h9v7h-9zM8 5.5v-3M6.2 8.3v1.4M9.8 8.3v1.4M1.7 8v2.5M14.3 8v2.5",
} as const);

export type IconName = keyof typeof PATHS;

export function isIcon(name: string): name is IconName {
  return Object.hasOwn(PATHS, name);
}

export function Icon({ name, className }: { name: IconName; className?: string }) {
  return (
    <svg class={`icon ${className ?? ""}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "name" | "icon" | "class"> {
  name: string;
  icon: IconName;
  className?: string;
}

/** An icon button; its name is for screen readers and the tooltip. */
export function IconButton({ name, icon, className = "icon-button", ...rest }: IconButtonProps) {
  return (
    <button type="button" class={className} aria-label={name} title={name} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

export function Spinner() {
  return <span class="spinner" aria-hidden="true" />;
}

/** Pushes the following elements to the end of the row. */
export function Spacer() {
  return <span class="spacer" />;
}

export function Waiting({ text }: { text: string }) {
  return (
    <div class="column empty">
      <Spinner />
      <p class="dim">{text}</p>
    </div>
  );
}
