/** Each thing that the sidebar can have to say. */
import type { Notice } from "./notice";

const INSTALL = "%pip install jupyter-agentnb";

export const noNotebook = (): Notice => ({
  title: "No notebook is open",
  text: "The chat belongs to the active notebook's kernel. Open a notebook, and it appears here.",
});

export const loading = (): Notice => ({ title: "Opening the chat…", text: "", waiting: true });

/** What would spare the wait: a page that knows of subshells (JupyterLab 4.4, Notebook 7.4), and such a kernel. */
export const busy = (pageKnowsSubshells: boolean): Notice => ({
  title: "The kernel is busy with a cell",
  text:
    "The chat opens as soon as the cell has ended. To have it now, interrupt the cell (Kernel → Interrupt Kernel). " +
    `With ${pageKnowsSubshells ? "" : "JupyterLab 4.4 or Notebook 7.4, and "}ipykernel 7 in the kernel's environment` +
    `${pageKnowsSubshells ? "" : ","} the chat need not wait.`,
  waiting: true,
});

export const restarting = (): Notice => ({
  title: "The kernel restarts…",
  text: "The chat opens again with the new kernel.",
  waiting: true,
});

export const dead = (): Notice => ({
  title: "The kernel has died",
  text: "Restart it (Kernel → Restart Kernel), and the chat opens again.",
});

export const noKernel = (): Notice => ({
  title: "This notebook has no kernel",
  text: "Choose one (Kernel → Change Kernel…), and the chat opens.",
});

export const language = (name: string): Notice => ({
  title: "agentnb needs a Python kernel",
  text: `This notebook's kernel speaks ${name}.`,
});

export const noManager = (): Notice => ({
  title: "Widgets are missing in this page",
  text: "Install ipywidgets and anywidget where the Jupyter server runs, then reload the page.",
  commands: [{ where: "In a terminal:", command: "pip install ipywidgets anywidget" }],
});

/** agentnb is not where the kernel runs. */
export function missing(python: string, again: () => void, insert: (source: string) => void): Notice {
  const program = /[\s'"]/.test(python) ? JSON.stringify(python) : python;
  const terminal = { where: "Or in a terminal:", command: `${program} -m pip install jupyter-agentnb` };
  return {
    title: "agentnb is not installed in this kernel",
    text: "The page has it, the kernel's own environment does not. Installed there, the chat opens at once.",
    commands: [{ where: "In a cell:", command: INSTALL }, ...(python ? [terminal] : [])],
    actions: [
      { label: "Put it in a cell", primary: true, run: () => insert(INSTALL) },
      { label: "Try again", run: again },
    ],
  };
}

export function failed(reason: string, again: () => void): Notice {
  return {
    title: "The chat could not be opened",
    text: reason,
    actions: [{ label: "Try again", primary: true, run: again }],
  };
}
