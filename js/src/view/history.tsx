/** The place of the history panel in the chat; the panel itself is a module that is fetched when it is opened first. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { useView } from "./context";
import type { HistoryContext } from "./history/panel";
import { IconButton, Spacer } from "./icons";
import { OnDemand } from "./on-demand";

interface Props {
  id: string;
  onOpen: (resource: string) => void;
  onClose: () => void;
}

export function History({ id, onOpen, onClose }: Props) {
  const { store, announce } = useView();
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const context: HistoryContext = {
    root: store.root,
    changed: store.sessionsChanged,
    request: (method, params) => store.request(method, params),
    open: onOpen,
    close: onClose,
    announce,
  };
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
      <OnDemand name="history" what="the history" className="panel" context={context} />
    </section>
  );
}
