/** The place of the history and of the settings in the chat; each is a module that is fetched when it is opened first. */
import { useView } from "./context";
import { onEscape, useFocused } from "./controls";
import type { HistoryContext } from "./history/panel";
import type { PanelName } from "./host-events";
import { IconButton, Spacer } from "./icons";
import { OnDemand } from "./on-demand";
import type { SettingsContext } from "./settings/panel";

interface Props {
  id: string;
  name: PanelName;
  onOpen: (resource: string) => void;
  onClose: () => void;
  /** Says why a setting that was typed last is not set. */
  onRefused: (why: string) => void;
}

export function Panel({ id, name, onOpen, onClose, onRefused }: Props) {
  const title = name === "history" ? "History" : "Settings";
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
      <OnDemand key={name} name={name} what={`the ${name}`} className="column panel" context={context} />
    </section>
  );
}
