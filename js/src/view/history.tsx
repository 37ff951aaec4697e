/** The place of the history panel in the chat; the panel itself is a module that is fetched when it is opened first. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useView } from "./context";
import type { HistoryContext } from "./history/panel";
import { IconButton, Spacer } from "./icons";
import { Waiting } from "./notices";
import { reason } from "./plain";
import type { Store } from "./store";
import { ErrorCard } from "./turn";

type Mount = (into: HTMLElement, context: HistoryContext) => () => void;

const fetched = new WeakMap<Store, Promise<{ default: unknown }>>();

/** The panel's module, fetched once for each page; again where that failed. */
function panelOf(store: Store): Promise<{ default: unknown }> {
  const known = fetched.get(store);
  if (known) return known;
  const fetching = store.module?.("history") ?? Promise.reject(new Error("This page cannot load it."));
  fetched.set(store, fetching);
  fetching.catch(() => fetched.delete(store));
  return fetching;
}

interface Props {
  id: string;
  onOpen: (resource: string) => void;
  onClose: () => void;
}

export function History({ id, onOpen, onClose }: Props) {
  const { store, announce } = useView();
  const into = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLElement>(null);
  const [state, setState] = useState<"loading" | "shown" | Error>("loading");
  useLayoutEffect(() => box.current?.focus(), []);
  useEffect(() => {
    let unmount: (() => void) | undefined;
    let isGone = false;
    const context: HistoryContext = {
      root: store.root,
      changed: store.sessionsChanged,
      request: (method, params) => store.request(method, params),
      open: onOpen,
      close: onClose,
      announce,
    };
    panelOf(store).then(
      ({ default: mount }) => {
        if (isGone) return;
        setState("shown");
        unmount = (mount as Mount)(into.current as HTMLElement, context);
      },
      (error) => isGone || setState(new Error(reason(error))),
    );
    return () => {
      isGone = true;
      unmount?.();
    };
  }, [store]);
  return (
    <section
      ref={box}
      class="panel"
      id={id}
      tabIndex={-1}
      aria-label="History"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <div class="history-bar">
        <h3>History</h3>
        <Spacer />
        <IconButton name="Close (Escape)" icon="cross" onClick={onClose} />
      </div>
      {state === "loading" && <Waiting text="Loading the history…" />}
      {state instanceof Error && (
        <ErrorCard
          title="The history couldn't be loaded"
          message={`${state.message} If this stays so, update agentnb where the kernel runs, and restart the kernel.`}
        />
      )}
      <div class={state === "shown" ? "panel" : ""} ref={into} />
    </section>
  );
}
