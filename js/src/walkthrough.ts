/** A walkthrough: the steps of an explanation, one at a time; its place is shown and marked. Fetched when one is there. */
import { line, plain } from "./view/plain";

export interface Step {
  readonly text: string;
  /** What the place is called; absent for a step about the whole. */
  readonly place: string | undefined;
  readonly cell: string | undefined;
  readonly file: string | undefined;
  readonly line: number | undefined;
}

/** What it needs of the chat. */
export interface WalkthroughContext {
  readonly title: string;
  readonly steps: readonly Step[];
  /** Shows and marks a step's place; absent where the front end cannot. */
  readonly show: ((step: Step) => void) | undefined;
}

/** Shows it in `into`; the result takes it away again. */
export default function mount(into: HTMLElement, { title, steps, show }: WalkthroughContext): () => void {
  const make = <K extends keyof HTMLElementTagNameMap>(tag: K, className = "", text = "") => {
    const made = into.ownerDocument.createElement(tag);
    made.className = className;
    made.textContent = text;
    return made;
  };
  const card = make("section", "walkthrough");
  card.setAttribute("aria-label", `Walkthrough: ${line(title, 100)}`);
  const count = make("p", "dim small");
  const text = make("p", "plain walkthrough-text");
  text.setAttribute("role", "status");
  const place = make("button", "button small");
  const back = make("button", "button small", "Back");
  const next = make("button", "button small", "Next");
  for (const button of [place, back, next]) button.type = "button";
  const row = make("div", "row wraps walkthrough-row");
  row.append(back, next, place);
  card.append(make("b", "", line(title, 200)), count, text, row);
  into.append(card);
  let at = 0;
  const draw = () => {
    const step = steps[at] as Step;
    count.textContent = `Step ${at + 1} of ${steps.length}`;
    text.textContent = plain(step.text);
    place.textContent = step.place === undefined ? "" : `Show ${line(step.place, 120)}`;
    place.hidden = step.place === undefined || !show;
    // Not disabled: the keyboard's focus would be lost at the ends.
    back.setAttribute("aria-disabled", String(at === 0));
    next.setAttribute("aria-disabled", String(at === steps.length - 1));
  };
  const go = (to: number) => {
    if (to < 0 || to >= steps.length) return;
    at = to;
    draw();
    show?.(steps[at] as Step);
  };
  back.addEventListener("click", () => go(at - 1));
  next.addEventListener("click", () => go(at + 1));
  place.addEventListener("click", () => show?.(steps[at] as Step));
  card.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    go(at + (event.key === "ArrowRight" ? 1 : -1));
  });
  draw();
  return () => card.remove();
}
