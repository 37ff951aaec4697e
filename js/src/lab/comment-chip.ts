/** The comments that wait, as a chip in the message box of the chat: how many, on which cells; opened, each of them. */
import { button, element } from "../element";
import { line } from "../view/plain";
import type { CommentMarks } from "./comment-marks";
import { type CellComment, type CommentedCell, lineWords, placeOf, summary } from "./comments";

/** Of many comments these are listed; the others on demand. */
const LISTED = 50;

/** Draws the chip in `into`, a place in the chat's own root; the result takes it away. */
export function showComments(into: HTMLElement, marks: CommentMarks): () => void {
  const { comments } = marks;
  let isOpen = false;
  let most = LISTED;
  let isDue = false;
  const draw = (): void => {
    isDue = false;
    const { all } = comments;
    into.hidden = all.length === 0;
    if (!all.length) {
      isOpen = false;
      most = LISTED;
      return into.replaceChildren();
    }
    const focused = indexOfFocus(into);
    const chip = button(
      summary(all, marks.cells),
      () => {
        isOpen = !isOpen;
        draw();
        into.querySelector("button")?.focus();
      },
      "mention-chip",
    );
    chip.setAttribute("aria-expanded", String(isOpen));
    into.replaceChildren(chip, ...(isOpen ? [list(all)] : []));
    const buttons = into.querySelectorAll("button");
    if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)]?.focus();
  };
  const list = (all: readonly CellComment[]): HTMLElement => {
    const { cells } = marks;
    const rows = all.slice(0, most).map((one) => row(one, cells.get(one.cellId)));
    const left = all.length - rows.length;
    const more = button(`Show ${Math.min(left, LISTED)} more of ${left.toLocaleString("en")}`, () => {
      most += LISTED;
      draw();
    });
    const none = button("Remove all", () => comments.remove(...all.map(({ id }) => id)));
    for (const one of [more, none]) one.className = "button small";
    const rest = element("div", "row", ...(left > 0 ? [more] : []), none);
    return element("section", { class: "mention-preview", label: "Comments" }, element("ul", "list", ...rows), rest);
  };
  const row = (one: CellComment, cell: CommentedCell | undefined): HTMLElement => {
    const place = cell && placeOf(one, cell.lines);
    const name = cell?.name ?? "Deleted cell";
    const where = `${name}, ${place ? lineWords(place.first, place.last) : lineWords(one.first, one.last)}`;
    const since = place?.isChanged ? " The line has changed since." : "";
    const open = button(`${where}: ${line(one.text, 120)}`, () => void marks.goTo(one), "text-button");
    open.toggleAttribute("disabled", !cell);
    const remove = button("Remove", () => comments.remove(one.id), { class: "text-button", label: `Remove ${where}` });
    return element("li", "row", open, since && element("span", "note", since), element("span", "spacer"), remove);
  };
  const end = comments.onChange(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(draw);
  });
  draw();
  return () => {
    end();
    into.replaceChildren();
  };
}

/** Which of its buttons has the focus; -1 for none. */
function indexOfFocus(into: HTMLElement): number {
  const { activeElement } = into.getRootNode() as ShadowRoot;
  return [...into.querySelectorAll("button")].indexOf(activeElement as HTMLButtonElement);
}
