/**
 * Unsent drafts by chat: one text for all views of a page, and its pictures.
 *
 * A draft is saved within 400 ms, and at once when a tab, a view or the page is hidden: in the browser tab's storage
 * (so that it outlives a reload and a kernel), and in the kernel, for other windows. Never in the notebook. Pictures
 * are kept only in the browser tab, as far as there is room.
 */
import { effect, type Signal, signal } from "@preact/signals";
import type { Picture } from "./attach";
import { chatChannel } from "./identity";
import { store as keep, stored, storedKeys } from "./storage";
import { messageOf, perStore, type Refusal, type Store } from "./store";

const SAVE_AFTER = 400;
const PREFIX = "agentnb draft ";
const PICTURES = "agentnb pictures ";
/** Limit of one chat's kept pictures, in characters: texts need room, too. */
const MOST = 1_400_000;

interface Saved {
  text: string;
  /** The kernel of the tab. */
  host: string | undefined;
}

export interface LostDraft {
  key: string;
  text: string;
}

export class Drafts {
  /** The chats whose box has the focus. */
  #entered = new Set<string>();
  #store: Store;
  #texts = new Map<string, Signal<string>>();
  #pictures = new Map<string, Signal<readonly Picture[]>>();
  #kept = new Set<string>();
  #unsaved = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #refused = 0;

  constructor(store: Store) {
    this.#store = store;
    effect(() => {
      for (const [chat, text] of Object.entries(store.drafts?.value ?? {})) this.#hear(chat, text);
    });
    effect(() => this.#giveBack(store.refusals.value));
  }

  of(chat: string): Signal<string> {
    const text =
      this.#texts.get(chat) ?? signal(stored<Saved>(PREFIX + chat)?.text ?? this.#store.drafts?.peek()[chat] ?? "");
    this.#texts.set(chat, text);
    return text;
  }

  pictures(chat: string): Signal<readonly Picture[]> {
    const known = this.#pictures.get(chat);
    if (known) return known;
    const own = signal(stored<readonly Picture[]>(PICTURES + chat) ?? []);
    if (own.peek().length > 0) this.#kept.add(chat);
    this.#pictures.set(chat, own);
    return own;
  }

  setPictures(chat: string, pictures: readonly Picture[]): void {
    this.pictures(chat).value = pictures;
    const key = PICTURES + chat;
    keep(key, undefined);
    this.#kept.delete(chat);
    if (pictures.length === 0) return;
    const size = pictures.reduce((sum, { data }) => sum + data.length, 0);
    if (size <= MOST && keep(key, pictures)) this.#kept.add(chat);
  }

  /** True if the pictures of a chat outlive a reload. */
  keepsPictures(chat: string): boolean {
    return this.#kept.has(chat);
  }

  set(chat: string, text: string): void {
    this.of(chat).value = text;
    this.#unsaved.add(chat);
    if (text === "") return this.flush();
    this.#timer ??= setTimeout(() => this.flush(), SAVE_AFTER);
  }

  /** Saves unsaved drafts at once. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const chat of this.#unsaved) {
      const text = this.of(chat).peek();
      this.#keep(chat, text);
      this.#store.notify?.("draft", { channel: chat, text });
    }
    this.#unsaved.clear();
  }

  /**
   * Returns the drafts of kernels that no view of this page is connected to, unless their conversation is open again.
   */
  lost(): LostDraft[] {
    const now = this.#store.hostId.peek();
    if (now === undefined) return [];
    const keys = storedKeys(PREFIX);
    if (keys.length === 0) return []; // the usual case: no need to search the page
    const hosts = [...document.querySelectorAll<HTMLElement>("[data-agentnb-host]")].map(
      (view) => view.dataset.agentnbHost,
    );
    const living = new Set([now, ...hosts]);
    const open = new Set(
      (this.#store.root.peek()?.sessions ?? []).map(({ resource }) => PREFIX + chatChannel(resource)),
    );
    return keys.flatMap((key) => {
      const saved = stored<Saved>(key);
      return saved && !living.has(saved.host) && !open.has(key) ? [{ key, text: saved.text }] : [];
    });
  }

  forget(draft: LostDraft): void {
    keep(draft.key, undefined);
  }

  /** Puts rejected messages back into the box, before the text typed since. */
  #giveBack(refusals: readonly Refusal[]): void {
    for (const { id, channel, action } of refusals) {
      const message = messageOf(action);
      if (id <= this.#refused || message === undefined) continue;
      this.#refused = id;
      const since = this.of(channel).peek();
      this.set(channel, since === "" ? message.text : `${message.text}\n\n${since}`);
    }
  }

  /** The box of a chat has the focus: text from other windows does not overwrite it while this window is in front. */
  enter(chat: string): void {
    this.#entered.add(chat);
  }

  /** The box has lost the focus: shows the text that other windows have typed meanwhile. */
  leave(chat: string): void {
    if (!this.#entered.delete(chat)) return;
    const text = this.#store.drafts?.peek()[chat];
    if (text !== undefined) this.#hear(chat, text);
  }

  /** Takes the text that another window has typed, unless the user types here. */
  #hear(chat: string, text: string): void {
    const isTyping = this.#entered.has(chat) && document.hasFocus();
    if (isTyping || this.#unsaved.has(chat)) return;
    const known = this.#texts.get(chat);
    if (known) known.value = text;
    this.#keep(chat, text);
  }

  #keep(chat: string, text: string): void {
    const saved: Saved = { text, host: this.#store.hostId.peek() };
    keep(PREFIX + chat, text === "" ? undefined : saved);
  }
}

export const draftsOf = perStore((store) => new Drafts(store));
