/**
 * Review in the cells: a part that is loaded with the first proposal or edit for a cell of an open notebook. It
 * connects the review to JupyterLab: the editor's theme and languages, and the open notebooks.
 */
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { Application } from "@jupyterlab/application";
import type { Palette } from "@jupyterlab/apputils";
import { jupyterTheme, type Languages } from "@jupyterlab/codemirror";
import type { NotebookPanel, Tracker } from "@jupyterlab/notebook";
import { addStyles } from "../element";
import { table } from "../state/object";
import { passShortcuts } from "./cell-bar";
import styles from "./cell-review.css";
import { languageOf } from "./languages";
import { isOpenAt } from "./notebook-state";
import type { AbsentCell } from "./shown-changes";
import { ShownProposals } from "./shown-proposals";

export interface Page {
  app: Application;
  palette: Palette | null;
  tracker: Tracker;
  languages: Languages | null;
}

const proposalsByPanel = new WeakMap<NotebookPanel, ShownProposals>();
let isFirst = true;

/** Returns the view of a notebook's proposals; always the same for the same notebook. */
export function shownProposals(panel: NotebookPanel, page: Page, run: (index: number) => void): ShownProposals {
  const isOpen = (path: string): boolean => isOpenAt(page.tracker, path);
  const drawCell = (parent: HTMLElement, cell: AbsentCell): (() => void) => draw(parent, cell, page.languages);
  const made = proposalsByPanel.get(panel) ?? new ShownProposals(panel, { isOpen, run, drawCell });
  proposalsByPanel.set(panel, made);
  if (isFirst) {
    addStyles(styles);
    passShortcuts();
    const { app, palette, tracker } = page;
    addReviewCommands(app, palette, () =>
      tracker.currentWidget ? proposalsByPanel.get(tracker.currentWidget) : undefined,
    );
    isFirst = false;
  }
  return made;
}

const FILES: Readonly<Record<string, string>> = table({ code: "cell.py", markdown: "cell.md" });

function draw(parent: HTMLElement, { kind, text, label }: AbsentCell, languages: Languages | null): () => void {
  let view: EditorView | undefined;
  let isGone = false;
  const show = (language: Extension | undefined): void => {
    if (isGone) return;
    view = new EditorView({
      parent,
      doc: text ?? "The text of the cell is too long to be shown here.",
      extensions: [
        jupyterTheme,
        EditorView.lineWrapping,
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", tabindex: "0" }),
        ...(language ? [language] : []),
      ],
    });
  };
  void languageOf(languages, FILES[kind ?? "code"] ?? "cell.txt").then(show);
  return () => {
    isGone = true;
    view?.destroy();
  };
}

/** Adds commands to the palette, and for shortcuts in a notebook whose cells show changes. */
function addReviewCommands(app: Application, palette: Palette | null, current: () => ShownProposals | undefined): void {
  const add = (
    name: string,
    label: string,
    act: (proposals: ShownProposals) => void,
    without: "isIdle" | "isEmpty" = "isIdle",
  ): void => {
    const command = `agentnb:${name}`;
    app.commands.addCommand(command, {
      label,
      isEnabled: () => current()?.[without] === false,
      execute: () => {
        const proposals = current();
        if (proposals) act(proposals);
      },
    });
    palette?.addItem({ command, category: "Agents" });
  };
  add("accept-cell-change", "Accept or Keep the Agent's Change of the Cell", (proposals) => proposals.answer("accept"));
  add(
    "run-cell-change",
    "Accept the Agent's Change of the Cell and Run It",
    (proposals) => proposals.answer("run"),
    "isEmpty",
  );
  add("reject-cell-change", "Reject or Undo the Agent's Change of the Cell", (proposals) => proposals.answer("reject"));
  add("accept-cell-changes", "Accept or Keep All of the Agent's Changes of Cells", (proposals) =>
    proposals.answerAll("accept"),
  );
  add("reject-cell-changes", "Reject or Undo All of the Agent's Changes of Cells", (proposals) =>
    proposals.answerAll("reject"),
  );
  add("next-cell-change", "Next Change by the Agent", (proposals) => proposals.step(1));
  add("previous-cell-change", "Previous Change by the Agent", (proposals) => proposals.step(-1));
}
