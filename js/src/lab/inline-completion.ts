/**
 * Completions in cells through JupyterLab's own inline completer: off unless the setting *Complete code* enables them.
 */
import type { Application } from "@jupyterlab/application";
import type { InlineRequest } from "@jupyterlab/completer";
import type { Cell, NotebookPanel, Tracker } from "@jupyterlab/notebook";
import type { SettingRegistry, Settings } from "@jupyterlab/settingregistry";
import { isObject } from "../state/object";
import { uuid } from "../view/identity";
import { line } from "../view/plain";
import type { Ask } from "./notebook-part";

const SETTINGS = "agentnb:plugin";
const LONGEST_SIDE = 8_000;
const LONGEST_ABOVE = 8_000;
const MOST_ABOVE = 200;
/** The measure of one completion (User Timing); its detail has the model's time, in milliseconds. */
export const MEASURE = "agentnb-completion";

interface Item {
  insertText: string;
}

const NONE: { items: Item[] } = { items: [] };

/** Returns the function that sends requests to a notebook's kernel; loads the chat first if necessary. */
type Connect = (panel: NotebookPanel) => Promise<Ask>;

export class CellCompletion {
  readonly #isOn: () => Promise<boolean>;
  readonly #tracker: Tracker;
  readonly #connect: Connect;
  readonly #warn: (sentence: string) => void;
  readonly #warned = new Set<string>();

  constructor(isOn: () => Promise<boolean>, tracker: Tracker, connect: Connect, warn: (sentence: string) => void) {
    this.#isOn = isOn;
    this.#tracker = tracker;
    this.#connect = connect;
    this.#warn = warn;
  }

  /** `IInlineCompletionProvider.fetch`. */
  async fetch({ text, offset }: InlineRequest, { widget }: { readonly widget: unknown }) {
    try {
      if (!(await this.#isOn())) return NONE;
      const panel = this.#panelOf(widget);
      const cell = panel?.content.activeCell;
      if (!panel || cell?.model.sharedModel.cell_type !== "code" || runsCell(panel)) return NONE;
      if (cell.model.sharedModel.getSource() !== text || !text.trim()) return NONE;
      return await this.#ask(panel, cell, text, offset);
    } catch (error) {
      console.debug("agentnb:", error);
      return NONE;
    }
  }

  async #ask(panel: NotebookPanel, cell: Cell, text: string, offset: number) {
    const start = performance.now();
    const id = uuid();
    let isDropped = false;
    let ask: Ask | undefined;
    let drop: () => void = () => {};
    const dropped = new Promise<undefined>((resolve) => {
      drop = (): void => {
        if (isDropped) return;
        isDropped = true;
        resolve(undefined);
        void ask?.("inline/cancel", { id }).catch((error: unknown) => console.debug("agentnb:", error));
      };
    });
    cell.model.contentChanged.connect(drop);
    cell.disposed.connect(drop);
    try {
      ask = await Promise.race([this.#connect(panel), dropped]);
      if (isDropped || !ask) return NONE;
      const params = {
        id,
        prefix: text.slice(0, offset).slice(-LONGEST_SIDE),
        suffix: text.slice(offset, offset + LONGEST_SIDE),
        above: above(panel, cell),
        cellId: cell.model.id,
        path: panel.context.path,
      };
      const answer = await Promise.race([ask("inline/complete", params), dropped]);
      // The cell may be deleted meanwhile.
      if (isDropped || cell.isDisposed || !panel.content.widgets.includes(cell) || !isObject(answer)) return NONE;
      performance.measure(MEASURE, { start, end: performance.now(), detail: { took: Number(answer.took ?? 0) } });
      if (answer.error) this.#tell(String(answer.error));
      return answer.text ? { items: [{ insertText: String(answer.text) }] } : NONE;
    } finally {
      if (!cell.isDisposed) cell.model.contentChanged.disconnect(drop);
      cell.disposed.disconnect(drop);
    }
  }

  /** Shows each error once. */
  #tell(error: string): void {
    if (this.#warned.has(error)) return;
    this.#warned.add(error);
    this.#warn(`No completion: ${line(error, 300)}`);
  }

  #panelOf(widget: unknown): NotebookPanel | undefined {
    let match: NotebookPanel | undefined;
    this.#tracker.forEach((panel) => {
      if (panel === widget || panel.content === widget) match = panel;
    });
    return match;
  }
}

function runsCell({ content }: NotebookPanel): boolean {
  if (content.widgets.some(({ model }) => model.executionState === "running")) return true;
  return [...content.node.querySelectorAll(".jp-InputPrompt")].some(({ textContent }) => textContent?.includes("*"));
}

/** Returns the nearest code cells above a cell. */
function above({ content }: NotebookPanel, cell: Cell): string[] {
  const sources: string[] = [];
  let room = LONGEST_ABOVE;
  for (let index = content.widgets.indexOf(cell) - 1; index >= 0 && sources.length < MOST_ABOVE; index--) {
    const shared = (content.widgets[index] as Cell).model.sharedModel;
    if (shared.cell_type !== "code") continue;
    const source = shared.getSource();
    room -= source.length;
    if (room < 0) break;
    sources.unshift(source);
  }
  return sources;
}

/** Returns a function that reads from JupyterLab's settings if completion is on, without asking the kernel. */
export function switchOf(app: Application): () => Promise<boolean> {
  let loaded: Promise<Settings> | undefined;
  return async () => {
    loaded ??= load(app);
    const settings = await loaded;
    const value = settings.user.completion ?? settings.default("completion");
    return value === "local" || value === "agent";
  };
}

async function load(app: Application): Promise<Settings> {
  const { ISettingRegistry } = await import("@jupyterlab/settingregistry");
  return (await app.resolveRequiredService<SettingRegistry>(ISettingRegistry)).load(SETTINGS);
}
