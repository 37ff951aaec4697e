/** Large content, fetched in ranges when it is wanted, and kept for a while. */
import type { ContentRef } from "../view/store.ts";

const RANGE = 262_144;
const KEPT = 16 * 1024 * 1024;

export interface Range {
  size: number;
  /** When it was changed last, where it can change. */
  modified?: number;
  bytes: Uint8Array<ArrayBuffer>;
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
  const text = (await pieces((at) => fetch(uri, at, RANGE))).map((bytes) => decoder.decode(bytes, { stream: true }));
  return text.join("") + decoder.decode();
}

/** All bytes of something, range by range. */
export async function pieces(fetch: (offset: number) => Promise<Range>): Promise<Uint8Array<ArrayBuffer>[]> {
  const found = [];
  let first: Range | undefined;
  for (let at = 0; ; ) {
    const range = await fetch(at);
    first ??= range;
    if (range.size !== first.size || range.modified !== first.modified)
      throw new Error("It changed while it was fetched. Try again.");
    at += range.bytes.byteLength;
    found.push(range.bytes);
    if (at >= range.size) return found;
    if (range.bytes.byteLength === 0) throw new Error("The kernel sent less than there is.");
  }
}
