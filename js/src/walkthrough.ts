/**
 * A walkthrough: shows the steps of an explanation one at a time, and marks each step's place. Fetched for the first.
 */
import { button, element } from "./element";
import { line, plain } from "./view/plain";

export interface Step {
  readonly text: string;
  /** The place's name; undefined for a step about the whole. */
  readonly place: string | undefined;
  readonly cell: string | undefined;
  readonly file: string | undefined;
  readonly line: number | undefined;
}

export interface WalkthroughContext {
  readonly title: string;
  readonly steps: readonly Step[];
  /** Shows and marks a step's place; undefined if the front end cannot. */
  readonly show: ((step: Step) => void) | undefined;
}

/** Shows the walkthrough in `into`; the result removes it. */
export default function mount(into: HTMLElement, { title, steps, show }: WalkthroughContext): () => void {
  const count = element("p", "dim small");
  const text = element("p", { class: "plain walkthrough-text", role: "status" });
  const place = button("", () => show?.(steps[at] as Step), "button small");
  const back = button("Back", () => go(at - 1), "button small");
  const next = button("Next", () => go(at + 1), "button small");
  const card = element(
    "section",
    { class: "walkthrough", label: `Walkthrough: ${line(title, 100)}` },
    element("b", "", line(title, 200)),
    count,
    text,
    element("div", "row wraps walkthrough-row", back, next, place),
  );
  into.append(card);
  let at = 0;
  const draw = () => {
    const step = steps[at] as Step;
    count.textContent = `Step ${at + 1} of ${steps.length}`;
    text.textContent = plain(step.text);
    place.textContent = step.place === undefined ? "" : `Show ${line(step.place, 120)}`;
    place.hidden = step.place === undefined || !show;
    // Not `disabled`: a button would lose the keyboard's focus at the ends.
    back.setAttribute("aria-disabled", String(at === 0));
    next.setAttribute("aria-disabled", String(at === steps.length - 1));
  };
  const go = (to: number) => {
    if (to < 0 || to >= steps.length) return;
    at = to;
    draw();
    show?.(steps[at] as Step);
  };
  card.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    go(at + (event.key === "ArrowRight" ? 1 : -1));
  });
  draw();
  return () => card.remove();
}
