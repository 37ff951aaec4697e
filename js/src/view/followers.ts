/**
 * Follows all conversations of a store without a view: each follower is a module that is fetched once there is
 * something to follow.
 */
import { effect, signal } from "@preact/signals";
import type { AttentionContext } from "../attention";
import type { CellChangesContext } from "../cell-changes";
import { onOffer } from "../notebooks";
import { onScreen, showConversation } from "./on-screen";
import { isIdle } from "./status";
import { isOver, type Store } from "./store";

type Follow<C> = (context: C) => () => void;

/** Runs an effect that also runs again each time a notebook is offered; returns a function that ends it. */
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

/** Fetches and starts the module `name` as soon as `isWanted`, which may read signals, returns true. */
function follow<C>(store: Store, name: string, context: C, isWanted: () => boolean): () => void {
  let isOver = false;
  let following: Promise<(() => void) | undefined> | undefined;
  const end = effectWithOffers(() => {
    if (following || !isWanted()) return;
    following = store.module?.(name).then(
      ({ default: begin }) => (isOver ? undefined : (begin as Follow<C>)(context)),
      (error: unknown) => void console.warn("agentnb:", error), // an older kernel does not have it
    );
  });
  return () => {
    isOver = true;
    end();
    void following?.then((unfollow) => unfollow?.());
  };
}

/** Shows cell changes made without a question in the cells, if the notebook can. */
export function followCellChanges(store: Store): () => void {
  return follow<CellChangesContext>(store, "cell-changes", { store, effectWithOffers }, () => {
    const sessions = store.root.value?.sessions ?? [];
    const canChange = sessions.some(({ resource }) => store.session(resource).value?.config?.values.kernel === "run");
    return canChange && store.notebook?.applied !== undefined;
  });
}

/** Alerts a user who looks elsewhere. */
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

/** Shows the settings in the front end's editor, if it has one, from the first connection to the kernel's end. */
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
