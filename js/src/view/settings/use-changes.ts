/** Changes of settings on their way: what must be confirmed, and what came of them. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { reason } from "../plain";

/** The requests that change something, once the user has confirmed what must be. */
type Changing = "changeSetting" | "changeMcpServer" | "changeOwnAgent" | "changePolicy";

interface Change {
  /** Where its answer is shown: the setting's name, or a part of the settings. */
  readonly at: string;
  readonly method: Changing;
  readonly params: object;
  /** What is said once it is done. */
  readonly done: string;
  /** What it would be, where nobody sees any more where it was typed. */
  readonly title?: string;
}

/** What a change came to: `confirm` where it waits for a yes. */
interface Outcome {
  readonly text: string;
  readonly kind: "done" | "trouble" | "confirm";
  readonly change?: Change;
}

interface Context {
  readonly request: Request;
  announce(sentence: string): void;
  refused?(why: string): void;
}

export function useChanges({ request, announce, refused }: Context, load: () => Promise<void>) {
  /** By place: the reason of one that is refused stays while others are made. */
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const isClosed = useRef(false);
  const latest = useRef(outcomes);
  latest.current = outcomes;
  const set = (at: string, outcome?: Outcome) =>
    setOutcomes((all) => {
      const others = [...all].filter(([place, { kind }]) => place !== at && kind !== "done");
      return new Map(outcome ? [...others, [at, outcome]] : others);
    });
  useLayoutEffect(
    () => () => {
      isClosed.current = true;
      for (const { kind, change, text } of latest.current.values())
        if (kind === "confirm" && change?.title) refused?.(`${change.title}: not confirmed. ${text}`);
    },
    [],
  );
  const send = async (change: Change): Promise<void> => {
    const { at, method, params, done, title = at } = change;
    set(at);
    try {
      const { confirm } = await request(method, params as never);
      if (typeof confirm === "string") {
        if (isClosed.current) refused?.(`${title}: ${confirm} Open the settings to confirm it.`);
        return set(at, { kind: "confirm", text: confirm, change });
      }
      if (method !== "changeSetting") set(at, { kind: "done", text: done }); // a setting shows its value
      announce(done);
    } catch (error) {
      if (isClosed.current) refused?.(`${title}: ${reason(error)}`);
      set(at, { kind: "trouble", text: reason(error) });
    }
    if (!isClosed.current) await load();
  };
  return {
    outcomes,
    send,
    confirm: ({ change, text }: Outcome) =>
      change && void send({ ...change, params: { ...change.params, confirmed: text } }),
    cancel: (at: string) => {
      set(at);
      void load();
    },
    /** What was refused there is no longer typed. */
    clear: (at: string) => set(at),
    refuse: (at: string, text: string) => set(at, { kind: "trouble", text }),
  };
}
