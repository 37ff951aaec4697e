/** Takes cells that the user drags from the notebook to the chat. */
import type { Cell } from "@jupyterlab/notebook";

/** `Drag.Event` of @lumino/dragdrop. */
interface CellDrag extends Event {
  readonly mimeData: { hasData(kind: string): boolean; getData(kind: string): unknown };
  dropAction: string;
}

/** The MIME type of dragged cells in JupyterLab's notebook. */
const CELLS = "internal:cells";

export function takeCells(node: HTMLElement, take: (cells: readonly Cell[]) => void): void {
  const on = (kind: string, react: (drag: CellDrag) => void): void =>
    node.addEventListener(kind, (event) => {
      const drag = event as CellDrag;
      if (!drag.mimeData.hasData(CELLS)) return;
      drag.preventDefault();
      drag.stopPropagation();
      drag.dropAction = "copy";
      react(drag);
    });
  on("lm-dragenter", () => {});
  on("lm-dragover", () => {});
  on("lm-drop", ({ mimeData }) => take(mimeData.getData(CELLS) as readonly Cell[]));
}
