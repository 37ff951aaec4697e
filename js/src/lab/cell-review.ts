/**
 * Review in the cells: a part that is loaded with the first proposal for a cell of an open notebook, or the first edit of
 * one. It has what JupyterLab gives: the editor's look and languages, commands and the notebooks that are open.
 */
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { Application } from "@jupyterlab/application";
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
  tracker: Tracker;
  languages: Languages | null;
}

const shown = new WeakMap<NotebookPanel, ShownProposals>();

/** What shows the proposals for a notebook; the same for the same notebook. */
export function shownProposals(panel: NotebookPanel, page: Page, run: (index: number) => void): ShownProposals {
  const isOpen = (path: string): boolean => isOpenAt(page.tracker, path);
  const drawCell = (parent: HTMLElement, cell: AbsentCell): (() => void) => draw(parent, cell, page.languages);
  const made = shown.get(panel) ?? new ShownProposals(panel, { isOpen, run, drawCell });
  shown.set(panel, made);
  addCommands(page);
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

/** For the shortcuts (js/schema/plugin.json), which hold in a notebook with a proposal. */
function addCommands({ app, tracker }: Page): void {
  if (app.commands.hasCommand("agentnb:accept-cell-change")) return;
  addStyles(styles);
  passShortcuts();
  const current = (): ShownProposals | undefined =>
    tracker.currentWidget ? shown.get(tracker.currentWidget) : undefined;
  const add = (
    name: string,
    label: string,
    act: (proposals: ShownProposals) => void,
    without: "isIdle" | "isEmpty" = "isIdle",
  ): unknown =>
    app.commands.addCommand(`agentnb:${name}`, {
      label,
      isEnabled: () => current()?.[without] === false,
      execute: () => {
        const proposals = current();
        if (proposals) act(proposals);
      },
    });
  const run = "Accept the Agent's Change of the Cell and Run It";
  add("accept-cell-change", "Accept or Keep the Agent's Change of the Cell", (proposals) => proposals.answer("accept"));
  add("run-cell-change", run, (proposals) => proposals.answer("run"), "isEmpty");
  add("reject-cell-change", "Reject or Undo the Agent's Change of the Cell", (proposals) => proposals.answer("reject"));
  add("next-cell-change", "Next Change by the Agent", (proposals) => proposals.step(1));
  add("previous-cell-change", "Previous Change by the Agent", (proposals) => proposals.step(-1));
}
