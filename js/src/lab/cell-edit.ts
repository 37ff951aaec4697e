/**
 * The edit of one cell that the user requests in the cell: the prompt, the turn that carries it out, and the result.
 * The agent's change is shown like any other (js/src/lab/shown-proposals.ts, shown-changes.ts).
 */
import type { Cell, NotebookPanel } from "@jupyterlab/notebook";
import { isObject } from "../state/object";
import { line, reason } from "../view/plain";
import { CellForm, type FormAction } from "./cell-form";
import { insertCell, type Placed, replace } from "./edits";
import type { Ask } from "./notebook-part";

/** The metadata key for the prompt that a cell was written from. */
export const PROMPT_KEY = "agentnb_prompt";
const BUSY_AFTER = 1_500;
const LONGEST_CELL = 1_000_000;

/** The notebook's services for the edit of a cell. */
export interface EditPlace {
  readonly panel: NotebookPanel;
  connect(): Promise<Ask>;
  /** Called when a cell's text `before` was replaced; the user can undo it in the cell. */
  replaced(cell: Cell["model"]["sharedModel"], before: string, sentence: string): void;
  readonly placed: Placed;
  showTurn(channel: string, turnId: string): void;
  warn(sentence: string): void;
  ended(edit: CellEdit): void;
}

/** `EditedResult` of agentnb/plugins/inline/edit_requests.py. */
interface Outcome {
  readonly state: string;
  readonly error: string;
  readonly isDecided: boolean;
  readonly code: string | null;
  readonly saved: string | null;
}

interface Turn {
  readonly ask: Ask;
  readonly channel: string;
  readonly turnId: string;
  readonly agent: string;
}

export class CellEdit {
  readonly id: string;
  readonly #place: EditPlace;
  readonly #form: CellForm;
  #cell: Cell;
  #prompt = "";
  /** The cell's text when the user requested the edit. */
  #before = "";
  #turn: Turn | undefined;
  /** Changes when the previous attempt is no longer wanted. */
  #attempt = 0;

  constructor(cell: Cell, place: EditPlace) {
    this.id = cell.model.id;
    this.#cell = cell;
    this.#place = place;
    this.#form = new CellForm(
      cell,
      () => focusCell(place.panel, this.#cell),
      () => this.#onEscape(),
    );
    this.#ask();
  }

  focus(): void {
    this.#form.focus();
  }

  /** Called when the notebook's cells changed; `cell` is this one, if it still exists. */
  follow(cell: Cell | undefined): void {
    if (cell === this.#cell) return;
    if (cell) {
      this.#cell = cell;
      this.#form.moveTo(cell);
      return;
    }
    const isRunning = this.#form.state === "works";
    this.stop();
    if (isRunning) this.#place.warn("The cell was deleted, so its edit was stopped.");
  }

  /** Stops the running turn, and closes the form. */
  stop(): void {
    this.#attempt++;
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn) stopTurn(turn);
    this.#close();
  }

  #onEscape(): void {
    // While the agent works, Escape only leaves the form; the button stops the turn.
    if (this.#form.state === "works") focusCell(this.#place.panel, this.#cell);
    else this.stop();
  }

  #close(): void {
    this.#form.dispose();
    this.#place.ended(this);
  }

  get #isEmpty(): boolean {
    return this.#cell.model.sharedModel.getSource().trim() === "";
  }

  #ask(): void {
    const { sharedModel } = this.#cell.model;
    if (sharedModel.getMetadata("editable") === false) return this.#fail("This cell is read-only.");
    const saved = sharedModel.getMetadata(PROMPT_KEY);
    const value = this.#prompt || (typeof saved === "string" ? saved.slice(0, 500) : "");
    this.#form.ask({
      label: this.#isEmpty ? "What this cell should do" : "Edit this cell",
      placeholder: this.#isEmpty ? "Plot the mean of each month" : "Use a logarithmic axis",
      value,
      word: this.#isEmpty ? "Write" : "Edit",
      more: [{ word: "Cancel", run: () => this.stop() }],
      done: (text) => void this.#begin(text),
    });
  }

  async #begin(prompt: string): Promise<void> {
    this.#prompt = prompt;
    this.#before = this.#cell.model.sharedModel.getSource();
    if (this.#before.length > LONGEST_CELL) return this.#fail("The cell is too long for an agent.");
    const attempt = ++this.#attempt;
    const isOver = (): boolean => attempt !== this.#attempt;
    this.#say("Asking the agent…");
    const slow = setTimeout(() => {
      const isBusy = this.#place.panel.sessionContext.session?.kernel?.status === "busy";
      if (!isOver() && isBusy) this.#say("The kernel is busy. The edit starts when the kernel is free.");
    }, BUSY_AFTER);
    try {
      const ask = await this.#place.connect();
      if (isOver()) return;
      const turn = await this.#start(ask, prompt);
      if (isOver()) return stopTurn(turn);
      clearTimeout(slow);
      this.#turn = turn;
      const outcome = await this.#wait(turn, isOver);
      if (outcome) this.#show(turn, outcome);
    } catch (error) {
      if (!isOver()) this.#fail(reason(error));
    } finally {
      clearTimeout(slow);
    }
  }

  async #start(ask: Ask, prompt: string): Promise<Turn> {
    const { model } = this.#cell;
    const started = await ask("inline/edit", {
      cellId: this.id,
      prompt,
      source: this.#before,
      path: this.#place.panel.context.path,
      kind: model.sharedModel.cell_type,
      count: model.sharedModel.execution_count ?? null,
    });
    if (!isObject(started)) throw new Error("The kernel's answer can't be read.");
    const { channel, turnId, agent } = started;
    return { ask, channel: String(channel), turnId: String(turnId), agent: line(String(agent), 60) };
  }

  /** Waits until the turn has ended; undefined if the edit was stopped. */
  async #wait({ ask, channel, turnId, agent }: Turn, isOver: () => boolean): Promise<Outcome | undefined> {
    for (let known = ""; ; ) {
      const answer = await ask("inline/edited", { channel, turnId, cellId: this.id, known });
      if (isOver()) return undefined;
      if (!isObject(answer)) throw new Error("The kernel's answer can't be read.");
      const outcome = { error: "", isDecided: false, code: null, saved: null, ...answer } as Outcome;
      if (outcome.state !== "waiting" && outcome.state !== "working") return outcome;
      if (outcome.state !== known)
        this.#say(outcome.state === "waiting" ? `Waiting for ${agent}…` : `${agent} is editing this cell…`);
      known = outcome.state;
    }
  }

  #show(turn: Turn, { state, error, isDecided, code, saved }: Outcome): void {
    const { agent, channel, turnId } = turn;
    this.#turn = undefined;
    const show: FormAction = { word: "Show answer", run: () => this.#place.showTurn(channel, turnId) };
    if (state === "cancelled") this.#fail("The turn was stopped.");
    else if (state === "error") this.#fail(`${agent} failed: ${line(error, 300)}`);
    else if (!isDecided && code === null) this.#fail(`${agent} answered without changing this cell.`, show);
    else if (isDecided || this.#put(turn, code ?? "")) this.#keepPrompt(saved);
  }

  /** Puts the answer's code into the cell, or shows why not. */
  #put(turn: Turn, code: string): boolean {
    const { agent } = turn;
    const cell = this.#cell.model.sharedModel;
    const now = cell.getSource();
    if (cell.getMetadata("editable") === false) this.#fail("This cell is read-only.");
    else if (now !== this.#before)
      this.#fail(`You changed this cell while ${agent} worked, so nothing was replaced.`, {
        word: "Insert below",
        run: () => this.#insertBelow(turn, code),
      });
    else if (now === code) this.#fail(`${agent} would change nothing in this cell.`);
    else {
      replace(cell, code);
      this.#place.replaced(cell, now, `Written by ${agent}, as you asked.`);
      this.#place.placed(cell, now, code, turn);
      return true;
    }
    return false;
  }

  #insertBelow(turn: Turn, code: string): void {
    const { content } = this.#place.panel;
    const shared = content.model?.sharedModel;
    const index = content.widgets.indexOf(this.#cell) + 1;
    if (shared) insertCell(shared, index, code);
    const cell = shared?.cells[index];
    if (cell) this.#place.placed(cell, null, code, turn);
    this.#close();
  }

  /** Saves the prompt in a cell that was written from it, if the user wants that. */
  #keepPrompt(saved: string | null): void {
    if (saved && this.#before.trim() === "" && !this.#isEmpty)
      this.#cell.model.sharedModel.setMetadata(PROMPT_KEY, saved);
    this.#close();
  }

  #say(text: string): void {
    this.#form.say("works", text, { word: "Stop", run: () => this.stop() });
  }

  #fail(why: string, ...actions: readonly FormAction[]): void {
    const again: readonly FormAction[] = this.#prompt ? [{ word: "Try again", run: () => this.#ask() }] : [];
    this.#form.say("failed", why, ...actions, ...again, { word: "Close", run: () => this.stop() });
  }
}

function stopTurn({ ask, channel, turnId }: Turn): void {
  void ask("inline/stop", { channel, turnId }).catch((error: unknown) => console.debug("agentnb:", error));
}

export function focusCell({ content }: NotebookPanel, cell: Cell): void {
  const index = content.widgets.indexOf(cell);
  if (index < 0) return content.activate();
  content.activeCellIndex = index;
  content.activate();
  cell.editor?.editor.focus();
}
