/**
 * Shared code of the parts that belong to a notebook: the services that they need, how they add their command, and
 * plug-ins' requests to the kernel.
 */
import type { Application } from "@jupyterlab/application";
import type { Palette } from "@jupyterlab/apputils";
import type { NotebookPanel, Tracker } from "@jupyterlab/notebook";
import { line } from "../view/plain";
import type { SettingsAccess } from "../view/store";
import type { Sidebar } from "./sidebar";

/** The extension's services for such a part. */
export interface Surroundings {
  readonly app: Application;
  readonly palette: Palette | null;
  readonly tracker: Tracker;
  readonly sidebar: Sidebar;
  /** Shows the sidebar; the focus stays where it is. */
  reveal(): void;
  warn(sentence: string): void;
}

/** Adds a command (also to the palette) that runs on the active notebook's entry in `of`; once per page. */
export function addNotebookCommand<T>(
  { app, palette, tracker }: Surroundings,
  of: WeakMap<NotebookPanel, T>,
  [command, label, caption]: readonly [command: string, label: string, caption: string],
  run: (part: T) => void,
): void {
  if (app.commands.hasCommand(command)) return;
  app.commands.addCommand(command, {
    label,
    caption,
    isEnabled: () => tracker.currentWidget !== null,
    execute: () => {
      const part = tracker.currentWidget && of.get(tracker.currentWidget);
      if (part) run(part);
    },
  });
  palette?.addItem({ command, category: "Agents" });
}

export type Ask = (method: string, params: object) => Promise<unknown>;

/** Sends requests over the chat of one notebook, which the first request loads. */
export class KernelRequests {
  readonly #panel: NotebookPanel;
  readonly #of: Pick<Surroundings, "sidebar" | "reveal">;
  #now: Ask | undefined;
  #waiting: ((ask: Ask) => void)[] = [];

  constructor(panel: NotebookPanel, surroundings: Pick<Surroundings, "sidebar" | "reveal">) {
    this.#panel = panel;
    this.#of = surroundings;
  }

  /** Called when a chat of the notebook's kernel is connected. */
  connected({ request, signal }: SettingsAccess): Ask {
    const ask = request as unknown as Ask; // its type lacks the plug-ins' requests
    this.#now = ask;
    signal.addEventListener("abort", () => {
      if (this.#now === ask) this.#now = undefined;
    });
    for (const resolve of this.#waiting.splice(0)) resolve(ask);
    return ask;
  }

  /** Loads the chat if necessary. If that fails, the sidebar shows what is missing, with a button that fixes it. */
  connect(): Promise<Ask> {
    if (this.#now) return Promise.resolve(this.#now);
    return new Promise((resolve, reject) => {
      const { node } = this.#of.sidebar.load(this.#panel);
      // The states of a chat that could not be opened (js/src/lab/session.ts).
      const look = (): void => {
        if (!["missing", "failed", "no kernel", "language", "dead"].includes(node.node.dataset.state ?? "")) return;
        end();
        this.#of.reveal();
        reject(new Error(line(node.node.querySelector("h2")?.textContent, 200)));
      };
      const watch = new MutationObserver(look);
      const end = (): void => watch.disconnect();
      watch.observe(node.node, { attributeFilter: ["data-state"] });
      this.#waiting.push((ask) => {
        end();
        resolve(ask);
      });
      look();
    });
  }
}
