/** Fetches the conversations of the history page by page, and again when the log has changed. */

import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { reason } from "../plain";
import { type Conversation, fetchList, type Listed, PAGE, type Query } from "./list";

/** In milliseconds: the pause in typing before a search is sent; changes within it count as one. */
export const PAUSE = 200;
/** The most conversations that the kernel returns at once. */
const MOST_AT_ONCE = 200;

export interface Found extends Listed {
  readonly trouble: string;
  readonly isBusy: boolean;
}

const NOTHING: Found = { conversations: [], hasMore: false, left: 0, note: "", trouble: "", isBusy: true };

/** Returns the conversations for `query`, page by page. Only the answer to the latest request counts. */
export function useList(request: Request, query: Query) {
  const [results, setResults] = useState<Found>(NOTHING);
  const [attempt, ask] = useState(0);
  const latest = useRef(0);
  const isBusy = useRef(false);
  const fetch = (before: readonly Conversation[], offset: number) => {
    const number = ++latest.current;
    isBusy.current = true;
    setResults((previous) => ({ ...previous, isBusy: true, trouble: "" }));
    const done = (next: (previous: Found) => Found) => {
      if (number !== latest.current) return;
      isBusy.current = false;
      setResults(next);
    };
    fetchList(request, query, offset).then(
      ({ conversations, ...rest }) => {
        const known = new Set(before.map(({ uri }) => uri));
        const all = [...before, ...conversations.filter(({ uri }) => !known.has(uri))];
        done(() => ({ ...rest, conversations: all, trouble: "", isBusy: false }));
      },
      (error: unknown) =>
        done(() => ({ ...NOTHING, conversations: before, trouble: reason(error) || "no reason given", isBusy: false })),
    );
  };
  const refresh = () => {
    if (isBusy.current) return ask((count) => count + 1);
    const number = ++latest.current;
    const limit = Math.min(MOST_AT_ONCE, Math.max(PAGE, results.conversations.length));
    fetchList(request, query, 0, limit).then(
      (next) => number === latest.current && setResults({ ...next, trouble: "", isBusy: false }),
      () => undefined, // the list stays as it was
    );
  };
  useEffect(() => {
    fetch([], 0);
    return () => {
      latest.current += 1;
    };
  }, [query, attempt]);
  return {
    found: results,
    /** Fetches the next page; does not count conversations deleted in the meantime. */
    more: (deleted: ReadonlySet<string>) => {
      if (isBusy.current || !results.hasMore) return;
      const gone = results.conversations.filter(({ uri }) => deleted.has(uri)).length;
      fetch(results.conversations, results.conversations.length - gone);
    },
    again: () => ask((count) => count + 1),
    /** Fetches the shown conversations again, without a spinner. */
    refresh,
  };
}

/** Calls `onChange` soon after conversations of the log have changed, in any window or kernel; once for many. */
export function useChanges(request: Request, changed: ReadonlySignal<unknown> | undefined, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    const watch = (on: boolean) => request("watchSessions", { on }).catch(() => undefined); // older kernels lack it
    let timer: ReturnType<typeof setTimeout> | undefined;
    const before = changed?.peek();
    const end = changed?.subscribe((value) => {
      if (value === before) return;
      clearTimeout(timer);
      timer = setTimeout(() => latest.current(), PAUSE);
    });
    void watch(true);
    return () => {
      end?.();
      clearTimeout(timer);
      void watch(false);
    };
  }, []);
}
