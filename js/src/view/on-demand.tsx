/** Fetches on first use: modules that mount their own content, and parts of this view. */
import type { ComponentChild } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { FetchedStyles } from "../fetched-styles";
import { ErrorCard } from "./cards";
import { useView } from "./context";
import { Spinner, Waiting } from "./icons";
import { reason } from "./plain";
import { shared } from "./shared";
import { perStore, type Store } from "./store";

type Mount<C> = (into: HTMLElement, context: C) => () => void;

const fetchedOf = perStore(() => new Map<string, Promise<{ default: unknown }>>());

/** Returns a module, fetched once for each page; tries again after a failure. */
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
  /** Its name within a sentence. */
  what: string;
  /** The parts of the chat that it needs; read once, when the module has arrived. */
  context: C;
  className?: string;
}

/** The parts of this view, by their module's name in the kernel. */
interface Parts {
  branches: typeof import("../branches");
  "data-checks": typeof import("../data-checks");
  questions: typeof import("../questions");
  review: typeof import("../review");
  uses: typeof import("../uses");
}

type Part = Parts[keyof Parts] & { readonly styles?: FetchedStyles };
type MakePart = (require: typeof shared) => Part;

const partsOf = perStore(() => new Map<string, Part>());

interface FetchedProps<N extends keyof Parts> {
  name: N;
  /** Its name within a sentence. */
  what: string;
  /** True if it shows nothing until the part has arrived. */
  isQuiet?: boolean;
  children: (part: Parts[N]) => ComponentChild;
}

/** Shows a part of the view; at once if the part is already here. */
export function Fetched<N extends keyof Parts>({ name, what, isQuiet, children }: FetchedProps<N>) {
  const { store, root } = useView();
  const parts = partsOf(store);
  const part = parts.get(name);
  const [failed, setFailed] = useState<unknown>();
  const [, redraw] = useState(false);
  part?.styles?.addTo(root);
  useEffect(() => {
    if (part) return;
    let isGone = false;
    moduleOf(store, name).then(
      ({ default: make }) => {
        const made = parts.get(name) ?? (make as MakePart)(shared);
        parts.set(name, made);
        if (!isGone) redraw(true);
      },
      (error) => isGone || setFailed(error),
    );
    return () => {
      isGone = true;
    };
  }, [store, name]);
  if (part) return <>{children(part as Parts[N])}</>;
  if (failed !== undefined) return <CannotLoad what={what} why={reason(failed)} />;
  return isQuiet ? null : (
    <p class="note">
      <Spinner /> {`Loading ${what}…`}
    </p>
  );
}

function CannotLoad({ what, why }: { what: string; why: string }) {
  return (
    <ErrorCard
      title={`${what[0]?.toUpperCase()}${what.slice(1)} couldn't be loaded`}
      message={`${why} If this keeps happening, update agentnb in the kernel's environment and restart the kernel.`}
    />
  );
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
      {state instanceof Error && <CannotLoad what={what} why={state.message} />}
      <div class={state === "shown" ? className : ""} ref={into} />
    </>
  );
}
