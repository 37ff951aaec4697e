/** The mark at a cell with an agent's lines: a thin line beside them, and their author on hover and focus. */
import type { Cell } from "@jupyterlab/notebook";
import { element } from "../element";
import { line } from "../view/plain";
import type { Marked, WritingTurn } from "./provenance-answer";

const WRITTEN = "agentnb-written";
const MOST_TURNS = 3;
const GAP = 6;
/** The distance of the mark's left edge from the text, in pixels. */
const LEFT = 10;

/** The notebook's services for a mark. */
export interface Around {
  turn(number: number): WritingTurn | undefined;
  /** Returns the agent's display name. */
  title(agent: string): string;
  /** Returns when the current notebook was verified, such as `14:03`; empty if it was not. */
  verified(): Promise<string>;
  open(turn: WritingTurn): void;
}

export class ProvenanceMark {
  readonly node = element("button", { class: "agentnb-author" });
  readonly #cell: Cell;
  readonly #around: Around;
  #marked: Marked;
  #isEnded = false;
  /** Draws again if lines wrap differently, or a narrow window moves the prompt above them. */
  readonly #resized = new ResizeObserver(() => this.draw());

  constructor(cell: Cell, marked: Marked, around: Around) {
    this.#cell = cell;
    this.#marked = marked;
    this.#around = around;
    this.node.type = "button";
    this.node.tabIndex = -1;
    this.node.setAttribute("data-lm-suppress-shortcuts", "true");
    this.node.addEventListener("click", (event) => {
      event.stopPropagation();
      const turn = this.#latest;
      if (turn) around.open(turn);
    });
    // Otherwise the cell and its editor take the focus.
    this.node.addEventListener("mousedown", (event) => event.stopPropagation());
    for (const name of ["pointerenter", "focus"]) this.node.addEventListener(name, () => this.#show());
    for (const name of ["pointerleave", "blur"]) this.node.addEventListener(name, () => card.hide(this.node));
    void cell.ready.then(() => this.#put());
  }

  /** Shows another answer about the same cell. */
  update(marked: Marked): void {
    this.#marked = marked;
    this.draw();
    if (card.isAt(this.node)) this.#show();
  }

  /** Draws the mark at the lines' current places. */
  draw(): void {
    const turn = this.#latest;
    const by = turn ? this.#around.title(turn.agent) : "an agent";
    this.#place();
    this.node.setAttribute("aria-label", `Written by ${line(by, 60)}: open the turn`);
    this.node.replaceChildren(
      ...this.#stretches().map(([top, height]) => {
        const stretch = element("i");
        stretch.style.top = top;
        stretch.style.height = height;
        return stretch;
      }),
    );
  }

  dispose(): void {
    this.#isEnded = true;
    this.#resized.disconnect();
    card.hide(this.node);
    this.node.remove();
    this.#cell.node.classList.remove(WRITTEN);
  }

  get #latest(): WritingTurn | undefined {
    return this.#around.turn(this.#marked.turns.at(-1) ?? -1);
  }

  #put(): void {
    const input = this.#cell.isDisposed ? null : this.#cell.node.querySelector(":scope > .jp-Cell-inputWrapper");
    if (this.#isEnded || !input) return;
    this.#cell.node.classList.add(WRITTEN);
    input.append(this.node);
    this.#resized.observe(input);
    this.draw();
  }

  /** Puts the mark beside the text, wherever the prompt is. */
  #place(): void {
    const input = this.node.parentElement;
    const texts = input?.querySelectorAll(".jp-InputArea-editor, .jp-InputArea > .jp-RenderedMarkdown") ?? [];
    const text = [...texts].map((one) => one.getBoundingClientRect()).find(({ width }) => width > 0);
    if (input && text) this.node.style.left = `${text.left - input.getBoundingClientRect().left - LEFT}px`;
  }

  /** Returns the ranges of agents' lines, from the top of the input; all of it if unknown. */
  #stretches(): (readonly [top: string, height: string])[] {
    const view = this.#cell.editor?.editor;
    const input = this.node.parentElement;
    const ranges = this.#marked.lines.filter(([, , turn]) => turn !== null);
    if (!view || !input || this.#cell.rendered || !ranges.length) return [["2px", "calc(100% - 4px)"]];
    const above = view.documentTop - input.getBoundingClientRect().top;
    const { doc } = view.state;
    return ranges.flatMap(([first, last]) => {
      if (first > doc.lines) return [];
      const { top } = view.lineBlockAt(doc.line(first).from);
      const { bottom } = view.lineBlockAt(doc.line(Math.min(last, doc.lines)).from);
      return [[`${above + top}px`, `${bottom - top}px`] as const];
    });
  }

  #show(): void {
    const { turns, isEdited } = this.#marked;
    const rows = turns
      .slice(-MOST_TURNS)
      .reverse()
      .flatMap((number) => {
        const turn = this.#around.turn(number);
        return turn ? [this.#row(turn)] : [];
      });
    const more = turns.length - rows.length;
    if (more > 0) rows.push(element("p", "", `${more} earlier ${more === 1 ? "turn" : "turns"}`));
    const facts = [isEdited ? "edited by you since" : ""];
    const last = element("p");
    const say = (): void => {
      last.textContent = facts.filter(Boolean).join(" · ");
      last.hidden = !last.textContent;
    };
    say();
    card.show(this.node, [...rows, last]);
    void this.#around
      .verified()
      .then((time) => {
        if (time) facts.push(`verified ${time}`);
        say();
      })
      .catch(console.debug);
  }

  /** Text from agents and from the notebook's author: never HTML. */
  #row({ agent, model, number, prompt, isKept, fromNotebook }: WritingTurn): HTMLElement {
    const who = [line(this.#around.title(agent), 60), model ? line(model, 60) : ""].filter(Boolean).join(" · ");
    const missing = fromNotebook ? "as the notebook says" : "its conversation was deleted";
    const what = prompt ? `“${line(prompt, 80)}”` : isKept ? "" : missing;
    const turn = [number ? `turn ${number}` : "", what].filter(Boolean).join(": ");
    return element("p", "", [who, turn].filter(Boolean).join(" · "));
  }
}

/** The page's only card: stays while the pointer is on it; Escape closes it. */
class Card {
  readonly #node = element("div", { class: "agentnb-author-card", role: "tooltip" });
  #at: HTMLElement | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.#node.id = "agentnb-author-card";
    this.#node.addEventListener("pointerenter", () => clearTimeout(this.#timer));
    this.#node.addEventListener("pointerleave", () => this.#later());
    document.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape" || !this.#at) return;
        this.#close();
        event.stopPropagation();
      },
      true,
    );
    document.addEventListener("scroll", () => this.#at && this.#close(), true);
  }

  show(at: HTMLElement, rows: readonly HTMLElement[]): void {
    this.#close();
    clearTimeout(this.#timer);
    this.#at = at;
    this.#node.replaceChildren(...rows);
    document.body.append(this.#node);
    at.setAttribute("aria-describedby", this.#node.id);
    const place = at.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.#node;
    const left = Math.max(GAP, Math.min(place.left, window.innerWidth - width - GAP));
    const above = place.top - height - GAP;
    this.#node.style.left = `${left}px`;
    this.#node.style.top = `${above > 0 ? above : Math.min(place.bottom + GAP, window.innerHeight - height - GAP)}px`;
  }

  isAt(at: HTMLElement): boolean {
    return this.#at === at;
  }

  hide(at: HTMLElement): void {
    if (this.#at !== at) return;
    if (at.isConnected) this.#later();
    else this.#close();
  }

  #later(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#close(), 200);
  }

  #close(): void {
    this.#at?.removeAttribute("aria-describedby");
    this.#at = undefined;
    this.#node.remove();
  }
}

const card = new Card();
