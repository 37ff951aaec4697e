/** Large content, fetched in ranges when it is wanted, and kept for a while. */
import type { ContentRef } from "../view/store.ts";

const RANGE = 262_144;
const KEPT = 16 * 1024 * 1024;

export interface Range {
  size: number;
  bytes: Uint8Array;
}

export type FetchRange = (uri: string, offset: number, length: number) => Promise<Range>;

export class Contents {
  #kept = new Map<string, { text: Promise<string>; size: number }>();
  #size = 0;

  /** The same promise for the same content, until others have pushed it out; what failed can be asked for again. */
  get({ uri, size }: ContentRef, fetch: FetchRange): Promise<string> {
    const known = this.#kept.get(uri);
    if (known) return known.text;
    const text = whole(uri, fetch);
    this.#kept.set(uri, { text, size });
    this.#size += size;
    text.catch(() => this.#drop(uri));
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= KEPT || oldest === uri) break;
      this.#drop(oldest);
    }
    return text;
  }

  #drop(uri: string): void {
    this.#size -= this.#kept.get(uri)?.size ?? 0;
    this.#kept.delete(uri);
  }
}

async function whole(uri: string, fetch: FetchRange): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let at = 0;
  for (;;) {
    const { size, bytes } = await fetch(uri, at, RANGE);
    at += bytes.byteLength;
    text += decoder.decode(bytes, { stream: true });
    if (at >= size) return text + decoder.decode();
    if (bytes.byteLength === 0) throw new Error("The kernel sent less than there is.");
  }
}
