/**
 * What follows all conversations of a store without a view: each is a module that is fetched when there is something to
 * follow.
 */
import { effect, signal } from "@preact/signals";
import type { AttentionContext } from "../attention";
import type { CellChangesContext } from "../cell-changes";
import { onOffer } from "../notebooks";
import { onScreen, showConversation } from "./on-screen";
import { isIdle } from "./status";
import { isOver, type Store } from "./store";

type Follow<C> = (context: C) => () => void;

/** An effect that runs again, too, each time that a notebook is offered; the result ends it. */
export function effectWithOffers(run: () => void): () => void {
  const offers = signal(0);
  const unlisten = onOffer(() => {
    offers.value += 1;
  });
  const end = effect(() => {
    offers.value;
    run();
  });
  return () => {
    unlisten();
    end();
  };
}

/** Fetches the module `name` as soon as `isWanted`, which signals can change, and lets it follow from then on. */
function follow<C>(store: Store, name: string, context: C, isWanted: () => boolean): () => void {
  let isOver = false;
  let following: Promise<(() => void) | undefined> | undefined;
  const end = effectWithOffers(() => {
    if (following || !isWanted()) return;
    following = store.module?.(name).then(
      ({ default: begin }) => (isOver ? undefined : (begin as Follow<C>)(context)),
      (error: unknown) => void console.warn("agentnb:", error), // an older kernel has none
    );
  });
  return () => {
    isOver = true;
    end();
    void following?.then((unfollow) => unfollow?.());
  };
}

/** Has the changes of cells that were made without a question shown in the cells, where the notebook can. */
export function followCellChanges(store: Store): () => void {
  return follow<CellChangesContext>(store, "cell-changes", { store, effectWithOffers }, () => {
    const sessions = store.root.value?.sessions ?? [];
    const canChange = sessions.some(({ resource }) => store.session(resource).value?.config?.values.kernel === "run");
    return canChange && store.notebook?.applied !== undefined;
  });
}

/** Calls the user who looks elsewhere. */
export function followAttention(store: Store): () => void {
  const context: AttentionContext = {
    store,
    effect,
    signal: signal<boolean>,
    onScreen: onScreen(store),
    show: (resource) => showConversation(store, resource),
  };
  return follow(store, "attention", context, () =>
    (store.root.value?.sessions ?? []).some(({ status }) => !isIdle(status)),
  );
}

/** Has the settings shown in the editor of the front end, where it has one, from the first connection to the kernel's end. */
export function followSettings(store: Store): () => void {
  let over: AbortController | undefined;
  const end = effectWithOffers(() => {
    if (isOver(store.connection.value)) return over?.abort();
    if (over || !store.root.value || !store.notebook?.settings) return;
    over = new AbortController();
    const changed = store.settingsChanged;
    store.notebook.settings({
      request: (method, params) => store.request(method, params),
      onChange: (listener) => {
        const before = changed?.peek();
        const unfollow = changed?.subscribe((value) => value !== before && listener());
        over?.signal.addEventListener("abort", () => unfollow?.());
      },
      view: (id) => store.view(id),
      signal: over.signal,
    });
  });
  return () => {
    end();
    over?.abort();
  };
}
