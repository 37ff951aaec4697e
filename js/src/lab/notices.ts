/** The sidebar's notices while it has no chat to show, with what the user can do. */
import { button, element } from "../element";

interface Action {
  label: string;
  primary?: boolean;
  run(): void;
}

export interface Notice {
  title: string;
  text: string;
  /** True to show a spinner. */
  waiting?: boolean;
  /** Commands to type, and where. */
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

const INSTALL = "%pip install jupyter-agentnb";

export const loading = (): Notice => ({ title: "Opening the chat…", text: "", waiting: true });

/** Subshells in the page (JupyterLab 4.4, Notebook 7.4) and in the kernel would avoid the wait. */
export const busy = (pageKnowsSubshells: boolean): Notice => ({
  title: "The kernel is running a cell",
  text:
    "The chat opens when the cell ends. To open it now, interrupt the cell (Kernel → Interrupt Kernel). " +
    `With ${pageKnowsSubshells ? "" : "JupyterLab 4.4 or Notebook 7.4, and "}ipykernel 7 in the kernel's environment` +
    `${pageKnowsSubshells ? "" : ","} the chat opens at once.`,
  waiting: true,
});

export const restarting = (): Notice => ({
  title: "Restarting the kernel…",
  text: "The chat opens when the new kernel is ready.",
  waiting: true,
});

export const dead = (run: () => void): Notice => ({
  title: "The kernel died",
  text: "The chat opens again with a new kernel.",
  actions: [{ label: "Restart kernel", primary: true, run }],
});

export const noKernel = (run: () => void): Notice => ({
  title: "This notebook has no kernel",
  text: "The chat runs in the notebook's kernel and opens with it.",
  actions: [{ label: "Start kernel", primary: true, run }],
});

export const language = (name: string): Notice => ({
  title: "agentnb needs a Python kernel",
  text: `This notebook's kernel runs ${name}. Select a Python kernel (Kernel → Change Kernel…).`,
});

export const noManager = (): Notice => ({
  title: "Jupyter widgets are not installed",
  text: "Install ipywidgets and anywidget where the Jupyter server runs, then reload the page.",
  commands: [{ where: "In a terminal:", command: "pip install ipywidgets anywidget" }],
});

export function missing(python: string, again: () => void, insert: (source: string) => void): Notice {
  const program = /[\s'"]/.test(python) ? JSON.stringify(python) : python;
  const terminal = { where: "Or in a terminal:", command: `${program} -m pip install jupyter-agentnb` };
  return {
    title: "agentnb is not installed in this kernel",
    text: "Install agentnb in the kernel's environment. The chat then opens at once.",
    commands: [{ where: "In a cell:", command: INSTALL }, ...(python ? [terminal] : [])],
    actions: [
      { label: "Insert in a cell", primary: true, run: () => insert(INSTALL) },
      { label: "Try again", run: again },
    ],
  };
}

export function failed(reason: string, again: () => void): Notice {
  return {
    title: "The chat couldn't be opened",
    text: reason,
    actions: [{ label: "Try again", primary: true, run: again }],
  };
}
