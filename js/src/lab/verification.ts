/** Verification in the page: the marks of one notebook, and the command. Loaded when a notebook is opened. */
import type { NotebookPanel } from "@jupyterlab/notebook";
import { Widget } from "@lumino/widgets";
import { element } from "../element";
import type { SettingsAccess } from "../view/store";
import { tagsOf } from "./edits";
import { addNotebookCommand, KernelRequests, type Surroundings } from "./notebook-part";
import { part } from "./parts";
import { VerificationMark } from "./verification-mark";
import { Verifier } from "./verifier";

const COMMAND = [
  "agentnb:verify",
  "Verify the Notebook",
  "Run the notebook from the top, on a copy, and compare the results",
] as const;
const PAUSE = 250;

export class NotebookVerification {
  readonly #panel: NotebookPanel;
  readonly #verifier: Verifier;
  readonly #status = element("span", { role: "status" });
  readonly #marks: readonly [toolbar: VerificationMark, turn: VerificationMark];
  readonly #requests: KernelRequests;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(panel: NotebookPanel, surroundings: Surroundings) {
    this.#panel = panel;
    this.#requests = new KernelRequests(panel, surroundings);
    const { app, sidebar, reveal, warn } = surroundings;
    const { content, context } = panel;
    const notebook = {
      path: () => context.path,
      text: () => JSON.stringify(content.model?.toJSON() ?? {}),
      mark: () => markOf(panel),
      connect: () => this.#requests.connect(),
      send: (text: string) => {
        reveal();
        sidebar.load(panel).say(text);
      },
    };
    this.#verifier = new Verifier(notebook, () => this.#draw());
    const show = (id: string): void =>
      void part("workspace-files").then(({ showCell }) => showCell(app, panel, id, warn));
    this.#marks = [
      new VerificationMark(this.#verifier, show, this.#status),
      new VerificationMark(this.#verifier, show),
    ];
    putIntoToolbar(panel, new Widget({ node: this.#marks[0].node }));
    void context.ready.then(() => content.model?.contentChanged.connect(() => this.#later()));
    panel.disposed.connect(() => clearTimeout(this.#timer));
    known.set(panel, this);
    addNotebookCommand(surroundings, known, COMMAND, (one) => void one.#verifier.begin());
  }

  /** Called when a chat of the notebook's kernel is connected. */
  connected(access: SettingsAccess): void {
    const ask = this.#requests.connected(access);
    access.signal.addEventListener("abort", () => this.#verifier.lost(ask));
    this.#verifier.connected(ask);
  }

  /** Shows the mark below a turn that changed something: the last one in its conversation. */
  showIn(into: HTMLElement, turn: string): void {
    const { node } = this.#marks[1];
    const place = node.parentElement;
    const isEarlier =
      place?.isConnected === true &&
      place.getRootNode() === into.getRootNode() &&
      (place.compareDocumentPosition(into) & Node.DOCUMENT_POSITION_PRECEDING) !== 0;
    into.classList.add("agentnb-verify-turn");
    if (!isEarlier && place !== into) into.append(node);
    this.#verifier.turnEnded(turn);
  }

  /** After a pause in typing, shows if the mark is stale. */
  #later(): void {
    if (this.#verifier.state.status !== "ended") return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), PAUSE);
  }

  #draw(): void {
    if (this.#panel.isDisposed) return;
    for (const mark of this.#marks) mark.draw();
    const { status } = this.#verifier.state;
    const words = status === "ended" ? this.#marks[0].words : status === "running" ? "Verifying…" : "";
    if (this.#status.textContent !== words) this.#status.textContent = words;
  }
}

/** Puts the mark before the cell's type: a narrow toolbar moves its last items into a menu first. */
function putIntoToolbar(panel: NotebookPanel, mark: Widget): void {
  const put = (): boolean => {
    const at = [...panel.toolbar.names()].indexOf("cellType");
    return at >= 0 && panel.toolbar.insertItem(at, "agentnb-verify", mark);
  };
  // Notebook 7 fills the toolbar later.
  if (!put()) void panel.revealed.then(() => put() || panel.toolbar.insertItem(9, "agentnb-verify", mark));
}

const known = new WeakMap<NotebookPanel, NotebookVerification>();

function markOf({ content }: NotebookPanel): string {
  const cells = content.model?.sharedModel.cells.filter((cell) => cell.cell_type === "code") ?? [];
  const facts = cells.map((cell) => [cell.getSource(), cell.execution_count ?? null, tagsOf(cell)]);
  return digest(JSON.stringify(facts.filter(([source]) => String(source).trim())));
}

/** Two FNV-1a hashes with the length: a notebook's own pages only have to tell its texts apart. */
function digest(text: string): string {
  let [one, two] = [0x811c9dc5, 0x9747b28c];
  for (let at = 0; at < text.length; at++) {
    one = Math.imul(one ^ text.charCodeAt(at), 0x01000193);
    two = Math.imul(two ^ text.charCodeAt(at), 0x85ebca6b);
  }
  return [text.length, one >>> 0, two >>> 0].join("-");
}
