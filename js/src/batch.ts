/** The rows of a batch (anywidget): failures by reason, the latest answers; each row opens its conversation below it. */
import css from "./batch.css";
import { button, element, renew } from "./element";
import { FetchedStyles } from "./fetched-styles";
import { hearThoughLate, type JupyterModel } from "./late-module";
import { line } from "./view/plain";
import type { Exports } from "./widget";

interface Row {
  readonly number: number;
  readonly label: string;
  readonly state: "done" | "failed" | "cancelled";
  readonly text: string;
  /** True if there is a conversation to open. */
  readonly opens: boolean;
}

interface Group {
  readonly title: string;
  readonly rows: readonly Row[];
}

interface Opened {
  readonly opened: number;
  readonly tab?: string;
  readonly error?: string;
}

interface Model {
  get(name: "host" | "batch" | "own_id"): string;
  get(name: "groups"): readonly Group[];
  on(name: string, listener: (content: Opened) => void): void;
  off(name: string, listener: (content: Opened) => void): void;
  send(content: object): void;
  readonly widget_manager?: { get_model?(id: string): Promise<JupyterModel> };
}

interface RenderContext {
  model: Model;
  el: HTMLElement;
  host?: { getWidget(ref: string): Promise<{ exports: Exports }> };
}

const styles = new FetchedStyles(css);
const STATES = { done: "✓ Done", failed: "✕ Failed", cancelled: "– Cancelled" };

export default {
  render({ model, el, host }: RenderContext): () => void {
    const place = el.appendChild(element("div", "agentnb-view agentnb-batch"));
    const root = place.attachShadow({ mode: "open" });
    styles.addTo(root);
    const hiding = document.head.appendChild(hidesSaved(model.get("batch")));
    const list = root.appendChild(element("div", "batch"));
    const status = root.appendChild(element("p", { class: "status", role: "status" }));
    let wanted: number | undefined;
    let close: (() => void) | undefined;

    /** Draws the groups; the list does not change while a conversation is open in it. */
    const draw = () => close || wanted !== undefined || replace(root, list, model.get("groups"), open);
    const end = () => {
      close?.();
      close = wanted = undefined;
      status.textContent = "";
      for (const button of list.querySelectorAll("button")) button.setAttribute("aria-expanded", "false");
      for (const each of list.querySelectorAll(".conversation")) each.replaceChildren();
    };
    const open = (number: number) => {
      const isOpen = wanted === number;
      end();
      if (isOpen) return draw();
      wanted = number;
      status.textContent = "Opening the conversation… It opens when the running cell ends.";
      model.send({ open: number });
    };
    const answered = async ({ opened, tab, error }: Opened) => {
      if (opened !== wanted || close) return;
      const into = list.querySelector(`[data-number="${opened}"] .conversation`);
      try {
        if (error || !tab || !into) throw new Error(error || "The row no longer exists.");
        if (!host) throw new Error("This page can't show it here. Find it in the chat's tabs.");
        const reference = `anywidget:${model.get("host").replace(/^(IPY_MODEL_|anywidget:)/, "")}`;
        const { exports } = await host.getWidget(reference);
        if (wanted !== opened) return;
        close = exports.mount(into as HTMLElement, { kind: "chat", tab });
        into.previousElementSibling?.setAttribute("aria-expanded", "true");
        status.textContent = "";
      } catch (caught) {
        end();
        status.textContent = line(caught instanceof Error ? caught.message : String(caught), 500);
      }
    };
    model.on("change:groups", draw);
    model.on("msg:custom", answered);
    void hear(model);
    draw();
    return () => {
      model.off("change:groups", draw);
      model.off("msg:custom", answered);
      close?.();
      hiding.remove();
      place.remove();
    };
  },
};

/** If anywidget gave this module up, the rows that the kernel sent meanwhile are lost: this requests them again. */
async function hear(model: Model): Promise<void> {
  const own = await model.widget_manager?.get_model?.(model.get("own_id"));
  if (await hearThoughLate(own)) own?.comm?.send?.({ method: "request_state" });
}

/** Hides the rows in the HTML of the saved notebook's bar: this widget shows them. */
function hidesSaved(batch: string): HTMLElement {
  return element("style", "", /^[\w-]+$/.test(batch) ? `.agentnb-batch-${batch}{display:none}` : "");
}

/** Redraws the groups; rows that are the same stay, and so does the focus. */
function replace(root: ShadowRoot, list: HTMLElement, groups: readonly Group[], open: (number: number) => void): void {
  const focused = root.activeElement?.closest<HTMLElement>("[data-number]")?.dataset.number;
  for (const [at, group] of groups.entries()) {
    const made = section(group, open);
    const [heading, rows] = list.children[at]?.children ?? [];
    if (heading && rows) {
      heading.textContent = line(group.title, 200);
      renew(rows, ...(made.lastElementChild?.children ?? []));
    } else list.append(made);
  }
  while (list.childElementCount > groups.length) list.lastElementChild?.remove();
  if (focused !== undefined) list.querySelector<HTMLElement>(`[data-number="${focused}"] button`)?.focus();
}

function section({ title, rows }: Group, open: (number: number) => void): HTMLElement {
  const items = element("ul", "rows", ...rows.map((row) => item(row, open)));
  return element("section", "", element("h4", "", line(title, 200)), items);
}

function item({ number, label, state, text, opens }: Row, open: (number: number) => void): HTMLElement {
  const opener = button("", () => open(number));
  opener.disabled = !opens;
  opener.setAttribute("aria-expanded", "false");
  const sign = element("span", "state", STATES[state]);
  opener.append(sign, element("span", "label", line(label, 60)), element("span", "text", line(text, 200)));
  const row = element("li", `row ${state}`, opener, element("div", "conversation"));
  row.dataset.number = String(number);
  return row;
}
