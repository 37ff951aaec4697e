/** Draws Markdown into an element, as a stream of growing texts. */
import { signal } from "@preact/signals";
import { render } from "preact";
import { Cadence } from "../../src/view/cadence";
import { type View, ViewContext } from "../../src/view/context";
import type { Drafts } from "../../src/view/drafts";
import { Markdown } from "../../src/view/markdown/markdown";
import type { Store } from "../../src/view/store";
import { TextGrowth } from "../../src/view/text-growth";

const VIEW: Omit<View, "store"> = {
  cadence: new Cadence(),
  root: undefined as unknown as ShadowRoot,
  memory: new Map(),
  drafts: undefined as unknown as Drafts,
  visible: signal(true),
  near: undefined,
  growth: new TextGrowth(document.body),
  toBox: () => {},
  announce: () => {},
};

export class MarkdownPage {
  readonly element = document.createElement("div");
  readonly #view: View;

  constructor(store?: Partial<Store>) {
    this.#view = { ...VIEW, store: store as Store };
  }

  draw(text: string, live: boolean): this {
    const drawn = (
      <ViewContext.Provider value={this.#view}>
        <Markdown text={text} live={live} />
      </ViewContext.Provider>
    );
    render(drawn, this.element);
    return this;
  }

  get html(): string {
    return this.element.innerHTML;
  }

  get text(): string {
    return this.element.textContent ?? "";
  }
}

export function drawn(text: string): MarkdownPage {
  return new MarkdownPage().draw(text, false);
}
