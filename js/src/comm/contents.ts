/** Large content, fetched in ranges on demand, and kept for a while. */
import type { ChangeText, ContentRef } from "../view/store.ts";

/** In bytes. */
export const RANGE = 262_144;
/** Larger texts are not compared; in bytes. */
const LONGEST_CHANGE = 1_000_000;
const KEPT = 16 * 1024 * 1024;

export interface Range {
  size: number;
  /** The time of its last change, if it can change. */
  modified?: number;
  bytes: Uint8Array<ArrayBuffer>;
}

export class Contents {
  #kept = new Map<string, { text: Promise<string>; size: number }>();
  #size = 0;

  /** Returns the same promise for the same content, until others have pushed it out; a failed fetch can be repeated. */
  get({ uri, size }: ContentRef, fetch: (offset: number) => Promise<Range>): Promise<string> {
    const known = this.#kept.get(uri);
    if (known) return known.text;
    const text = pieces(fetch).then(decode);
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

function decode(chunks: readonly Uint8Array<ArrayBuffer>[]): string {
  const decoder = new TextDecoder();
  return chunks.map((bytes) => decoder.decode(bytes, { stream: true })).join("") + decoder.decode();
}

/** Returns one side of a change as text; only its size if it is not text, or too large to compare. */
export async function changeText(fetch: (first: number) => Promise<Range & { binary: boolean }>): Promise<ChangeText> {
  const { size, binary, bytes } = await fetch(0);
  const isCut = size > LONGEST_CHANGE;
  if (binary || isCut) return { text: "", size, isCut, isBinary: binary };
  const chunks = await pieces(async (first) => (first === 0 ? { size, bytes } : await fetch(first)));
  return { text: decode(chunks), size, isCut, isBinary: false };
}

export async function pieces(fetch: (offset: number) => Promise<Range>): Promise<Uint8Array<ArrayBuffer>[]> {
  const chunks = [];
  let first: Range | undefined;
  for (let at = 0; ; ) {
    const range = await fetch(at);
    first ??= range;
    if (range.size !== first.size || range.modified !== first.modified)
      throw new Error("It changed while it was being loaded. Try again.");
    at += range.bytes.byteLength;
    chunks.push(range.bytes);
    if (at >= range.size) return chunks;
    if (range.bytes.byteLength === 0) throw new Error("The kernel sent an incomplete answer.");
  }
}
