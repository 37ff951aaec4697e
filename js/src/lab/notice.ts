/** What the sidebar says where it has no chat to show, and what to do about it. */

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

export function noticeElement(notice: Notice): HTMLElement {
  const box = element("div", "agentnb-notice");
  box.setAttribute("role", notice.waiting ? "status" : "group");
  box.setAttribute("aria-label", notice.title);
  if (notice.waiting) box.append(element("span", "agentnb-spinner"));
  box.append(element("h2", "", notice.title), element("p", "", notice.text));
  for (const { where, command } of notice.commands ?? []) {
    box.append(element("p", "agentnb-where", where), commandElement(command));
  }
  if (notice.actions?.length) {
    const row = element("div", "agentnb-actions");
    row.append(...notice.actions.map(button));
    box.append(row);
  }
  return box;
}

function commandElement(command: string): HTMLElement {
  const row = element("div", "agentnb-command");
  const code = element("code", "", command);
  code.tabIndex = 0;
  const copy = button({
    label: "Copy",
    run: () => {
      void navigator.clipboard?.writeText(command).then(() => {
        copy.textContent = "Copied";
      });
    },
  });
  row.append(code, copy);
  return row;
}

function button({ label, primary, run }: Action): HTMLElement {
  const made = element("button", primary ? "agentnb-primary" : "", label) as HTMLButtonElement;
  made.type = "button";
  made.addEventListener("click", run);
  return made;
}

function element(name: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}
