/**
 * Review in the cells: a part that is loaded with the first proposal for a cell of an open notebook, or the first edit of
 * one. It has what JupyterLab gives: the editor's look and languages, commands and the notebooks that are open.
 */
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { Application } from "@jupyterlab/application";
import { jupyterTheme, type Languages } from "@jupyterlab/codemirror";
import type { NotebookPanel, Tracker } from "@jupyterlab/notebook";
import type { CellProposal } from "../view/store";
import styles from "./cell-review.css";
import { ShownProposals } from "./shown-proposals";

export interface Page {
  app: Application;
  tracker: Tracker;
  languages: Languages | null;
}

const shown = new WeakMap<NotebookPanel, ShownProposals>();

/** What shows the proposals for a notebook; the same for the same notebook. */
export function shownProposals(panel: NotebookPanel, page: Page, run: (index: number) => void): ShownProposals {
  const isOpen = (path: string): boolean => {
    let isFound = false;
    page.tracker.forEach(({ context }) => {
      isFound ||= context.path === path;
    });
    return isFound;
  };
  const drawNewCell = (parent: HTMLElement, proposal: CellProposal): (() => void) =>
    newCell(parent, proposal, page.languages);
  const made = shown.get(panel) ?? new ShownProposals(panel, { isOpen, run, drawNewCell });
  shown.set(panel, made);
  addCommands(page);
  return made;
}

function newCell(parent: HTMLElement, { kind, newText }: CellProposal, languages: Languages | null): () => void {
  let view: EditorView | undefined;
  let isGone = false;
  const draw = (language: object | undefined): void => {
    if (isGone) return;
    view = new EditorView({
      parent,
      doc: newText ?? "The text of the new cell is too long to be shown here.",
      extensions: [
        jupyterTheme,
        EditorView.lineWrapping,
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({ "aria-label": "New cell", "aria-readonly": "true", tabindex: "0" }),
        ...(language ? [language] : []),
      ],
    });
  };
  void languageOf(kind, languages).then(draw);
  return () => {
    isGone = true;
    view?.destroy();
  };
}

async function languageOf(kind = "code", languages: Languages | null): Promise<object | undefined> {
  const file = kind === "code" ? "cell.py" : kind === "markdown" ? "cell.md" : "cell.txt";
  const found = languages?.findByFileName?.(file);
  const language = found && (await languages?.getLanguage(found).catch(() => null));
  return language?.support;
}

/** For the shortcuts (js/schema/plugin.json), which hold in a notebook with a proposal. */
function addCommands({ app, tracker }: Page): void {
  if (app.commands.hasCommand("agentnb:accept-cell-change")) return;
  document.head.append(Object.assign(document.createElement("style"), { textContent: styles }));
  const current = (): ShownProposals | undefined =>
    tracker.currentWidget ? shown.get(tracker.currentWidget) : undefined;
  const add = (name: string, label: string, act: (proposals: ShownProposals) => void): void => {
    app.commands.addCommand(`agentnb:${name}`, {
      label,
      isEnabled: () => current()?.isEmpty === false,
      execute: () => {
        const proposals = current();
        if (proposals) act(proposals);
      },
    });
  };
  add("accept-cell-change", "Accept the Proposed Change of the Cell", (proposals) => proposals.answer("accept"));
  add("run-cell-change", "Accept the Proposed Change of the Cell and Run It", (proposals) => proposals.answer("run"));
  add("reject-cell-change", "Reject the Proposed Change of the Cell", (proposals) => proposals.answer("reject"));
  add("next-cell-change", "Next Proposed Change", (proposals) => proposals.step(1));
  add("previous-cell-change", "Previous Proposed Change", (proposals) => proposals.step(-1));
}
