/** Plug-ins' requests to the kernel of one notebook, over its chat, which the first request loads. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { line } from "../view/plain";
import type { SettingsAccess } from "../view/store";
import type { Surroundings } from "./notebook-part";

export type Ask = (method: string, params: object) => Promise<unknown>;

/** The states of a chat that could not be opened (js/src/lab/session.ts). */
const FAILED = new Set(["missing", "failed", "no kernel", "language", "dead"]);

export class KernelRequests {
  readonly #panel: NotebookPanel;
  readonly #of: Pick<Surroundings, "sidebar" | "reveal">;
  #now: Ask | undefined;
  #waiting: ((ask: Ask) => void)[] = [];

  constructor(panel: NotebookPanel, surroundings: Pick<Surroundings, "sidebar" | "reveal">) {
    this.#panel = panel;
    this.#of = surroundings;
  }

  /** Sends a request; undefined while no chat of the kernel is connected. */
  get now(): Ask | undefined {
    return this.#now;
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
      const look = (): void => {
        if (!FAILED.has(node.node.dataset.state ?? "")) return;
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
