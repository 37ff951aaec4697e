/** Sends changes of settings, asks for the confirmations they need, and keeps their results. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Request } from "../../state/answers";
import { reason } from "../plain";

/** The requests that change something, after any confirmation. */
type Changing = "changeSetting" | "changeMcpServer" | "changeOwnAgent" | "changePolicy";

interface Change {
  /** The place where its answer is shown: the setting's name, or a part of the settings. */
  readonly at: string;
  readonly method: Changing;
  readonly params: object;
  /** The sentence announced once it is done. */
  readonly done: string;
  /** The title for messages after the settings were closed. */
  readonly title?: string;
}

/** The result of a change; `confirm` waits for the user's yes. */
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
  /** By place: the reason for a refusal stays while the user makes other changes. */
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
    /** Clears the refusal of text that is no longer typed. */
    clear: (at: string) => set(at),
    refuse: (at: string, text: string) => set(at, { kind: "trouble", text }),
  };
}
