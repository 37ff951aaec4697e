/** The verification of one notebook: begins it, follows it, and notices later changes of the notebook. */
import { isObject } from "../state/object";
import { line, reason } from "../view/plain";
import type { Ask } from "./notebook-part";

/** `VerificationState` of agentnb/plugins/verify/page_jobs.py. */
export interface Verification {
  readonly status: "none" | "running" | "ended";
  readonly revision: number;
  readonly done: number;
  readonly all: number;
  /** The end time, in milliseconds since 1970. */
  readonly time: number;
  readonly isStale: boolean;
  /** The mark of the verified code, from the page that began it; empty if no page did. */
  readonly mark: string;
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly summary: string;
  readonly notChecked: readonly string[];
  /** The task for an agent that fixes the findings. */
  readonly task: string;
  readonly error: string;
}

export interface Finding {
  readonly cause: string;
  readonly evidence?: string;
  readonly advice?: string;
  readonly cell?: { readonly id: string; readonly label: string } | null;
}

export interface Notebook {
  /** Its path on the Jupyter server. */
  path(): string;
  /** The whole notebook, as JSON. */
  text(): string;
  /** Returns a mark of the inputs: the text, the count and the tags of each code cell. */
  mark(): string;
  /** Returns the function for requests, as soon as the kernel has loaded agentnb. */
  connect(): Promise<Ask>;
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
/** The kernel reads a longer notebook itself: Jupyter accepts no message over 10 MB. */
export const LONGEST_TEXT = 4_000_000;
const NO_METHOD = -32601;

export class Verifier {
  readonly #notebook: Notebook;
  readonly #changed: () => void;
  #state = NONE;
  /** The mark of the code that `#state` is about; undefined: not the current code. */
  #mark: string | undefined;
  #ask: Ask | undefined;
  #attempt = 0;
  /** The state and mark before the running verification. */
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

  /** Called when the kernel is connected. */
  connected(ask: Ask): void {
    this.#ask = ask;
    if (this.#state.status !== "running") void this.#watch(++this.#attempt, ask).catch(console.debug);
  }

  /** Called when the kernel is gone; the last result still holds. */
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
      if (attempt === this.#attempt) this.#set({ ...NONE, status: "ended", time: Date.now(), error: errorText(error) });
    }
  }

  /** Stops it, and shows the previous result again. */
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

  /** Waits for verifications by a turn or in another window; without a revision, the first answer comes at once. */
  async #watch(attempt: number, ask: Ask, revision?: number): Promise<void> {
    for (let known = revision; attempt === this.#attempt; ) {
      const params = { path: this.#notebook.path(), ...(known === undefined ? {} : { revision: known }) };
      const answer = await ask("verify/state", params);
      const state = read(answer);
      known = state.revision;
      const isKnown = state.status === "none" || (state.time !== 0 && state.time === this.#state.time);
      if (attempt !== this.#attempt || isKnown) continue;
      this.#before = [this.#state, this.#mark];
      this.#mark = state.isStale ? undefined : this.#notebook.mark();
      return this.#follow(attempt, ask, answer);
    }
  }

  /** Asks the agent to fix the findings; its next turn that changed something starts a new verification. */
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

  /** Called when a turn that changed something has ended. */
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

function errorText(error: unknown): string {
  if (isObject(error) && error.code === NO_METHOD) return "the plug-in “verify” is off in this kernel.";
  return line(reason(error), 300);
}
