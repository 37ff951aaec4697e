/** A prompt that waits until the chat is open. */
import { button, element } from "../element";

/** Events for the message box and the chat (js/src/view); a listener that takes the prompt prevents the default. */
export type Taking = "agentnb-send" | "agentnb-add" | "agentnb-panel" | "agentnb-open" | "agentnb-reopen";
const STARTS = {
  "agentnb-send": "is sent",
  "agentnb-add": "is added to the message",
  "agentnb-panel": "opens here",
  "agentnb-open": "opens here",
  "agentnb-reopen": "opens here",
};

export class PendingPrompt {
  readonly #words = element("span");
  readonly node = element(
    "div",
    { class: "agentnb-pending", role: "status" },
    this.#words,
    button("Don't send", () => this.cancel()),
  );
  #attempt = 0;
  #watch: MutationObserver | undefined;
  #cancelled: () => void = () => {};
  #how: Taking = "agentnb-send";

  constructor() {
    this.node.hidden = true;
  }

  /** Sends the result of `text`, or adds it to the draft, in the chat below `root`, once a conversation takes it. */
  async send(root: HTMLElement, about: string, text: Promise<string>, how: Taking = "agentnb-send"): Promise<void> {
    this.cancel();
    this.#how = how;
    const attempt = ++this.#attempt;
    this.#words.textContent = `${about} ${STARTS[how]} as soon as the chat is open.`;
    const slow = setTimeout(() => this.#show(attempt), 1_000);
    const cancelled = new Promise<undefined>((resolve) => {
      this.#cancelled = () => resolve(undefined);
    });
    const prompt = await Promise.race([text, cancelled]);
    clearTimeout(slow);
    if (prompt === undefined || attempt !== this.#attempt || this.#taken(root, prompt)) return this.#end(attempt);
    this.#show(attempt);
    this.#watch = new MutationObserver(() => {
      if (this.#taken(root, prompt)) this.#end(attempt);
      else this.#look(root);
    });
    this.#look(root);
  }

  cancel(): void {
    this.#cancelled();
    this.#end(this.#attempt);
  }

  /** Observes the chat, which may be another one than before. */
  #look(root: HTMLElement): void {
    const how = {
      childList: true,
      subtree: true,
      attributes: true,
      attributeFilter: ["readonly", "disabled", "data-held"],
    };
    this.#watch?.observe(root, how);
    const chat = chatOf(root)?.shadowRoot;
    if (chat) this.#watch?.observe(chat, how);
  }

  #taken(root: HTMLElement, prompt: string): boolean {
    const event = new CustomEvent(this.#how, { detail: prompt, cancelable: true });
    return chatOf(root)?.dispatchEvent(event) === false;
  }

  #show(attempt: number): void {
    if (attempt === this.#attempt) this.node.hidden = false;
  }

  #end(attempt: number): void {
    if (attempt !== this.#attempt) return;
    this.#attempt++;
    this.#watch?.disconnect();
    this.#watch = undefined;
    this.node.hidden = true;
  }
}

export const chatOf = (root: HTMLElement): HTMLElement | null => root.querySelector<HTMLElement>(".agentnb-view");
