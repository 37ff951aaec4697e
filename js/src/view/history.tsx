/** Shows the history, the settings or the tries in the chat; each is a module that is fetched when first opened. */

import type { BranchesProps } from "./branches/branches";
import { useView } from "./context";
import { onEscape, useFocused } from "./controls";
import type { HistoryContext } from "./history/panel";
import type { PanelName } from "./host-events";
import { IconButton, Spacer } from "./icons";
import { Fetched, OnDemand } from "./on-demand";
import type { SettingsContext } from "./settings/panel";

interface Props {
  id: string;
  name: PanelName;
  /** The conversation that it replaces on screen. */
  session: string | undefined;
  onOpen: (resource: string) => void;
  onClose: () => void;
  /** Reports why the setting typed last was not set. */
  onRefused: (why: string) => void;
}

export function Panel({ id, name, session, onOpen, onClose, onRefused }: Props) {
  const title = name === "history" ? "History" : name === "settings" ? "Settings" : "Tries";
  const { store, announce, memory } = useView();
  const box = useFocused<HTMLElement>();
  const context: HistoryContext & SettingsContext = {
    root: store.root,
    changed: store.sessionsChanged,
    settingsChanged: store.settingsChanged,
    request: (method, params) => store.request(method, params),
    open: onOpen,
    close: onClose,
    announce,
    refused: onRefused,
    kept: memory,
  };
  return (
    <section ref={box} class="column panel" id={id} tabIndex={-1} aria-label={title} onKeyDown={onEscape(onClose)}>
      <div class="row history-bar">
        <h3>{title}</h3>
        <Spacer />
        <IconButton name="Close (Escape)" icon="cross" onClick={onClose} />
      </div>
      {title === "Tries" ? (
        <SideBySide begins={name === "try"} session={session} onOpen={onOpen} />
      ) : (
        <OnDemand key={name} name={name} what={`the ${name}`} className="column panel" context={context} />
      )}
    </section>
  );
}

/** Shows tries side by side, with a module that is fetched for them. */
export function SideBySide(props: BranchesProps) {
  return (
    <Fetched name="branches" what="the tries">
      {({ Branches }) => <Branches {...props} />}
    </Fetched>
  );
}
