/** If a module loads later than anywidget waits, its model still receives the kernel's messages. */
import { expect, test } from "vitest";
import { hearThoughLate } from "../src/late-module";

type Received = (message: object) => Promise<unknown>;
const MESSAGE = { content: { data: { method: "custom", content: "hello" } } };

/** ipywidgets' part of a model. */
class Base {
  readonly heard: unknown[] = [];
  received: Received = (message) => this._handle_comm_msg(message);
  readonly comm = {
    on_msg: (received: Received): void => {
      this.received = received;
    },
  };

  async _handle_comm_msg(message: object): Promise<unknown> {
    const { method, content } = (message as typeof MESSAGE).content.data;
    if (method === "custom") this.heard.push(content);
    return undefined;
  }
}

/** anywidget's part: each message waits for the module. */
class Model extends Base {
  readonly ready: Promise<void>;

  constructor(ready: Promise<void>) {
    super();
    this.ready = ready;
  }

  override async _handle_comm_msg(message: object): Promise<unknown> {
    await this.ready;
    return super._handle_comm_msg(message);
  }
}

test("a model that anywidget gave up on still receives kernel messages", async () => {
  const model = new Model(Promise.reject(new Error("[anywidget] Failed to initialize model.")));
  await expect(model.received(MESSAGE)).rejects.toThrow("Failed to initialize");
  await hearThoughLate(model);
  await model.received(MESSAGE);
  expect(model.heard).toEqual(["hello"]);
});

test("a model whose module loads in time is not changed", async () => {
  const model = new Model(Promise.resolve());
  const before = model.received;
  await hearThoughLate(model);
  expect(model.received).toBe(before);
  expect(model.heard).toEqual([]);
});

test.each([[undefined], [{}]])("a model of another front end is ignored: %o", async (model) => {
  expect(await hearThoughLate(model)).toBeUndefined();
});
