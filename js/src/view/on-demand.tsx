/** The place of a module that is fetched when it is needed first: it mounts what it shows there. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ErrorCard } from "./cards";
import { useView } from "./context";
import { Waiting } from "./icons";
import { reason } from "./plain";
import { perStore, type Store } from "./store";

type Mount<C> = (into: HTMLElement, context: C) => () => void;

const fetchedOf = perStore(() => new Map<string, Promise<{ default: unknown }>>());

/** A module, fetched once for each page; again where that failed. */
function moduleOf(store: Store, name: string): Promise<{ default: unknown }> {
  const known = fetchedOf(store);
  const fetching = known.get(name) ?? store.module?.(name) ?? Promise.reject(new Error("This page can't load it."));
  known.set(name, fetching);
  fetching.catch(() => known.delete(name));
  return fetching;
}

interface Props<C> {
  /** The module's name in the kernel. */
  name: string;
  /** What it shows, as it is called in a sentence. */
  what: string;
  /** What it needs of the chat; read once, when the module is there. */
  context: C;
  className?: string;
}

export function OnDemand<C>({ name, what, context, className = "" }: Props<C>) {
  const { store } = useView();
  const into = useRef<HTMLDivElement>(null);
  const latest = useRef(context);
  latest.current = context;
  const [state, setState] = useState<"loading" | "shown" | Error>("loading");
  useEffect(() => {
    let unmount: (() => void) | undefined;
    let isGone = false;
    moduleOf(store, name).then(
      ({ default: mount }) => {
        if (isGone || into.current === null) return;
        setState("shown");
        unmount = (mount as Mount<C>)(into.current, latest.current);
      },
      (error) => isGone || setState(new Error(reason(error))),
    );
    return () => {
      isGone = true;
      unmount?.();
    };
  }, [store]);
  return (
    <>
      {state === "loading" && <Waiting text={`Loading ${what}…`} />}
      {state instanceof Error && (
        <ErrorCard
          title={`${what[0]?.toUpperCase()}${what.slice(1)} couldn't be loaded`}
          message={`${state.message} If this keeps happening, update agentnb in the kernel's environment and restart the kernel.`}
        />
      )}
      <div class={state === "shown" ? className : ""} ref={into} />
    </>
  );
}
