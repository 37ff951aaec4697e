/** Keeps which conversations are on screen in the views of a store, and brings others there. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useView } from "./context";
import { perStore, type Store } from "./store";

/** The conversations on screen; one entry for each view that shows it. */
export const onScreen = perStore(() => signal<readonly string[]>([]));

/** Notes that this component shows the conversation `session`. */
export function useOnScreen(session: string | undefined): void {
  const { store, visible } = useView();
  const isSeen = visible.value;
  useEffect(() => {
    if (!isSeen || session === undefined) return;
    const all = onScreen(store);
    all.value = [...all.peek(), session];
    return () => {
      const at = all.peek().indexOf(session);
      all.value = all.peek().toSpliced(at, 1);
    };
  }, [store, session, isSeen]);
}

const chatsOf = perStore(() => new Set<HTMLElement>());

/** Notes that `host` shows the whole chat of a store; returns a function that ends that. */
export function addChat(store: Store, host: HTMLElement): () => void {
  chatsOf(store).add(host);
  return () => void chatsOf(store).delete(host);
}

/** Shows a conversation in the sidebar, if there is one, else in the first chat of the page. */
export function showConversation(store: Store, resource: string): void {
  if (store.notebook?.showConversation) return store.notebook.showConversation(resource);
  const [host] = chatsOf(store);
  host?.scrollIntoView({ block: "nearest" });
  host?.dispatchEvent(new CustomEvent("agentnb-open", { detail: resource }));
}
