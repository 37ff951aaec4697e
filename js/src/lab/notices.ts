/** Each thing that the sidebar can have to say. */
import type { Notice } from "./notice";

const INSTALL = "%pip install jupyter-agentnb";

export const noNotebook = (): Notice => ({
  title: "No notebook is open",
  text: "Open a notebook to chat with agents in its kernel.",
});

export const loading = (): Notice => ({ title: "Opening the chat…", text: "", waiting: true });

/** What would spare the wait: a page that knows of subshells (JupyterLab 4.4, Notebook 7.4), and such a kernel. */
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
  text: "The chat runs in the notebook's kernel, and opens with it.",
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

/** agentnb is not where the kernel runs. */
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
