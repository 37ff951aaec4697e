/** How the verification of one notebook stands: begins it, follows it, and knows when it is about another text. */
import { isObject } from "../state/object";
import { line, reason } from "../view/plain";

/** `VerificationState` of agentnb/plugins/verify/page_jobs.py. */
export interface Verification {
  readonly status: "none" | "running" | "ended";
  readonly revision: number;
  readonly done: number;
  readonly all: number;
  /** When it ended, in milliseconds since 1970. */
  readonly time: number;
  readonly isStale: boolean;
  /** Of the code that it is about, by the page that began it; empty where no page did. */
  readonly mark: string;
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly summary: string;
  readonly notChecked: readonly string[];
  /** For an agent that is to mend what was found. */
  readonly task: string;
  readonly error: string;
}

export interface Finding {
  readonly cause: string;
  readonly evidence?: string;
  readonly advice?: string;
  readonly cell?: { readonly id: string; readonly label: string } | null;
}

export type Ask = (method: string, params: object) => Promise<unknown>;

export interface Notebook {
  /** Its path on the Jupyter server. */
  path(): string;
  /** All of it, as JSON. */
  text(): string;
  /** A mark of what a verification depends on: the text, the count and the tags of each code cell. */
  mark(): string;
  /** Asks the kernel, as soon as agentnb is loaded there. */
  connect(): Promise<Ask>;
  /** Sends a message to the agent. */
  send(text: string): void;
}

export const NONE: Verification = {
  status: "none",
  revision: 0,
  done: 0,
  all: 0,
  time: 0,
  isStale: false,
  mark: "",
  ok: false,
  findings: [],
  summary: "",
  notChecked: [],
  task: "",
  error: "",
};
/** A longer notebook is read by the kernel: Jupyter takes no message of more than 10 MB. */
export const LONGEST_TEXT = 4_000_000;
const NO_METHOD = -32601;

export class Verifier {
  readonly #notebook: Notebook;
  readonly #changed: () => void;
  #state = NONE;
  /** Of the code that `#state` is about; undefined: another than there is now. */
  #mark: string | undefined;
  #ask: Ask | undefined;
  #attempt = 0;
  /** What was known before the one that runs. */
  #before: readonly [Verification, string | undefined] = [NONE, undefined];
  readonly #turns = new Set<string>();
  #isMending = false;

  constructor(notebook: Notebook, changed: () => void) {
    this.#notebook = notebook;
    this.#changed = changed;
  }

  get state(): Verification {
    return this.#state;
  }

  get isStale(): boolean {
    return this.#state.status === "ended" && this.#mark !== this.#notebook.mark();
  }

  /** The kernel is there. */
  connected(ask: Ask): void {
    this.#ask = ask;
    if (this.#state.status !== "running") void this.#watch(++this.#attempt, ask).catch(console.debug);
  }

  /** The kernel is gone; what is known of the text still holds. */
  lost(ask: Ask): void {
    if (this.#ask !== ask) return;
    this.#ask = undefined;
    if (this.#state.status === "running") this.stop();
  }

  async begin(): Promise<void> {
    if (this.#state.status === "running") return;
    const attempt = ++this.#attempt;
    const { path, text, connect } = this.#notebook;
    const mark = this.#notebook.mark();
    this.#before = [this.#state, this.#mark];
    this.#mark = mark;
    const whole = text();
    this.#set({ ...NONE, status: "running" });
    try {
      const ask = this.#ask ?? (await connect());
      if (attempt !== this.#attempt) return;
      const begun = ask("verify/begin", { path: path(), text: whole.length > LONGEST_TEXT ? "" : whole, mark });
      await this.#follow(attempt, ask, begun);
    } catch (error) {
      if (attempt === this.#attempt) this.#set({ ...NONE, status: "ended", time: Date.now(), error: said(error) });
    }
  }

  /** Stops it; what was known before is shown again. */
  stop(): void {
    if (this.#state.status !== "running") return;
    this.#attempt++;
    const [state, mark] = this.#before;
    this.#mark = mark;
    this.#set(state);
    const [attempt, ask] = [this.#attempt, this.#ask];
    void ask?.("verify/stop", { path: this.#notebook.path() })
      .then((answer) => this.#watch(attempt, ask, read(answer).revision))
      .catch(console.debug);
  }

  /** Waits for what is verified elsewhere, by a turn or in another window; without a revision the answer comes at once. */
  async #watch(attempt: number, ask: Ask, revision?: number): Promise<void> {
    for (let known = revision; attempt === this.#attempt; ) {
      const asked = { path: this.#notebook.path(), ...(known === undefined ? {} : { revision: known }) };
      const answer = await ask("verify/state", asked);
      const state = read(answer);
      known = state.revision;
      const isKnown = state.status === "none" || (state.time !== 0 && state.time === this.#state.time);
      if (attempt !== this.#attempt || isKnown) continue;
      this.#before = [this.#state, this.#mark];
      this.#mark = state.isStale ? undefined : this.#notebook.mark();
      return this.#follow(attempt, ask, answer);
    }
  }

  /** Has the agent mend what was found; it is verified again after its next turn that changed something. */
  mend(): void {
    const [first] = this.#state.findings;
    if (!first) return;
    this.#isMending = true;
    const more = this.#state.findings.length - 1;
    const others = more > 0 ? `, and ${more} more` : "";
    this.#notebook.send(
      `Fix what the verification found: ${line(first.cause, 300).replaceAll("`", "")}${others}\n\n${this.#state.task}`,
    );
  }

  /** A turn that changed something has ended. */
  turnEnded(id: string): void {
    if (this.#turns.has(id)) return;
    this.#turns.add(id);
    if (!this.#isMending) return;
    this.#isMending = false;
    void this.begin();
  }

  async #follow(attempt: number, ask: Ask, first: unknown): Promise<void> {
    for (let state = read(await first); attempt === this.#attempt; ) {
      if (state.mark) this.#mark = state.mark; // another page may have begun it, with its text
      this.#set(state);
      if (state.status !== "running") return void this.#watch(attempt, ask, state.revision).catch(console.debug);
      state = read(await ask("verify/state", { path: this.#notebook.path(), revision: state.revision }));
    }
  }

  #set(state: Verification): void {
    this.#state = state;
    this.#changed();
  }
}

function read(answer: unknown): Verification {
  if (!isObject(answer) || !Array.isArray(answer.findings)) throw new Error("The kernel's answer can't be read.");
  return { ...NONE, ...answer };
}

function said(error: unknown): string {
  if (isObject(error) && error.code === NO_METHOD) return "the plug-in “verify” is off in this kernel.";
  return line(reason(error), 300);
}
