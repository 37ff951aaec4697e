/** A store whose states are set by hand, for the development page. */
import { type Signal, signal } from "@preact/signals";
import * as questions from "../src/questions";
import * as review from "../src/review";
import type { Action, ChangesetState, ChatState, RootState, SessionState } from "../src/state/types.gen";
import * as uses from "../src/uses";
import type { ChangeText, Connection, ContentRef, Older, Refusal, Side, Store } from "../src/view/store";

/** The parts of the view that a page fetches. */
const PARTS = new Map<string, unknown>(Object.entries({ questions, review, uses }));

export class ScriptedStore implements Store {
  readonly clientId = "dev";
  readonly connection = signal<Connection>("live");
  readonly refusals = signal<readonly Refusal[]>([]);
  readonly gaps = signal<Readonly<Record<string, string>>>({});
  readonly hostId = signal<string | undefined>("dev");
  readonly ahead = signal(0);
  readonly isUnsaid = false;
  readonly successor = signal<(() => void) | undefined>(undefined);
  readonly refusal = signal<string | undefined>(undefined);
  readonly root = signal<RootState | undefined>(undefined);
  readonly sent: [string, Action][] = [];
  readonly module = async (name: string): Promise<{ default: unknown }> => {
    const part = PARTS.get(name);
    if (!part) throw new Error("This page can't load it.");
    return { default: () => part };
  };
  #older = signal<Older>({ left: 0, turns: [] });
  #sessions = new Map<string, Signal<SessionState | undefined>>();
  #changesets = new Map<string, Signal<ChangesetState | undefined>>();
  /** The texts of changes, by id and side. */
  texts: Record<string, string> = {};
  /** The kernel's answers, by method. */
  answers: Record<string, unknown> = {};
  #chats = new Map<string, Signal<ChatState | undefined>>();

  session(channel: string): Signal<SessionState | undefined> {
    return entry(this.#sessions, channel);
  }

  chat(channel: string): Signal<ChatState | undefined> {
    return entry(this.#chats, channel);
  }

  changeset(channel: string): Signal<ChangesetState | undefined> {
    return entry(this.#changesets, channel);
  }

  change(_: string, id: string, side: Side): Promise<ChangeText> {
    const text = this.texts[`${id} ${side}`] ?? "";
    return Promise.resolve({ text, size: text.length, isCut: false, isBinary: false });
  }

  older(): Signal<Older> {
    return this.#older;
  }

  fetchOlder(channel: string): Promise<void> {
    return this.request("fetchTurns", { channel });
  }

  content(channel: string, ref: ContentRef): Promise<string> {
    return this.request("fetchContent", { channel, ...ref });
  }

  file(channel: string, path: string): Promise<Blob> {
    return this.request("readFile", { channel, path });
  }

  dispatch(channel: string, action: Action): void {
    this.sent.push([channel, action]);
    console.log(channel, JSON.stringify(action));
  }

  notebook = { insertBelow: console.log, replaceActive: console.log, run: console.log };

  request<T>(method: string, params: unknown): Promise<T> {
    if (method in this.answers) return Promise.resolve(this.answers[method] as T);
    if (method === "complete") {
      const items = [
        { text: "df", kind: "variable", detail: "pandas.core.frame.DataFrame, shape (1200, 7)" },
        { text: "model", kind: "variable", detail: "lmfit.model.Model" },
        { text: "cells", kind: "cell", detail: "all 12 that were run" },
        { text: "cell:12", kind: "cell", detail: "fit = curve_fit(model, df.x, df.y)" },
        { text: "src/", kind: "folder", detail: "" },
        { text: "data.csv", kind: "file", detail: "" },
      ];
      return Promise.resolve({ items } as T);
    }
    return Promise.reject(new Error(`${method} ${JSON.stringify(params)}: this page has no kernel`));
  }

  dismiss(id: number): void {
    this.refusals.value = this.refusals.peek().filter((one) => one.id !== id);
  }

  acceptGap(): void {
    this.gaps.value = {};
  }

  view() {
    return { setVisible: () => {}, close: () => {} };
  }
}

function entry<T>(map: Map<string, Signal<T | undefined>>, key: string): Signal<T | undefined> {
  const known = map.get(key);
  if (known) return known;
  const made = signal<T | undefined>(undefined);
  map.set(key, made);
  return made;
}
