/**
 * Marks the authors of one notebook's cells. When the notebook opens, its metadata has them, or else its running
 * kernel; later, this asks the kernel when its chat connects, when a turn that changed cells has ended, and, if there
 * are marks, after a pause in typing. Loaded when a notebook is opened.
 */
import type { NotebookPanel, SharedCell } from "@jupyterlab/notebook";
import { addStyles } from "../element";
import { isObject } from "../state/object";
import { reason } from "../view/plain";
import type { Origin, SettingsAccess } from "../view/store";
import { EDITED } from "./agent-edits";
import { execute } from "./boot";
import { type Ask, addNotebookCommand, type Surroundings } from "./notebook-part";
import styles from "./provenance.css";
import { type Answer, type Marked, NONE, readAnswer, type WritingTurn } from "./provenance-answer";
import { type Around, ProvenanceMark } from "./provenance-mark";
import { type SavedCell, savedAnswer } from "./provenance-saved";

const COMMAND = [
  "agentnb:who-wrote-this",
  "Who Wrote This Cell",
  "Go to the active cell's mark: agent, turn and prompt of its lines",
] as const;
const KEY = "agentnb";
/** The beginning of our values (agentnb/plugins/provenance/cell_metadata.py): agent, model, day. */
const OURS = /^\S+ \S+ [\d-]+ \S+\/\S+ /;
const PAUSE = 1_000;
const SOON = 100;
/** Longer texts are not sent: Jupyter accepts no message over 10 MB. */
const LONGEST_TEXT = 4_000_000;

const BEFORE_CHAT =
  "__import__('agentnb.one_at_a_time', fromlist=['imported']).imported('agentnb.plugins.provenance.before_chat')";

export class NotebookProvenance {
  readonly #panel: NotebookPanel;
  readonly #of: Surroundings;
  readonly #marks = new Map<string, ProvenanceMark>();
  #ask: Ask | undefined;
  #answer: Answer = NONE;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #isWaiting = false;
  #isStale = false;
  /** The cells of the last request. */
  #sent = "";
  /** True if a kernel has answered: its log knows more than the metadata. */
  #isKernels = false;

  constructor(panel: NotebookPanel, surroundings: Surroundings) {
    this.#panel = panel;
    this.#of = surroundings;
    known.set(panel, this);
    addNotebookCommand(surroundings, known, COMMAND, (written) => written.focus());
    panel.node.addEventListener(EDITED, () => void this.#afterTurn());
    void panel.context.ready.then(() => {
      const { model } = panel.content;
      model?.contentChanged.connect(() => this.#marks.size > 0 && this.#later(PAUSE));
      model?.cells.changed.connect(() => this.#draw());
      this.#later(0);
    });
    panel.content.activeCellChanged?.connect(() => this.#reach());
    panel.disposed.connect(() => {
      clearTimeout(this.#timer);
      for (const mark of this.#marks.values()) mark.dispose();
    });
  }

  /** Called when a chat of the notebook's kernel is connected. */
  connected({ request, signal }: SettingsAccess): void {
    const ask = request as unknown as Ask; // its type lacks the plug-ins' requests
    this.#ask = ask;
    signal.addEventListener("abort", () => {
      if (this.#ask === ask) this.#ask = undefined;
    });
    this.#later(SOON, true);
  }

  /** Called when the user put code of an answer into a cell, which had the text `before`: the agent wrote it. */
  placed({ id }: SharedCell, before: string | null, after: string, { channel, turnId }: Origin): void {
    const notebook = this.#panel.context.path;
    this.#ask?.("provenance/placed", { channel, turnId, cellId: id, notebook, before, after })
      .then(() => this.#later(SOON, true))
      .catch((error) => console.debug("agentnb:", error));
  }

  /** Focuses the mark of the active cell. */
  focus(): void {
    const { activeCellIndex } = this.#panel.content;
    const id = [...this.#marks.keys()].find((key) => key.startsWith(`${activeCellIndex} `));
    if (id) this.#marks.get(id)?.node.focus();
    else this.#of.warn("No line of this cell is known to be an agent's.");
  }

  /** Waits until the turn of an agent that changed cells has ended: its lines are known then. */
  async #afterTurn(): Promise<void> {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    try {
      for (let isSettled = false; !isSettled && this.#ask; ) {
        const answer = await this.#ask("provenance/settled", {});
        isSettled = isObject(answer) && answer.isSettled === true;
      }
      this.#later(SOON, true);
    } catch (error) {
      console.debug("agentnb:", error);
    } finally {
      this.#isWaiting = false;
    }
  }

  /** `isAfterTurn`: the answer for the same cells may differ. */
  #later(pause: number, isAfterTurn = false): void {
    clearTimeout(this.#timer);
    this.#isStale ||= isAfterTurn;
    const refresh = (): void => {
      void this.#refresh(this.#isStale).catch((error) => console.debug("agentnb:", error));
      this.#isStale = false;
    };
    this.#timer = setTimeout(refresh, pause);
  }

  async #refresh(isAfterTurn: boolean): Promise<void> {
    const { content, context } = this.#panel;
    const shared = content.model?.sharedModel.cells;
    if (!shared || this.#panel.isDisposed) return;
    const attempt = ++this.#attempt;
    const cells = shared.map((cell) => {
      const saved = cell.getMetadata(KEY);
      const facts = { id: cell.id, kind: cell.cell_type, source: cell.getSource() };
      return typeof saved === "string" ? { ...facts, saved } : facts;
    });
    const sent = JSON.stringify(cells);
    if (sent.length > LONGEST_TEXT || (sent === this.#sent && !isAfterTurn)) return; // running cells change, too
    this.#sent = sent;
    const question = { path: context.path, cells };
    const ask = this.#ask;
    const answer = ask ? readAnswer(await ask("provenance/cells", question)) : await this.#withoutChat(question);
    if (!answer || attempt !== this.#attempt || this.#panel.isDisposed) return;
    this.#isKernels ||= ask !== undefined;
    this.#answer = answer;
    this.#draw();
    if (answer.isSaved) this.#save();
  }

  /** Returns the notebook's answer, else its kernel's, once no cell runs there; undefined without agentnb. */
  async #withoutChat(question: { path: string; cells: SavedCell[] }): Promise<Answer | undefined> {
    const saved = this.#isKernels ? NONE : await savedAnswer(question.cells);
    const { sessionContext } = this.#panel;
    if (saved.cells.length || this.#of.sidebar.isVisible) return saved.cells.length ? saved : undefined;
    await sessionContext.ready;
    const kernel = sessionContext.session?.kernel;
    if (!kernel || (await kernel.info).language_info.name !== "python") return undefined;
    const text = JSON.stringify(JSON.stringify(question)); // valid Python, too
    const { content } = await execute(kernel, undefined, { answer: `${BEFORE_CHAT}.answer(${text})` });
    const { answer } = isObject(content.user_expressions) ? content.user_expressions : {};
    if (!isObject(answer) || !isObject(answer.data)) return undefined;
    return readAnswer(answer.data["application/json"]);
  }

  #draw(): void {
    const { widgets } = this.#panel.content;
    const wanted = new Map<string, [Marked, (typeof widgets)[number]]>();
    for (const marked of this.#answer.cells) {
      const at = widgets[marked.index];
      const cell = at?.model.id === marked.id ? at : widgets.find(({ model }) => model.id === marked.id);
      if (cell) wanted.set(`${widgets.indexOf(cell)} ${marked.id}`, [marked, cell]);
    }
    for (const [key, mark] of this.#marks) {
      if (wanted.has(key) && mark.node.isConnected) continue;
      mark.dispose();
      this.#marks.delete(key);
    }
    for (const [key, [marked, cell]] of wanted) {
      const mark = this.#marks.get(key);
      if (mark) mark.update(marked);
      else this.#marks.set(key, new ProvenanceMark(cell, marked, this.#around));
    }
    this.#reach();
  }

  /** Only the active cell's mark is in the tab order: a notebook can have hundreds. */
  #reach(): void {
    const { activeCellIndex } = this.#panel.content;
    for (const [key, { node }] of this.#marks) node.tabIndex = key.startsWith(`${activeCellIndex} `) ? 0 : -1;
  }

  /** Updates the cells' metadata where it differs from the answer. */
  #save(): void {
    const cells = this.#panel.content.model?.sharedModel.cells ?? [];
    const wanted = new Map(this.#answer.cells.map(({ index, saved }) => [index, saved]));
    for (const [index, cell] of cells.entries()) {
      const now = cell.getMetadata(KEY);
      const value = wanted.has(index) ? wanted.get(index) : "";
      if (value === null || value === undefined || value === (typeof now === "string" ? now : "")) continue;
      if (value) cell.setMetadata(KEY, value);
      else if (typeof now === "string" && OURS.test(now)) cell.deleteMetadata(KEY);
    }
  }

  readonly #around: Around = {
    turn: (number) => this.#answer.turns[number],
    title: (agent) => this.#answer.titles[agent] ?? agent,
    verified: async () => {
      const state = await this.#ask?.("verify/state", { path: this.#panel.context.path });
      if (!isObject(state) || state.ok !== true || state.isStale === true || typeof state.time !== "number") return "";
      const how = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
      return new Date(state.time).toLocaleTimeString([], how);
    },
    open: (turn) => void this.#open(turn),
  };

  async #open({ session, turn }: WritingTurn): Promise<void> {
    const { sidebar, reveal, warn } = this.#of;
    try {
      if (!this.#ask) throw new Error("Open the chat of this notebook: the turn is shown there.");
      await this.#ask("resumeSession", { channel: session });
      reveal();
      sidebar.load(this.#panel).open("The turn", `${session}#${turn}`, "agentnb-open");
    } catch (error) {
      warn(reason(error));
    }
  }
}

const known = new WeakMap<NotebookPanel, NotebookProvenance>();

addStyles(styles);
