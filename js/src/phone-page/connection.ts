/** The phone's connection to the kernel: the Agent Host Protocol over a WebSocket. It reconnects after a cut. */

/** `connecting`: the first attempt; `cut`: it retries by itself; `ended`: only a new code helps. */
export type State = "connecting" | "live" | "cut" | "ended";

export interface Access {
  readonly token: string;
  /** This phone's own id: a code works only for the first phone that uses it. */
  readonly clientId: string;
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const ROOT = "ahp-root://";
/** The kernel's close codes: it is no longer served, and the access was revoked. */
const NOT_SERVED = 4001;
const REVOKED = 1008;
/** In milliseconds: the first and longest wait until a retry, and the limit for an answer to a ping. */
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8_000;
const SILENT = 5_000;
/** Refusals in a row after which the code counts as invalid. */
const MOST_REFUSALS = 3;

export class Connection {
  readonly #access: Access;
  readonly #show: (state: State, why: string) => void;
  readonly #take: (questions: unknown) => void;
  readonly #waiting = new Map<number, Waiting>();
  #socket: WebSocket | undefined;
  #isLive = false;
  #hasEnded = false;
  #wait = FIRST_WAIT;
  #refusals = 0;
  #number = 0;
  #timer = 0;

  constructor(access: Access, show: (state: State, why: string) => void, take: (questions: unknown) => void) {
    this.#access = access;
    this.#show = show;
    this.#take = take;
    this.#open();
    window.addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.#look());
  }

  /** Sends a request to the kernel; rejects with the kernel's message if it refuses. */
  ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    this.#number += 1;
    const id = this.#number;
    if (this.#socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error("Not connected. Try again."));
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params: { channel: ROOT, ...params } }));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #open(): void {
    const url = new URL(".", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    url.hash = url.search = "";
    const socket = new WebSocket(url, ["agentnb", `agentnb.token.${this.#access.token}`]);
    this.#socket = socket;
    let wasOpen = false;
    socket.addEventListener("open", () => {
      wasOpen = true;
      void this.#begin().catch((error: Error) => this.#end(error.message));
    });
    socket.addEventListener("message", ({ data }) => socket === this.#socket && this.#hear(String(data)));
    socket.addEventListener("close", ({ code, reason }) => {
      if (socket === this.#socket) void this.#closed(code, reason, wasOpen);
    });
  }

  async #begin(): Promise<void> {
    const { clientId } = this.#access;
    await this.ask("initialize", { clientId, protocolVersions: ["1.0.0"] });
    const questions = await this.ask("x-agentnb/listQuestions", {});
    this.#isLive = true;
    this.#wait = FIRST_WAIT;
    this.#refusals = 0;
    this.#show("live", "");
    this.#take(questions);
  }

  #hear(text: string): void {
    const { id, method, params, result, error } = JSON.parse(text) as Answer;
    if (method === "x-agentnb/questionsChanged") this.#take(params);
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (waiting === undefined || id === undefined) return;
    this.#waiting.delete(id);
    if (error) waiting.reject(new Error(error.message));
    else waiting.resolve(result);
  }

  async #closed(code: number, reason: string, wasOpen: boolean): Promise<void> {
    this.#socket = undefined;
    for (const { reject } of this.#waiting.values())
      reject(new Error("The connection was lost. Look again, and answer then."));
    this.#waiting.clear();
    if (this.#hasEnded) return;
    if (code === NOT_SERVED) return this.#end("The kernel has ended, or the phone was unpaired.");
    if (code === REVOKED) return this.#end(reason || "The phone was unpaired.");
    if (!wasOpen && (await isPageThere())) this.#refusals += 1;
    if (this.#refusals >= MOST_REFUSALS) return this.#end("This code is not valid any more.");
    this.#show(this.#isLive || wasOpen ? "cut" : "connecting", "");
    this.#timer = window.setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
  }

  #end(why: string): void {
    this.#hasEnded = true;
    this.#socket?.close();
    this.#show("ended", why);
  }

  /** Retries now: the network is back. */
  #hurry(): void {
    if (this.#socket || this.#hasEnded) return;
    window.clearTimeout(this.#timer);
    this.#open();
  }

  /** The page is visible again: a phone that slept may have lost its connection without an event. */
  #look(): void {
    const socket = this.#socket;
    if (!socket) return this.#hurry();
    const silent = window.setTimeout(() => {
      if (socket !== this.#socket) return;
      socket.close();
      void this.#closed(0, "", true);
    }, SILENT);
    this.ask("ping", {}).then(
      () => window.clearTimeout(silent),
      () => window.clearTimeout(silent),
    );
  }
}

/** True if the page still loads: then the kernel refuses the code, and the network is fine. */
async function isPageThere(): Promise<boolean> {
  try {
    return (await fetch(location.pathname, { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
