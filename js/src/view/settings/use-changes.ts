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
  readonly at: string;
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
  const [outcome, setOutcome] = useState<Outcome>();
  const isClosed = useRef(false);
  const latest = useRef(outcome);
  latest.current = outcome;
  useLayoutEffect(
    () => () => {
      isClosed.current = true;
      const { kind, change, text } = latest.current ?? {};
      if (kind === "confirm" && change?.title) refused?.(`${change.title}: not confirmed. ${text}`);
    },
    [],
  );
  const send = async (change: Change): Promise<void> => {
    const { at, method, params, done, title = at } = change;
    setOutcome(undefined);
    try {
      const { confirm } = await request(method, params as never);
      if (typeof confirm === "string") {
        if (isClosed.current) refused?.(`${title}: ${confirm} Open the settings to confirm it.`);
        return setOutcome({ at, kind: "confirm", text: confirm, change });
      }
      if (method !== "changeSetting") setOutcome({ at, kind: "done", text: done }); // a setting shows its value
      announce(done);
    } catch (error) {
      if (isClosed.current) refused?.(`${title}: ${reason(error)}`);
      setOutcome({ at, kind: "trouble", text: reason(error) });
    }
    if (!isClosed.current) await load();
  };
  return {
    outcome,
    send,
    confirm: ({ change, text }: Outcome) =>
      change && void send({ ...change, params: { ...change.params, confirmed: text } }),
    cancel: () => {
      setOutcome(undefined);
      void load();
    },
    refuse: (at: string, text: string) => setOutcome({ at, kind: "trouble", text }),
  };
}
