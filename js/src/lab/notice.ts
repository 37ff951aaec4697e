/** What the sidebar says where it has no chat to show, and what to do about it. */
import { button, element } from "../element";

export interface Action {
  label: string;
  primary?: boolean;
  run(): void;
}

export interface Notice {
  title: string;
  text: string;
  /** Something moves meanwhile. */
  waiting?: boolean;
  /** What to type, and where. */
  commands?: readonly { where: string; command: string }[];
  actions?: readonly Action[];
}

export function noticeElement({ title, text, waiting, commands = [], actions = [] }: Notice): HTMLElement {
  const box = element("div", { class: "agentnb-notice", role: waiting ? "status" : "group", label: title });
  if (waiting) box.append(element("span", "agentnb-spinner"));
  box.append(element("h2", "", title), element("p", "", text));
  for (const { where, command } of commands) box.append(element("p", "agentnb-where", where), commandElement(command));
  const buttons = actions.map(({ label, primary, run }) => button(label, run, primary ? "agentnb-primary" : ""));
  if (buttons.length > 0) box.append(element("div", "agentnb-actions", ...buttons));
  return box;
}

function commandElement(command: string): HTMLElement {
  const code = element("code", "", command);
  code.tabIndex = 0;
  const copy = button("Copy", () => {
    void navigator.clipboard?.writeText(command).then(() => {
      copy.textContent = "Copied";
    });
  });
  return element("div", "agentnb-command", code, copy);
}
