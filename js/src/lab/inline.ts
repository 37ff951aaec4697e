/**
 * Help while the user types: an edit of one cell from a prompt in it, completions, and comments on lines. A part that is
 * loaded when a notebook is opened.
 */

import type { Application } from "@jupyterlab/application";
import type { NotebookPanel, SharedCell } from "@jupyterlab/notebook";
import { addStyles } from "../element";
import type { NotebookActions, SettingsAccess } from "../view/store";
import { CellEdit, type EditPlace } from "./cell-edit";
import { CommentMarks, showComments } from "./comment-marks";
import type { Placed } from "./edits";
import styles from "./inline.css";
import { CellCompletion, switchOf } from "./inline-completion";
import { addNotebookCommand, KernelRequests, type Surroundings } from "./notebook-part";

const EDIT = [
  "agentnb:edit-cell",
  "Edit This Cell with the Agent",
  "Write what the agent should do with the active cell",
] as const;
const COMMENT = [
  "agentnb:comment",
  "Comment on the Selected Lines",
  "Write a comment on lines of a cell, to send with your next message",
] as const;

interface Around extends Surroundings {
  /** The chat's actions on the notebook, to which the comments are added. */
  readonly edits: NotebookActions;
  /** Called when we replaced a cell's text; the user can undo it in the cell. */
  replaced(cell: SharedCell, before: string, sentence: string): void;
  readonly placed: Placed;
}

export class NotebookInline {
  readonly #panel: NotebookPanel;
  readonly #place: EditPlace;
  readonly #edits = new Map<string, CellEdit>();
  readonly marks: CommentMarks;
  readonly requests: KernelRequests;
  readonly actions: NotebookActions;
  #access: SettingsAccess | undefined;
  #isFollowing = false;

  constructor(panel: NotebookPanel, surroundings: Around) {
    const { sidebar, reveal, replaced, placed, warn } = surroundings;
    this.#panel = panel;
    this.requests = new KernelRequests(panel, surroundings);
    this.marks = new CommentMarks(panel);
    this.#place = {
      panel,
      connect: () => this.requests.connect(),
      replaced,
      placed,
      showTurn: (channel, turnId) => {
        reveal();
        sidebar.load(panel).open("The turn", `${channel}#${turnId}`, "agentnb-open");
      },
      warn,
      ended: (edit) => this.#edits.get(edit.id) === edit && this.#edits.delete(edit.id),
    };
    this.actions = Object.assign(surroundings.edits, this.#comments());
    known.set(panel, this);
    addCommands(surroundings);
    void panel.context.ready.then(() => panel.content.model?.cells.changed.connect(() => this.#cellsChanged()));
    panel.disposed.connect(() => {
      for (const edit of this.#edits.values()) edit.stop();
    });
  }

  /** Called when a chat of the notebook's kernel is connected. */
  connected(access: SettingsAccess): void {
    this.#access = access;
    this.requests.connected(access);
    if (this.#isFollowing) this.#follow();
  }

  /** Shows the agent's changes in the cells from the first edit on, even if the chat was never open. */
  #follow(): void {
    this.#isFollowing = true;
    const { view, signal } = this.#access ?? {};
    if (!view || !signal) return;
    this.#access = undefined;
    const link = view("inline");
    const report = (): void => link.setVisible(document.visibilityState !== "hidden");
    report();
    document.addEventListener("visibilitychange", report, { signal });
    signal.addEventListener("abort", () => link.close());
  }

  /** Asks the user what the agent should do with the active cell. */
  edit(): void {
    const cell = this.#panel.content.activeCell;
    if (!cell) return;
    const running = this.#edits.get(cell.model.id);
    if (running) running.focus();
    else this.#edits.set(cell.model.id, new CellEdit(cell, this.#place));
    this.#follow();
  }

  #comments(): Pick<NotebookActions, "comments"> {
    const { comments } = this.marks;
    return {
      comments: {
        show: (into) => showComments(into, this.marks),
        take: () => {
          const taken = comments.take(this.marks.cells);
          return taken ? [{ type: "simple", label: taken.label, modelRepresentation: taken.text }] : [];
        },
        giveBack: () => comments.giveBack(),
      },
    };
  }

  /** Waits for a frame: JupyterLab moves a cell by deleting and inserting it. */
  #cellsChanged(): void {
    if (!this.#edits.size) return;
    requestAnimationFrame(() => {
      if (this.#panel.isDisposed) return;
      const cells = new Map(this.#panel.content.widgets.map((cell) => [cell.model.id, cell]));
      for (const edit of [...this.#edits.values()]) edit.follow(cells.get(edit.id));
    });
  }
}

const known = new WeakMap<NotebookPanel, NotebookInline>();

/** Adds the commands once per page. */
function addCommands(surroundings: Surroundings): void {
  const { app, tracker, warn } = surroundings;
  if (app.commands.hasCommand(EDIT[0])) return;
  addStyles(styles);
  addNotebookCommand(surroundings, known, EDIT, (inline) => inline.edit());
  addNotebookCommand(surroundings, known, COMMENT, (inline) => inline.marks.comment());
  addEdits(app, () => (tracker.currentWidget ? known.get(tracker.currentWidget)?.actions : undefined));
  const connect = (panel: NotebookPanel) =>
    known.get(panel)?.requests.connect() ?? Promise.reject(new Error("The notebook is no longer open."));
  completion = new CellCompletion(switchOf(app), tracker, connect, warn);
}

let completion: CellCompletion | undefined;

/** `IInlineCompletionProvider.fetch`; no items before a notebook is open. */
export const complete: CellCompletion["fetch"] = async (...request) =>
  (await completion?.fetch(...request)) ?? { items: [] };

/** Adds commands that take `{"source": "…"}`. */
function addEdits(app: Application, current: () => NotebookActions | undefined): void {
  const add = (id: string, label: string, edit: (edits: NotebookActions, source: string) => void): void => {
    const isEnabled = (): boolean => current() !== undefined;
    const execute = ({ source }: { source?: unknown } = {}): void => {
      const edits = current();
      if (edits && typeof source === "string") edit(edits, source);
    };
    app.commands.addCommand(id, { label, isEnabled, execute });
  };
  add("agentnb:insert-below", "Insert Code Below the Active Cell", (edits, source) => edits.insertBelow(source));
  add("agentnb:replace-active", "Replace the Active Cell's Code", (edits, source) => edits.replaceActive(source));
  add("agentnb:run", "Run Code in a New Cell", (edits, source) => edits.run(source));
}
