/** A batch's rows below its bar: groups, a click that opens a conversation there, and rows that cannot be opened. */
import { afterEach, expect, test } from "vitest";
import batch from "../../src/batch";
import { eventually } from "../eventually";

type Listener = (content: never) => void;
const ROWS = [
  { number: 3, label: "z", state: "failed", text: "It took <b>too</b> long.", opens: true },
  { number: 7, label: "y", state: "failed", text: "It took too long.", opens: false },
];
const GROUPS = [
  { title: "2 failed: timeout", rows: ROWS },
  { title: "Answers", rows: [{ number: 0, label: "a", state: "done", text: "good", opens: true }] },
];

/** The widget's model as anywidget provides it; `say` acts for the kernel. */
class Model {
  readonly sent: object[] = [];
  groups: unknown = GROUPS;
  /** The page's models, by id. */
  readonly models = new Map<string, object>();
  readonly widget_manager = { get_model: async (id: string) => this.models.get(id) };
  readonly #listeners = new Map<string, Listener>();

  get(name: "host" | "batch" | "own_id" | "groups"): never {
    return { host: "IPY_MODEL_1", batch: "b-1", own_id: "7", groups: this.groups }[name] as never;
  }
  on(name: string, listener: Listener): void {
    this.#listeners.set(name, listener);
  }
  off(name: string): void {
    this.#listeners.delete(name);
  }
  send(content: object): void {
    this.sent.push(content);
  }
  async say(name: string, content?: object): Promise<void> {
    await this.#listeners.get(name)?.(content as never);
    await new Promise(requestAnimationFrame);
  }
  get isFollowed(): boolean {
    return this.#listeners.size > 0;
  }
}

function mountBatch(model = new Model()) {
  const mounted: unknown[] = [];
  const el = document.body.appendChild(document.createElement("div"));
  const mount = (into: HTMLElement, what: unknown) => {
    mounted.push(what);
    into.textContent = "the chat";
    return () => mounted.pop();
  };
  const host = { getWidget: async () => ({ exports: { mount } }) };
  const end = batch.render({ model, el, host } as never);
  const root = el.firstElementChild?.shadowRoot as ShadowRoot;
  const buttons = () => [...root.querySelectorAll("button")];
  const status = () => root.querySelector("[role=status]")?.textContent;
  return { model, mounted, el, end, root, buttons, status };
}

test("a late module requests missed rows and receives later ones", async () => {
  const heard: unknown[] = [];
  class Jupyter {
    async _handle_comm_msg(message: unknown): Promise<void> {
      heard.push(message);
    }
  }
  class GivenUp extends Jupyter {
    readonly comm = {
      received: undefined as Jupyter["_handle_comm_msg"] | undefined,
      on_msg(received: Jupyter["_handle_comm_msg"]): void {
        this.received = received;
      },
      send: (data: object) => heard.push(data),
    };
    override async _handle_comm_msg(): Promise<void> {
      throw new Error("[anywidget] Failed to initialize model.");
    }
  }
  const [model, page] = [new Model(), new GivenUp()];
  model.models.set("7", page);
  mountBatch(model);
  await eventually(() => expect(page.comm.received).toBeDefined());
  await page.comm.received?.("rows");
  expect(heard).toEqual([{ method: "request_state" }, "rows"]);
});

afterEach(() => {
  document.head.replaceChildren();
  document.body.replaceChildren();
});

test("groups failures by reason and shows agent output as plain text", () => {
  const { root, buttons } = mountBatch();
  expect([...root.querySelectorAll("h4")].map((each) => each.textContent)).toEqual(["2 failed: timeout", "Answers"]);
  expect(buttons().map((each) => [...each.children].map((part) => part.textContent))).toEqual([
    ["✕ Failed", "z", "It took <b>too</b> long."],
    ["✕ Failed", "y", "It took too long."],
    ["✓ Done", "a", "good"],
  ]);
  expect(buttons().map((each) => each.disabled)).toEqual([false, true, false]);
});

test("opens and closes a row's conversation without updating the list", async () => {
  const { model, mounted, buttons, status } = mountBatch();
  buttons()[0]?.click();
  expect(model.sent).toEqual([{ open: 3 }]);
  expect(status()).toContain("Opening the conversation");
  await model.say("msg:custom", { opened: 3, tab: "t3" });
  expect(mounted).toEqual([{ kind: "chat", tab: "t3" }]);
  expect([buttons()[0]?.getAttribute("aria-expanded"), status()]).toEqual(["true", ""]);
  model.groups = [];
  await model.say("change:groups");
  expect(buttons().length).toBe(3);
  buttons()[0]?.click();
  expect([mounted, buttons().length]).toEqual([[], 0]);
});

test("shows why a row cannot be opened and ignores outdated answers", async () => {
  const { model, mounted, buttons, status, end } = mountBatch();
  buttons()[0]?.click();
  buttons()[2]?.click();
  await model.say("msg:custom", { opened: 3, tab: "t3" });
  expect(mounted).toEqual([]);
  await model.say("msg:custom", { opened: 0, error: "It is in another log: there." });
  expect([mounted, status()]).toEqual([[], "It is in another log: there."]);
  end();
  expect([model.isFollowed, document.querySelector("div")?.childElementCount]).toEqual([false, 0]);
});

test("keeps the focus on its row when the rows change", async () => {
  const { model, root, buttons } = mountBatch();
  buttons()[2]?.focus();
  model.groups = GROUPS.slice(1);
  await model.say("change:groups");
  expect(buttons().length).toBe(1);
  expect(root.activeElement).toBe(buttons()[0]);
});

test("keeps an unchanged row's element so that clicks on it still count", async () => {
  const { model, buttons } = mountBatch();
  const pressed = buttons()[2];
  model.groups = [{ title: "3 failed: timeout", rows: [...ROWS, { ...ROWS[0], number: 8 }] }, GROUPS[1]];
  await model.say("change:groups");
  expect([buttons().length, buttons()[3] === pressed]).toEqual([4, true]);
  pressed?.click();
  expect(model.sent).toEqual([{ open: 0 }]);
});

test("hides the saved HTML rows while the widget is shown", () => {
  const saved = document.body.appendChild(document.createElement("div"));
  saved.className = "agentnb-batch-saved agentnb-batch-b-1";
  const { end } = mountBatch();
  expect(getComputedStyle(saved).display).toBe("none");
  end();
  expect(getComputedStyle(saved).display).toBe("block");
});
