/** A change set in the main area: one difference at a time, side by side, with a list to choose from. */
import type { Languages } from "@jupyterlab/codemirror";
import { Widget } from "@lumino/widgets";
import { addStyles, button, element } from "../element";
import type { Comparison, Review, Standing } from "../view/store";
import type { How } from "./compare";
import { languageOf } from "./languages";
import { part } from "./parts";
import styles from "./review.css";

/** Width in pixels: narrower panels show one text with the other's lines in it. */
const ROOM = 640;

// This part is loaded once.
addStyles(styles);

let panels = 0;

export class ReviewPanel extends Widget {
  readonly #languages: Languages | null;
  readonly #choice = element("select", { label: "Change" });
  readonly #previous = barButton("‹", () => this.#go(this.#at - 1), "Previous");
  readonly #next = barButton("›", () => this.#go(this.#at + 1), "Next");
  readonly #open = barButton("Open file", () => this.#current?.open?.());
  readonly #all = barButton("All lines", () => this.#showAll());
  /** Keep, and undo or redo: each keeps its place, so that the focus stays. */
  readonly #keep = barButton("Keep", () => this.#do("Keep"));
  readonly #back = barButton("Undo", () => this.#do(this.#back.textContent ?? ""));
  readonly #part = barButton("Redo part", () => this.#do("Redo part"));
  readonly #status = element("span", "agentnb-review-said");
  readonly #body = element("div", "agentnb-review-body");
  readonly #resized = new ResizeObserver(() => this.#fit());
  #changes: readonly Comparison[] = [];
  #at = 0;
  /** Counts the loads: the result of an earlier one is ignored. */
  #loads = 0;
  #standing: (id: string) => Standing | undefined = () => undefined;
  #unfollow: (() => void) | undefined;
  #draw: ((how: How) => () => void) | undefined;
  #erase: (() => void) | undefined;
  #isWide: boolean | undefined;
  /** The version of the texts that are shown or loading; "" if unknown. */
  #version = "";

  constructor(languages: Languages | null, icon: unknown) {
    super();
    this.#languages = languages;
    panels += 1;
    this.id = `agentnb-review-${panels}`;
    this.addClass("agentnb-review");
    this.title.icon = icon;
    this.title.closable = true;
    this.#choice.addEventListener("change", () => this.#go(this.#choice.selectedIndex));
    this.#all.setAttribute("aria-pressed", "false");
    const buttons = [this.#previous, this.#next, this.#all, this.#open, this.#keep, this.#back, this.#part];
    const marks = { class: "agentnb-review-bar", role: "toolbar", label: "Changes" };
    this.node.append(element("div", marks, this.#choice, ...buttons, this.#status), this.#body);
    this.node.setAttribute("role", "region");
    this.#resized.observe(this.node);
  }

  /** Shows these changes, beginning with `first`. */
  review(review: Review): void {
    this.title.label = `Changes: ${review.title}`;
    this.title.caption = this.title.label;
    this.node.setAttribute("aria-label", this.title.label);
    this.#changes = review.changes;
    this.#choice.replaceChildren(...review.changes.map(({ name }) => new Option(name)));
    this.#go(review.changes.findIndex(({ id }) => id === review.first));
    this.#unfollow?.();
    this.#standing = () => undefined;
    this.#showActions();
    this.#unfollow = review.follow?.((standing) => {
      this.#standing = standing;
      this.#showActions();
      const version = this.#versionNow();
      if (this.#version && version && version !== this.#version) void this.#load(++this.#loads, true);
      else if (this.#version && !version) this.#redraw(); // nothing can be decided from here any more
      this.#version = version;
    });
  }

  override dispose(): void {
    this.#resized.disconnect();
    this.#unfollow?.();
    this.#clear();
    super.dispose();
  }

  get #current(): Comparison | undefined {
    return this.#changes[this.#at];
  }

  #go(at: number): void {
    this.#at = Math.min(Math.max(0, at), this.#changes.length - 1);
    this.#choice.selectedIndex = this.#at;
    // Still reachable by keyboard, so that the focus stays.
    this.#previous.setAttribute("aria-disabled", String(this.#at === 0));
    this.#next.setAttribute("aria-disabled", String(this.#at >= this.#changes.length - 1));
    this.#open.hidden = this.#current?.open === undefined;
    this.#showActions();
    this.#version = this.#versionNow();
    void this.#load(++this.#loads);
  }

  #versionNow(): string {
    return (this.#current && this.#standing(this.#current.id)?.version) ?? "";
  }

  #actions(): Standing["actions"] {
    return (this.#current && this.#standing(this.#current.id)?.actions) ?? [];
  }

  #do(word: string): void {
    this.#actions()
      .find((action) => action.word === word)
      ?.run();
  }

  /** Shows the actions for the current change; a button that disappears hands its focus on. */
  #showActions(): void {
    const { name = "", id = "" } = this.#current ?? {};
    const { said: status = "", isBusy = false } = this.#standing(id) ?? {};
    const words = this.#actions().map(({ word }) => word);
    const back = words.find((word) => word !== "Keep" && word !== "Redo part");
    const all = [this.#keep, this.#back, this.#part];
    const focused = all.find((one) => one === document.activeElement);
    this.#keep.hidden = !words.includes("Keep");
    this.#back.hidden = back === undefined;
    this.#back.textContent = back ?? "";
    this.#part.hidden = !words.includes("Redo part");
    for (const one of all) {
      one.setAttribute("aria-label", `${one.textContent} ${name}`);
      one.setAttribute("aria-disabled", String(isBusy)); // still reachable by keyboard
    }
    this.#status.textContent = status;
    if (focused?.hidden) ([this.#back, this.#keep, this.#part].find((one) => !one.hidden) ?? this.#choice).focus();
  }

  /** `isAgain`: parts were decided; the old text stays until the rest is loaded, and so does the scroll position. */
  async #load(load: number, isAgain = false): Promise<void> {
    const current = this.#current;
    if (!current) return;
    if (!isAgain) {
      this.#clear();
      this.#say("Loading…");
    }
    try {
      const language = languageOf(this.#languages, current.open ? current.name : "cell.py");
      const [{ compare }, texts, colours] = await Promise.all([part("compare"), current.load(), language]);
      if (load !== this.#loads || this.isDisposed) return;
      const { scrollTop } = this.#body;
      const hadFocus = this.#body.contains(document.activeElement);
      this.#clear();
      this.#body.replaceChildren();
      const all = { ...texts, name: current.name, language: colours };
      this.#draw = (how) => compare(this.#body, all, { ...how, decide: this.#decide(current.id) });
      this.#fit();
      if (!isAgain) return;
      this.#body.scrollTop = scrollTop;
      if (hadFocus) (this.#body.querySelector<HTMLElement>(".agentnb-hunk-bar button") ?? this.#choice).focus();
    } catch (error) {
      if (load === this.#loads) this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  #decide(id: string): How["decide"] {
    if (!this.#standing(id)?.decide) return undefined;
    return (how, hunk) => this.#standing(id)?.decide?.(how, hunk);
  }

  /** Draws for the available width. */
  #fit(): void {
    const isWide = this.node.offsetWidth >= ROOM;
    if (!this.#draw || (this.#erase && isWide === this.#isWide) || this.node.offsetWidth === 0) return;
    this.#isWide = isWide;
    this.#erase?.();
    this.#body.replaceChildren();
    this.#erase = this.#draw({ sideBySide: isWide, allLines: this.#all.getAttribute("aria-pressed") === "true" });
  }

  #showAll(): void {
    this.#all.setAttribute("aria-pressed", String(this.#all.getAttribute("aria-pressed") !== "true"));
    this.#redraw();
  }

  #redraw(): void {
    const hadFocus = this.#body.contains(document.activeElement);
    this.#isWide = undefined;
    this.#fit();
    if (hadFocus) this.#choice.focus();
  }

  #clear(): void {
    this.#erase?.();
    this.#erase = undefined;
    this.#draw = undefined;
  }

  #say(sentence: string): void {
    this.#body.replaceChildren(element("p", { role: "status" }, sentence));
  }
}

function barButton(text: string, onClick: () => void, label = ""): HTMLButtonElement {
  const made = button(text, onClick, { label });
  made.title = label;
  return made;
}
